"""Laws of metastable failure in closed form.

Every function is pure: rates per second, durations in seconds, of any one clock. ``amplification`` is A,
the attempts one job costs when every attempt fails; ``utilization`` is ρ = λ/C, first attempts over
capacity. Numbers in give a float or bool out; arrays are broadcast and give an array out. A value outside
the domain raises ``DomainError``, a ``ValueError``, with the field, the rule and the value.
"""

from __future__ import annotations

from analysis.laws.amplification import (
    budget_amplification,
    hop_amplification,
    layered_amplification,
    retry_amplification,
)
from analysis.laws.call_tree import call_tree_load, call_tree_success, last_service_load
from analysis.laws.ceiling import (
    ceiling_offered_utilization,
    collapse_ceiling,
    hysteresis_width,
    independence_rule,
    independent_attempts,
    is_bistable,
    patient_ceiling,
    recovery_threshold,
    tight_ceiling,
)
from analysis.laws.chance import failing_variance_per_s, first_passage_sd_s, recovery_sd_s
from analysis.laws.checks import DomainError, check
from analysis.laws.curve import (
    healthy_offered_utilization,
    separatrix_depth,
    separatrix_offered_utilization,
    steady_utilization,
    timeout_kernel,
)
from analysis.laws.drain_points import aws_drain_point, aws_drift, budget_drain_point, grpc_drain_point
from analysis.laws.failing_amplification import amplification_at, failing_amplification
from analysis.laws.fixed_point import (
    Enclosure,
    FeedbackStep,
    feedback_steps,
    first_overload_utilization,
    fixed_point_enclosure,
    fixed_point_load,
    overload_failure_probability,
)
from analysis.laws.queue_cap import (
    cap_breaks_loop,
    capped_timeout_probability,
    largest_breaking_cap,
    loop_gain,
)
from analysis.laws.recovery import drain_time_s, long_spike_recovery_time_s, recovery_time_s
from analysis.laws.safety import DECISION_TABLE, Decision, DecisionRow, Verdict, decide, retries_are_safe
from analysis.laws.scaler import (
    first_attempt_scaler_escapes,
    first_attempt_scaler_trapped,
    ingress_scaler_capacity_per_s,
    ingress_scaler_escapes,
)
from analysis.laws.trap import ROUNDING, is_trap, trap_threshold, trapped_ingress_per_s
from analysis.laws.trigger import (
    capacity_cut_wait_s,
    cut_first_late_s,
    cut_last_late_s,
    cut_triggers,
    spike_triggers,
    spike_wait_s,
    time_to_first_timeout_s,
)

__all__ = [
    "DECISION_TABLE",
    "ROUNDING",
    "Decision",
    "DecisionRow",
    "DomainError",
    "Enclosure",
    "FeedbackStep",
    "Verdict",
    "amplification_at",
    "aws_drain_point",
    "aws_drift",
    "budget_amplification",
    "budget_drain_point",
    "call_tree_load",
    "call_tree_success",
    "cap_breaks_loop",
    "capacity_cut_wait_s",
    "capped_timeout_probability",
    "ceiling_offered_utilization",
    "check",
    "collapse_ceiling",
    "cut_first_late_s",
    "cut_last_late_s",
    "cut_triggers",
    "decide",
    "drain_time_s",
    "failing_amplification",
    "failing_variance_per_s",
    "feedback_steps",
    "first_attempt_scaler_escapes",
    "first_attempt_scaler_trapped",
    "first_overload_utilization",
    "first_passage_sd_s",
    "fixed_point_enclosure",
    "fixed_point_load",
    "grpc_drain_point",
    "healthy_offered_utilization",
    "hop_amplification",
    "hysteresis_width",
    "independence_rule",
    "independent_attempts",
    "ingress_scaler_capacity_per_s",
    "ingress_scaler_escapes",
    "is_bistable",
    "is_trap",
    "largest_breaking_cap",
    "last_service_load",
    "layered_amplification",
    "long_spike_recovery_time_s",
    "loop_gain",
    "overload_failure_probability",
    "patient_ceiling",
    "recovery_sd_s",
    "recovery_threshold",
    "recovery_time_s",
    "retries_are_safe",
    "retry_amplification",
    "separatrix_depth",
    "separatrix_offered_utilization",
    "spike_triggers",
    "spike_wait_s",
    "steady_utilization",
    "tight_ceiling",
    "time_to_first_timeout_s",
    "timeout_kernel",
    "trap_threshold",
    "trapped_ingress_per_s",
]
