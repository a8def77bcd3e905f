"""The domain of every quantity the laws take, and the error for a value outside it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from domain.errors import Fault


class DomainError(ValueError):
    """Values for which a law has no meaning; ``faults`` has one entry for each."""

    def __init__(self, faults: Sequence[Fault]) -> None:
        self.faults = tuple(faults)
        super().__init__("; ".join(str(fault) for fault in self.faults))


@dataclass(frozen=True, slots=True)
class Rule:
    """What must hold of a value, in words and as a test that NaN fails."""

    words: str
    holds: Callable[[float | Fraction], bool]


_POSITIVE = Rule("must be positive and finite", lambda value: 0 < value < math.inf)
_NOT_NEGATIVE = Rule("must be finite and at least 0", lambda value: 0 <= value < math.inf)
_ABOVE_ZERO = Rule("must be positive", lambda value: value > 0)
_AT_LEAST_ONE = Rule("must be at least 1", lambda value: value >= 1)
_UNIT_INTERVAL = Rule("must lie in [0, 1]", lambda value: 0 <= value <= 1)
_COUNT = Rule("must be a whole number of at least 0", lambda value: value >= 0 and value % 1 == 0)
_COUNT_FROM_ONE = Rule("must be a whole number of at least 1", lambda value: value >= 1 and value % 1 == 0)

RULES = {
    "amplification": _AT_LEAST_ONE,
    "arrival_rate_per_s": _NOT_NEGATIVE,
    "base_failure": Rule("must lie in [0, 1)", lambda value: 0 <= value < 1),
    "budget": _NOT_NEGATIVE,
    "capacity_ceiling_per_s": _ABOVE_ZERO,
    "capacity_per_s": _POSITIVE,
    "cut_duration_s": _NOT_NEGATIVE,
    "cut_factor": _ABOVE_ZERO,
    "depth": _NOT_NEGATIVE,
    "dispersion": _NOT_NEGATIVE,
    "squared_variation": _NOT_NEGATIVE,
    "drift_per_s": _POSITIVE,
    "failure_probability": _UNIT_INTERVAL,
    "hops": _COUNT_FROM_ONE,
    "load": _NOT_NEGATIVE,
    "max_attempts": _AT_LEAST_ONE,
    "offered_utilization": _UNIT_INTERVAL,
    "queue_cap": _COUNT,
    "ratio": _POSITIVE,
    "retry_cost": _POSITIVE,
    "services": _COUNT_FROM_ONE,
    "slack": _POSITIVE,
    "spike_duration_s": _NOT_NEGATIVE,
    "spike_factor": _POSITIVE,
    "steps": _COUNT,
    "target_utilization": Rule("must lie in (0, 1)", lambda value: 0 < value < 1),
    "timeout_s": _POSITIVE,
    "timeout_slack": _POSITIVE,
    "tolerance": _POSITIVE,
    "utilization": _NOT_NEGATIVE,
    "variance": _NOT_NEGATIVE,
    "width": _POSITIVE,
}
"""The rule of every field, by its name: a field means the same in every law that takes it."""


def check(**values: float) -> None:
    """Raise ``DomainError`` with every value that breaks its field's rule."""
    if faults := faults_of(values):
        raise DomainError(faults)


def faults_of(
    values: Mapping[str, float | Fraction], given: Mapping[str, object] | None = None
) -> list[Fault]:
    """The values that break their field's rule, shown as they were ``given``."""
    return [
        Fault(field, RULES[field].words, value if given is None else given[field])
        for field, value in values.items()
        if not RULES[field].holds(value)
    ]


def require(ok: bool, field: str, rule: str, value: object) -> None:
    """Raise ``DomainError`` unless ``ok``: for what depends on more than one value."""
    if not ok:
        raise DomainError([Fault(field, rule, value)])
