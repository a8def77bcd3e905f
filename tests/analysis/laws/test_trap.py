from __future__ import annotations

import math

import pytest

from analysis import laws


@pytest.mark.parametrize(
    ("amplification", "threshold"), [(1.0, 1.0), (3.0, 1 / 3), (3.6, 1 / 3.6), (math.inf, 0.0)]
)
def test_threshold_is_one_over_the_amplification(amplification: float, threshold: float) -> None:
    """Seed 002's table of thresholds."""
    assert laws.trap_threshold(amplification) == pytest.approx(threshold)


@pytest.mark.parametrize(
    ("amplification", "utilization", "trapped"),
    [
        (3, 0.4, True),
        (3, 0.3, False),
        (3, 1 / 3, True),
        (1.2, 0.8, False),
        (1.5, 0.8, True),
        (math.inf, 0, False),
    ],
)
def test_trap_condition(amplification: float, utilization: float, trapped: bool) -> None:
    """Failed for ever iff Aρ ≥ 1, the boundary included."""
    assert laws.is_trap(amplification, utilization) is trapped


def test_the_edge_is_a_trap_up_to_rounding() -> None:
    """3·(1/3) counts as 1 however it was rounded, and 1 − 1e-9 does not."""
    assert laws.is_trap(3, 1 / 3 - 1e-16)
    assert not laws.is_trap(3, (1 - 1e-9) / 3)


def test_ingress_of_a_trapped_service() -> None:
    """Aλ, and nothing where there is no demand."""
    assert laws.trapped_ingress_per_s(3, 64) == 192
    assert laws.trapped_ingress_per_s(math.inf, 0) == 0
