"""A count that is asked for beside the test, so that a slow answer holds up nothing that steers the load."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

ASK_EVERY_S = 0.5


class Counting:
    """Calls ``ask`` every ``ASK_EVERY_S`` in a daemon thread, between entering and leaving.

    ``ask`` gives a number, or None if it has none now; one that raises ends the counting.
    """

    def __init__(self, ask: Callable[[], float | None]) -> None:
        self._ask = ask
        self._over = threading.Event()
        self._lock = threading.Lock()
        self._latest: float | None = None

    def __enter__(self) -> Counting:
        threading.Thread(target=self._keep_asking, name="received", daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()

    def take(self) -> float | None:
        """What was counted last; None if nothing has come since it was taken. Returns at once."""
        with self._lock:
            latest, self._latest = self._latest, None
        return latest

    def _keep_asking(self) -> None:
        while not self._over.is_set():
            began_s = time.monotonic()
            value = self._ask()
            with self._lock:
                self._latest = value
            self._over.wait(max(0.0, began_s + ASK_EVERY_S - time.monotonic()))
