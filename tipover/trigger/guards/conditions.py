"""The watch beside the test: what is asked every half second, and whether it says stop.

Each condition is asked in a daemon thread of its own, so that a slow one delays neither another nor the end
of the process. Nothing waits for a thread: one that hangs is noticed as silence, which fails.
"""

from __future__ import annotations

import ssl
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from domain.errors import ConfigurationError, Fault
from domain.trigger.guards_plan import Guards
from domain.trigger.stop_conditions import (
    HEALTH_TIMEOUT_S,
    ForWindow,
    Sample,
    judge_health,
    judge_query,
)
from tipover.trigger.guards.bounded_http import default_tls, get
from tipover.trigger.guards.prometheus import PrometheusClient
from tipover.trigger.guards.resolution import Lookup, Resolved, resolve_watched

POLL_EVERY_S = 0.5
_MOST_SAMPLES = 20_000


@dataclass(frozen=True, slots=True)
class Watched:
    """One condition: how to look at it (given the time), its limit in words and its window."""

    name: str
    limit: str
    for_s: float
    look: Callable[[float], Sample]


class Watchman:
    """Looks at all conditions every ``POLL_EVERY_S`` until ``stop``, and remembers the first that tripped.

    Times are seconds since ``origin_s`` of the monotonic clock (None: since ``start``).
    """

    def __init__(self, watched: Iterable[Watched], origin_s: float | None = None) -> None:
        self.watched = tuple(watched)
        self._origin_s = origin_s
        self._windows: dict[str, ForWindow] = {}
        self._samples: deque[Sample] = deque(maxlen=_MOST_SAMPLES)
        self._tripped: str | None = None
        self._over = threading.Event()
        self._changed = threading.Condition()

    def __enter__(self) -> Watchman:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Begin to look; returns at once."""
        if self._origin_s is None:
            self._origin_s = time.monotonic()
        now_s = self._now_s()
        self._windows = {
            each.name: ForWindow(each.name, each.limit, each.for_s, now_s) for each in self.watched
        }
        for each in self.watched:
            threading.Thread(target=self._keep_looking, args=(each,), name=each.name, daemon=True).start()

    def stop(self) -> None:
        """Look no more; returns at once, whatever a thread is waiting for."""
        self._over.set()

    def tripped(self) -> str | None:
        """Why to stop, in a sentence that stays once it is said; None while all is well."""
        with self._changed:
            if self._tripped is None and not self._over.is_set():
                said = (window.tripped(self._now_s()) for window in self._windows.values())
                self._tripped = next((sentence for sentence in said if sentence is not None), None)
            return self._tripped

    @property
    def samples(self) -> tuple[Sample, ...]:
        """Everything that was seen, for the record, in the order it came."""
        with self._changed:
            return tuple(self._samples)

    def refuse_unless_well(self, within_s: float = 3.0) -> None:
        """Wait for a first look at every condition; raise ``ConfigurationError`` with all that are not well,
        or that gave none within ``within_s``: a test does not begin against a warning that is lit
        already."""
        with self._changed:
            self._changed.wait_for(lambda: len(self._first()) == len(self.watched), within_s)
            first = self._first()
        faults = [
            Fault(each.name, f"must be well before anything is sent ({each.limit})", first[each.name].seen)
            if each.name in first
            else Fault(each.name, f"gave no sample within {within_s:g} s", None)
            for each in self.watched
            if each.name not in first or not first[each.name].well
        ]
        if faults:
            raise ConfigurationError("a stop condition holds already; nothing was sent", faults)

    def _first(self) -> dict[str, Sample]:
        found: dict[str, Sample] = {}
        for sample in self._samples:
            found.setdefault(sample.condition, sample)
        return found

    def _keep_looking(self, each: Watched) -> None:
        while not self._over.is_set():
            began_s = time.monotonic()
            try:
                sample = each.look(self._now_s())
            except Exception as error:  # a look that breaks is a look that failed; the watch goes on
                sample = Sample(self._now_s(), each.name, False, f"{type(error).__name__}: {error}")
            with self._changed:
                self._samples.append(sample)
                self._windows[each.name].take(sample)
                self._changed.notify_all()
            self._over.wait(max(0.0, began_s + POLL_EVERY_S - time.monotonic()))

    def _now_s(self) -> float:
        return time.monotonic() - (self._origin_s or 0.0)


def watchman_for(
    guards: Guards,
    *,
    prometheus: PrometheusClient | None = None,
    ca_file: str | None = None,
    origin_s: float | None = None,
    lookup: Lookup | None = None,
) -> Watchman:
    """The watch that a test's guards ask for, not yet started; without any condition it never trips.

    Raises ``ConfigurationError`` for a URL that cannot be used, and for a query without a Prometheus.
    """
    watched = []
    if guards.health_url is not None:
        watched.append(health_condition(guards.health_url, guards.health_for_s, ca_file, lookup))
    if guards.stop_query is not None:
        client = prometheus or _client(guards, ca_file, lookup)
        watched.append(query_condition(client, guards.stop_query, guards.stop_for_s))
    return Watchman(watched, origin_s)


def health_condition(
    url: str, for_s: float, ca_file: str | None = None, lookup: Lookup | None = None
) -> Watched:
    """A bystander that must answer 2xx within its own timeout of 1 s; redirects are not followed."""
    place = resolve_watched(url, "health_url", lookup=lookup)
    tls = default_tls(ca_file) if place.scheme == "https" else None
    name = f"health of {place.host}:{place.port}"
    limit = f"2xx within {HEALTH_TIMEOUT_S:g} s"
    return Watched(name, limit, for_s, lambda t_s: _health(t_s, name, url, place, tls))


def query_condition(client: PrometheusClient, query: str, for_s: float) -> Watched:
    """A query that must give one number, not above 0."""
    name = f"query {query}"

    def look(t_s: float) -> Sample:
        reading = client.read(query)
        return judge_query(t_s, name, reading.value, reading.error)

    return Watched(name, "one number, at most 0", for_s, look)


def _health(t_s: float, name: str, url: str, place: Resolved, tls: ssl.SSLContext | None) -> Sample:
    answer = get(url, place, HEALTH_TIMEOUT_S, tls=tls)
    return judge_health(t_s, name, answer.status, answer.error)


def _client(guards: Guards, ca_file: str | None, lookup: Lookup | None) -> PrometheusClient:
    if guards.prometheus is None:
        fault = Fault("stop_query", "needs prometheus, the URL it is asked of", guards.stop_query)
        raise ConfigurationError("the stop conditions are not usable; nothing was sent", [fault])
    return PrometheusClient(guards.prometheus, ca_file=ca_file, lookup=lookup)
