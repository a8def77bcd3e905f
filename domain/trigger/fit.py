"""Whether a trigger test fits under its ceilings and into the machine, with the arithmetic if it does not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from domain.errors import Fault
from domain.sockets import DESCRIPTOR_RESERVE, SocketLimits
from domain.trigger.plan import TriggerPlan
from domain.trigger.spike import attempts_at_most, extra_jobs, probe_rate_per_s, spike_of, worst_case


@dataclass(frozen=True, slots=True)
class SocketUse:
    """What the generator holds at worst, every attempt timing out: attempts and probes open at once, and
    local ports taken, those at rest after a timeout included."""

    open_at_once: float
    ports: float


def socket_use(plan: TriggerPlan, capacity_per_s: float, port_rest_s: float) -> SocketUse:
    """Open at once: mλT attempts of normal load, one (or all copies) of each further job of the spike, and
    the probes. Ports: what is sent within a timeout and ``port_rest_s``, which is how long a port rests."""
    client, m = plan.client, attempts_at_most(plan)
    extra, retried_per_s = extra_jobs(plan, capacity_per_s), m * plan.utilization * capacity_per_s
    probes_per_s = probe_rate_per_s(plan, capacity_per_s)
    probes = min(plan.probing.most_open, probes_per_s * plan.probing.patience_s)
    copies = 1 if client.hedging is None else client.hedging.copies
    failing_s = spike_of(plan).duration_s + plan.watch_timeouts * client.timeout_s
    held_s = min(client.timeout_s + port_rest_s, failing_s)
    return SocketUse(
        retried_per_s * client.timeout_s + extra * copies + probes,
        retried_per_s * held_s + extra * m + probes + probes_per_s * held_s,
    )


def faults_in_fit(plan: TriggerPlan, capacity_per_s: float, limits: SocketLimits) -> list[Fault]:
    """Every ceiling and limit that the plan could break, each with its arithmetic; one push is counted."""
    return [*_ceiling_faults(plan, capacity_per_s), *_socket_faults(plan, capacity_per_s, limits)]


def duration_fault(plan: TriggerPlan) -> Fault | None:
    """Why the test cannot end in time, which is known without a capacity; None if it can."""
    client, spike = plan.client, spike_of(plan)
    timeouts = plan.baseline_timeouts + plan.watch_timeouts
    whole_s = timeouts * client.timeout_s + spike.duration_s + plan.rescue_s
    if whole_s <= plan.ceiling.duration_s:
        return None
    rule = (
        f"{plan.baseline_timeouts:g} + {plan.watch_timeouts:g} timeouts of {client.timeout_s:g} s, "
        f"{spike.duration_s:g} s of spike and {plan.rescue_s:g} s of rescue are {whole_s:,.0f} s at worst, "
        "over the ceiling (raise --max-duration, or lower test.watch_timeouts or test.rescue_s in a plan "
        "file)"
    )
    return Fault("limits.duration_s", rule, plan.ceiling.duration_s)


def _ceiling_faults(plan: TriggerPlan, capacity_per_s: float) -> Iterator[Fault]:
    worst, m = worst_case(plan, capacity_per_s), attempts_at_most(plan)
    rate, spike = plan.utilization * capacity_per_s, spike_of(plan)
    normal = f"{plan.utilization:g} × {capacity_per_s:,.4g}/s of capacity = {rate:,.4g} jobs/s"
    if worst.peak_per_s > plan.ceiling.rate_per_s:
        rule = (
            f"{normal}, {spike.factor:.3g} times that for {spike.duration_s:g} s in the spike, × {m:g} "
            f"attempts, and the probes: up to {worst.peak_per_s:,.0f} attempts in one second, over the "
            "ceiling (raise --max-rate, lower --utilization or the dose, or pass fewer --attempts)"
        )
        yield Fault("limits.rate_per_s", rule, plan.ceiling.rate_per_s)
    if worst.attempts > plan.ceiling.attempts:
        rule = (
            f"{normal} × {m:g} attempts over baseline, spike and watch, and {plan.rescue_s:g} s of rescue: "
            f"up to {worst.attempts:,.0f} attempts, over the ceiling (raise --max-attempts-total, or lower "
            "--utilization, or in a plan file test.watch_timeouts or test.rescue_s)"
        )
        yield Fault("limits.attempts", rule, plan.ceiling.attempts)
    late = duration_fault(plan)
    if late is not None:
        yield late


def _socket_faults(plan: TriggerPlan, capacity_per_s: float, limits: SocketLimits) -> Iterator[Fault]:
    use = socket_use(plan, capacity_per_s, limits.port_rest_s)
    m, rate = attempts_at_most(plan), plan.utilization * capacity_per_s
    extra = extra_jobs(plan, capacity_per_s)
    if use.open_at_once + DESCRIPTOR_RESERVE > limits.descriptors:
        rule = (
            f"{rate:,.4g} jobs/s × {m:g} attempts × {plan.client.timeout_s:g} s timeout, {extra:,.0f} jobs "
            f"of the spike and the probes are {use.open_at_once:,.0f} open at once; with "
            f"{DESCRIPTOR_RESERVE} in reserve that is over the limit of {limits.descriptors:,} (raise "
            "`ulimit -n`)"
        )
        yield Fault("file descriptors", rule, round(use.open_at_once))
    if use.ports > limits.ports:
        rule = (
            f"a port rests {limits.port_rest_s:g} s after a timeout of {plan.client.timeout_s:g} s; of "
            f"{rate:,.4g} jobs/s and {extra:,.0f} jobs of the spike × {m:g} attempts that takes "
            f"{use.ports:,.0f} ports, and {limits.ports:,} exist"
        )
        yield Fault("local ports", rule, round(use.ports))
