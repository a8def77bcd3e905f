"""The trigger: how large a disturbance pushes waits past the timeout."""

from __future__ import annotations

import math

from analysis.laws.checks import check, require
from analysis.laws.elementwise import elementwise


@elementwise
def spike_wait_s(spike_factor: float, utilization: float, spike_duration_s: float) -> float:
    """Wait a load spike builds while nothing times out: max(0, (kρ − 1)Δ) s. Source: seed 002 Prop. 8.

    Raises ``ValueError`` for k ≤ 0, ρ < 0 or Δ < 0.
    """
    check(spike_factor=spike_factor, utilization=utilization, spike_duration_s=spike_duration_s)
    return max(0.0, (spike_factor * utilization - 1.0) * spike_duration_s)


@elementwise
def spike_triggers(
    *, spike_factor: float, utilization: float, spike_duration_s: float, timeout_s: float
) -> bool:
    """Whether a load spike pushes the wait past the timeout: (kρ − 1)Δ > T. Source: seed 002 Prop. 8.

    The service starts from rest, so ρ < 1. Raises ``ValueError`` for ρ ≥ 1, T ≤ 0 and outside the domain
    of ``spike_wait_s``.
    """
    check(
        spike_factor=spike_factor,
        utilization=utilization,
        spike_duration_s=spike_duration_s,
        timeout_s=timeout_s,
    )
    require_rest(utilization)
    return (spike_factor * utilization - 1.0) * spike_duration_s > timeout_s


@elementwise
def capacity_cut_wait_s(*, cut_factor: float, utilization: float, cut_duration_s: float) -> float:
    """Wait left when capacity returns from a cut to C/k for Δ: max(0, (ρ − 1/k)Δ) s.

    In units of restored capacity, while nothing times out; ``cut_factor`` is k > 0, infinite for an
    outage. Unlike a spike of the same k it leaves (ρ − 1/k)Δ, not (kρ − 1)Δ. Raises ``ValueError`` for
    k ≤ 0, ρ < 0 or Δ < 0. Source: the fluid balance of seed 002 Prop. 8.
    """
    check(cut_factor=cut_factor, utilization=utilization, cut_duration_s=cut_duration_s)
    return max(0.0, (utilization - 1.0 / cut_factor) * cut_duration_s)


@elementwise
def time_to_first_timeout_s(*, spike_factor: float, utilization: float, timeout_s: float) -> float:
    """Seconds into a load spike at which the first late attempt is sent: t0 = T/(kρ − 1).

    Infinite when kρ ≤ 1. Raises ``ValueError`` for k ≤ 0, ρ < 0 or T ≤ 0. Source: seed 002 Prop. 7.
    """
    check(spike_factor=spike_factor, utilization=utilization, timeout_s=timeout_s)
    excess = spike_factor * utilization - 1.0
    return timeout_s / excess if excess > 0 else math.inf


def require_rest(utilization: float) -> None:
    """Raise ``ValueError`` unless the service is at rest before the trigger: ρ < 1."""
    require(
        utilization < 1,
        "utilization",
        "must be below 1: from 1 on it needs no trigger",
        utilization,
    )
