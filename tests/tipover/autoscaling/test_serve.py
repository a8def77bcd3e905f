"""``tipover serve autoscaler`` as its users start it: on real sockets, beside a real target."""

from __future__ import annotations

import contextlib
import json
import math
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.integration.commands import wait_until
from tests.servers import serving, silent
from tests.tipover.autoscaling.programs import Programs
from tests.victims.processes import free_port
from tests.victims.prometheus import prometheus

pytestmark = pytest.mark.sockets

QUICK = [
    "--rate-per-pod", "40", "--max-pods", "50", "--sync-period", "0.5", "--cpu-window", "1",
    "--rate-window", "1", "--stabilization", "0",
]  # fmt: skip


@contextmanager
def part(*arguments: str, env: dict[str, str] | None = None) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A part that announces itself, and its URL."""
    process = started(*arguments, "--port", "0", "--announce", env=env)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line, process.communicate()
        yield process, json.loads(line)["url"]
    finally:
        killed(process)


def started(*arguments: str, env: dict[str, str] | None = None) -> subprocess.Popen[str]:
    """``tipover serve`` in a session of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "tipover", "serve", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, **(env or {})},
    )


def killed(process: subprocess.Popen[str]) -> None:
    """It and all it started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


@contextmanager
def target(*options: str, port: int = 0) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Our own target, four pods of 40/s, half a second to start one."""
    process = started("target", "--dead-time", "0.5", *options, "--port", str(port), "--announce")
    try:
        assert process.stdout is not None
        yield process, json.loads(process.stdout.readline())["url"]
    finally:
        killed(process)


@contextmanager
def page(text: Callable[[float], str]) -> Iterator[str]:
    """A page of metrics that grows with time."""
    began_s = time.monotonic()

    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = text(time.monotonic() - began_s).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: object) -> None:
            """Nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Page)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/metrics"
    finally:
        server.shutdown()
        server.server_close()


def attempts(first_per_s: float, retries_per_s: float) -> Callable[[float], str]:
    """Attempts at these rates."""

    def text(at_s: float) -> str:
        counts = {"first": first_per_s * at_s, "retry": retries_per_s * at_s}
        return "".join(f'tipover_attempts_total{{attempt="{k}"}} {v}\n' for k, v in counts.items())

    return text


def got(url: str) -> str:
    """A page."""
    with urllib.request.urlopen(url, timeout=10) as answer:
        text: str = answer.read().decode()
    return text


def decisions(log: Path) -> list[dict[str, Any]]:
    """What has been written down so far, whole lines only."""
    text = log.read_text() if log.exists() else ""
    return [json.loads(line) for line in text[: text.rfind("\n") + 1].splitlines()]


def ended(process: subprocess.Popen[str], number: int = signal.SIGTERM) -> int:
    """The exit status after this signal, which must come soon."""
    process.send_signal(number)
    return process.wait(10)


def pods(url: str) -> dict[str, Any]:
    """What a target says of its scale."""
    scale: dict[str, Any] = json.loads(got(f"{url}/scale"))
    return scale


def test_it_sizes_a_real_target(tmp_path: Path) -> None:
    """390 first attempts a second at the edge want 20 pods, give or take what the clocks do to the rate; the
    target has them after its dead time. The target's own page gives CPU."""
    log = tmp_path / "autoscaler.jsonl"
    with target() as (_, url), page(attempts(390.0, 0.0)) as edge:
        options = ["--signals", "first,cpu", "--scrape", f"first={edge}", "--scrape", f"cpu={url}/metrics"]
        scale = ["--scale", f"{url}/scale", "--log", str(log)]
        with part("autoscaler", *QUICK, *options, *scale) as (process, own):
            wait_until(lambda: pods(url)["ready"] > 15, "pods that serve")
            wait_until(lambda: decisions(log)[-1]["ready"] > 15, "a decision that sees them")
            metrics = got(f"{own}/metrics")
            assert got(f"{own}/healthz") == "ok\n"
            assert ended(process) == 0
    lines = decisions(log)
    assert [line["t_s"] for line in lines] == sorted({line["t_s"] for line in lines})
    assert all(line["t_s"] % 0.5 == 0 for line in lines)
    up = next(line for line in lines if line["ordered"] != line["replicas"])
    assert up["replicas"] == 4
    assert up["wanted"] == up["ordered"] == pytest.approx(20, abs=2)
    assert up["readings"]["first"] == pytest.approx(390, rel=0.1)
    assert up["why"].endswith(f"/s wants {up['wanted']} pods")
    assert all(line["readings"]["cpu"] == 0.0 for line in lines[2:])
    for sample in (
        'tipover_autoscaler_decisions_total{result="up"} 1.0',
        'tipover_autoscaler_reading{signal="cpu"} 0.0',
        'tipover_autoscaler_reading{signal="first"} ',
        'tipover_autoscaler_proposal{signal="first"} ',
        "tipover_autoscaler_wanted ",
        f"tipover_autoscaler_replicas {up['ordered']}.0",
        "tipover_autoscaler_ready ",
        "tipover_build_info",
    ):
        assert sample in metrics


def test_decisions_fall_on_the_epoch_and_whole_periods_after_it(tmp_path: Path) -> None:
    """An epoch in the past: the first decision is the next that is due, and its number says so."""
    log = tmp_path / "autoscaler.jsonl"
    epoch_s = time.monotonic() - 100.25
    with page(attempts(80.0, 0.0)) as edge:
        options = ["--signals", "ingress", "--scrape", edge, "--scale", "none", "--pods", "4"]
        run = part("autoscaler", *QUICK, *options, "--epoch", str(epoch_s), "--log", str(log))
        with run as (process, _):
            wait_until(lambda: len(decisions(log)) >= 3, "three decisions")
            seen_s = time.monotonic() - epoch_s
            assert ended(process, signal.SIGINT) == 0
    lines = decisions(log)
    assert lines[0]["t_s"] > 100.0
    assert lines[-1]["t_s"] <= seen_s + 0.5
    assert all(line["t_s"] % 0.5 == 0 for line in lines)
    assert all(line["late_s"] >= 0 for line in lines)


