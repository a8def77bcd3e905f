"""Bare gevent sockets: ``gevent.socket`` under a ``gevent.Timeout``, kept when healthy, hardly any HTTP.

Nothing is parsed beyond the end of the headers and the two bytes of the known body, and nothing is
recorded: this is what gevent itself costs. ``resolve`` connects with ``create_connection``, which looks
the name up in a thread each time; without it the address is connected to directly.
"""

from __future__ import annotations

import sys

import gevent
from gevent import socket

from tests.bench.load import REQUEST_PATH, Load
from tests.bench.variants.greenlets import Driver

_BODY_BYTES = 2


class BareClient:
    """Idle connections, last used first, and the one thing that can be done with them."""

    def __init__(self, load: Load) -> None:
        self._address = ("127.0.0.1", load.port)
        self._timeout_s = load.timeout_s
        self._connect = self._resolved if load.resolve else self._direct
        self._request = f"GET {REQUEST_PATH} HTTP/1.1\r\nHost: 127.0.0.1:{load.port}\r\n\r\n".encode()
        self._idle: list[socket.socket] = []

    def attempt(self) -> str:
        connection = None
        try:
            with gevent.Timeout(self._timeout_s):
                connection = self._idle.pop() if self._idle else self._connect()
                connection.sendall(self._request)
                answer = connection.recv(65536)
                while answer and len(answer.partition(b"\r\n\r\n")[2]) < _BODY_BYTES:
                    answer += connection.recv(65536)
        except gevent.Timeout:
            outcome = "timeout"
        except OSError as error:
            outcome = f"error: {error}"
        else:
            if answer.startswith(b"HTTP/1.1 200 "):
                self._idle.append(connection)
                return "ok"
            outcome = "error: not a 200"
        if connection is not None:
            connection.close()
        return outcome

    def _direct(self) -> socket.socket:
        connection = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        connection.connect(self._address)
        return connection

    def _resolved(self) -> socket.socket:
        return socket.create_connection(self._address)


if __name__ == "__main__":
    load = Load.from_argument(sys.argv[1])
    Driver(load, BareClient(load).attempt).run()
