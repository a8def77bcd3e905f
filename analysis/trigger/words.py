"""The finding of a trigger test in words; terminal, Markdown, JUnit and page say the same."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal

from analysis.trigger.observations import Observations
from analysis.trigger.result import Advice, Interval, Method, Shot, TriggerResult
from analysis.trigger.troubles import error_remarks
from analysis.wording import number, percent, seconds
from domain.trigger.plan import TriggerPlan
from domain.trigger.spike import spike_for

Tone = Literal["bad", "good", "open"]

FEW = 0.5
"""Below this share of answered attempts a service is said to answer only so many."""

METHODS: dict[Method, str] = {
    "probes": "patient probes through the same door as the clients: how much later each came back than the "
    "one before, for all that was sent in between; retries hidden behind the door are in it",
    "drain": "how long it took, once the load was less, until all that had been sent was done",
    "direct probes": "patient probes past the gateway (--probe-url): how much later each came back than the "
    "one before, for all that was sent in between",
    "prometheus": "what the service says it received (the Prometheus query), over the first attempts",
    "threshold": "one over the highest utilization at which the service came back",
    "client": "not measured: the attempts that this client alone makes of a failing request",
    "none": "not measured",
}
"""How A came about, in words."""

SHORT_METHODS: dict[Method, str] = {
    "probes": "patient probes",
    "direct probes": "probes past the gateway",
    "drain": "the time it took to drain",
    "prometheus": "Prometheus query",
    "threshold": "bisected",
    "client": "the client's own attempts",
    "none": "–",
}


def tone(result: TriggerResult) -> Tone:
    """How the verdict is coloured; the words carry it too."""
    if result.invalid_reasons or result.verdict == "undecided":
        return "open"
    return "bad" if result.verdict == "trapped" else "good"


def label(result: TriggerResult) -> str:
    """The verdict in capitals."""
    return "RECOVERS SLOWLY" if result.verdict == "recovers" and result.slowly else result.verdict.upper()


def headline(result: TriggerResult) -> str:
    """The verdict as one line; of a service that never answered, that."""
    if unreached(result) and result.safety_stop is not None:
        return f"CANNOT START: {result.safety_stop.partition(': ')[0]}"
    at = f" at {percent(result.shots[0].utilization)} utilization" if result.shots else ""
    match result.verdict:
        case "trapped":
            said = f"once pushed, it does not come back by itself{at}"
        case "recovers" if result.slowly:
            said = f"once pushed, it comes back by itself{at}, but late"
        case "recovers":
            said = f"once pushed, it comes back by itself{at}"
        case "not vulnerable":
            said = f"a push leaves no failure behind{at}"
        case _:
            said = f"whether it comes back{at} is not settled" if at else "the service was not pushed"
    return f"{label(result)}: {said}"


def verdict_text(plan: TriggerPlan, result: TriggerResult, answered: float | None = None) -> str:
    """What the headline rests on, in a sentence or two, with its numbers.

    ``answered``: the share of attempts that were answered in time after the push, where it is
    known.
    """
    if not result.shots:
        return "No push was made, so nothing is known of what the service would do after one."
    shot = result.shots[0]
    after = f"After a push of {push_text(plan, result)}"
    load = _load_text(shot, result)
    match result.verdict:
        case "trapped":
            said = f"{after} the service {_failed(answered)}{_grew(shot, load)}: {_where(shot)} it does not "
            said += "come back by itself."
        case "recovers":
            said = _recovers(result, shot, after, load)
        case "not vulnerable":
            said = f"{after} ({number(shot.dose)} timeouts of work) the service "
            said += f"did not stay failed{load}{_deepest(plan, shot)}: {_where(shot)} "
            said += "there is no failed state that lasts."
        case _:
            said = f"{after} the evidence did not settle {_where(shot)} whether the service comes back by "
            said += f"itself{load}."
            said += _too_close(shot)
    return f"{said} {threshold_sentence(result)}".rstrip()


def threshold_sentence(result: TriggerResult) -> str:
    """Up to which utilization the service comes back; empty if that is not known."""
    threshold = result.threshold
    if threshold is None:
        return ""
    if threshold.value >= 1:
        return f"It comes back at any utilization below 100%{_low_end(threshold, result.confidence)}."
    if is_bisected(result):
        return f"The highest utilization at which it comes back lies {threshold_text(result)}{_open(result)}."
    return f"It comes back at utilizations up to {percent(threshold.value)}{threshold_span(result)}."


def is_bisected(result: TriggerResult) -> bool:
    """Whether the threshold is a bracket between two pushes, and no estimate."""
    threshold = result.threshold
    return result.threshold_method == "threshold" and threshold is not None and threshold.low < threshold.high


def threshold_text(result: TriggerResult) -> str:
    """The threshold with its interval for a table; of a bisected one the two pushes it lies between."""
    threshold = result.threshold
    if threshold is None or not is_bisected(result):
        return interval_text(threshold, as_percent=True)
    return f"between {percent(threshold.low)} (came back) and {percent(threshold.high)} (did not)"


def _open(result: TriggerResult) -> str:
    """The pushes that decided nothing."""
    where = [percent(shot.utilization) for shot in result.shots if shot.verdict == "undecided"]
    if not where:
        return ""
    return f"; {'a push' if len(where) == 1 else 'pushes'} at {', '.join(where)} ended undecided"


def threshold_span(result: TriggerResult) -> str:
    """The interval of an estimated threshold in brackets."""
    threshold = result.threshold
    if threshold is None or threshold.low == threshold.high:
        return ""
    return _span(threshold, result.confidence, percent)


def threshold_method(result: TriggerResult) -> str:
    """How the threshold came about."""
    match result.threshold_method:
        case "none":
            return "It is not known up to which utilization the service comes back."
        case "threshold":
            return "The threshold was found by bisection: pushes at several utilizations."
        case "client":
            return "The threshold is one over the attempts that this client makes of a failing request."
        case method:
            return f"The threshold is 1/A, and A is from {SHORT_METHODS[method]}."


def rescue_text(shot: Shot) -> str:
    """How long the rescue took, for a table."""
    if shot.rescued_s is not None:
        return seconds(shot.rescued_s)
    return {"trapped": "not seen to come back", "undecided": "–"}.get(shot.verdict, "none needed")


def health_text(result: TriggerResult) -> str:
    """How the service was left."""
    if result.left_healthy is None:
        return "Whether the service is healthy now was not seen."
    if result.left_healthy:
        return "The service was left healthy."
    return (
        "THE SERVICE WAS LEFT UNHEALTHY: it did not answer well after the load was gone. Look after it now."
    )


def alarms(result: TriggerResult) -> list[str]:
    """What must be said loudly, before the verdict."""
    said = [] if result.left_healthy is not False else [health_text(result)]
    if result.safety_stop is not None:
        what = "CANNOT START" if unreached(result) else "SAFETY STOP"
        said.append(f"{what}: {result.safety_stop}")
    if result.interrupted_by is not None:
        left = "" if result.left_healthy else " The service may still be working off a backlog."
        said.append(f"INTERRUPTED by {result.interrupted_by}: the test did not end as planned.{left}")
    return said


def unreached(result: TriggerResult) -> bool:
    """Whether the test ended while it still asked whether the service answers at all, because it does not."""
    stop = result.safety_stop
    return (
        stop is not None
        and "does not answer" in stop
        and [phase.name for phase in result.phases] == ["reach"]
    )


def remarks(result: TriggerResult) -> list[str]:
    """What the verdict rests on: the evidence, and how A and the threshold were measured."""
    errors = error_remarks(result.error_reasons)
    if not result.shots:
        return errors
    shot = result.shots[0]
    said = list(shot.evidence)
    if shot.amplification is not None:
        span = _span(shot.amplification, result.confidence, number)
        said.append(f"A is {number(shot.amplification.value)}{span} by {METHODS[shot.method]}.")
        said += _hidden(result, shot.amplification)
    if result.threshold is not None:
        said.append(threshold_method(result))
    return said + errors


def advice_text(advice: Advice) -> str:
    """One thing that would change the finding, as a line."""
    reach = ""
    if advice.threshold is not None:
        any_below = advice.threshold >= 1
        share = (
            "any utilization below 100%" if any_below else f"up to {percent(advice.threshold)} utilization"
        )
        reach = f", then it comes back at {share}"
    return f"{advice.change}{reach}. {advice.why}"


def push_s(plan: TriggerPlan, result: TriggerResult) -> float:
    """How long the first push lasted: as it was, or else as planned."""
    if result.shots:
        end_s = result.shots[0].spike_end_s
        near = [p for p in result.phases if p.name.startswith("spike") and abs(p.end_s - end_s) < 0.5]
        if near:
            return near[0].end_s - near[0].start_s
    return spike_for(plan.utilization, plan.dose, plan.client.timeout_s, plan.spike_s).duration_s


def push_text(plan: TriggerPlan, result: TriggerResult) -> str:
    """How long the first push lasted, in two digits: no clock of a test is worth more."""
    lasted_s = float(f"{push_s(plan, result):.2g}")
    return f"{number(lasted_s)} s" if lasted_s >= 0.1 else seconds(lasted_s)


def answered_share(plan: TriggerPlan, shot: Shot, seen: Observations) -> float | None:
    """The share of attempts answered in time, of those that ended from one timeout after the push (what was
    sent before it is done with then) until the verdict; None if none did."""
    start_s = shot.spike_end_s + plan.client.timeout_s
    end_s = seen.now_s if shot.decided_s is None else shot.spike_end_s + shot.decided_s
    if end_s <= start_s:
        return None
    answered, failed = (seen.counted(name, start_s, end_s) for name in ("answered", "failed"))
    return answered / (answered + failed) if answered + failed else None


def interval_text(interval: Interval | None, as_percent: bool = False) -> str:
    """An estimate with its ends, for a table."""
    words = percent if as_percent else number
    if interval is None:
        return words(None)
    if interval.low == interval.high:
        return words(interval.value)
    return f"{words(interval.value)} ({words(interval.low)}–{words(interval.high)})"


def _failed(answered: float | None) -> str:
    if answered is None or answered >= FEW:
        return "went on failing its clients"
    if answered == 0:
        return "answered nobody in time"
    return f"answered only {percent(_rounded(answered))} of attempts in time"


def _rounded(share: float) -> float:
    return round(share, 2) if share >= 0.01 else float(f"{share:.1g}")


def _grew(shot: Shot, load: str) -> str:
    if shot.amplified_utilization is None:
        return load
    times = shot.amplified_utilization.value
    if times > 1:
        return f" and work came in {number(times)} times as fast as it could do it{load}"
    return f" and its backlog did not drain{load}"


def _recovers(result: TriggerResult, shot: Shot, after: str, load: str) -> str:
    where = _where(shot)
    if shot.recovered_s is not None:
        took = seconds(shot.recovered_s)
        return (
            f"{after} the service failed for {took} more and came back by itself{load}: {where} it recovers."
        )
    drain = ""
    if shot.amplified_utilization is not None and shot.amplified_utilization.value < 1:
        drain = f" at {number(1 - shot.amplified_utilization.value, 2)} s a second"
    predicted = ""
    if shot.predicted_recovery_s is not None:
        predicted = f", some {seconds(shot.predicted_recovery_s, 2)} after the push, as predicted from that"
    slowly = " only slowly" if result.slowly else ""
    back = f"{where} it comes back by itself{slowly}{predicted}"
    return f"{after} the backlog of the service drained{drain}{load}: {back}."


def _deepest(plan: TriggerPlan, shot: Shot) -> str:
    if shot.deepest_wait_s is None:
        return ""
    timeout_s = plan.client.timeout_s
    side = "inside" if shot.deepest_wait_s <= timeout_s else "against"
    deepest = seconds(shot.deepest_wait_s)
    return f"; the longest wait seen was {deepest}, {side} the timeout of {seconds(timeout_s)}"


def _too_close(shot: Shot) -> str:
    load = shot.amplified_utilization
    if load is None or not load.low < 1 < load.high:
        return ""
    return " Aρ is too close to 1 to tell: ask again for a longer watch, or a somewhat other utilization."


def _where(shot: Shot) -> str:
    return f"at {percent(shot.utilization)} utilization with these clients"


def _load_text(shot: Shot, result: TriggerResult) -> str:
    load = shot.amplified_utilization
    if load is None:
        return ""
    if load.low == load.high:
        return f" (Aρ {number(load.value)})"
    ends = f"{number(load.low)}–{number(load.high)}"
    return f" (Aρ {number(load.value)}, {ends} at {percent(result.confidence)})"


def _low_end(threshold: Interval, confidence: float) -> str:
    return f" (at least {percent(threshold.low)} at {percent(confidence)})" if threshold.low < 1 else ""


def _span(interval: Interval, confidence: float, words: Callable[[float | None], str]) -> str:
    if interval.low == interval.high:
        return ""
    return f" ({words(interval.low)}–{words(interval.high)} at {percent(confidence)})"


def _hidden(result: TriggerResult, measured: Interval) -> list[str]:
    """What the measured A says of layers that the client does not know of."""
    own = result.client_amplification
    if not math.isfinite(own) or own <= 0 or measured.low <= own <= measured.high:
        return []
    ratio = number(measured.value / own, 2)
    if measured.low > own:
        return [
            f"That is {ratio} times the client's own {number(own)}: something behind the door retries too, "
            "or a request costs more while the service fails."
        ]
    return [f"That is {ratio} of the client's own {number(own)}: part of what is sent is not served."]
