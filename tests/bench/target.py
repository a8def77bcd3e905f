"""What the target costs: ``python -m tests.bench.target`` (half a minute, loopback only).

Requests per second and CPU per request on kept connections, CPU and memory per queued request whose
client has gone, CPU per completion of those, and the time to shut down with all of them queued.
"""

import json
import selectors
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager

import psutil

REQUEST = (
    b"GET /work HTTP/1.1\r\nHost: target\r\nX-Request-Id: 12345-2\r\nX-Attempt: 2\r\nAccept: */*\r\n\r\n"
)
PROGRAM = """
import sys
from target_service.server import run_target
from target_service.settings import TargetSettings
settings = TargetSettings(pods=int(sys.argv[1]), rate_per_pod=float(sys.argv[2]))
run_target(settings, ready=lambda host, port: print(port, flush=True))
"""


class Target:
    """A target in a process of its own."""

    def __init__(self, process, port):
        self.process, self.port = process, port
        self._psutil = psutil.Process(process.pid)

    @property
    def cpu_s(self):
        return sum(self._psutil.cpu_times()[:2])

    @property
    def resident(self):
        return self._psutil.memory_info().rss

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port))

    def state(self):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/state") as reply:
            return json.load(reply)

    def control(self, **order):
        url, body = f"http://127.0.0.1:{self.port}/control", json.dumps(order).encode()
        with urllib.request.urlopen(urllib.request.Request(url, body, method="PUT")):
            pass

    def until(self, condition):
        while not condition(self.state()):
            time.sleep(0.1)


@contextmanager
def target(pods, rate_per_pod):
    command = [sys.executable, "-c", PROGRAM, str(pods), str(rate_per_pod)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield Target(process, int(process.stdout.readline()))
        finally:
            process.send_signal(signal.SIGTERM)


def kept_connections(connections=32, seconds=5.0):
    with target(16, 100_000) as service, selectors.DefaultSelector() as selector:
        for _ in range(connections):
            client = service.connect()
            selector.register(client, selectors.EVENT_READ)
            client.sendall(REQUEST)
        answered, cpu_s, start_s = 0, service.cpu_s, time.monotonic()
        while (elapsed_s := time.monotonic() - start_s) < seconds:
            for key, _ in selector.select(1):
                key.fileobj.recv(65536)
                key.fileobj.sendall(REQUEST)
                answered += 1
        used_s = service.cpu_s - cpu_s
        for key in list(selector.get_map().values()):
            key.fileobj.close()
    print(
        f"kept connections: {answered / elapsed_s:.0f} requests/s, {used_s / answered * 1e6:.0f} µs CPU each"
    )


def send_and_hang_up(service, requests):
    """Every request on a connection of its own, closed when 200 later ones have been opened."""
    clients = []
    for _ in range(requests):
        clients.append(service.connect())
        clients[-1].sendall(REQUEST)
        if len(clients) > 200:
            clients.pop(0).close()
    for client in clients:
        client.close()
    service.until(lambda state: state["arrived"] == requests)


def abandoned(requests=30_000):
    with target(4, 1250) as service:
        service.control(capacity_factor=0)
        resident, cpu_s = service.resident, service.cpu_s
        send_and_hang_up(service, requests)
        memory, used_s = service.resident - resident, service.cpu_s - cpu_s
        print(
            f"abandoned: {used_s / requests * 1e6:.0f} µs CPU and {memory / requests / 1024:.1f} KB to queue"
        )
        cpu_s = service.cpu_s
        service.control(capacity_factor=1)
        service.until(lambda state: state["abandoned"] == requests)
        print(f"abandoned: {(service.cpu_s - cpu_s) / requests * 1e6:.0f} µs CPU to complete")
        state = service.state()
        rate = state["saturated_completed"] / state["saturated_s"]
        print(f"rate {rate:.0f}/s where {state['capacity_per_s']:.0f}/s is set; ", end="")
        print(f"clock lag p99 {state['clock_lag_p99_s']:.4f} s, max {state['clock_lag_max_s']:.4f} s")


def shutdown(requests=30_000):
    with target(1, 0.001) as service:
        send_and_hang_up(service, requests)
        start_s = time.monotonic()
        service.process.send_signal(signal.SIGTERM)
        service.process.wait()
        print(f"shutdown with {requests} queued: {time.monotonic() - start_s:.2f} s")


if __name__ == "__main__":
    kept_connections()
    abandoned()
    shutdown()
