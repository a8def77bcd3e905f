"""A judge plain enough to test the protocol without the real one: the probes' slope, and no statistics."""

from __future__ import annotations

from analysis.trigger.observations import Observations
from analysis.trigger.result import Interval
from analysis.trigger.shot_context import ShotContext
from analysis.trigger.watch import Judgement

PROBES = 12


def plain_judge(seen: Observations, context: ShotContext) -> Judgement:
    """Aρ from two probes' distance after the spike's retries; trapped from 1 on; back when nothing fails."""
    timeout_s, now_s = context.client.timeout_s, seen.now_s
    since_s = now_s - context.spike_end_s
    waits = [p.done_s - p.sent_s for p in seen.probes_sent(context.spike_start_s)]
    deepest_s = max(waits, default=None)
    pushed = seen.counted("timeouts", context.spike_start_s, now_s) > 0
    verdict, recovered_s = None, None
    window_s = now_s - 2.0 * timeout_s
    failing = seen.counted("timeouts", window_s, now_s)
    if since_s > 3.0 * timeout_s and pushed and not failing and seen.counted("answered", window_s, now_s):
        verdict, recovered_s = "recovers", since_s - 2.0 * timeout_s
    a_rho = _slope(seen, context)
    if verdict is None and a_rho is not None and failing:
        verdict = "trapped" if a_rho >= 1.0 else "recovers"
    interval = None if a_rho is None else Interval(a_rho, 0.95 * a_rho, 1.05 * a_rho)
    return Judgement(
        verdict=verdict,
        slow=verdict == "recovers" and recovered_s is None,
        amplified_utilization=interval,
        amplification=None if interval is None else interval.times(1.0 / context.utilization),
        method="probes",
        recovered_s=recovered_s,
        predicted_recovery_s=None,
        deepest_wait_s=deepest_s,
        evidence=(f"deepest wait {deepest_s}",),
        pushed=pushed or since_s < 3.0 * timeout_s,
    )


def _slope(seen: Observations, context: ShotContext) -> float | None:
    settled_s = context.spike_end_s + (context.client.max_attempts - 1) * context.client.timeout_s
    probes = [p for p in seen.probes_sent(settled_s) if p.outcome == "ok"]
    if len(probes) < PROBES or probes[-1].done_s - probes[-1].sent_s < context.client.timeout_s:
        return None
    first, last = probes[0], probes[-1]
    return (last.done_s - first.done_s) / (last.sent_s - first.sent_s)
