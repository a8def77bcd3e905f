"""From pods and readings to an order and a sentence about it: no I/O, no clock."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from domain.autoscaler import History, Pods, largest
from domain.fleet import Fleet, Signal
from tipover.autoscaling.readings import Reading

Proposals = dict[Signal, int | None]


@dataclass(frozen=True, slots=True)
class Judgement:
    """What one decision came to. ``wanted`` is None when nothing is done for want of readings; ``history``
    is to be remembered once the order has been taken."""

    proposals: Proposals
    wanted: int | None
    ordered: int
    why: str
    history: History


def judged(
    fleet: Fleet,
    rate_per_pod: float,
    pods: Pods,
    readings: Mapping[Signal, Reading],
    history: History,
    at_s: float,
) -> Judgement:
    """The decision of ``fleet`` at ``at_s``."""
    values = {signal: readings[signal].value for signal in fleet.signals}
    listed = fleet.proposals(pods, values, rate_per_pod)
    proposals: Proposals = dict(zip(fleet.signals, listed, strict=True))
    wanted = largest(pods, listed)
    ordered, after = fleet.order(pods, values, rate_per_pod, history, at_s)
    rules = fleet.autoscaler
    if pods.total == 0:
        wanted, why = None, "scaled to 0 by somebody: nothing is done until it is scaled up again"
    elif not rules.min_pods <= pods.total <= rules.max_pods:
        wanted = None
        why = f"{pods.total} {'pod is' if pods.total == 1 else 'pods are'} " + (
            f"fewer than the floor of {rules.min_pods}"
            if pods.total < rules.min_pods
            else f"more than the ceiling of {rules.max_pods:g}"
        )
    elif wanted is None:
        why = _nothing_done(fleet, proposals, readings, pods)
    else:
        # What the tolerance holds back shows in what there would be without.
        exact = replace(fleet, tolerance=0.0).proposals(pods, values, rate_per_pod)
        signal = fleet.signals[listed.index(wanted)]
        lead = _lead(fleet, signal, readings[signal], exact[listed.index(wanted)], wanted, pods)
        why = _why(fleet, pods, lead, wanted, ordered, after)
        why += "".join(f"; {s} has no reading ({_reason(readings[s], pods)})" for s in _silent(proposals))
    return Judgement(proposals, wanted, ordered, why, after)


def _why(fleet: Fleet, pods: Pods, lead: str, wanted: int, ordered: int, after: History) -> str:
    rules = fleet.autoscaler
    highest = max(recommendation.pods for recommendation in after.recommendations)
    stable = rules.stable(pods.total, wanted, after.recommendations)
    recalled = f"recommendations of the last {rules.stabilization_s:g} s reach {highest}"
    clauses = [lead]
    if stable > wanted and ordered == pods.total:
        clauses = [f"held at {ordered}: {recalled}", lead]
    elif stable > wanted:
        clauses.append(recalled)
    if rules.max_pods < stable:
        clauses.append(f"the ceiling is {rules.max_pods:g}")
    if rules.min_pods > stable:
        clauses.append(f"the floor is {rules.min_pods}")
    if ordered < min(stable, rules.max_pods):
        clauses.append(f"no more than {ordered} may be had now")
    return ", ".join(clauses)


def _lead(fleet: Fleet, signal: Signal, reading: Reading, exact: int | None, wanted: int, pods: Pods) -> str:
    """What the signal that decided reads and wants."""
    said = f"{signal} {_amount(fleet, signal, reading)}"
    if exact != wanted and exact is not None:
        return (
            f"{said} is within the tolerance of {100 * fleet.tolerance:g}% of what {pods.total} pods are for"
        )
    apart = (
        f" (of {pods.total} pods, {pods.unready} not ready for a whole window yet)"
        if signal == "cpu" and pods.unready
        else ""
    )
    there = "the " if wanted == pods.total else ""
    return f"{said} wants {there}{wanted} pod{'' if wanted == 1 else 's'}" + (
        f" there {'is' if wanted == 1 else 'are'}{apart}" if there else apart
    )


def _nothing_done(fleet: Fleet, proposals: Proposals, readings: Mapping[Signal, Reading], pods: Pods) -> str:
    missing = " and ".join(
        f"{signal} has no reading ({_reason(readings[signal], pods)})" for signal in _silent(proposals)
    )
    valid = {signal: proposal for signal, proposal in proposals.items() if proposal is not None}
    if not valid:
        return f"nothing is done: {missing}"
    signal, most = max(valid.items(), key=lambda entry: entry[1])
    rest = f"{signal} {_amount(fleet, signal, readings[signal])} alone would scale down to {most}"
    return f"nothing is done: {missing}, and {rest}"


def _silent(proposals: Proposals) -> list[Signal]:
    return [signal for signal, proposal in proposals.items() if proposal is None]


def _reason(reading: Reading, pods: Pods) -> str:
    if reading.value is not None and pods.ready == 0:
        return "no pod has been ready for a whole window"
    return reading.error or "no reason given"


def _amount(fleet: Fleet, signal: Signal, reading: Reading) -> str:
    value = reading.value or 0.0
    if signal == "cpu":
        return f"{100 * value * fleet.limit_over_request:.0f}%"
    return f"{value:,.0f}/s" if value >= 10 else f"{value:.3g}/s"
