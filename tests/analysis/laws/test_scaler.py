from __future__ import annotations

import math

import pytest

from analysis import laws


@pytest.mark.parametrize(
    ("amplification", "target", "trapped"),
    [
        (3, 0.5, True),
        (3, 0.33, False),
        (3, 0.3, False),
        (1.2, 0.5, False),
        (1.5, 0.5, False),
        (9, 0.12, True),
    ],
)
def test_first_attempt_scaler_of_seed_002(amplification: float, target: float, trapped: bool) -> None:
    """Corollary 4: trapped iff u* ≥ 1/A, as every run of the source came out."""
    assert laws.first_attempt_scaler_trapped(amplification, target) is trapped


def test_an_ingress_scaler_orders_the_amplification_and_escapes() -> None:
    """Corollary 5: 5,000 jobs/s at 50% and A = 3 order 30,000 attempts/s, three times the need."""
    assert laws.ingress_scaler_capacity_per_s(3, 5000, 0.5) == 30_000
    assert laws.ingress_scaler_escapes(3, 5000, 0.5)


@pytest.mark.parametrize(
    ("ceiling", "escapes"), [(30_000, True), (15_001, True), (15_000, False), (10_000, False)]
)
def test_a_ceiling_takes_the_escape_away_only_at_the_amplified_load(ceiling: float, escapes: bool) -> None:
    """Between Aλ and Aλ/u* the debt still drains, by Proposition 6."""
    assert laws.ingress_scaler_escapes(3, 5000, 0.5, ceiling) is escapes


def test_endless_clients_and_no_demand() -> None:
    """No capacity is enough for A = ∞; nothing holds a service without demand."""
    assert not laws.ingress_scaler_escapes(math.inf, 1, 0.5)
    assert laws.ingress_scaler_escapes(math.inf, 0, 0.5)


@pytest.mark.parametrize(
    ("target", "ceiling", "escapes"),
    [
        (0.3, math.inf, True),
        (0.3, 301, True),
        (0.3, 300, False),
        (0.3, 50, False),
        (0.5, math.inf, False),
        (0.5, 1e9, False),
    ],
)
def test_a_scaler_of_first_attempts_needs_the_capacity_too(
    target: float, ceiling: float, escapes: bool
) -> None:
    """At 100 jobs/s and A = 3 both the target and the ceiling can keep it trapped."""
    assert laws.first_attempt_scaler_escapes(3, 100, target, ceiling) is escapes


def test_without_demand_or_ceiling_it_is_corollary_4() -> None:
    """Nothing holds a service without demand; and without a ceiling only the target counts."""
    assert laws.first_attempt_scaler_escapes(math.inf, 0, 0.5, 1)
    for target in (0.1, 1 / 3, 0.34):
        trapped = laws.first_attempt_scaler_trapped(3, target)
        assert laws.first_attempt_scaler_escapes(3, 100, target) is not trapped
