"""A proxy in a thread of its own, and raw sockets that talk to it."""

import asyncio
import contextlib
import json
import socket
import threading
import time
import urllib.request

import pytest

from domain.recognition import Recognition
from domain.sightings import Sightings
from meter.counting import AttemptCounts
from meter.edge import EdgeCounter
from meter.proxy.server import serve
from meter.proxy.settings import Origin, ProxySettings


class Metered:
    """What a test does with a running proxy."""

    def __init__(self, port, admin_port, edge):
        self.port, self.admin_port, self.edge = port, admin_port, edge
        self.counts = edge.counts

    @contextlib.contextmanager
    def connection(self):
        with socket.create_connection(("127.0.0.1", self.port), 20) as sock:
            yield sock

    def raw(self, data, until_close=True):
        """All that comes back for ``data`` until the proxy closes."""
        with self.connection() as sock:
            sock.sendall(data)
            if not until_close:
                return sock.recv(65536)
            return read_all(sock)

    def ask(self, method="GET", path="/", body=b"", **headers):
        lines = [f"{method} {path} HTTP/1.1", "Host: service", "Connection: close"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        if body:
            lines.append(f"Content-Length: {len(body)}")
        return self.raw("\r\n".join([*lines, "", ""]).encode() + body)

    def page(self, path):
        """Status and body of one of the meter's own pages."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.admin_port}{path}", timeout=20) as got:
                return got.status, got.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()

    def state(self):
        return json.loads(self.page("/state")[1])

    def until(self, condition):
        """Wait until it is true, however long a busy machine takes (20 s at most)."""
        end = time.monotonic() + 20
        while not condition():
            assert time.monotonic() < end, "it never came true"
            time.sleep(0.005)


def read_all(sock):
    data = b""
    with contextlib.suppress(ConnectionResetError):
        while more := sock.recv(65536):
            data += more
    return data


def head_and_body(data):
    head, _, body = data.partition(b"\r\n\r\n")
    return head, body


@contextlib.contextmanager
def metered(*ports, recognition=None, by_route=False, descriptors=None, **settings):
    edge = EdgeCounter(recognition or Recognition(), Sightings(), AttemptCounts(), by_route)
    origins = tuple(port if isinstance(port, Origin) else Origin("127.0.0.1", port) for port in ports)
    told, failed = {}, []
    listening = threading.Event()

    def run():
        async def main():
            told["stop"], told["loop"] = asyncio.Event(), asyncio.get_running_loop()

            def ready(_host, port, admin):
                told["ports"] = port, admin
                listening.set()

            await serve(
                ProxySettings(origins, port=0, **settings),
                edge,
                stop=told["stop"],
                version="test",
                ready=ready,
                admin_port=0,
                descriptors=descriptors,
            )

        try:
            asyncio.run(main())
        except BaseException as error:
            failed.append(error)
            raise
        finally:
            listening.set()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    listening.wait(20)
    assert not failed, failed
    try:
        yield Metered(*told["ports"], edge)
    finally:
        told["loop"].call_soon_threadsafe(told["stop"].set)
        thread.join(20)
        assert not thread.is_alive()
        assert not failed, failed


@pytest.fixture
def meter():
    return metered
