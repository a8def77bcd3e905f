"""What a tail has read, as a Prometheus metric."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from prometheus_client.core import CounterMetricFamily, Metric
from prometheus_client.registry import Collector

from meter import names


class LogLinesCollector(Collector):
    """Lines by result, out of a tail's ``lines``."""

    def __init__(self, lines: Mapping[str, int]) -> None:
        self._lines = lines

    def collect(self) -> Iterator[Metric]:
        """The one family, as it stands now."""
        family = CounterMetricFamily(
            names.LOG_LINES, names.HELP[names.LOG_LINES], labels=[names.LABEL_RESULT]
        )
        for result, count in dict(self._lines).items():
            family.add_metric([result], count)
        yield family
