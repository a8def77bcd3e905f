"""The real HAProxy, nginx and Envoy, with the configurations of examples/access-log: counts are exact."""

import contextlib
import http.client
import os
import re
import shutil
import signal
import socket
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from domain.recognition import Recognition
from domain.sightings import Sightings
from meter.access_log.line import CAPTURED, reader
from meter.access_log.tail import LogTail, sources_of
from meter.counting import AttemptCounts
from meter.edge import EdgeCounter
from tests.servers import OK, Conversation
from tests.servers import serving as serving_here
from tests.victims.processes import free_port, serving

pytestmark = pytest.mark.sockets

EXAMPLES = Path(__file__).parents[2] / "examples" / "access-log"
CONFIGURATIONS = {"haproxy": "haproxy.cfg", "nginx": "nginx.conf", "envoy": "envoy.yaml"}
TIMEOUT_S = 1.5
NOWHERE = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
BUSY = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n"


def by_path(talk: Conversation) -> None:
    """/work answers; /busy is 503; /slow never answers; /broken hangs up."""
    while (head := talk.read_request()) is not None:
        path = head.split(b" ", 2)[1]
        if path.startswith(b"/slow"):
            talk.over.wait(5)
        elif path.startswith(b"/broken"):
            return
        else:
            talk.send({b"/busy": BUSY, b"/nowhere": NOWHERE}.get(path, OK))


def program(name):
    found = shutil.which(name) or shutil.which(name, path="/usr/sbin:/usr/bin:/usr/local/bin")
    if found is None:
        pytest.skip(f"{name} is not installed: `make gateways` installs it")
    return found


class Gateway:
    """One of the three, started with its example; ``log`` is what it writes."""

    def __init__(self, kind, home, backend_port, stack, change=lambda text: text):
        self.kind, self.home, self.port = kind, home, free_port()
        text = (EXAMPLES / CONFIGURATIONS[kind]).read_text()
        for old, new in (
            ("127.0.0.1:8081", f"127.0.0.1:{self.port}"),
            ("port_value: 8081", f"port_value: {self.port}"),
            ("127.0.0.1:8080", f"127.0.0.1:{backend_port}"),
            ("port_value: 8080", f"port_value: {backend_port}"),
            ("120s", f"{TIMEOUT_S}s" if kind == "envoy" else f"{TIMEOUT_S * 1e3:.0f}ms"),
            ("path: access.log", f"path: {home}/access.log"),
            ("# option abortonclose", "option abortonclose"),
        ):
            text = text.replace(old, new)
        text = change(text)
        if kind == "nginx" and os.geteuid() == 0:
            text = "user root;\n" + text
        config = home / "config"
        config = config.with_suffix(".yaml" if kind == "envoy" else ".conf")
        config.write_text(text)
        command = {
            "haproxy": lambda: [program("haproxy"), "-db", "-f", str(config)],
            "nginx": lambda: [program("nginx"), "-p", str(home), "-c", str(config)],
            "envoy": lambda: [
                str(Path(sys.executable).parent / "envoy"), "-c", str(config), "--concurrency", "1",
                "--log-level", "warning", "--disable-hot-restart", "--file-flush-interval-msec", "100",
            ],
        }[kind]()  # fmt: skip
        self.log = home / "access.log"
        output = self.log if kind == "haproxy" else home / "output"
        stack.enter_context(serving(command, self.port, output))

    def pid(self):
        """Of the process that this test has started, found by its configuration."""
        home = str(self.home).encode()
        for entry in Path("/proc").iterdir():
            with contextlib.suppress(OSError):
                if entry.name.isdigit() and home in (entry / "cmdline").read_bytes():
                    return int(entry.name)
        raise AssertionError("the gateway has gone")

    def send(self, path, headers):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        with contextlib.closing(connection):
            connection.request("GET", path, headers=headers)
            answer = connection.getresponse()
            answer.read()
            return answer.status

    def hang_up(self, path, headers):
        """Ask and go before the answer."""
        lines = [f"GET {path} HTTP/1.1", "Host: x", *(f"{name}: {value}" for name, value in headers.items())]
        with socket.create_connection(("127.0.0.1", self.port)) as connection:
            connection.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
            time.sleep(0.05)


@pytest.fixture(params=["haproxy", "nginx", "envoy"])
def gateway(request, tmp_path):
    with contextlib.ExitStack() as stack:
        backend = stack.enter_context(serving_here(by_path))
        yield Gateway(request.param, tmp_path, backend.port, stack)


def tail_of(path, complaints):
    counts = AttemptCounts()
    counter = EdgeCounter(Recognition(), Sightings(10_000, 300.0), counts)
    return LogTail(sources_of([path]), reader("auto"), counter, complain=complaints.append), counts


def read_until(tail, lines, within_s=15.0):
    """Poll until so many lines have been read, and a little longer for those there should not be."""
    until = time.monotonic() + within_s
    while sum(tail.lines.values()) < lines and time.monotonic() < until:
        tail.poll(time.monotonic())
        time.sleep(0.02)
    time.sleep(0.2)
    tail.poll(time.monotonic())