def test_a_target_that_dies_and_comes_back(tmp_path: Path) -> None:
    """Errors are decisions too; once it is back, it is sized again."""
    log, port = tmp_path / "autoscaler.jsonl", free_port()
    url = f"http://127.0.0.1:{port}"
    options = ["--signals", "ingress", "--scale", f"{url}/scale", "--log", str(log)]
    with (
        page(attempts(195.0, 195.0)) as edge,
        target(port=port) as (first, _),
        part("autoscaler", *QUICK, *options, "--scrape", edge) as (process, _),
    ):
        wait_until(lambda: pods(url)["replicas"] > 15, "an order")
        os.killpg(first.pid, signal.SIGKILL)
        first.wait()
        wait_until(lambda: decisions(log)[-1]["error"], "a decision in error")
        line = decisions(log)[-1]
        assert "does not say how many pods there are: ConnectionRefusedError" in line["error"]
        assert line["ordered"] == line["replicas"] > 15
        with target(port=port):
            wait_until(lambda: pods(url)["replicas"] > 15, "an order anew")
        assert ended(process) == 0


def test_a_scrape_that_hangs_holds_nothing_up(tmp_path: Path) -> None:
    """Decisions go on, in error; the end comes all the same."""
    log = tmp_path / "autoscaler.jsonl"
    with serving(silent) as hanging:
        edge = f"http://127.0.0.1:{hanging.port}/metrics"
        options = ["--signals", "first", "--scrape", edge, "--scale", "none", "--pods", "4"]
        with part("autoscaler", *QUICK, *options, "--log", str(log)) as (process, _):
            wait_until(lambda: len(decisions(log)) >= 3, "three decisions")
            assert ended(process) == 0
    assert all("no answer within 0.16" in line["error"] for line in decisions(log))


def test_once_with_a_prometheus() -> None:
    """One decision, at once, as JSON or in words."""
    with prometheus(lambda: 400.0) as url:
        options = ["--signals", "first,ingress", "--prometheus", url, "--scale", "none", "--pods", "4"]
        made = json.loads(_once(*options, "--json"))
        assert made["readings"] == {"first": 400.0, "ingress": 400.0}
        assert (made["wanted"], made["ordered"], made["error"]) == (20, 20, None)
        assert _once(*options).endswith("▲ 4 → 20: first 400/s wants 20 pods\n")


def test_once_with_a_scrape_waits_for_a_window() -> None:
    with page(attempts(400.0, 200.0)) as edge:
        made = json.loads(
            _once("--signals", "ingress", "--scrape", edge, "--scale", "none", "--pods", "4", "--json")
        )
    assert made["readings"]["ingress"] == pytest.approx(600, rel=0.1)
    assert made["ordered"] == pytest.approx(30, abs=3)


def test_once_without_a_reading_or_stopped_is_no_success() -> None:
    """Whoever runs it by a timer learns that nothing was decided."""
    nobody = ["--signals", "first", "--scale", "none", "--pods", "4", "--json"]
    with prometheus(lambda: math.nan) as url:
        made = json.loads(_once("--prometheus", url, *nobody, code=3))
        assert made["error"].startswith("nothing is done: first has no reading")
    command = [sys.executable, "-m", "tipover", "serve", "autoscaler", "--rate-per-pod", "40", "--once"]
    command += ["--sync-period", "600", "--scrape", "http://127.0.0.1:9/metrics", "--stop-with-stdin"]
    done = subprocess.run(
        [*command, *nobody], stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout) == (130, b"")


def _once(*options: str, code: int = 0) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "tipover", "serve", "autoscaler", *QUICK, *options, "--once"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == code, done.stderr
    return done.stdout


def test_an_order_that_hangs_is_given_up_at_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``kubectl scale`` does not come back: SIGTERM ends it, and what it started."""
    programs = Programs(tmp_path, monkeypatch)
    programs.have("kubectl")
    programs.answer("get", json.dumps({"spec": {"replicas": 4}, "status": {"readyReplicas": 4}}))
    programs.answer("scale", seconds=300)
    with page(attempts(400.0, 0.0)) as edge:
        options = ["--signals", "first", "--scrape", edge, "--scale", "kubectl:deployment/web"]
        with part("autoscaler", *QUICK, *options, env={"PATH": str(tmp_path)}) as (process, _):
            wait_until(lambda: programs.calls()[-1:] and "scale" in programs.calls()[-1][1], "an order")
            running = [child.pid for child in _children(process.pid)]
            assert ended(process) == 0
            wait_until(lambda: not any(map(_alive, running)), "the end of what it started")
    assert running
    assert programs.calls()[-1][1:4:2] == ["scale", "deployment/web"]


def _children(pid: int) -> list[Any]:
    import psutil

    return psutil.Process(pid).children(recursive=True)


def _alive(pid: int) -> bool:
    import psutil

    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def test_it_stops_when_its_input_ends() -> None:
    with page(attempts(80.0, 0.0)) as edge:
        options = ["--signals", "first", "--scrape", edge, "--scale", "none", "--pods", "4"]
        with part("autoscaler", *QUICK, *options, "--stop-with-stdin") as (process, _):
            assert process.stdin is not None
            process.stdin.close()
            process.stdin = None
            assert process.wait(10) == 0
