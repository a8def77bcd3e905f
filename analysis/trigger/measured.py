"""What a shot's measurements say so far of Aρ, by the method that the plan has."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from analysis.trigger.observations import Observations
from analysis.trigger.offer import attempts_a_job
from analysis.trigger.received import received_amplification
from analysis.trigger.result import Interval, Method
from analysis.trigger.shot_context import ShotContext
from analysis.trigger.slope import Slope, amplified_utilization
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

    def time_left_s(self, now_s: float, shot: ShotContext) -> float | None:
        """Seconds until the queue is empty: (W − T)/(1 − Aρ) while attempts fail, then T/(1 − ρ)."""
        if self.slope is None or self.slope.with_probes >= 1.0:
            return None
        wait, timeout_s = self.slope.wait_s(now_s), shot.timeout_s
        failing = max(0.0, wait - timeout_s) / (1.0 - self.slope.with_probes)
        return failing + min(wait, timeout_s) / (1.0 - shot.utilization)

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
    made = attempts_a_job(
        shot.client,
        shot.arrival_rate_per_s,
        seen,
        spike_end_s=shot.spike_end_s,
        confidence=shot.confidence,
    )
    if made is None:
        return Measured()
    direct, capacity = shot.method == "direct probes", shot.capacity_per_s
    # Past a gateway its retries are to be measured: those of the spike's attempts still come up to T later.
    slope = amplified_utilization(
        seen.probes_sent(shot.spike_start_s),
        made.value * shot.arrival_rate_per_s,
        from_s=shot.settled_s + shot.timeout_s if direct else shot.spike_start_s,
        timeout_s=shot.timeout_s,
        confidence=shot.confidence,
        own_per_s=shot.probe_rate_per_s,
        probe_work_s=1.0 / capacity.value if direct and capacity is not None else None,
        rejected_count=direct,
        plain_from_s=shot.settled_s,
    )
    if slope is None:
        return Measured()
    amplified = _product(slope.amplified_utilization, made.times(1.0 / made.value))
    share = None if capacity is None else _product(slope.work_s, capacity)
    amplification = None if share is None else _product(share, made)
    return Measured(amplified, amplification, share, shot.method, slope, _sentences(slope, made, share))


def _sentences(slope: Slope, made: Interval, share: Interval | None) -> tuple[str, ...]:
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
    return tuple(said)


def _received(seen: Observations, shot: ShotContext) -> Measured:
    amplification = received_amplification(
        shot.received_counts,
        seen,
        shot.settled_s + shot.timeout_s,  # a hidden layer's retries of the last ones come up to T later
        timeout_s=shot.timeout_s,
        confidence=shot.confidence,
    )
    capacity = shot.capacity_per_s
    if amplification is None or capacity is None:
        return Measured()
    rate = shot.arrival_rate_per_s
    amplified = Interval(
        amplification.value * rate / capacity.value,
        amplification.low * rate / capacity.high,
        amplification.high * rate / capacity.low,
    )
    said = (
        f"The service received {number(amplification.value)} attempts per job while it failed (Prometheus)."
    )
    return Measured(amplified, amplification, None, "prometheus", None, (said,))


def _product(one: Interval, other: Interval) -> Interval:
    return Interval(one.value * other.value, one.low * other.low, one.high * other.high)
