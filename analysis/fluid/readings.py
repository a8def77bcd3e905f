"""What is read off a fluid trace: lateness, recovery, and what a scaling signal cost."""

from __future__ import annotations

import math
from dataclasses import dataclass

from analysis.result import FluidTrace

ROUNDING = 1e-9
"""How far capacity may fall short of demand by rounding alone."""


def first_late_s(trace: FluidTrace, start_s: float = 0.0, end_s: float = math.inf) -> float | None:
    """When the first late attempt of the window is sent; None if there is none."""
    late = trace.t_s[trace.late & (trace.t_s >= start_s) & (trace.t_s < end_s)]
    return float(late[0]) if late.size else None


def last_late_s(trace: FluidTrace, start_s: float = 0.0, end_s: float = math.inf) -> float | None:
    """When the last late attempt of the window is sent; None if there is none.

    Taken from the end of the trigger this is the recovery time by "last late attempt".
    """
    late = trace.t_s[trace.late & (trace.t_s >= start_s) & (trace.t_s < end_s)]
    return float(late[-1]) if late.size else None


def backlog_cleared_s(trace: FluidTrace, after_s: float) -> float | None:
    """When the backlog is first zero at or after ``after_s``, nothing being late later; None if never.

    Taken from the end of the trigger this is the recovery time by "backlog back to zero", which
    reproduces seed 002's figures.
    """
    late = last_late_s(trace)
    begin = after_s if late is None else max(after_s, late)
    empty = trace.t_s[(trace.backlog <= 0) & (trace.t_s >= begin)]
    return float(empty[0]) if empty.size else None


def capacity_met_s(trace: FluidTrace, after_s: float) -> float | None:
    """When capacity is first at least demand at or after ``after_s``; None if never."""
    met = trace.t_s[(trace.capacity_per_s >= trace.demand_per_s * (1 - ROUNDING)) & (trace.t_s >= after_s)]
    return float(met[0]) if met.size else None


@dataclass(frozen=True, slots=True)
class SignalPoint:
    """A signal's place in the achievable region: ``over_provisioning`` is max N/N*, ``lost_s`` the
    first-attempt work lost in seconds of the demand at the end, ``lost_share`` of all demand. A signal
    is on the frontier if no other is lower in the first two. Source: seed 002 Definition 9."""

    over_provisioning: float
    lost_s: float
    lost_share: float


def signal_point(trace: FluidTrace, after_s: float, pods_needed: float) -> SignalPoint:
    """Peak pods over ``pods_needed``, and the jobs not answered, from ``after_s`` (the step) on.

    Jobs whose answer is still to come at the end of the trace count as lost.
    """
    after = trace.t_s >= after_s
    step = float(trace.t_s[1] - trace.t_s[0])
    asked = float(trace.demand_per_s[after].sum()) * step
    lost = asked - float(trace.goodput_per_s[after].sum()) * step
    return SignalPoint(
        float(trace.pods[after].max()) / pods_needed, lost / float(trace.demand_per_s[-1]), lost / asked
    )
