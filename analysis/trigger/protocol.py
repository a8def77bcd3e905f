"""The trigger test as a pure state machine: what was seen goes in at every tick, commands come out.

The same lines make the same commands and the same result, so a recorded test can be worked out again.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from analysis.trigger.advice import advice
from analysis.trigger.bisection import ThresholdSearch, came_back
from analysis.trigger.capacity import AGAIN_AT_MOST_S, FoundCapacity, capacity_again, capacity_found
from analysis.trigger.capacity_drift import drift_sentence, with_both_capacities, with_verdicts_at_both
from analysis.trigger.course import Course, Halted, Journal, attempts_sent, obeyed, waited
from analysis.trigger.observations import Observations
from analysis.trigger.offer import law_amplification
from analysis.trigger.probe_rate import probe_rate
from analysis.trigger.push import faults_in_size
from analysis.trigger.reach import reached
from analysis.trigger.rescue import left_healthy
from analysis.trigger.result import Advice, Interval, Shot, TriggerResult
from analysis.trigger.room import looked_until_s, rescue_until_s
from analysis.trigger.shot import Judge, Setting, ShotTaken
from analysis.trigger.threshold import threshold_of, undecided_end, with_bisected_amplification
from analysis.trigger.watch import judge as judge_by_probes
from analysis.wording import seconds
from domain.sockets import SocketLimits
from domain.trigger.messages import Command, Drop, End, Line, Saturate, Tick
from domain.trigger.plan import TriggerPlan
from domain.trigger.spike import worst_case

LATER_BASELINE_TIMEOUTS = 3.0
"""Of the shots after the first: the service is known by then."""
CHECK_TIMEOUTS, CHECK_AT_LEAST_S = 10.0, 5.0
UNLIMITED = SocketLimits(sys.maxsize, sys.maxsize, 0.0)
"""Of a machine whose limits are not asked about."""


class Protocol:
    """One trigger test. ``next`` is called again and again while lines are taken into ``seen``.

    It goes from tick to tick however many come between two calls, and at each looks only at what had happened
    by then, so the calls' times change nothing. ``limits`` are those of the machine that sends.
    """

    def __init__(
        self, plan: TriggerPlan, judge: Judge = judge_by_probes, limits: SocketLimits = UNLIMITED
    ) -> None:
        self.plan = plan
        self.finished = False
        """Whether ``Drop`` and ``End`` have been commanded: nothing more will be."""
        self._judge = judge
        self._limits = limits
        self._journal = Journal()
        self._course: Course[None] = self._test()
        self._capacity: Interval | None = None
        self._found: FoundCapacity | None = None
        self._capacity_after: Interval | None = None
        self._shots: list[ShotTaken] = []
        self._search = ThresholdSearch()
        self._left_healthy: bool | None = None
        self._utilization: float | None = None
        self._halted: Halted | None = None
        self._stop: str | None = None
        self._cut_off = False
        self._warnings: list[str] = []

    @property
    def phase(self) -> str:
        """The present phase, for whoever watches."""
        return self._journal.phase

    @property
    def utilization(self) -> float | None:
        """That of the latest push, for whoever watches; None before the first."""
        return self._utilization

    @property
    def said(self) -> str:
        """What is known in this phase so far, in a few words."""
        return self._journal.said

    def next(
        self,
        seen: Observations,
        now_s: float,
        *,
        received: Sequence[tuple[float, float]] = (),
        stop: str | None = None,
    ) -> list[Command]:
        """What to command now, at ``now_s`` of the generator's clock; most of the time nothing.

        ``stop`` (or a stop asked for in ``seen``, or the generator's own end) ends the test at once.
        """
        if self.finished:
            return []
        commands: list[Command] = []
        for tick in seen.ticks[len(self._journal.seen.ticks) :]:
            if seen.stop_asked is not None and tick.t_s > seen.stop_asked.t_s:
                break
            commands += self._at_tick(tick, seen, received or seen.received)
        asked = stop or (seen.stop_asked.reason if seen.stop_asked is not None else None)
        if not self.finished and (asked is not None or seen.stopped is not None):
            self._cut_off = asked is None
            self._stop = asked
            return self._end(now_s if seen.stop_asked is None else seen.stop_asked.t_s)
        return commands

    def _at_tick(
        self, tick: Tick, seen: Observations, received: Sequence[tuple[float, float]]
    ) -> list[Command]:
        """Go on by one tick, with all that had happened by then."""
        if self.finished:
            return []
        self._journal.take_up_to(tick, seen, received)
        try:
            return list(next(self._course))
        except StopIteration:
            return self._end(tick.t_s)

    def result(
        self,
        seen: Observations,
        *,
        invalid_reasons: Sequence[str] = (),
        warnings: Sequence[str] = (),
    ) -> TriggerResult:
        """What the test has found up to now."""
        shots = tuple(taken.shot for taken in self._shots if taken.shot is not None)
        shots = with_both_capacities(shots, self._capacity, self._capacity_after)
        client_a = self.plan.client.amplification
        shots = with_verdicts_at_both(shots, self._capacity, self._capacity_after, client_a)
        bracket = self._search.threshold if self.plan.find_threshold else None
        threshold, method = threshold_of(shots, bracket)
        shots = with_bisected_amplification(shots, threshold, method)
        first = shots[0] if shots else None
        drift = drift_sentence(self._capacity, self._capacity_after)
        ended = undecided_end(shots) if self.plan.find_threshold else None
        faults = self._faults(seen)
        return TriggerResult(
            name=self.plan.name,
            verdict=first.verdict if first else "undecided",
            slowly=bool(first and first.verdict == "recovers" and self._shots[0].slowly),
            confidence=self.plan.confidence,
            capacity_per_s=self._capacity,
            capacity_given=self.plan.capacity_per_s is not None,
            client_amplification=self._client_amplification(),
            shots=shots,
            threshold=threshold,
            threshold_method=method,
            advice=self._advice(first),
            phases=tuple(self._journal.phases(seen.now_s)),
            attempts_sent=attempts_sent(seen),
            left_healthy=self._left_healthy,
            invalid_reasons=(*faults, *invalid_reasons),
            safety_stop=self._safety_stop(seen),
            interrupted_by=self._interrupted_by(seen),
            warnings=(*self._warnings, *(said for said in (drift, ended) if said is not None), *warnings),
            capacity_after_per_s=self._capacity_after,
            error_reasons=seen.error_reasons,
        )

    # What ends a test.

    def _end(self, now_s: float) -> list[Command]:
        self._course.close()
        self._journal.leave(now_s)
        self.finished = True
        return [Drop("end"), End()]

    def _faults(self, seen: Observations) -> tuple[str, ...]:
        halted = self._halted.faults if self._halted is not None else ()
        stopped = seen.stopped.fault if seen.stopped is not None else None
        return (*halted, stopped) if stopped else halted

    def _safety_stop(self, seen: Observations) -> str | None:
        if self._halted is not None and self._halted.safety_stop:
            return self._halted.safety_stop
        if self._stop is not None:
            return None if self._interrupted_by(seen) else self._stop
        if not self._cut_off or seen.stopped is None or seen.stopped.fault is not None:
            return None
        ceiling = seen.stopped.ceiling
        what = "the generator stopped" if ceiling is None else f"the ceiling {ceiling} was reached"
        return f"{what}: {seen.stopped.reason}"

    def _interrupted_by(self, seen: Observations) -> str | None:
        asked = seen.stop_asked
        return asked.reason if asked is not None and asked.interrupted else None

    # The test itself.

    def _test(self) -> Course[None]:
        try:
            yield from reached(self._journal, self.plan)
        except Halted as halted:
            self._halted = halted
            return
        try:
            yield from self._shots_taken()
        except Halted as halted:
            self._halted = halted
        try:
            yield from self._last_look()
        except Halted as halted:
            self._halted = self._halted or halted

    def _last_look(self) -> Course[None]:
        self._left_healthy = yield from left_healthy(self._journal, self.plan, self._check_until_s())
        spare_s = self.plan.ceiling.duration_s - self._journal.now_s
        if self._left_healthy and self._found is not None and self._shots and spare_s > 2 * AGAIN_AT_MOST_S:
            self._capacity_after = yield from capacity_again(self._journal, self.plan, self._found.in_flight)
        if not self._left_healthy:
            self._warnings.append(
                "the service was NOT left healthy: without any load it does not answer five requests in a "
                f"row, each within {seconds(self.plan.client.timeout_s)}"
            )

    def _shots_taken(self) -> Course[None]:
        capacity = yield from self._capacity_known()
        sent = attempts_sent(self._journal.seen)
        faults = faults_in_size(self.plan, capacity.value, sent, self._limits)
        if faults:
            raise Halted(*faults)
        probing = probe_rate(self.plan, capacity.value)
        self._journal.said = f"{self._journal.said}; {probing.said}".lstrip("; ")
        setting = Setting(capacity, probing.rate_per_s, self._judge, self._limits)
        yield from self._shot(self.plan, setting)
        while self.plan.find_threshold and (utilization := self._search.next_utilization) is not None:
            plan = _later(self.plan, utilization)
            if not (yield from self._fit_for_another(plan, capacity.value)):
                return
            try:
                yield from self._shot(plan, setting)
            except Halted as halted:
                # It does not even stand this utilization, so it does not come back at it.
                self._warnings.append(f"while looking for the threshold: {halted}")
                self._search.note(utilization, None if halted.faults else False)

    def _capacity_known(self) -> Course[Interval]:
        given = self.plan.capacity_per_s
        if given is not None:
            self._capacity = Interval(given, given, given)
            return self._capacity
        self._journal.enter("capacity", self._journal.now_s)
        self._found = yield from capacity_found(self._journal, self.plan)
        self._capacity = self._found.capacity
        ended_s = yield from obeyed(self._journal, Saturate(0, "capacity"))
        # What is still in flight would be a queue that the baseline begins with.
        yield from waited(self._journal, ended_s + self._found.in_flight / self._capacity.value)
        return self._capacity

    def _shot(self, plan: TriggerPlan, setting: Setting) -> Course[None]:
        taken = ShotTaken(self._journal, plan, setting, see_it_back=not self._shots)
        self._shots.append(taken)
        self._utilization = plan.utilization
        yield from taken.course()
        shot = taken.shot
        if shot is None:
            self._search.note(plan.utilization, None)
            return
        measured = shot.amplification.value if shot.amplification is not None else None
        self._search.note(plan.utilization, came_back(shot.verdict), measured)

    def _fit_for_another(self, plan: TriggerPlan, capacity_per_s: float) -> Course[bool]:
        """Whether the service is healthy and another shot keeps under the ceiling."""
        journal, ceiling = self._journal, plan.ceiling
        if not (yield from left_healthy(journal, plan, rescue_until_s(journal, plan))):
            return False
        worst = worst_case(plan, capacity_per_s)
        spared_s = max(0.0, plan.rescue_s - _drain_s(plan))
        if journal.now_s + worst.duration_s - spared_s > ceiling.duration_s:
            self._warnings.append("looking for the threshold ended early: ceiling.duration_s leaves no time")
            return False
        if attempts_sent(journal.seen) + worst.attempts > ceiling.attempts:
            self._warnings.append("looking for the threshold ended early: ceiling.attempts leaves no more")
            return False
        return True

    def _check_until_s(self) -> float:
        """The last look is short, unless nothing has yet been tried to get the service back."""
        tried = any(taken.shot is not None for taken in self._shots)
        if self._shots and not tried:
            return rescue_until_s(self._journal, self.plan)
        looked_s = max(CHECK_TIMEOUTS * self.plan.client.timeout_s, CHECK_AT_LEAST_S)
        return looked_until_s(self._journal, self.plan, looked_s)

    # What it comes to.

    def _client_amplification(self) -> float:
        """Attempts a job while all fail, by the law of the client's rules, its budget included."""
        if self._capacity is None:
            return self.plan.client.amplification
        return law_amplification(self.plan.client, self.plan.utilization * self._capacity.value)

    def _advice(self, first: Shot | None) -> tuple[Advice, ...]:
        if first is None:
            return ()
        return advice(self.plan, first, self._capacity.value if self._capacity is not None else None)


def replay(
    plan: TriggerPlan,
    lines: Iterable[Line],
    judge: Judge = judge_by_probes,
    limits: SocketLimits = UNLIMITED,
    **given: Any,
) -> TriggerResult:
    """The result of a recorded test, worked out again from its lines; ``given`` is passed to ``result``."""
    seen, protocol = Observations(), Protocol(plan, judge, limits)
    for line in lines:
        seen.take(line)
        if isinstance(line, Tick) or seen.stop_asked is not None or seen.stopped is not None:
            protocol.next(seen, seen.now_s)
    return protocol.result(seen, **given)


def _later(plan: TriggerPlan, utilization: float) -> TriggerPlan:
    """The plan of a shot that looks for the threshold."""
    baseline = min(plan.baseline_timeouts, LATER_BASELINE_TIMEOUTS)
    return replace(plan, utilization=utilization, baseline_timeouts=baseline)


def _drain_s(plan: TriggerPlan) -> float:
    """About how long the rescue of a shot that was watched to the end takes: its queue grew all the time."""
    return 2.0 * plan.watch_timeouts * plan.client.timeout_s
