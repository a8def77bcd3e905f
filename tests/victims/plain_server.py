"""Python's own single-threaded HTTP server: ``plain_server.py PORT WORK_S BACKLOG``."""

from __future__ import annotations

import sys
import time
from http.server import BaseHTTPRequestHandler, HTTPServer

PORT, WORK_S, BACKLOG = int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])


class Work(BaseHTTPRequestHandler):
    """Answers every GET after the service time."""

    def do_GET(self) -> None:
        """Sleep, then answer; a client that has gone is no error."""
        time.sleep(WORK_S)
        try:
            self.send_response(200)
            self.send_header("Content-Length", "4")
            self.end_headers()
            self.wfile.write(b"done")
        except OSError:
            self.close_connection = True

    def log_message(self, *args: object) -> None:
        """Nothing."""


class Server(HTTPServer):
    """With a kernel queue of the wanted length."""

    request_queue_size = BACKLOG


if __name__ == "__main__":
    Server(("127.0.0.1", PORT), Work).serve_forever()
