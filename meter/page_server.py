"""A small HTTP server for ``/metrics`` beside a process that is busy with something else.

Plain ``http.server`` in a daemon thread: in the load generator, where gevent has replaced threads and
sockets, the same code runs on greenlets.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from prometheus_client import CollectorRegistry

from domain.errors import ConfigurationError, Fault
from meter.exporter import exposition

Page = Callable[[], tuple[int, str, bytes]]
"""Makes a page: status, content type, body."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False  # a scraper that hangs must not hold up the end of a run

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A scraper that goes away in the middle is no fault of ours."""


class MetricsServer:
    """Serves ``registry`` and ``pages`` (by path) on ``host:port`` (0: any free port) until closed.

    Raises ConfigurationError if the address cannot be bound.
    """

    def __init__(
        self,
        registry: CollectorRegistry,
        host: str = "127.0.0.1",
        port: int = 0,
        pages: Mapping[str, Page] | None = None,
    ) -> None:
        try:
            self._server = _Server((host, port), _handler(registry, pages or {}))
        except OSError as error:
            raise ConfigurationError(
                f"metrics cannot be served on {host}:{port}: {error.strerror}",
                [Fault("metrics port", str(error.strerror), port)],
            ) from error
        self.port = int(self._server.server_address[1])
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.1}, name="metrics", daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        """Stop answering and free the port."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(timeout=2.0)


def _handler(registry: CollectorRegistry, pages: Mapping[str, Page]) -> type[BaseHTTPRequestHandler]:
    def metrics() -> tuple[int, str, bytes]:
        return 200, *exposition(registry)

    every = {**pages, "/metrics": metrics}

    class Handler(BaseHTTPRequestHandler):
        timeout = 10

        def do_GET(self) -> None:
            page = every.get(self.path.partition("?")[0])
            if page is None:
                self.send_error(404)
                return
            status, content_type, body = page()
            self.send_response(status)
            self.send_header("Content-Type", content_type)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_arguments: Any) -> None:
            """Nothing: a scrape every few seconds is not news."""

    return Handler
