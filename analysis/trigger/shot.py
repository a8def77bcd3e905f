"""One shot of a trigger test: healthy at a utilization, pushed, watched to a verdict, and got back up."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from analysis.trigger.baseline import baseline
from analysis.trigger.course import Course, Journal
from analysis.trigger.drained import with_drain
from analysis.trigger.gateway import hides_the_queue
from analysis.trigger.interval_words import interval_words
from analysis.trigger.observations import Observations
from analysis.trigger.outdone import outdone_capacity
from analysis.trigger.push import Push, pushed, spike_that_fits
from analysis.trigger.rescue import healthy_since, rescued
from analysis.trigger.result import Interval, Method, Shot
from analysis.trigger.room import affords, refuse_without_time, rescue_until_s, watched_until_s
from analysis.trigger.shot_context import ShotContext
from analysis.trigger.watch import SLOW_TIMEOUTS, Judgement
from analysis.wording import number, seconds
from domain.sockets import SocketLimits
from domain.trigger.plan import TriggerPlan

Judge = Callable[[Observations, ShotContext], Judgement]

NOT_PUSHED_TIMEOUTS = 3.0
MOST_PUSHES = 3
"""The first, and twice the dose doubled."""
SHEDS_FROM = 5
"""Rejections since the spike began that show that a service sheds."""
SEEN_BACK_TIMEOUTS = 1.5 * SLOW_TIMEOUTS
"""A service that is to be back soon is watched so long at most."""
SURE_TIMEOUTS, SURE_WIDTH = 12.0, 0.2
"""A trapped service is watched on until the interval of A is ±10%, but no longer than so."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What all shots of a test share."""

    capacity: Interval
    probe_rate_per_s: float
    judge: Judge
    limits: SocketLimits


