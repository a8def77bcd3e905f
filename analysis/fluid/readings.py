"""What is read off a fluid trace: when attempts are late, and when the backlog is gone."""

from __future__ import annotations

import math

from analysis.result import FluidTrace


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
