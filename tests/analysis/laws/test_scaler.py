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
