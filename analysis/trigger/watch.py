"""The sequential judge of one shot: from all that was seen so far to a verdict, or to "go on".

It may be asked at every tick: the interval it decides by holds at all times at once, so the error is that of
the whole watch. A service that fails is judged by whether its queue grows or drains; one that is back, by
whether a plain first-in first-out service would be.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from analysis.trigger.comeback import NO_RETRIES, SHEDS, adds_no_load, predicted_recovery_s, verdict_back
from analysis.trigger.gateway import hides_the_queue
from analysis.trigger.interval_words import interval_words
from analysis.trigger.measured import Measured, measure
from analysis.trigger.observations import Observations
from analysis.trigger.refused_connections import DOWN_TIMEOUTS, Gone, gone
from analysis.trigger.result import Interval, Method, Word
from analysis.trigger.shot_context import ShotContext
from analysis.trigger.slope import out_of_order
from analysis.trigger.standing import FAILING_SHARE, Standing, standing, wait_s, was_pushed
from analysis.trigger.standstill import full_queue
from analysis.wording import number, percent, seconds

__all__ = ["SLOW_TIMEOUTS", "Judgement", "ShotContext", "judge"]

SLOW_TIMEOUTS = 20.0
"""A recovery that takes longer is called slow."""
HIDDEN_TIMEOUTS = 10.0
"""A queue that a gateway hides is watched for so long."""
EXACT = 0.2
EXACT_BY_TIMEOUTS = 15.0
"""A verdict by Aρ waits until its interval reaches less than this share to either side, or for so long: the
number is a finding, too."""
STILL_ANSWERED = 0.05
"""A trapped service answers no more than this in time; one that answers more is not offered what the law
says."""
LOOK_ELSEWHERE = (
    "Its queue cannot be seen from here until it is empty: probe past the gateway (--probe-url), or count "
    "what the service received (--received), to know sooner and more exactly."
)
NO_COUNTS = (
    "Its queue cannot be seen from here, and the query of what the service received (--received) gave no "
    "counts to measure by while it failed: it must be answered by somebody who does not wait in that queue. "
    "Or probe past the gateway (--probe-url)."
)


@dataclass(frozen=True, slots=True)
class Judgement:
    """``verdict`` None: go on. ``pushed`` False comes with "undecided": the spike was no trigger, so a
    larger dose is due, or the end. Seconds are from the end of the spike; ``predicted_recovery_s`` until
    the last failing attempt ends.
    """

    verdict: Word | None
    slow: bool = False
    amplified_utilization: Interval | None = None
    amplification: Interval | None = None
    method: Method = "none"
    recovered_s: float | None = None
    predicted_recovery_s: float | None = None
    deepest_wait_s: float | None = None
    evidence: tuple[str, ...] = ()
    pushed: bool = True


def judge(seen: Observations, shot: ShotContext) -> Judgement:
    """The verdict that what was seen so far allows."""
    now, timeout_s = seen.now_s, shot.timeout_s
    if now < shot.spike_end_s + timeout_s:
        return Judgement(None)
    state = standing(seen, timeout_s, shot.spike_end_s, shot.baseline_answered, shot.probe_rate_per_s > 0)
    if state.is_back and not was_pushed(
        seen, timeout_s, shot.spike_start_s, shot.spike_end_s, shot.baseline_answered
    ):
        return _not_pushed(seen, shot)
    away = gone(seen, timeout_s, shot.spike_start_s)
    if away is not None and away.end_s is None:
        return _gone(seen, shot, away)
    return _after_crash(_judged(seen, shot, state), away)


def _judged(seen: Observations, shot: ShotContext, state: Standing) -> Judgement:
    """The verdict on a service that is there."""
    found = measure(seen, shot)
    if state.is_back:
        return _back(seen, shot, found, state)
    if state.answered is not None and state.answered < FAILING_SHARE:
        decided = _failing(seen, shot, found, state.answered)
        if decided is not None:
            return decided
    if seen.now_s - shot.spike_end_s >= shot.watch_timeouts * shot.timeout_s:
        return _watch_over(seen, shot, found, state)
    return _said(seen, shot, found, None)


def _not_pushed(seen: Observations, shot: ShotContext) -> Judgement:
    said = (
        "Practically no attempt failed and no patient probe waited for a timeout "
        f"({seconds(shot.timeout_s)}): the spike was no trigger."
    )
    return _too_weak(seen, shot, said)


def _too_weak(seen: Observations, shot: ShotContext, said: str) -> Judgement:
    return Judgement("undecided", deepest_wait_s=_deepest_s(seen, shot), evidence=(said,), pushed=False)


def _back(seen: Observations, shot: ShotContext, found: Measured, state: Standing) -> Judgement:
    """It answers again: would a plain first-in first-out service, after this very spike?"""
    recovered = state.recovered_s or 0.0
    said = [f"It answered again {seconds(recovered)} after the end of the spike, by itself."]
    verdict, why = verdict_back(seen, shot, found, recovered)
    if verdict is None:
        return _too_weak(seen, shot, why)
    slow = verdict == "recovers" and recovered > SLOW_TIMEOUTS * shot.timeout_s
    return _said(seen, shot, found, verdict, [*said, why], slow=slow, recovered_s=recovered)


def _gone(seen: Observations, shot: ShotContext, away: Gone) -> Judgement:
    """It refuses all connections now; after some timeouts it is not waited for."""
    timeouts = (seen.now_s - away.start_s) / shot.timeout_s
    over = seen.now_s - shot.spike_end_s >= shot.watch_timeouts * shot.timeout_s
    if timeouts < DOWN_TIMEOUTS and not over:
        return Judgement(None, deepest_wait_s=_deepest_s(seen, shot), evidence=(away.said,))
    why = (
        f"It was still down {number(timeouts)} timeouts later. A service that is gone has no queue, so this "
        "tells nothing of its retries."
    )
    return Judgement("undecided", deepest_wait_s=_deepest_s(seen, shot), evidence=(away.said, why))


def _after_crash(judgement: Judgement, away: Gone | None) -> Judgement:
    """The same of a service that is up again; a crash is a failure that the push left behind."""
    if away is None:
        return judgement
    if judgement.verdict is None:
        return replace(judgement, evidence=(away.said,))
    lost = "What had waited was lost with it, so that does not tell whether its queue would have drained."
    verdict: Word = "recovers" if judgement.verdict == "not vulnerable" else judgement.verdict
    return replace(judgement, verdict=verdict, evidence=(away.said, lost, *judgement.evidence))


def _failing(seen: Observations, shot: ShotContext, found: Measured, answered: float) -> Judgement | None:
    measured = found.amplified_utilization
    if (
        measured is not None
        and (measured.low > 1.0 or measured.high < 1.0)
        and not _exact(seen, shot, measured)
    ):
        return None
    if measured is not None and measured.high < 1.0 and not _sheds(found):
        return _draining(seen, shot, found, measured)
    if answered > STILL_ANSWERED:
        return None
    if measured is not None and measured.low > 1.0 and not _sheds(found):
        why = f"While it fails, Aρ is {interval_words(measured)}, above 1: more work comes in than it does."
        return _said(seen, shot, found, "trapped", [why, _error(shot)])
    full = full_queue(seen, shot.timeout_s, shot.settled_s, turned_away=shot.method != "direct probes")
    if full is not None:
        return _said(seen, shot, found, "trapped", [full])
    return _hidden(seen, shot, found)


def _draining(seen: Observations, shot: ShotContext, found: Measured, measured: Interval) -> Judgement:
    predicted = predicted_recovery_s(seen, shot, found)
    why = f"While it fails, Aρ is {interval_words(measured)}, below 1: its queue drains."
    slow = predicted is not None and predicted > SLOW_TIMEOUTS * shot.timeout_s
    if predicted is not None:
        why += f" The last attempt will fail about {seconds(predicted)} after the end of the spike."
    said = [why, _error(shot)]
    verdict: Word = "recovers"
    if adds_no_load(shot, found):
        said, verdict, slow = [NO_RETRIES, *said], "not vulnerable", False
    return _said(seen, shot, found, verdict, said, slow=slow, predicted_recovery_s=predicted)


def _exact(seen: Observations, shot: ShotContext, measured: Interval) -> bool:
    endless = math.isinf(shot.client_amplification)
    if endless or seen.now_s - shot.spike_end_s >= EXACT_BY_TIMEOUTS * shot.timeout_s:
        return True
    return max(measured.high - measured.value, measured.value - measured.low) <= EXACT * measured.value


def _sheds(found: Measured) -> bool:
    """Whether it clearly does less work per attempt than when healthy: then it may soon be back, unharmed."""
    return found.work_share is not None and found.work_share.high < SHEDS


def _hidden(seen: Observations, shot: ShotContext, found: Measured) -> Judgement | None:
    """What to say when somebody else answers the probes."""
    hidden = hides_the_queue(seen.probes_sent(shot.spike_start_s), shot.timeout_s)
    failing_for = seen.now_s - shot.spike_end_s
    if shot.method == "prometheus" and found.amplified_utilization is not None:
        return None
    if hidden is None or failing_for < HIDDEN_TIMEOUTS * shot.timeout_s:
        return None
    if shot.traps_a_plain_service:
        plain = shot.client_amplification * shot.utilization
        why = (
            f"It still fails {number(failing_for / shot.timeout_s)} timeouts after the spike, and what its "
            f"client alone sends while it fails is {number(plain)} times the capacity, hidden retries not "
            "counted."
        )
        found = found.by_client(shot.client_amplification, plain)
        return _said(seen, shot, found, "trapped", [hidden, why])
    what = NO_COUNTS if shot.method == "prometheus" else LOOK_ELSEWHERE
    return _said(seen, shot, found, "undecided", [hidden, what])


def _watch_over(seen: Observations, shot: ShotContext, found: Measured, state: Standing) -> Judgement:
    answered = "too few attempts ended to say" if state.answered is None else percent(state.answered)
    said = [
        f"The watch of {number(shot.watch_timeouts)} timeouts is over; answered in time in the last one: "
        f"{answered}."
    ]
    disorder = out_of_order(seen.probes_sent(shot.spike_start_s), shot.timeout_s)
    measured = found.amplified_utilization
    nothing = state.answered is not None and state.answered <= STILL_ANSWERED
    if measured is not None and measured.low > 1.0 and nothing and shot.watch_timeouts >= SLOW_TIMEOUTS:
        why = f"Aρ is {interval_words(measured)}, above 1, and it failed for the whole watch."
        return _said(seen, shot, found, "trapped", [why, *said, _error(shot)])
    if measured is not None:
        tells = _why_that_does_not_tell(found, measured)
        said.append(f"Aρ while failing is {interval_words(measured)}, {tells}.")
    elif disorder is not None:
        said.append(disorder)
    elif not found.evidence:
        said.append("Too few patient probes came back from the queue to measure whether it grows.")
    return _said(seen, shot, found, "undecided", said)


def _why_that_does_not_tell(found: Measured, measured: Interval) -> str:
    if measured.low <= 1.0 <= measured.high:
        return "which includes 1"
    if _sheds(found):
        return "but an attempt costs it less work than when it is healthy, so it may yet come back"
    return "but it answers too much for that to decide"


def _said(
    seen: Observations,
    shot: ShotContext,
    found: Measured,
    verdict: Word | None,
    said: Sequence[str] = (),
    *,
    slow: bool = False,
    recovered_s: float | None = None,
    predicted_recovery_s: float | None = None,
) -> Judgement:
    return Judgement(
        verdict,
        slow,
        found.amplified_utilization,
        found.amplification,
        found.method,
        recovered_s,
        predicted_recovery_s,
        _deepest_s(seen, shot),
        (*said, *found.evidence) if verdict is not None else (),
    )


def _deepest_s(seen: Observations, shot: ShotContext) -> float | None:
    waits = [wait_s(probe) for probe in seen.probes_sent(shot.spike_start_s)]
    return max(waits) if waits else None


def _error(shot: ShotContext) -> str:
    return (
        f"At the very edge (Aρ = 1) such a verdict is wrong in at most {percent(1.0 - shot.confidence)} of "
        "the tests, whenever in the watch it is taken."
    )
