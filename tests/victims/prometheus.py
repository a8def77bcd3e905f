"""A Prometheus API of one counter: ``/api/v1/query`` answers any query with what a function counts."""

from __future__ import annotations

import json
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

WITHIN_S = 0.8
"""Less than tipover waits for a Prometheus."""


@contextmanager
def prometheus(counted: Callable[[], float]) -> Iterator[str]:
    """The base URL of an API that asks ``counted`` at every query, and fails as Prometheus does if it
    cannot."""

    class Api(BaseHTTPRequestHandler):
        """``GET /api/v1/query``."""

        def do_GET(self) -> None:
            """One sample, or why there is none."""
            try:
                sample = {"metric": {}, "value": [time.time(), str(counted())]}
                data = {"resultType": "vector", "result": [sample]}
                status, said = 200, {"status": "success", "data": data}
            except OSError as error:
                status, said = 503, {"status": "error", "errorType": "timeout", "error": str(error)}
            body = json.dumps(said).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: object) -> None:
            """Nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Api)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def number_at(url: str) -> Callable[[], float]:
    """A counter that a plain page shows, as Flask's ``/received`` does."""
    return lambda: float(_text(url))


def envoy_counter(admin_url: str, name: str = "cluster.back.upstream_rq_total") -> Callable[[], float]:
    """A counter of Envoy's own statistics: what it has sent to the service, tries again included."""

    def counted() -> float:
        return float(_text(f"{admin_url}/stats?filter=^{name}$").partition(":")[2])

    return counted


def _text(url: str) -> str:
    with urllib.request.urlopen(url, timeout=WITHIN_S) as answer:
        text: str = answer.read().decode()
    return text
