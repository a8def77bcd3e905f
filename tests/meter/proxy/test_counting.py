"""First attempts and ingress, exactly, and the pages that show them."""

import contextlib
import json
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path

import pytest

from domain.errors import ConfigurationError
from domain.recognition import Recognition
from domain.sightings import Sightings
from meter.counting import AttemptCounts
from meter.edge import OTHER_ROUTES, EdgeCounter, route_of
from meter.proxy.settings import Origin, ProxySettings, parse_origin
from tests.servers import friendly, serving

TIPOVER = str(Path(sys.executable).with_name("tipover"))


@pytest.mark.sockets
def test_every_convention_exactly(meter):
    """Several threads, each with requests of every kind: the counts are what was sent."""
    kinds = [
        ({"X-Attempt": "1", "X-Request-Id": "a"}, "ours", 1), ({"X-Attempt": "3"}, "ours", 2),
        ({"amz-sdk-request": "attempt=2; max=3"}, "aws", 2), ({"x-envoy-attempt-count": "1"}, "envoy", 1),
        ({"grpc-previous-rpc-attempts": "2"}, "grpc", 2), ({"x-stainless-retry-count": "0"}, "stainless", 1),
        ({"X-Attempt": "x"}, "none", 1), ({}, "none", 1),
    ]  # fmt: skip
    rounds, threads = 10, 4

    def client(number):
        for turn in range(rounds):
            for headers, _, _ in kinds:
                proxy.ask(path="/work", **headers)
            for _ in range(3):
                proxy.ask(path="/work", Idempotency_Key=f"{number}-{turn}")

    with serving(friendly) as log, meter(log.port, by_route=True) as proxy:
        workers = [threading.Thread(target=client, args=(n,)) for n in range(threads)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        each = rounds * threads
        first = sum(kind[2] == 1 for kind in kinds) + 1
        state = proxy.state()
        assert (state["first"], state["retries"]) == (first * each, (len(kinds) - first + 1 + 2) * each)
        assert state["outcomes"] == {"ok": (len(kinds) + 3) * each}
        assert state["recognised"] == {
            "ours": 2 * each, "aws": each, "envoy": each, "grpc": each, "stainless": each,
            "none": 2 * each, "id": 3 * each,
        }  # fmt: skip
        assert state["ids"]["remembered"] == each
        page = proxy.page("/metrics")[1]
        assert f'tipover_attempts_total{{attempt="first"}} {float(first * each)}' in page
        assert f'tipover_recognised_total{{convention="aws"}} {float(each)}' in page
        assert f'tipover_route_attempts_total{{attempt="first",route="/work"}} {float(first * each)}' in page
        assert re.search(r"^tipover_listen_drops_total 0\.0$", page, re.MULTILINE)
        assert len(log.requests) == (len(kinds) + 3) * each


@pytest.mark.sockets
def test_what_does_not_count_passes_all_the_same(meter):
    """By the beginning of its path."""
    with serving(friendly) as log, meter(log.port, count=("/api",), ignore=("/api/health",)) as proxy:
        for path in ("/api/a", "/api/health", "/other", "/api/b?x=1"):
            assert proxy.ask(path=path).startswith(b"HTTP/1.1 200 ")
        assert (proxy.counts.first, proxy.counts.outcomes) == (2, {"ok": 2})
        assert len(log.requests) == 4


@pytest.mark.sockets
def test_a_name_is_looked_up_and_one_that_has_no_address_is_not_ready(meter):
    """503 of the meter's own, and why."""
    with serving(friendly) as log, meter(Origin("localhost", log.port)) as proxy:
        proxy.until(lambda: proxy.state()["upstreams"])
        assert {u["upstream"] for u in proxy.state()["upstreams"]} == {f"localhost:{log.port}"}
    with meter(Origin("no-such-name.invalid", 80)) as proxy:
        assert proxy.ask().startswith(b"HTTP/1.1 503 ")
        assert proxy.counts.refusals == {"no-upstream": 1}
        assert proxy.page("/readyz") == (503, "no upstream has an address\n")


@pytest.mark.sockets
@pytest.mark.parametrize("end", ["SIGTERM", "SIGINT", "stdin"])
def test_the_command(end):
    """It says where it listens, counts, and stops within a second of being told to, busy or not."""
    with serving(lambda talk: talk.read_request() and talk.over.wait(20)) as log:
        command = [TIPOVER, "serve", "meter", "--upstream", f"http://127.0.0.1:{log.port}", "--port", "0"]
        command += ["--admin-port", "0", "--announce", "--stop-with-stdin"]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        with subprocess.Popen(command, text=True, **pipes) as process:
            try:
                told = json.loads(process.stdout.readline())
                request = urllib.request.Request(told["url"] + "/work", headers={"X-Attempt": "2"})

                def ask():
                    with contextlib.suppress(OSError):
                        urllib.request.urlopen(request, timeout=20).close()

                threading.Thread(target=ask, daemon=True).start()
                while not log.requests:
                    time.sleep(0.01)
                with urllib.request.urlopen(told["admin_url"] + "/state", timeout=20) as page:
                    assert json.load(page)["retries"] == 1
                if end == "stdin":
                    process.stdin.close()
                else:
                    process.send_signal(getattr(signal, end))
                assert process.wait(10) == 0
                assert process.stderr.read() == ""
            finally:
                process.kill()


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("http://a", Origin("a", 80)), ("http://a:81/", Origin("a", 81)),
        ("http://[::1]:82", Origin("::1", 82)), ("https://a", None), ("http://a/b", None), ("a:80", None),
        ("http://a:99999", None), ("http://u@a", None), ("http://", None), ("http://a b", None),
        ("http://a?x", None), ("http://a:0", None),
    ],
)  # fmt: skip
def test_origins(url, origin):
    """A scheme, a host, a port, and no more."""
    if origin is not None:
        assert parse_origin(url) == origin
        return
    with pytest.raises(ConfigurationError, match="--upstream"):
        parse_origin(url)


