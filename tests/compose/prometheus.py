"""What a Prometheus says of a run, at the run's own times."""

from __future__ import annotations

import json
import math
import time
import urllib.parse
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from domain.experiment import Experiment

RATE_WINDOW_S = 15.0
"""That of the recording rules."""


@dataclass(frozen=True)
class Prometheus:
    """A Prometheus at ``url``."""

    url: str

    def ready(self) -> bool:
        """Whether it answers."""
        try:
            with urllib.request.urlopen(f"{self.url}/-/ready", timeout=2) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False

    def series(self, expression: str, at_s: float | None = None) -> list[tuple[dict[str, str], float]]:
        """Labels and values at a time of the wall clock (now, if none is given)."""
        asked = {"query": expression, **({} if at_s is None else {"time": f"{at_s:.3f}"})}
        with urllib.request.urlopen(
            f"{self.url}/api/v1/query?{urllib.parse.urlencode(asked)}", timeout=10
        ) as answer:
            found: list[dict[str, Any]] = json.load(answer)["data"]["result"]
        return [(one["metric"], float(one["value"][1])) for one in found]

    def value(self, expression: str, at_s: float | None = None) -> float:
        """The one value; NaN where there is none."""
        found = self.series(expression, at_s)
        assert len(found) <= 1, found
        return found[0][1] if found else math.nan


@dataclass(frozen=True)
class Settled:
    """The part of a run in which the rules' windows lie wholly in the settled watch; wall-clock times."""

    start_s: float
    end_s: float

    @classmethod
    def of(cls, facts: Mapping[str, Any], live: Experiment) -> Settled:
        """From the run's facts. Its time zero is on this machine's monotonic clock."""
        zero_s = facts["start_monotonic_s"] + time.time() - time.monotonic()
        watch_start_s, watch_end_s = live.watch
        settled_s = watch_start_s + (live.client.max_attempts + 1) * live.client.timeout_s
        return cls(zero_s + settled_s + RATE_WINDOW_S + 2.0, zero_s + watch_end_s)

    def mean(self, prometheus: Prometheus, rule: str) -> float:
        """What a rule recorded, on average."""
        span = f"{math.floor(self.end_s - self.start_s)}s"
        return prometheus.value(f"avg_over_time({rule}[{span}])", self.end_s)


def assert_rules_agree(
    prometheus: Prometheus, summary: Mapping[str, Any], facts: Mapping[str, Any], live: Experiment
) -> None:
    """Amplification, ingress, demand, Aρ within 5% and the goodput ratio within 0.05 of the run's own."""
    settled, measured = Settled.of(facts, live), summary["measured"]
    told = {
        name: settled.mean(prometheus, rule)
        for name, rule in {
            "amplification": "tipover:amplification:ratio",
            "ingress_per_s": "tipover:ingress:rate",
            "demand_per_s": "tipover:demand:rate",
            "utilization": "tipover:utilization:ratio",
            "amplified_utilization": "tipover:amplified_utilization:ratio",
            "goodput_ratio": "tipover:goodput:ratio",
        }.items()
    }
    print("Prometheus / the run:", {name: (round(value, 4), measured[name]) for name, value in told.items()})
    assert abs(told.pop("goodput_ratio") - measured["goodput_ratio"]) <= 0.05
    for name, value in told.items():
        assert abs(value / measured[name] - 1) <= 0.05, name


def alerts(prometheus: Prometheus, at_s: float) -> set[tuple[str, str]]:
    """Names and states (pending or firing) of the alerts."""
    return {(one["alertname"], one["alertstate"]) for one, _ in prometheus.series("ALERTS", at_s)}
