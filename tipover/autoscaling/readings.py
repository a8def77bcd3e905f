"""What the signals read: from pages that are scraped, or from a Prometheus."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from domain.cumulative import Cumulative
from domain.fleet import Fleet, Signal
from tipover.autoscaling.exposition import ATTEMPTS, BUSY, FIRST, POD_SECONDS, Counters
from tipover.autoscaling.together import together

NEEDS: dict[Signal, tuple[str, ...]] = {"cpu": (BUSY, POD_SECONDS), "ingress": (ATTEMPTS,), "first": (FIRST,)}
"""The counters a signal is made of: rates, or the rate of the first over that of the second."""

_MOST = 1e15
"""A larger reading is a fault of whoever shows it; pods made of it could be beyond any float."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What a signal reads: the used share of the ready pods for CPU, attempts/s for the others. None when
    it is in error, for the reason in ``error``."""

    value: float | None
    error: str = ""


class Readings(Protocol):
    """Where the signals are read from. Times are in seconds since the epoch."""

    needs_looks: bool
    """Whether it must be looked at between decisions too."""

    def look(self) -> None:
        """Ask now; raises nothing for what others do wrong."""

    def read(self, at_s: float) -> dict[Signal, Reading]:
        """The signals as they stand at ``at_s``, after a look."""


class CounterPage(Protocol):
    """A page with counters."""

    @property
    def name(self) -> str:
        """How it is called in an error."""

    def counters(self) -> tuple[float, Counters]:
        """When (seconds since the epoch) it showed what; raises ``OSError`` with the reason if not."""


@dataclass(frozen=True, slots=True)
class Source:
    """A page and the signals it is asked for."""

    page: CounterPage
    signals: frozenset[Signal]


class ScrapedReadings:
    """Mean rates of the sum of the counters of all pages, over windows that ended ``metric_lag_s`` ago.

    A window begins no earlier than the first scrape. It ends at the newest scrape if that was at most one
    and a half intervals too early (one scrape may fail); if not, the reading is in error. A page that was
    away for longer than a window begins again. A page that answers without a counter adds nothing to it.
    """

    needs_looks = True

    def __init__(self, sources: Sequence[Source], fleet: Fleet, interval_s: float) -> None:
        self._sources = list(sources)
        self._fleet = fleet
        self._slack_s = 1.5 * interval_s
        windows = [fleet.window_s(signal) for signal in fleet.signals]
        self._gap_s = max(2.0 * self._slack_s, *windows)
        self._keep_s = max(windows) + fleet.metric_lag_s + fleet.sync_period_s
        self._histories: list[dict[str, Cumulative]] = [{} for _ in self._sources]
        self._errors: list[str] = ["not asked yet" for _ in self._sources]
        self._lock = threading.Lock()

    def look(self) -> None:
        """Scrape every page, all at the same time."""
        together([lambda index=index: self._scrape(index) for index in range(len(self._sources))])  # type: ignore[misc]

    def read(self, at_s: float) -> dict[Signal, Reading]:
        """What each signal reads at ``at_s``."""
        with self._lock:
            return {signal: self._reading(signal, at_s) for signal in self._fleet.signals}

    def _scrape(self, index: int) -> None:
        source = self._sources[index]
        try:
            at_s, counters = source.page.counters()
        except OSError as error:
            with self._lock:
                self._errors[index] = str(error)
            return
        with self._lock:
            self._errors[index] = ""
            for name, value in counters.items():
                history = self._histories[index].get(name)
                if history is None:
                    history = self._histories[index][name] = Cumulative(self._keep_s, gap_s=self._gap_s)
                history.add(at_s, value)

    def _reading(self, signal: Signal, at_s: float) -> Reading:
        rates = []
        for name in NEEDS[signal]:
            rate = self._rate(name, signal, at_s)
            if rate.value is None:
                return rate
            rates.append(rate.value)
        if len(rates) == 1:
            return _usable(Reading(rates[0]), "the page")
        used, possible = rates
        if possible <= 0:
            return Reading(None, "no pod was ready in the window")
        return _usable(Reading(used / possible), "the page")

    def _rate(self, name: str, signal: Signal, at_s: float) -> Reading:
        """The sum over pages of the mean rate of a counter."""
        stop_s = at_s - self._fleet.metric_lag_s
        start_s = stop_s - self._fleet.window_s(signal)
        total, shown = 0.0, False
        for source, histories, error in zip(self._sources, self._histories, self._errors, strict=True):
            if signal not in source.signals:
                continue
            if name not in histories:
                if error:
                    return Reading(None, f"{source.page.name}: {error}")
                continue
            rate = histories[name].rate(start_s, stop_s, slack_s=self._slack_s)
            if rate is None:
                return Reading(None, f"{source.page.name}: {error or 'not scraped for long enough yet'}")
            total, shown = total + rate, True
        return Reading(total) if shown else Reading(None, f"no page shows {name}")


class Queries(Protocol):
    """Something that answers instant queries."""

    def read(self, query: str) -> Reading:
        """The number a query gives now, or why there is none; raises nothing."""


class QueriedReadings:
    """One instant query per signal, to a Prometheus that keeps the windows."""

    needs_looks = False

    def __init__(self, client: Queries, queries: Mapping[Signal, str]) -> None:
        self._client = client
        self._queries = dict(queries)
        self._latest: dict[Signal, Reading] = {}

    def look(self) -> None:
        """Ask for all signals at the same time."""
        asked: dict[Signal, Reading] = {}

        def ask(signal: Signal) -> None:
            asked[signal] = _usable(self._client.read(self._queries[signal]), "the query")

        together([lambda signal=signal: ask(signal) for signal in self._queries])  # type: ignore[misc]
        self._latest = {signal: asked.get(signal, Reading(None, "no answer")) for signal in self._queries}

    def read(self, at_s: float) -> dict[Signal, Reading]:  # noqa: ARG002
        """What the last look gave."""
        return dict(self._latest)


def _usable(reading: Reading, source: str) -> Reading:
    """NaN and infinity (0 over 0, say), rates below 0 and such as no service has are errors here."""
    value = reading.value
    if value is None or 0.0 <= value <= _MOST:
        return reading
    return Reading(None, f"{source} gives {value:g}")


def default_queries(fleet: Fleet) -> dict[Signal, str]:
    """The queries that read what scraping reads, for each signal of the fleet."""
    cpu, rate, lag = (
        _duration(seconds) for seconds in (fleet.cpu_window_s, fleet.rate_window_s, fleet.metric_lag_s)
    )
    offset = f" offset {lag}" if fleet.metric_lag_s > 0 else ""
    every: dict[Signal, str] = {
        "cpu": f"sum(rate(tipover_busy_seconds_total[{cpu}]{offset}))"
        f" / sum(rate(tipover_pod_seconds_total[{cpu}]{offset}))",
        "ingress": f"sum(rate(tipover_attempts_total[{rate}]{offset}))",
        "first": f'sum(rate(tipover_attempts_total{{attempt="first"}}[{rate}]{offset}))',
    }
    return {signal: every[signal] for signal in fleet.signals}


def _duration(seconds: float) -> str:
    """As PromQL writes it: whole milliseconds, at least one."""
    milliseconds = max(1, round(1000 * seconds))
    return f"{milliseconds}ms" if milliseconds % 1000 else f"{milliseconds // 1000}s"