def jobs():
    """(path, headers of the first attempt, headers of its retry) by every convention, and the hard values."""
    for job in range(80):
        yield {
            0: ({"X-Attempt": "1", "X-Request-Id": f"a{job}"}, {"X-Attempt": "2", "X-Request-Id": f"a{job}"}),
            1: ({"X-Request-Id": f'b"\\{job}'},) * 2,
            2: ({"Idempotency-Key": f"é{job}".encode().decode("latin-1")},) * 2,
            3: ({"amz-sdk-request": "attempt=1; max=3"}, {"amz-sdk-request": "attempt=2; max=3"}),
            4: ({"x-stainless-retry-count": "0"}, {"x-stainless-retry-count": "1"}),
        }[job % 5]


def test_counts_are_exact(gateway):
    """200 requests of five conventions, refused ones and lost ones among them, and what is no request."""
    complaints = []
    tail, counts = tail_of(gateway.log, complaints)
    paths = ("/work", "/busy", "/nowhere", '/work?q="%22', "/broken")
    sent = Counter()
    for number, (first, retry) in enumerate(jobs()):
        path = paths[number % 8 % 5]
        for headers in (first, retry):
            sent[path] += 1
            assert (gateway.send(path, headers) < 400) is path.startswith("/work")
    for number in range(29):
        assert gateway.send("/work", {"X-Attempt": "1", "X-Request-Id": f"late{number}"}) == 200
    for number in range(10):
        gateway.hang_up("/slow", {"X-Attempt": "2", "X-Request-Id": f"gone{number}"})
    assert gateway.send("/slow", {"X-Attempt": "1"}) == 504
    with socket.create_connection(("127.0.0.1", gateway.port)) as connection:
        connection.sendall(b"this is not HTTP\r\n\r\n")
        connection.recv(1000)
    read_until(tail, 201)
    assert not complaints
    assert tail.lines == {"counted": 200, "ignored": 1, "malformed": 0}
    assert (counts.first, counts.retries) == (80 + 29 + 1, 80 + 10)
    assert counts.inflight == 0
    assert counts.outcomes == {
        "ok": sent["/work"] + sent[paths[3]] + sent["/nowhere"] + 29,
        "rejected": sent["/busy"],
        "error": sent["/broken"],
        "abandoned": 10,
        "timeout": 1,
    }
    assert counts.duration_sum_s > TIMEOUT_S
    tail.close()


@pytest.mark.parametrize("gateway", ["nginx", "envoy"], indirect=True)
def test_a_rotation_loses_nothing(gateway):
    """The log is renamed, requests go on into it, the gateway is told, and goes on in a new one."""
    complaints = []
    tail, counts = tail_of(gateway.log, complaints)
    for number in range(60):
        if number == 20:
            gateway.log.rename(gateway.home / "access.log.1")
        if number == 40:
            os.kill(gateway.pid(), signal.SIGUSR1)
        gateway.send("/work", {"X-Attempt": str(1 + number % 2)})
        if number % 7 == 0:
            tail.poll(time.monotonic())
    read_until(tail, 60)
    assert gateway.log.exists()
    assert (counts.first, counts.retries) == (30, 30)
    assert not complaints
    tail.close()


def with_stock_log(text):
    """The example with the format that the gateway has of itself."""
    if "frontend" not in text:
        return re.sub(r"(?m)^ +log_format:\n(?: {16,}.*\n)+", "", text)
    captures = "".join(f"  capture request header {name} len 64\n" for name in CAPTURED)
    return re.sub(r"(?m)^  log-format .*$", f"  option httplog\n{captures}", text)


@pytest.mark.parametrize("kind", ["haproxy", "envoy"])
def test_the_stock_formats(kind, tmp_path):
    """With two headers captured, or with the request id that Envoy's default has."""
    complaints = []
    with contextlib.ExitStack() as stack:
        backend = stack.enter_context(serving_here(by_path))
        gateway = Gateway(kind, tmp_path, backend.port, stack, with_stock_log)
        tail, counts = tail_of(gateway.log, complaints)
        for number in range(10):
            numbered = {"X-Attempt": str(1 + number % 2)} if kind == "haproxy" else {}
            gateway.send("/work?a=b", {**numbered, "X-Request-Id": f'{{|"#job {number // 2}'})
        gateway.hang_up("/slow", {"X-Request-Id": "gone"})
        assert gateway.send("/slow", {}) == 504
        with socket.create_connection(("127.0.0.1", gateway.port)) as connection:
            connection.sendall(b"this is not HTTP\r\n\r\n")
            connection.recv(1000)
        read_until(tail, 13)
    assert not complaints
    assert tail.lines == {"counted": 12, "ignored": 1, "malformed": 0}
    assert counts.outcomes == {"ok": 10, "abandoned": 1, "timeout": 1}
    assert (counts.first, counts.retries) == (7, 5)
    assert counts.duration_sum_s > TIMEOUT_S
    tail.close()
