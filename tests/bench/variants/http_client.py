"""geventhttpclient's ``HTTPClient``, one shared by all greenlets, with its own timeouts and pool."""

from __future__ import annotations

import sys

from geventhttpclient import HTTPClient

from tests.bench.load import REQUEST_PATH, Load
from tests.bench.variants.greenlets import Attempt, Driver

_MORE_THAN_EVER_OPEN = 10_000


def make_attempt(load: Load) -> Attempt:
    """One request and its whole answer; the client itself throws a connection away that timed out."""
    client = HTTPClient(
        "127.0.0.1",
        load.port,
        concurrency=_MORE_THAN_EVER_OPEN,
        connection_timeout=load.timeout_s,
        network_timeout=load.timeout_s,
    )

    def attempt() -> str:
        try:
            response = client.get(REQUEST_PATH)
            response.read()
        except TimeoutError:
            return "timeout"
        except OSError as error:
            return f"error: {error}"
        return "ok" if response.status_code == 200 else "rejected"

    return attempt


if __name__ == "__main__":
    load = Load.from_argument(sys.argv[1])
    Driver(load, make_attempt(load)).run()
