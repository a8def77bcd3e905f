from __future__ import annotations

import pytest

from analysis import laws
from analysis.laws import Verdict


@pytest.mark.parametrize(
    ("slack", "deadline", "shared_budget", "verdict"),
    [
        (300, False, False, Verdict.DEGRADED),
        (256, False, False, Verdict.DEGRADED),
        (255.9, False, False, Verdict.DO_NOT_SHIP),
        (3, False, False, Verdict.DO_NOT_SHIP),
        (3, True, False, Verdict.SAFE),
        (3, False, True, Verdict.SAFE),
        (300, True, True, Verdict.SAFE),
    ],
)
def test_the_decision_table_of_seed_003(
    slack: float, deadline: bool, shared_budget: bool, verdict: Verdict
) -> None:
    """Its chain of four hops and four attempts, 256 in the worst case."""
    decision = laws.decide(
        max_attempts=4, hops=4, slack=slack, deadline=deadline, shared_budget=shared_budget
    )
    assert decision.fan_out == 256
    assert decision.row.verdict is verdict
    assert decision.row.reason


def test_every_case_has_a_row() -> None:
    """The table decides for every combination of its conditions."""
    for deadline in (False, True):
        for shared in (False, True):
            for fits in (False, True):
                assert any(
                    row.matches(deadline=deadline, shared_budget=shared, fits=fits)
                    for row in laws.DECISION_TABLE
                )


def test_the_predicate() -> None:
    """m^H ≤ slack, the edge included."""
    assert laws.retries_are_safe(3, 2, 9)
    assert not laws.retries_are_safe(3, 2, 8.9)
