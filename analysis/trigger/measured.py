"""What a shot's measurements say so far of Aρ, by the method that the plan has."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from analysis.trigger.observations import Observations
from analysis.trigger.offer import attempts_a_job
from analysis.trigger.past_gateway import slope_past_gateway
from analysis.trigger.received import counts_only_begun, received_per_attempt
from analysis.trigger.result import Interval, Method
from analysis.trigger.shot_context import ShotContext
from analysis.trigger.slope import ANSWERED, Slope, amplified_utilization
from analysis.wording import number, percent, seconds


@dataclass(frozen=True, slots=True)
class Measured:
    """``work_share``: work per attempt sent, over that of a healthy one; None without slope or capacity."""

    amplified_utilization: Interval | None = None
    amplification: Interval | None = None
    work_share: Interval | None = None
    method: Method = "none"
    slope: Slope | None = None
    evidence: tuple[str, ...] = ()

    def by_client(self, amplification: float, amplified: float) -> Measured:
        """Nothing measured: what the client alone does; no numbers for an endless one."""
        if math.isinf(amplification):
            return replace(self, method="client")
        return replace(
            self,
            amplified_utilization=Interval(amplified, amplified, amplified),
            amplification=Interval(amplification, amplification, amplification),
            method="client",
        )


def measure(seen: Observations, shot: ShotContext) -> Measured:
    """Aρ, A and the work per attempt as far as they are known now."""
    if shot.method == "prometheus":
        return _received(seen, shot)
    if shot.method in ("probes", "direct probes"):
        return _probed(seen, shot)
    return Measured()


def _probed(seen: Observations, shot: ShotContext) -> Measured:
    made = _attempts(seen, shot)
    if made is None:
        return Measured()
    slope = _slope(seen, shot, made.value * shot.arrival_rate_per_s)
    if slope is None:
        return Measured()
    capacity = shot.capacity_per_s
    amplified = _product(slope.amplified_utilization, made.times(1.0 / made.value))
    share = None if capacity is None else _product(slope.work_s, capacity)
    amplification = None if share is None else _product(share, made)
    return Measured(
        amplified, amplification, share, shot.method, slope, _sentences(slope, made, share, capacity)
    )


def _slope(seen: Observations, shot: ShotContext, offered_per_s: float) -> Slope | None:
    capacity = shot.capacity_per_s
    if shot.method == "direct probes" and capacity is not None:
        return slope_past_gateway(seen, shot, offered_per_s=offered_per_s, probe_work_s=1.0 / capacity.value)
    return amplified_utilization(
        seen.probes_sent(shot.spike_start_s),
        offered_per_s,
        from_s=shot.spike_start_s,
        timeout_s=shot.timeout_s,
        confidence=shot.confidence,
        own_per_s=shot.probe_rate_per_s,
        plain_from_s=shot.settled_s,
    )


def measured_from_s(settled_s: float, timeout_s: float, method: Method) -> float:
    """From when on the waits show the service as it will stay: once the spike's retries have gone, a hidden
    layer's of the last of them included."""
    return settled_s + (0.0 if method == "probes" else timeout_s)


def _sentences(
    slope: Slope, made: Interval, share: Interval | None, capacity: Interval | None
) -> tuple[str, ...]:
    said = [
        f"{slope.probes} patient probes: between them {slope.attempts:,} attempts were sent, each "
        f"{seconds(slope.work_s.value)} of work; the client makes {number(made.value)} attempts a job while "
        "all fail."
    ]
    if slope.plain is not None:
        said.append(
            f"Plain regression of the wait on the sending time, as a cross-check: {number(slope.plain)} "
            f"(with the probes' own load: {number(slope.with_probes)})."
        )
    if share is not None:
        said.append(f"That is {percent(share.value)} of the work of an attempt when it is healthy.")
        said += _capacity_doubted(slope, share, capacity)
    return tuple(said)


def _capacity_doubted(slope: Slope, share: Interval, capacity: Interval | None) -> list[str]:
    """The other reading of a share that is not 1: a capacity that was given (an interval of no width) may be
    wrong. It is only a doubt, so half of the interval, which holds at all times at once, is enough."""
    if capacity is None or capacity.low != capacity.high:
        return []
    low, high = (share.value + share.low) / 2.0, (share.value + share.high) / 2.0
    if low <= 1.0 <= high:
        return []
    wrong = "low" if high < 1.0 else "high"
    return [
        f"Or the given capacity of {number(capacity.value)}/s is too {wrong}: at "
        f"{number(1.0 / slope.work_s.value)}/s an attempt would cost what a healthy one does."
    ]


def _attempts(seen: Observations, shot: ShotContext) -> Interval | None:
    """Attempts that the client makes of a job while the service fails."""
    return attempts_a_job(
        shot.client,
        shot.arrival_rate_per_s,
        seen,
        spike_end_s=shot.spike_end_s,
        confidence=shot.confidence,
    )


def _received(seen: Observations, shot: ShotContext) -> Measured:
    capacity = shot.capacity_per_s
    made = _attempts(seen, shot)
    if made is None or capacity is None:
        return Measured()
    from_s = measured_from_s(shot.settled_s, shot.timeout_s, shot.method)
    begun = counts_only_begun(
        shot.received_counts, seen, shot.spike_start_s, from_s + shot.timeout_s, capacity.value
    )
    if begun is not None:
        return Measured(evidence=(begun,))
    each = received_per_attempt(
        shot.received_counts,
        seen,
        from_s,
        timeout_s=shot.timeout_s,
        confidence=shot.confidence,
        probes_pass=not _mostly_answered(seen, shot),
    )
    if each is None:
        return Measured()
    amplification, rate = _product(each, made), shot.arrival_rate_per_s
    amplified = Interval(
        amplification.value * rate / capacity.value,
        amplification.low * rate / capacity.high,
        amplification.high * rate / capacity.low,
    )
    said = (
        f"While it failed the service received {number(each.value)} attempts for each one sent (Prometheus); "
        f"the client makes {number(made.value)} a job: {number(amplification.value)}."
    )
    return Measured(amplified, amplification, None, "prometheus", None, (said,))


def _mostly_answered(seen: Observations, shot: ShotContext) -> bool:
    """Whether probes are answered while attempts fail: then nobody tries them again on the way."""
    probes = seen.probes_sent(shot.spike_start_s)
    return 2 * sum(probe.outcome in ANSWERED for probe in probes) > len(probes)


def _product(one: Interval, other: Interval) -> Interval:
    return Interval(one.value * other.value, one.low * other.low, one.high * other.high)
