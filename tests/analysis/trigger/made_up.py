"""Trigger tests that never were: a small queue with clients that retry, seen as a generator would see it."""

from __future__ import annotations

import heapq
from dataclasses import replace
from random import Random

from analysis.trigger.observations import Observations
from analysis.trigger.result import Advice, Interval, PhaseDone, Shot, TriggerResult
from domain.experiment import Client
from domain.trigger.messages import TICK_EVERY_S, ProbeLine, Started, Tick, message_to_json
from domain.trigger.plan import Target, TriggerPlan
from domain.trigger.spike import spike_for

CAPACITY_PER_S = 175.0
TIMEOUT_S = 0.5
QUIET = Tick(0.0, *(0,) * 14, lag_p99_s=0.001, lag_max_s=0.002)
"""A tick before anything was sent."""
CAPACITY_END_S, BASELINE_END_S, SPIKE_END_S, WATCH_END_S = 6.0, 9.0, 9.5, 17.5
RESCUE_END_S, END_S = 23.0, 24.0


def plan(utilization: float = 0.4, max_attempts: float = 3) -> TriggerPlan:
    """A client of three attempts against a service on loopback."""
    return TriggerPlan(
        "checkout",
        Target("http://127.0.0.1:8000", "127.0.0.1"),
        Client(TIMEOUT_S, max_attempts),
        utilization=utilization,
    )


def observations(utilization: float = 0.4, max_attempts: int = 3, seed: int = 1) -> Observations:
    """One push of a first-in-first-out service, event by event."""
    random, rate = Random(seed), utilization * CAPACITY_PER_S
    events: list[tuple[float, int, str, int]] = []
    spike = spike_for(utilization, 2.0, TIMEOUT_S)
    t_s, order = CAPACITY_END_S, 0
    while t_s < WATCH_END_S:
        in_spike = BASELINE_END_S <= t_s < SPIKE_END_S
        t_s += random.expovariate(rate * (spike.factor if in_spike else 1.0))
        order += 1
        events.append((t_s, order, "attempt", 1))
    events += [(6.05 + 0.125 * n, 10**6 + n, "probe", n) for n in range(90)]
    heapq.heapify(events)
    free_s, sent = 0.0, 0
    moments: list[tuple[float, str]] = []
    probes: list[ProbeLine] = []
    while events:
        t_s, _, kind, which = heapq.heappop(events)
        if t_s >= WATCH_END_S:
            break
        free_s = max(free_s, t_s) + random.expovariate(CAPACITY_PER_S)
        if kind == "probe":
            done_s, outcome = (
                (free_s, "ok") if free_s < RESCUE_END_S - 4.0 else (RESCUE_END_S - 4.0, "aborted")
            )
            probes.append(ProbeLine(which, t_s, done_s, outcome, 200 if outcome == "ok" else 0, sent, 0))
            moments += [(t_s, "probes_sent")]
        else:
            moments.append((t_s, "first" if which == 1 else "retries"))
            if free_s - t_s <= TIMEOUT_S:
                moments.append((free_s, "answered"))
            else:
                moments.append((t_s + TIMEOUT_S, "timeouts"))
                if which < max_attempts:
                    order += 1
                    heapq.heappush(events, (t_s + TIMEOUT_S, order, "attempt", which + 1))
        sent += 1
    return _as_lines(moments, probes)


def _as_lines(moments: list[tuple[float, str]], probes: list[ProbeLine]) -> Observations:
    seen = Observations()
    seen.take(Started(1000.0, 4242))
    counts = dict.fromkeys(("first", "retries", "answered", "timeouts", "probes_sent"), 0)
    moments, probes = sorted(moments), sorted(probes, key=lambda probe: probe.done_s)
    at = saturated = 0
    for n in range(round(END_S / TICK_EVERY_S) + 1):
        t_s = n * TICK_EVERY_S
        while at < len(moments) and moments[at][0] <= t_s:
            counts[moments[at][1]] += 1
            at += 1
        while probes and probes[0].done_s <= t_s:
            seen.take(probes.pop(0))
        if t_s <= CAPACITY_END_S:
            saturated += round(CAPACITY_PER_S * TICK_EVERY_S * min(1.0, t_s / 3.0))
        answered, failed = counts["answered"], counts["timeouts"]
        tick = replace(
            QUIET,
            t_s=t_s,
            planned=counts["first"],
            first=counts["first"],
            retries=counts["retries"],
            answered=answered,
            failed=failed,
            timeouts=failed,
            saturated=saturated,
            probes_sent=counts["probes_sent"],
        )
        seen.take(tick)
    return seen


