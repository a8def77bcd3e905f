"""Whether per-hop retries may be shipped: the decision table of seed 003.

The source says two things: retrying is safe if and only if m^H ≤ slack (its predicate), and such a chain
without a deadline is to be treated as degraded (its decision boundary). ``retries_are_safe`` is the
predicate; ``decide`` follows the table.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from analysis.laws.amplification import hop_amplification
from analysis.laws.checks import check
from analysis.laws.elementwise import elementwise


class Verdict(Enum):
    """What to do about a chain of services that each retry."""

    SAFE = "safe"
    DEGRADED = "degraded"
    DO_NOT_SHIP = "do not ship"


@dataclass(frozen=True, slots=True)
class DecisionRow:
    """One row: the conditions it needs (None: whatever), its verdict and why."""

    deadline: bool | None
    shared_budget: bool | None
    fits: bool | None
    verdict: Verdict
    reason: str

    def matches(self, *, deadline: bool, shared_budget: bool, fits: bool) -> bool:
        """Whether every condition of the row holds."""
        wanted = (self.deadline, self.shared_budget, self.fits)
        return all(
            want is None or want == have
            for want, have in zip(wanted, (deadline, shared_budget, fits), strict=True)
        )


DECISION_TABLE = (
    DecisionRow(
        True,
        None,
        None,
        Verdict.SAFE,
        "one absolute deadline, consumed by every hop, bounds the work per request whatever m and H are",
    ),
    DecisionRow(
        None,
        True,
        None,
        Verdict.SAFE,
        "retries drawn from one budget sized to the last service's slack cannot multiply over the hops",
    ),
    DecisionRow(
        None,
        None,
        True,
        Verdict.DEGRADED,
        "the worst case fits into the slack, but a correlated failure takes the slack away and no deadline "
        "bounds the work",
    ),
    DecisionRow(
        None,
        None,
        False,
        Verdict.DO_NOT_SHIP,
        "the worst case exceeds the slack, so any correlated slowdown is amplified beyond what the last "
        "service can absorb",
    ),
)
"""Read from the top; the first row that matches decides. Source: seed 003, decision boundary."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What the table says of one chain; ``fan_out`` is m^H."""

    fan_out: float
    slack: float
    row: DecisionRow


@elementwise
def retries_are_safe(max_attempts: float, hops: int, slack: float) -> bool:
    """Whether the last service can absorb the worst case: m^H ≤ slack. Source: seed 003.

    ``slack`` is the multiple of normal load it can absorb while degraded. Raises ``ValueError``
    outside the domain of ``hop_amplification`` and for slack ≤ 0.
    """
    check(max_attempts=max_attempts, hops=hops, slack=slack)
    return hop_amplification(max_attempts, hops) <= slack


def decide(
    *, max_attempts: float, hops: int, slack: float, deadline: bool = False, shared_budget: bool = False
) -> Decision:
    """The row of ``DECISION_TABLE`` for H hops of m attempts each.

    ``deadline`` means one absolute deadline that every hop consumes, ``shared_budget`` one retry budget
    for all hops, sized to the slack. Raises ``ValueError`` as ``retries_are_safe`` does. Source: seed 003.
    """
    fits = retries_are_safe(max_attempts, hops, slack)
    row = next(
        row
        for row in DECISION_TABLE
        if row.matches(deadline=deadline, shared_budget=shared_budget, fits=fits)
    )
    return Decision(hop_amplification(max_attempts, hops), slack, row)
