"""How many patient probes a second: enough to see the wait, few enough not to be the load."""

from __future__ import annotations

from dataclasses import dataclass

from analysis.wording import number, percent
from domain.trigger.plan import TriggerPlan
from domain.trigger.spike import (
    LEAST_PROBES_A_TIMEOUT,
    PROBES_A_TIMEOUT,
    most_probe_share,
    probe_rate_per_s,
)


@dataclass(frozen=True, slots=True)
class ProbeRate:
    """Probes per second, and where the number comes from."""

    rate_per_s: float
    said: str


def probe_rate(plan: TriggerPlan, capacity_per_s: float) -> ProbeRate:
    """The rate of ``probe_rate_per_s``, and which part of its rule it comes from.

    Probes are work like any other: they are part of the load, and never retried.
    """
    timeout_s, share = plan.client.timeout_s, most_probe_share(plan)
    rate = probe_rate_per_s(plan, capacity_per_s)
    if plan.probing.rate_per_s is not None:
        why = "as asked"
    elif share * capacity_per_s >= PROBES_A_TIMEOUT / timeout_s:
        why = "four a timeout"
    elif share * capacity_per_s >= LEAST_PROBES_A_TIMEOUT / timeout_s:
        why = "the most allowed"
    else:
        why = "one a timeout"
    return ProbeRate(
        rate, f"{number(rate)} patient probes/s: {percent(rate / capacity_per_s)} of capacity, {why}"
    )