PHASES = (
    PhaseDone("warm-up", 0.0, 0.5, 0.0, "it answered 40 requests, the slowest in 9 ms"),
    PhaseDone("capacity", 0.5, CAPACITY_END_S, 0.0, "throughput stopped rising at 4 in flight: 175/s"),
    PhaseDone("baseline", CAPACITY_END_S, BASELINE_END_S, 70.0, "100% of attempts were answered in time"),
    PhaseDone("spike", BASELINE_END_S, SPIKE_END_S, 525.0, "1 s of work more than it can do"),
    PhaseDone("watch", SPIKE_END_S, WATCH_END_S, 70.0, "trapped"),
    PhaseDone("rescue", WATCH_END_S, RESCUE_END_S, 0.0, "no load: it answered again after 5.2 s"),
    PhaseDone("check", RESCUE_END_S, END_S, 0.0, "8 of 8 requests answered"),
)

TRAPPED_SHOT = Shot(
    utilization=0.4,
    dose=2.0,
    spike_end_s=SPIKE_END_S,
    verdict="trapped",
    decided_s=8.0,
    recovered_s=None,
    amplified_utilization=Interval(1.21, 1.16, 1.27),
    amplification=Interval(3.02, 2.9, 3.17),
    method="probes",
    predicted_recovery_s=None,
    evidence=(
        "Aρ is above 1 with an error probability of 5%: 41 probes sent over 7 s came back 8.5 s apart.",
    ),
    rescued_s=5.2,
    deepest_wait_s=3.1,
)

TRAPPED = TriggerResult(
    name="checkout",
    verdict="trapped",
    slowly=False,
    confidence=0.95,
    capacity_per_s=Interval(175.0, 171.0, 179.0),
    capacity_given=False,
    client_amplification=3.0,
    shots=(TRAPPED_SHOT,),
    threshold=Interval(0.331, 0.315, 0.345),
    threshold_method="probes",
    advice=(
        Advice("at most 2 attempts", 0.5, "A would be 2.0: Aρ 0.80 at 40% utilization."),
        Advice("a retry budget of 10%", 0.91, "A would be 1.1."),
        Advice("12% more capacity", None, "215 attempts/s would bring Aρ below 1 at this demand."),
    ),
    phases=PHASES,
    attempts_sent=3170,
    left_healthy=True,
    warnings=("the generator used 61% of its core",),
)

RECOVERS = replace(
    TRAPPED,
    verdict="recovers",
    shots=(
        replace(
            TRAPPED_SHOT,
            utilization=0.25,
            verdict="recovers",
            amplified_utilization=Interval(0.76, 0.72, 0.8),
            amplification=Interval(3.04, 2.88, 3.2),
            recovered_s=3.8,
            decided_s=4.1,
            predicted_recovery_s=4.0,
            rescued_s=None,
            evidence=("The backlog was gone 4.1 s after the push.",),
        ),
    ),
    threshold=Interval(0.329, 0.3125, 0.347),
)

SLOWLY = replace(
    RECOVERS,
    slowly=True,
    shots=(
        replace(
            RECOVERS.shots[0],
            amplified_utilization=Interval(0.95, 0.92, 0.98),
            amplification=Interval(3.06, 2.97, 3.16),
            utilization=0.31,
            recovered_s=None,
            predicted_recovery_s=21.0,
        ),
    ),
)

NOT_VULNERABLE = replace(
    TRAPPED,
    verdict="not vulnerable",
    shots=(
        replace(
            TRAPPED_SHOT,
            verdict="not vulnerable",
            amplified_utilization=None,
            amplification=None,
            method="none",
            rescued_s=None,
            deepest_wait_s=0.31,
            evidence=("No probe waited longer than 310 ms, inside the timeout.",),
        ),
    ),
    threshold=Interval(1.0, 1.0, 1.0),
    threshold_method="threshold",
    advice=(),
)

UNDECIDED = replace(
    TRAPPED,
    verdict="undecided",
    shots=(
        replace(
            TRAPPED_SHOT,
            verdict="undecided",
            decided_s=None,
            amplified_utilization=Interval(1.02, 0.94, 1.1),
        ),
    ),
    left_healthy=False,
)

INVALID = replace(TRAPPED, invalid_reasons=("the generator lagged: 99th percentile 80 ms",))

STOPPED = replace(
    TRAPPED,
    verdict="undecided",
    shots=(),
    threshold=None,
    threshold_method="none",
    capacity_per_s=None,
    advice=(),
    phases=PHASES[:1],
    attempts_sent=40,
    left_healthy=None,
    safety_stop="the bystander http://127.0.0.1:9/ has not answered for 2 s",
)

EVERY_KIND = {
    "trapped": TRAPPED,
    "recovers": RECOVERS,
    "slowly": SLOWLY,
    "not vulnerable": NOT_VULNERABLE,
    "undecided": UNDECIDED,
    "invalid": INVALID,
    "stopped": STOPPED,
}


def lines(seen: Observations) -> list[dict[str, object]]:
    """The lines of a test as they stand in the file."""
    assert seen.started is not None
    timed = [(tick.t_s, tick) for tick in seen.ticks] + [(probe.done_s, probe) for probe in seen.probes]
    return [
        message_to_json(line)
        for line in (seen.started, *(line for _, line in sorted(timed, key=lambda pair: pair[0])))
    ]
