"""Where decisions go: a file of JSON lines, the terminal, a page of metrics."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from domain.errors import ConfigurationError, Fault
from meter import names
from tipover.autoscaling.decision import RESULTS, Decision


class DecisionLog:
    """Appends every decision to ``path`` as a line of JSON, and shows it on stderr if ``shown``.

    Raises ``ConfigurationError`` if the file cannot be opened. A line that cannot be written later is said
    once on stderr: scaling goes on.
    """

    def __init__(self, path: Path | None, *, shown: bool) -> None:
        self._shown = shown
        self._troubled = False
        try:
            self._file = None if path is None else path.open("ab", buffering=0)
        except OSError as error:
            faults = [Fault("--log", f"cannot be written: {error.strerror}", str(path))]
            raise ConfigurationError("the autoscaler cannot be started", faults) from error

    def close(self) -> None:
        """Write nothing more to the file."""
        file, self._file = self._file, None
        if file is not None:
            file.close()

    def __call__(self, decision: Decision) -> None:
        """Write it down."""
        file = self._file
        if file is not None:
            try:
                file.write(json.dumps(decision.to_json()).encode() + b"\n")
            except OSError as error:
                if not self._troubled:
                    print(f"the log of decisions cannot be written: {error.strerror}", file=sys.stderr)
                self._troubled = True
        if self._shown:
            print(decision.words(), file=sys.stderr, flush=True)


class DecisionCollector(Collector):
    """The last decision, and how many there have been, as metrics."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last: Decision | None = None
        self._made = dict.fromkeys(RESULTS, 0)

    def __call__(self, decision: Decision) -> None:
        """Count it."""
        with self._lock:
            self._last = decision
            self._made[decision.result] += 1

    def collect(self) -> Iterator[Metric]:
        """The families; what is not known has no sample."""
        with self._lock:
            last, made = self._last, dict(self._made)
        total = CounterMetricFamily(
            names.AUTOSCALER_DECISIONS,
            names.HELP[names.AUTOSCALER_DECISIONS],
            labels=[names.LABEL_RESULT],
        )
        for result, count in made.items():
            total.add_metric([result], count)
        yield total
        if last is None:
            return
        for name, by_signal in (
            (names.AUTOSCALER_READING, last.readings),
            (names.AUTOSCALER_PROPOSAL, last.proposals),
        ):
            family = GaugeMetricFamily(name, names.HELP[name], labels=[names.LABEL_SIGNAL])
            for signal, value in by_signal.items():
                if value is not None:
                    family.add_metric([signal], value)
            yield family
        for name, value in (
            (names.AUTOSCALER_WANTED, last.wanted),
            (names.AUTOSCALER_REPLICAS, last.replicas if last.error is not None else last.ordered),
            (names.AUTOSCALER_READY, last.ready),
        ):
            if value is not None:
                yield GaugeMetricFamily(name, names.HELP[name], value=value)
