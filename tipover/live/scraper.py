"""What our own target says of itself while a run goes on, twice a second."""

from __future__ import annotations

import threading
import time

from tipover.live.progress import ProgressFeed
from tipover.live.record import RunRecord
from tipover.live.target import TargetClient

_SCRAPE_EVERY_S = 0.5


class Scraper:
    """Reads our own target's state twice a second, writes it down and tells the feed."""

    def __init__(self, target: TargetClient, record: RunRecord, feed: ProgressFeed) -> None:
        self._target = target
        self._record = record
        self._feed = feed
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._scrape, name="scraper", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Scrape once more, for the end of the run, and stop."""
        self._over.set()
        self._thread.join(10)
        self._record.facts["final_server_state"] = self._once()

    def _scrape(self) -> None:
        while not self._over.wait(_SCRAPE_EVERY_S):
            try:
                self._once()
            except OSError as error:
                self._record.fault(f"server.jsonl could not be written: {error}")
                return

    def _once(self) -> dict[str, object] | None:
        start_s = self._feed.start_monotonic_s
        # Our clock, not the target's: it may be on another machine. The middle of the exchange is closest.
        asked_s = time.monotonic()
        state = self._target.state()
        if state is not None:
            self._feed.take_server_state(state)
        if state is not None and start_s is not None:
            self._record.add_server_state((asked_s + time.monotonic()) / 2 - start_s, state)
        return state