class ShotTaken:
    """A shot at the plan's utilization while it is being taken; ``shot`` is there from the verdict on.

    ``see_it_back``: a service that is soon to be back by itself is watched until it is.
    """

    def __init__(
        self, journal: Journal, plan: TriggerPlan, setting: Setting, *, see_it_back: bool = False
    ) -> None:
        self._journal = journal
        self._plan = plan
        self._setting = setting
        self._see_it_back = see_it_back
        self._timeout_s = plan.client.timeout_s
        self._rate_per_s = plan.utilization * setting.capacity.value
        self._outdone: str | None = None
        self._pushed_s: float | None = None
        self.shot: Shot | None = None
        self.slowly = False

    def course(self) -> Course[None]:
        """The course of the shot, rescue included; raises ``Halted`` if it does not come to the push."""
        capacity, setting = self._setting.capacity.value, self._setting
        answered = yield from baseline(self._journal, self._plan, capacity, setting.probe_rate_per_s)
        for number_of_push in range(MOST_PUSHES):
            dosed = replace(self._plan, dose=self._plan.dose * 2.0**number_of_push)
            spike = spike_that_fits(dosed, capacity)
            if spike is None:
                break
            if not number_of_push:
                refuse_without_time(self._journal, self._plan, spike)
            elif not affords(self._journal, dosed, spike, setting.capacity, setting.limits):
                break
            push = yield from pushed(self._journal, spike, self._rate_per_s, capacity, self._timeout_s)
            self._pushed_s = push.start_s if self._pushed_s is None else self._pushed_s
            judgement = yield from self._watched(answered, push)
            if judgement.pushed:
                break
        yield from self._rescued()
        self._note_deepest()

    def _note_deepest(self) -> None:
        """The longest wait of any probe since the spike: most come back after the verdict."""
        shot = self.shot
        if shot is None or self._pushed_s is None:
            return
        waits = [probe.done_s - probe.sent_s for probe in self._journal.seen.probes_sent(self._pushed_s)]
        if waits:
            self.shot = replace(shot, deepest_wait_s=max(shot.deepest_wait_s or 0.0, *waits))

    def _watched(self, answered: float, push: Push) -> Course[Judgement]:
        """Watch until the judge has a verdict, or sees that it was not pushed, or time is over; note it."""
        latest_s = watched_until_s(self._plan, push.end_s)
        while True:
            judgement = self._judged(answered, push)
            self._journal.said = _going_on(judgement)
            since_s = self._journal.now_s - push.end_s
            early = not judgement.pushed and since_s < NOT_PUSHED_TIMEOUTS * self._timeout_s
            if self._journal.now_s >= latest_s or (judgement.verdict is not None and not early):
                break
            yield ()
        self._note(push, judgement)
        measured = judgement.amplification is not None
        if self._see_it_back and (
            (judgement.verdict == "recovers" and not judgement.slow)
            or (judgement.verdict == "trapped" and measured)
        ):
            yield from self._watched_on(answered, push, judgement)
        return judgement

    def _watched_on(self, answered: float, push: Push, judgement: Judgement) -> Course[None]:
        """After the verdict, which stands: until a service that is soon to be back is, or until it is known
        well how a trapped one fails."""
        recovers = judgement.verdict == "recovers"
        timeouts = SEEN_BACK_TIMEOUTS if recovers else SURE_TIMEOUTS
        until_s = min(watched_until_s(self._plan, push.end_s), push.end_s + timeouts * self._timeout_s)
        latest = surest = judgement
        while self._journal.now_s < until_s:
            if latest.recovered_s is not None or not (recovers or _width(surest) > SURE_WIDTH):
                break
            yield ()
            latest = self._judged(answered, push)
            if _width(latest) < _width(surest):
                surest = latest
        if self.shot is None:
            return
        if recovers:
            self.shot = replace(self.shot, recovered_s=latest.recovered_s)
        elif latest.recovered_s is not None:
            self._note_back_after_all(latest.recovered_s)
            return
        if surest is not judgement and surest.amplified_utilization is not None:
            measured = interval_words(surest.amplified_utilization)
            self.shot = replace(
                self.shot,
                amplified_utilization=surest.amplified_utilization,
                amplification=surest.amplification,
                evidence=(*self.shot.evidence, f"Watched on after the verdict, Aρ is {measured}."),
            )

    def _note_back_after_all(self, recovered_s: float) -> None:
        """A service that was called trapped, and then came back while it was watched on, was not."""
        shot = self.shot
        if shot is None or shot.decided_s is None:
            return
        why = (
            f"After {seconds(shot.decided_s)} it was called trapped, but it came back by itself "
            f"{seconds(recovered_s)} after the end of the spike. Did its capacity grow, does it shed "
            "late, or is its full queue hardly longer than the timeout?"
        )
        self.shot = replace(
            shot,
            verdict="recovers",
            decided_s=self._journal.now_s - shot.spike_end_s,
            recovered_s=recovered_s,
            evidence=(why, *shot.evidence),
        )

    def _judged(self, answered: float, push: Push) -> Judgement:
        plan, setting = self._plan, self._setting
        context = ShotContext(
            client=plan.client,
            utilization=plan.utilization,
            arrival_rate_per_s=self._rate_per_s,
            capacity_per_s=setting.capacity,
            spike_start_s=push.start_s,
            spike_end_s=push.end_s,
            spike_factor=push.spike.factor,
            baseline_answered=answered,
            method=method_of(plan),
            probe_rate_per_s=setting.probe_rate_per_s,
            watch_timeouts=plan.watch_timeouts,
            confidence=plan.confidence,
            received_counts=self._journal.seen.received,
        )
        return setting.judge(self._journal.seen, context)

    def _note(self, push: Push, judgement: Judgement) -> None:
        """Keep what the judge said, unless what was seen makes it no verdict or one of another kind."""
        shot = _shot(self._plan, push, judgement, self._journal.now_s - push.end_s)
        self._outdone = self._outdone or outdone_capacity(
            self._journal.seen,
            (push.start_s, push.end_s),
            self._setting.capacity,
            self._timeout_s,
            not_vulnerable=shot.verdict == "not vulnerable",
        )
        outdone = self._outdone
        if outdone is not None and shot.verdict != "trapped":
            shot = replace(shot, verdict="undecided", decided_s=None, evidence=(*shot.evidence, outdone))
        elif not judgement.pushed:
            shot = self._not_pushed(shot, push)
        self.shot, self.slowly = shot, judgement.slow

    def _not_pushed(self, shot: Shot, push: Push) -> Shot:
        """The same shot, of a service whose queue did not grow, with why: it sheds, or nobody knows."""
        rejected = self._journal.seen.counted("rejected", push.start_s, self._journal.now_s)
        sheds = rejected >= SHEDS_FROM
        why = (
            f"It could not be pushed into failing with a dose of {number(push.dose)} timeouts: it rejected "
            + (
                f"{rejected:,} attempts instead of queueing them."
                if sheds
                else f"{rejected:,} attempts only, so its capacity may be larger than was thought."
            )
        )
        return replace(
            shot,
            verdict="not vulnerable" if sheds else "undecided",
            decided_s=self._journal.now_s - push.end_s if sheds else None,
            evidence=(*shot.evidence, why),
        )

    def _rescued(self) -> Course[None]:
        """Get the service back if it fails at this moment; how long it took is noted in the shot."""
        shot = self.shot
        if shot is None or healthy_since(self._journal, self._plan, shot.spike_end_s) is not None:
            return
        rescue_s = self._journal.now_s
        took_s = yield from rescued(
            self._journal,
            self._plan,
            capacity_per_s=self._setting.capacity.value,
            utilization=self._plan.utilization,
            amplification=self._amplification_at_most(shot),
            wait_s=self._backlog_s(shot),
            until_s=rescue_until_s(self._journal, self._plan),
            timed=shot.amplification is None and self._is_hidden(shot),
        )
        said = (
            f"It was NOT back within the {seconds(self._plan.rescue_s)} of the rescue."
            if took_s is None
            else f"It was back {seconds(took_s)} after the rescue began."
        )
        self.shot = replace(shot, rescued_s=took_s, evidence=(*shot.evidence, said))
        if took_s is not None and self._pushed_s is not None and self._is_hidden(shot):
            self.shot = with_drain(
                self.shot,
                self._journal.seen,
                spike_start_s=self._pushed_s,
                rescue_s=rescue_s,
                capacity_per_s=self._setting.capacity,
                client_amplification=self._plan.client.amplification,
            )

    def _is_hidden(self, shot: Shot) -> bool:
        probes = self._journal.seen.probes_sent(shot.spike_end_s)
        return hides_the_queue(probes, self._timeout_s) is not None

    def _amplification_at_most(self, shot: Shot) -> float:
        """A to shed by: as measured, at its highest; of an endless client ∞, since its jobs stay."""
        of_client, measured = self._plan.client.amplification, shot.amplification
        return of_client if measured is None or math.isinf(of_client) else max(1.0, measured.high)

    def _backlog_s(self, shot: Shot) -> float:
        """The queue in seconds, as far as is known: the shot's deepest wait, or that of the last probe, and
        what has come in since that was sent: its wait w is now a queue of about w·Aρ."""
        last = self._journal.seen.probes[-1:]
        waits = [shot.deepest_wait_s or 0.0, *(probe.done_s - probe.sent_s for probe in last)]
        amplified = shot.amplified_utilization
        growth = 1.0 if amplified is None else max(1.0, amplified.value)
        return max(self._timeout_s, growth * max(waits))


