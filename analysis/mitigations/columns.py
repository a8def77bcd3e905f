"""The columns of the matrix: what each measures, how its numbers read, and which way is better."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from analysis.mitigations.trials import ERROR_RATES, OVERLOADS, Numbers, error_key, overload_key
from analysis.wording import ABSENT, number

Unit = Literal["outcome", "share", "s", "1"]
STORM, OVERLOAD, ERRORS, HEALTHY, FAILING = GROUPS = (
    "the storm",
    "overload that lasts: goodput",
    "healthy, random errors: share of jobs",
    "healthy: added latency",
    "all fail: attempts a job",
)
RECOVERY, ANSWERED = "recovery_s", "storm_answered"
NONE_NEEDED = "none needed"
"""The recovery of a service that never failed."""
_PREFIXES = {OVERLOAD: "goodput", HEALTHY: "added", FAILING: "A"}


@dataclass(frozen=True, slots=True)
class Column:
    """One measure. ``good`` and ``bad`` are the values at the ends of its colours, in scenario time.

    For a time they are in timeouts; both None where no way is better.
    """

    key: str
    group: str
    heading: str
    meaning: str
    unit: Unit
    good: float | None = None
    bad: float | None = None

    @property
    def words(self) -> str:
        """Its heading where its group is not named."""
        return f"{_PREFIXES.get(self.group, '')} {self.heading}".strip()

    def badness(
        self, value: float | None, timeout_s: float, outcomes: Mapping[str, int] | None = None
    ) -> float | None:
        """Where a value lies between good (0) and bad (1); None where it is not known or means neither.

        ``outcomes`` are those of the row: a recovery that no seed needs is good.
        """
        if self._is_not_needed(outcomes):
            return 0.0
        if value is None or self.good is None or self.bad is None or math.isnan(value):
            return None
        scale = timeout_s if self.unit == "s" else 1.0
        return min(1.0, max(0.0, (value / scale - self.good) / (self.bad - self.good)))

    def text(self, value: float | None, outcomes: Mapping[str, int]) -> str:
        """The cell; ``outcomes`` are those of the row."""
        if self.unit == "outcome":
            return outcome_text(outcomes)
        if self._is_not_needed(outcomes):
            return NONE_NEEDED
        if value is None:
            return ABSENT
        if self.unit == "share":
            return share_text(value)
        return number(value, 3 if value >= 0.1 else 2) if self.unit == "1" else time_text(value)

    def _is_not_needed(self, outcomes: Mapping[str, int] | None) -> bool:
        return self.key == RECOVERY and outcomes is not None and set(outcomes) == {"healthy"}


_STORM = (
    Column("down", STORM, "outcome", "what becomes of the scenario's own storm", "outcome", 0.0, 1.0),
    Column(
        RECOVERY,
        STORM,
        "recovery",
        "from the end of the trigger to the last failing attempt: the median of the seeds that recover; "
        f"{NONE_NEEDED} where all are healthy",
        "s",
        0.0,
        30.0,
    ),
    Column(
        ANSWERED,
        STORM,
        "answered",
        "share of the jobs due in trigger and watch that were answered in time: the median of the seeds",
        "share",
        1.0,
        0.0,
    ),
    Column(
        "end_goodput",
        STORM,
        "end goodput",
        "jobs answered in time over jobs, in the last fifth of the watch",
        "share",
        1.0,
        0.0,
    ),
    Column(
        "wasted",
        STORM,
        "wasted work",
        "share of the service's busy time, in trigger and watch, spent on attempts nobody waited for",
        "share",
        0.0,
        1.0,
    ),
)
_ERRORS = (
    ("refused", "refused", "jobs whose first attempt the client itself refuses"),
    ("turned_away", "rejected", "jobs whose first attempt the service turns away"),
    ("failed", "fail", "jobs that have no answer in the end"),
)
_REST = (
    Column(
        "added_p50_s",
        HEALTHY,
        "p50",
        "median latency of answered jobs, less that without any mitigation",
        "s",
        0.0,
        0.1,
    ),
    Column("added_p99_s", HEALTHY, "p99", "the same of the 99th percentile", "s", 0.0, 0.1),
    Column(
        "predicted_amplification",
        FAILING,
        "predicted",
        "attempts a job while every attempt fails, by the law of the client's budget",
        "1",
    ),
    Column("amplification", FAILING, "measured", "the same in an outage, once it has settled", "1"),
)


def _overload(factor: float) -> Column:
    meaning = (
        "jobs answered in time over what the service can serve, while first attempts alone arrive at "
        f"{factor:g} times its capacity"
    )
    return Column(overload_key(factor), OVERLOAD, f"{factor:g}×", meaning, "share", 1.0, 0.0)


def _errors(key: str, heading: str, meaning: str, rate: float) -> Column:
    percent = f"{100 * rate:g}%"
    meaning = f"{meaning}, while the service is healthy and {percent} of its answers are errors"
    return Column(error_key(key, rate), ERRORS, f"{heading} {percent}", meaning, "share", 0.0, 0.1)


COLUMNS = (
    *_STORM,
    *map(_overload, OVERLOADS),
    *(_errors(*words, rate) for words in _ERRORS for rate in ERROR_RATES),
    *_REST,
)


def outcome_text(outcomes: Mapping[str, int]) -> str:
    """The outcome of all seeds in a word, or each with how many: "recovered 18, trapped 2"."""
    if not outcomes:
        return ABSENT
    ordered = sorted(outcomes.items(), key=lambda entry: (-entry[1], entry[0]))
    if len(ordered) == 1:
        return ordered[0][0]
    return ", ".join(f"{word} {count}" for word, count in ordered)


def share_text(value: float) -> str:
    """A share as a percentage, with a decimal below ten."""
    percent = 100.0 * value
    if 0.0 < percent < 0.05:
        return "<0.1%"
    return f"{percent:.0f}%" if percent >= 9.95 or percent == 0 else f"{percent:.1f}%"


def time_text(value_s: float) -> str:
    """A duration in milliseconds below a second, with its sign where it is negative."""
    if abs(value_s) < 1.0:
        ms = number(1000.0 * value_s, 2) if abs(value_s) >= 5e-4 else "0"
        return f"{ms} ms" if ms != "0" else "0"
    return f"{number(value_s, 3)} s"


def cells(values: Numbers, outcomes: Mapping[str, int]) -> list[str]:
    """The texts of a row, one a column."""
    return [column.text(values.get(column.key), outcomes) for column in COLUMNS]
