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
def cut_triggers(*, cut_factor: float, utilization: float, cut_duration_s: float, timeout_s: float) -> bool:
    """Whether a cut to C/k for Δ makes any attempt time out: ρ(Δ − T) > Δ/k, exactly, in the fluid limit.

    That is (ρ − 1/k)Δ > ρT: sooner than by the wait left at the end of the cut, which exceeds T only
    for (ρ − 1/k)Δ > T. An attempt sent
    t into the cut is late iff the ρt of work sent before it exceed what is served by t + T. Up to
    t = Δ − T that is (t + T)/k, and the excess grows with t; after, service is back at 1 > ρ before the
    deadline and the excess falls. So the attempt sent T before the end has it worst. The service starts
    from rest, so ρ < 1. Raises ``ValueError`` for ρ ≥ 1, T ≤ 0 and outside the domain of
    ``capacity_cut_wait_s``. Source: derived here from the fluid model.
    """
    check(cut_factor=cut_factor, utilization=utilization, cut_duration_s=cut_duration_s, timeout_s=timeout_s)
    require_rest(utilization)
    return utilization * (cut_duration_s - timeout_s) > cut_duration_s / cut_factor


@elementwise
def cut_first_late_s(
    *, cut_factor: float, utilization: float, cut_duration_s: float, timeout_s: float
) -> float:
    """When into a cut the first late attempt is sent, in seconds: T/(kρ − 1), as in a spike; 0 in an outage.

    Its client gives up T later. Infinite when the cut is no trigger. Raises ``ValueError`` as
    ``cut_triggers`` does. Source: derived there.
    """
    if not cut_triggers(
        cut_factor=cut_factor,
        utilization=utilization,
        cut_duration_s=cut_duration_s,
        timeout_s=timeout_s,
    ):
        return math.inf
    return timeout_s / (cut_factor * utilization - 1.0)


@elementwise
def cut_last_late_s(
    *, cut_factor: float, utilization: float, cut_duration_s: float, timeout_s: float
) -> float:
    """When the last late attempt is sent, in seconds from the start of the cut, before any retry arrives.

    ((1 − 1/k)Δ − T)/(1 − ρ), by which service, back at full speed, has caught up with its deadlines.
    −∞ when the cut is no trigger. Raises ``ValueError`` as ``cut_triggers`` does. Source: derived there.
    """
    if not cut_triggers(
        cut_factor=cut_factor,
        utilization=utilization,
        cut_duration_s=cut_duration_s,
        timeout_s=timeout_s,
    ):
        return -math.inf
    return ((1.0 - 1.0 / cut_factor) * cut_duration_s - timeout_s) / (1.0 - utilization)


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