def _width(judgement: Judgement) -> float:
    """Of the interval of A, as a share of it; infinite without one."""
    a = judgement.amplification
    return math.inf if a is None else (a.high - a.low) / a.value


def method_of(plan: TriggerPlan) -> Method:
    """How the plan has the amplification measured."""
    if plan.guards.received_query is not None:
        return "prometheus"
    return "direct probes" if plan.target.probe_url is not None else "probes"


def _going_on(judgement: Judgement) -> str:
    """What is known so far, for whoever watches."""
    if judgement.verdict is not None:
        return f"{judgement.verdict}: {judgement.evidence[0] if judgement.evidence else ''}".rstrip(": ")
    measured = judgement.amplified_utilization
    if measured is None:
        return ""
    return f"Aρ {number(measured.value)} ({number(measured.low)} to {number(measured.high)})"


def _shot(plan: TriggerPlan, push: Push, judgement: Judgement, since_s: float) -> Shot:
    return Shot(
        utilization=plan.utilization,
        dose=push.dose,
        spike_end_s=push.end_s,
        verdict=judgement.verdict or "undecided",
        decided_s=None if judgement.verdict in (None, "undecided") else since_s,
        recovered_s=judgement.recovered_s,
        amplified_utilization=judgement.amplified_utilization,
        amplification=judgement.amplification,
        method=judgement.method,
        predicted_recovery_s=judgement.predicted_recovery_s,
        evidence=tuple(judgement.evidence),
        deepest_wait_s=judgement.deepest_wait_s,
    )
