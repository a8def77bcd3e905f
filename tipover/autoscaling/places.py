"""Pages and Prometheus servers that are asked, found anew when they have moved."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from urllib.parse import urlsplit

from domain.errors import ConfigurationError
from tipover.autoscaling.exposition import Counters, counters_in
from tipover.autoscaling.readings import Reading
from tipover.trigger.guards.bounded_http import get
from tipover.trigger.guards.prometheus import PrometheusClient
from tipover.trigger.guards.resolution import Resolved, resolve_watched

Clock = Callable[[], float]


class ScrapedPage:
    """One ``/metrics`` page. Its host is resolved once, and again after a scrape that failed.

    Raises ``ConfigurationError`` for a URL that is not usable; a name that does not resolve yet may later.
    """

    def __init__(self, url: str, within_s: float, now: Clock) -> None:
        """``now`` is the time since the epoch."""
        self.name = _named(url)
        self._url = url
        self._within_s = within_s
        self._now = now
        self._place: Resolved | None = None
        try:
            self._place = resolve_watched(url, "--scrape")
        except ConfigurationError as error:
            if error.faults:
                raise

    def counters(self) -> tuple[float, Counters]:
        """What it shows, at the time halfway between the question and the answer."""
        place = self._place or _found(self._url)
        self._place = None
        asked_s = self._now()
        answer = get(self._url, place, self._within_s)
        at_s = (asked_s + self._now()) / 2
        if answer.status != 200:
            raise OSError(answer.error or f"status {answer.status}")
        try:
            counters = counters_in(answer.body.decode())
        except ValueError as error:
            raise OSError(f"no page of metrics: {error}") from error
        self._place = place
        return at_s, counters


class PrometheusPlace:
    """A Prometheus that may be somewhere else after it did not answer.

    Raises ``ConfigurationError`` like ``PrometheusClient``, but not for a name that does not resolve yet.
    """

    def __init__(self, url: str, within_s: float) -> None:
        self._url = url
        self._within_s = within_s
        self._lock = threading.Lock()
        self._client: PrometheusClient | None = None
        try:
            self._client = PrometheusClient(url, within_s=within_s)
        except ConfigurationError as error:
            if error.faults:
                raise

    def read(self, query: str) -> Reading:
        """What the query gives now."""
        try:
            with self._lock:
                client = self._client = self._client or PrometheusClient(self._url, within_s=self._within_s)
        except ConfigurationError as error:
            return Reading(None, str(error))
        said = client.read(query)
        if said.value is None:
            self._client = None
        return Reading(said.value, said.error)


def since(epoch_s: float) -> Clock:
    """The monotonic clock, from the epoch on."""
    return lambda: time.monotonic() - epoch_s


def _found(url: str) -> Resolved:
    try:
        return resolve_watched(url, "--scrape")
    except ConfigurationError as error:
        raise OSError(str(error)) from error


def _named(url: str) -> str:
    """As it may stand in a log: without a query or credentials."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "the page"
    return f"{parts.netloc.rpartition('@')[2]}{parts.path}"