def test_faults_of_the_settings_come_together():
    """One message with all of them."""
    with pytest.raises(ConfigurationError) as raised:
        ProxySettings((), balance="best", upstream_timeout_s=0.0, count=("api",), forwarded="yes")  # type: ignore[arg-type]
    assert {fault.field for fault in raised.value.faults} == {
        "--upstream", "--balance", "--forwarded", "--upstream-timeout", "--count"
    }  # fmt: skip


def test_routes_are_bounded():
    """A hundred, and one for all others."""
    edge = EdgeCounter(Recognition(), Sightings(), AttemptCounts(), by_route=True)
    for number in range(150):
        edge.started({"x-attempt": "2"}, route_of(f"/r{number}/x?y"), 0.0)
    assert len(edge.routes) == 101
    assert edge.routes[OTHER_ROUTES] == [0, 50]
    assert edge.routes["/r7"] == [0, 1]


def test_an_id_is_one_jobs_within_a_route():
    """A request's id that is handed on to two places makes neither a retry of the other."""
    edge = EdgeCounter(Recognition(), Sightings(), AttemptCounts())
    headers = {"x-request-id": "a"}
    assert [edge.started(headers, route, 0.0) for route in ("/a", "/b", "/a")] == [1, 1, 2]


@pytest.mark.sockets
def test_the_command_follows_a_log_instead(tmp_path):
    """With --tail there is no proxy, and its flags are refused."""
    log = tmp_path / "access.log"
    fields = {"gateway": "nginx", "method": "GET", "path": "/work", "status": "200", "duration_s": "0.2"}
    log.write_text(json.dumps({**fields, "ending": "0.2", "headers": {"x-attempt": "2"}}) + "\n")
    command = [TIPOVER, "serve", "meter", "--tail", str(log)]
    refused = subprocess.run(
        [*command, "--upstream", "http://a"], capture_output=True, text=True, check=False
    )
    assert refused.returncode == 2
    assert "--upstream: is for the proxy" in refused.stderr
    command += ["--from-start", "--admin-port", "0", "--announce"]
    with subprocess.Popen(command, text=True, stdout=subprocess.PIPE) as process:
        try:
            url = json.loads(process.stdout.readline())["url"]
            page, end = "", time.monotonic() + 20
            while 'tipover_attempts_total{attempt="retry"} 1.0' not in page:
                assert time.monotonic() < end, page
                with urllib.request.urlopen(f"{url}/metrics", timeout=20) as got:
                    page = got.read().decode()
                time.sleep(0.02)
        finally:
            process.terminate()
