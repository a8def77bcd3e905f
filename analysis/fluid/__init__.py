"""Fluid model of an experiment: backlog, lateness and retries as flows, in scenario time.

First-in first-out service, so an attempt sent at t is late, and its client gives up at t + T, iff
service by t + T has not reached what had arrived by t. Its retry is offered at t + T + backoff, the
backoff spread evenly over its bounds. Abandoned work is served like any other. Source: seed 002
Prop. 6–8 (fluid model).
"""

from analysis.fluid.engine import fluid_trace
from analysis.fluid.readings import (
    SignalPoint,
    backlog_cleared_s,
    capacity_met_s,
    first_late_s,
    last_late_s,
    signal_point,
)

__all__ = [
    "SignalPoint",
    "backlog_cleared_s",
    "capacity_met_s",
    "first_late_s",
    "fluid_trace",
    "last_late_s",
    "signal_point",
]
