"""The counts as Prometheus metrics, on a registry that is passed in; never on the global one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from prometheus_client.registry import Collector

from meter import names
from meter.counting import AttemptCounts

ServerState = Mapping[str, Any]
"""The fields of the target's ``/state``, or as many of them as are known."""


def exposition(registry: CollectorRegistry) -> tuple[str, bytes]:
    """The content type and the body of a scrape, in the text format every Prometheus reads."""
    return CONTENT_TYPE_PLAIN_0_0_4, generate_latest(registry)


class AttemptCollector(Collector):
    """Attempts, outcomes, durations and refusals out of one ``AttemptCounts``."""

    def __init__(self, counts: AttemptCounts) -> None:
        self._counts = counts

    def collect(self) -> Iterator[Metric]:
        """The families, as they stand now."""
        counts = self._counts
        yield _counter(
            names.ATTEMPTS, names.LABEL_ATTEMPT, {names.FIRST: counts.first, names.RETRY: counts.retries}
        )
        yield _counter(names.OUTCOMES, names.LABEL_OUTCOME, counts.outcomes)
        yield _gauge(names.INFLIGHT, counts.inflight)
        durations = HistogramMetricFamily(names.ATTEMPT_DURATION, names.HELP[names.ATTEMPT_DURATION])
        rows = counts.cumulative_durations()
        buckets = [("+Inf" if bound == float("inf") else repr(bound), float(total)) for bound, total in rows]
        durations.add_metric([], buckets, counts.duration_sum_s)
        yield durations
        yield _counter(names.REFUSALS, names.LABEL_REASON, counts.refusals)


_GAUGES = (
    (names.QUEUE_DEPTH, "queue_depth"),
    (names.BACKLOG, "backlog_s"),
    (names.REPLICAS, "replicas"),
    (names.CAPACITY, "capacity_per_s"),
)
_COUNTERS = ((names.BUSY, "busy_s"), (names.ABANDONED_WORK, "abandoned_s"), (names.POD_SECONDS, "pod_s"))


class ServerCollector(Collector):
    """Queue, backlog, work and pods out of a callable that gives the target's state."""

    def __init__(self, state: Callable[[], ServerState]) -> None:
        self._state = state

    def collect(self) -> Iterator[Metric]:
        """The families, as they stand now; what the state lacks is left out."""
        state = self._state()
        for name, field in _GAUGES:
            if field in state:
                yield _gauge(name, state[field])
        for name, field in _COUNTERS:
            if field in state:
                yield _counter(name, None, {"": state[field]})
        if "pods" in state and "in_service" in state:
            yield _pods(state)


def _pods(state: ServerState) -> GaugeMetricFamily:
    pods, in_service = int(state["pods"]), int(state["in_service"])
    draining = int(state.get("draining", max(0, in_service - pods)))
    family = GaugeMetricFamily(names.PODS, names.HELP[names.PODS], labels=[names.LABEL_STATE])
    family.add_metric(["busy"], in_service - draining)
    family.add_metric(["idle"], pods - in_service + draining)
    family.add_metric(["draining"], draining)
    family.add_metric(["starting"], int(state.get("starting", 0)))
    return family


class BuildInfoCollector(Collector):
    """The version, as a label of a gauge that is always 1."""

    def __init__(self, version: str) -> None:
        self._version = version

    def collect(self) -> Iterator[Metric]:
        """The one family."""
        info = GaugeMetricFamily(names.BUILD_INFO, names.HELP[names.BUILD_INFO], labels=[names.LABEL_VERSION])
        info.add_metric([self._version], 1)
        yield info


class ServerPage:
    """The target's ``/metrics``: called with the state of the moment, gives content type and body."""

    def __init__(self, registry: CollectorRegistry, counts: AttemptCounts, version: str) -> None:
        self._registry = registry
        self._state: ServerState = {}
        for collector in (
            BuildInfoCollector(version),
            AttemptCollector(counts),
            ServerCollector(lambda: self._state),
        ):
            registry.register(collector)

    def __call__(self, state: ServerState) -> tuple[str, bytes]:
        """A scrape that shows ``state``."""
        self._state = state
        return exposition(self._registry)


def _counter(name: str, label: str | None, values: Mapping[str, float]) -> CounterMetricFamily:
    labels = [] if label is None else [label]
    family = CounterMetricFamily(name, names.HELP[name], labels=labels)
    for key, value in dict(values).items():  # a copy: another thread may be counting
        family.add_metric([key] if labels else [], value)
    return family


def _gauge(name: str, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(name, names.HELP[name], value=value)
