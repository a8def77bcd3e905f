"""The capacity of a service, by a closed loop of patient requests that is widened until nothing is gained.

A closed loop with n in flight can never push a service deeper than n. Its throughput rises with n up to the
capacity, which is where Little's law turns n into waiting: beyond the knee a step of n gains only wait.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from statistics import NormalDist

import numpy as np

from analysis.trigger.course import Course, Halted, Journal, obeyed
from analysis.trigger.observations import Observations
from analysis.trigger.result import Interval
from analysis.wording import number, seconds
from domain.trigger.messages import TICK_EVERY_S, Saturate
from domain.trigger.plan import TriggerPlan

MOST_IN_FLIGHT = 256
STEP_AT_LEAST_S = 0.5
STEP_AT_MOST_S = 2.5
STEP_ERROR = 0.05
HOLD_AT_MOST_S = 8.0
HOLD_ERROR = 0.02
AGAIN_AT_MOST_S, AGAIN_ERROR = 3.0, 0.03
"""For the second look at the end of a test."""
GAIN = 0.05
"""A doubling that gains less is past the knee."""
NEARLY_DOUBLE = 0.6
"""Up to a gain of so much there was hardly any waiting."""
NEXT_DEEPER = 3.0
"""Times the deepest wait, which is then the timeout itself: what the next step may be expected to wait."""
SHARE_OF_CEILING = 0.8
LEAST_VARIATION = 0.7
_SETTLING_S = 2.0 * TICK_EVERY_S
_STRETCHES, LEAST_STRETCHES = 16, 4
_SURE = 1.645
"""Standard errors of a one-sided 95%."""


@dataclass(frozen=True, slots=True)
class Throughput:
    """Answers per second with ``in_flight`` requests open, and its standard error."""

    in_flight: int
    rate_per_s: float
    error_per_s: float
    answers: int

    @property
    def latency_s(self) -> float:
        """Little's law: n/X."""
        return self.in_flight / self.rate_per_s

    @property
    def relative_error(self) -> float:
        """The standard error over the rate."""
        return self.error_per_s / self.rate_per_s

    @property
    def cautious_error(self) -> float:
        """The relative error to stop by: an error that is looked at until it is small comes out too small, so
        it is never less than that of a service with a squared variation of 1/2."""
        return max(self.relative_error, LEAST_VARIATION / math.sqrt(self.answers))


def throughput(seen: Observations, in_flight: int, start_s: float, end_s: float) -> Throughput | None:
    """Answers per second of the closed loop in this time, the first round of ``in_flight`` left out.

    Workers in a closed loop may move in step and answer in bursts, so it is counted over whole rounds of
    ``in_flight`` answers; the error is that of stretches of whole rounds (batch means), and of a Poisson
    count while there are fewer than four. None before a whole round has been counted.
    """
    times, counts = seen.column("t_s", start_s, end_s), seen.column("saturated", start_s, end_s)
    if not len(times):
        return None
    ready = (counts >= counts[0] + in_flight) & (times >= start_s + _SETTLING_S)
    rises = np.diff(counts, prepend=counts[0]) > 0
    times, counts = times[ready & rises], counts[ready & rises]
    rounds = int(counts[-1] - counts[0]) // in_flight if len(counts) else 0
    if rounds < 1:
        return None
    per_stretch = in_flight * math.ceil(rounds / _STRETCHES)
    stretches = int(counts[-1] - counts[0]) // per_stretch
    ends = np.interp(counts[0] + per_stretch * np.arange(stretches + 1), counts, times)
    answers = per_stretch * stretches
    rate = answers / float(ends[-1] - ends[0])
    relative = 1.0 / math.sqrt(answers)
    if stretches >= LEAST_STRETCHES:
        lengths = np.diff(ends)
        # One answer more or less at the ends cannot be told apart.
        relative = max(float(lengths.std(ddof=1) / lengths.mean()) / math.sqrt(stretches), 1.0 / answers)
    return Throughput(in_flight, rate, rate * relative, answers)


class CapacitySearch:
    """Which concurrency to try next, from the throughputs of those tried: 1, 2, 4, … up to the knee.

    ``deepest_wait_s``: no step is taken beyond one in which a request waits clearly longer than this for its
    turn, nor one in which it would wait more than three times as long if nothing were gained.
    """

    def __init__(self, deepest_wait_s: float) -> None:
        self._deepest_wait_s = deepest_wait_s
        self.steps: list[Throughput] = []
        self.knee = False
        """Whether the throughput has stopped rising."""
        self.deep = False
        """Whether it was the wait that ended the search."""

    @property
    def next_in_flight(self) -> int | None:
        """What to try next; None if the search is over."""
        tried = self.steps[-1].in_flight if self.steps else 0
        if self.knee or self.deep or tried >= MOST_IN_FLIGHT:
            return None
        return max(1, 2 * tried)

    def note(self, step: Throughput) -> None:
        """The throughput of the concurrency last tried."""
        self.steps.append(step)
        self.knee = self._past_the_knee()
        self.deep = self._too_deep(step) or self._next_too_deep()

    def wait_s(self, step: Throughput) -> float:
        """How much longer a request takes than one that never waits: its turn in the queue. What that takes
        is the mean over the first steps, as long as a doubling still gained nearly as much."""
        if not self.steps:
            return 0.0
        alone = self._alone()
        answers = sum(one.answers for one in alone)
        return step.latency_s - sum(one.latency_s * one.answers for one in alone) / answers

    def _alone(self) -> list[Throughput]:
        alone = self.steps[:1]
        for before, after in pairwise(self.steps):
            if _gain(before, after) < NEARLY_DOUBLE:
                break
            alone.append(after)
        return alone

    def _too_deep(self, step: Throughput) -> bool:
        error_s = step.latency_s * math.hypot(
            step.cautious_error, LEAST_VARIATION / math.sqrt(sum(one.answers for one in self._alone()))
        )
        return self.wait_s(step) - _SURE * error_s > self._deepest_wait_s

    def _next_too_deep(self) -> bool:
        """Whether requests have begun to wait, and would wait too long with twice as many in flight: however
        uncertain a slow service's latency is, it is not pushed any further."""
        if len(self.steps) < 2 or _gain(*self.steps[-2:]) >= NEARLY_DOUBLE:
            return False
        last = self.steps[-1]
        return self.wait_s(last) + last.latency_s > NEXT_DEEPER * self._deepest_wait_s

    @property
    def best(self) -> Throughput:
        """Where the capacity is measured: the first step past the knee, which is saturated for sure, unless
        it is too deep or clearly slower than one before."""
        past = self.steps.index(self._last_useful) + 1
        shallow = [step for step in self.steps[: past + 1] if not self._too_deep(step)]
        fastest = max(shallow, key=lambda step: step.rate_per_s)
        return next(step for step in reversed(shallow) if not _clearly_gains(step, fastest, 0.0))

    @property
    def _last_useful(self) -> Throughput:
        """The last step that gained on the one before; the first, if none did."""
        useful = self.steps[0]
        for before, after in pairwise(self.steps):
            if _gain(before, after) >= GAIN:
                useful = after
        return useful

    def _past_the_knee(self) -> bool:
        if len(self.steps) < 2:
            return False
        before, last = self.steps[-2:]
        clearly = _gain(before, last) + _SURE * _error_of_gain(before, last) < GAIN
        return clearly or (
            len(self.steps) > 2 and all(_gain(*pair) < GAIN for pair in pairwise(self.steps[-3:]))
        )


def _gain(before: Throughput, after: Throughput) -> float:
    return after.rate_per_s / before.rate_per_s - 1.0


def _error_of_gain(before: Throughput, after: Throughput) -> float:
    return math.hypot(after.cautious_error, before.cautious_error)


def _clearly_gains(before: Throughput, after: Throughput, least: float) -> bool:
    return _gain(before, after) - _SURE * _error_of_gain(before, after) > least


@dataclass(frozen=True, slots=True)
class FoundCapacity:
    """A capacity, attempts/s, with its interval at the plan's confidence, and the requests in flight at which
    it was measured."""

    capacity: Interval
    in_flight: int


def capacity_found(journal: Journal, plan: TriggerPlan) -> Course[FoundCapacity]:
    """The course that finds the capacity.

    Raises ``Halted`` if it is beyond what the ceiling lets the generator find, or still rising at the end.
    """
    search = CapacitySearch(plan.client.timeout_s / 3.0)
    failing = False
    while not failing and (in_flight := search.next_in_flight) is not None:
        step = yield from _step(journal, plan, search, in_flight)
        failing = step is None
        if step is not None:
            search.note(step)
            journal.said = f"{number(step.rate_per_s)}/s with {in_flight} in flight"
    if not search.steps:
        raise Halted(safety_stop="the service fails with a single patient request in flight")
    if not (search.knee or search.deep or failing):
        raise Halted(
            f"the throughput still rises at {MOST_IN_FLIGHT} requests in flight "
            f"({number(search.best.rate_per_s)}/s): give the capacity (--capacity)"
        )
    held = yield from _held(journal, plan, search.best)
    capacity = _interval(held, plan)
    half = capacity.high - capacity.value
    journal.said = f"{number(held.rate_per_s)}/s ± {number(half, 2)} with {held.in_flight} in flight" + (
        ", more in flight fails" if failing else "" if search.knee else ", more would wait too long"
    )
    return FoundCapacity(capacity, held.in_flight)


def capacity_again(journal: Journal, plan: TriggerPlan, in_flight: int) -> Course[Interval | None]:
    """The course that looks once more, briefly, at what a healthy service does with as much in flight as when
    its capacity was found; None if it fails."""
    start_s = yield from obeyed(journal, Saturate(in_flight, "capacity again"))
    while True:
        found = throughput(journal.seen, in_flight, start_s, journal.now_s)
        lasted_s = journal.now_s - start_s
        known = found is not None and found.cautious_error <= AGAIN_ERROR
        if _fails(journal, plan, start_s) or known or lasted_s >= AGAIN_AT_MOST_S:
            yield from obeyed(journal, Saturate(0, "capacity again"))
            return None if found is None or _fails(journal, plan, start_s) else _interval(found, plan)
        yield ()


def _interval(found: Throughput, plan: TriggerPlan) -> Interval:
    half = NormalDist().inv_cdf(0.5 + plan.confidence / 2.0) * found.error_per_s
    return Interval(found.rate_per_s, max(0.0, found.rate_per_s - half), found.rate_per_s + half)


def _step(
    journal: Journal, plan: TriggerPlan, search: CapacitySearch, in_flight: int
) -> Course[Throughput | None]:
    """One concurrency; None if its requests fail or none is answered."""
    start_s = yield from obeyed(journal, Saturate(in_flight, "capacity"))
    longest_s = STEP_AT_MOST_S + 3.0 * plan.client.timeout_s
    while True:
        if _fails(journal, plan, start_s):
            return None
        _refuse_beyond_ceiling(journal, plan)
        found = throughput(journal.seen, in_flight, start_s, journal.now_s)
        lasted_s = journal.now_s - start_s
        if lasted_s >= longest_s:
            return found
        if found is not None and lasted_s >= STEP_AT_LEAST_S:
            too_deep = search.wait_s(found) > plan.client.timeout_s
            if too_deep or found.cautious_error <= STEP_ERROR or _long_enough(lasted_s, found):
                return found
        yield ()


def _long_enough(lasted_s: float, found: Throughput) -> bool:
    """Whether a step need not get any surer: its time is over, and three rounds of answers are in."""
    return lasted_s >= max(STEP_AT_MOST_S, 4.0 * found.latency_s)


def _held(journal: Journal, plan: TriggerPlan, best: Throughput) -> Course[Throughput]:
    """Stay at the best concurrency until the throughput is known well."""
    start_s = yield from obeyed(journal, Saturate(best.in_flight, "capacity"))
    # What was in flight beyond it may still fail.
    settled_s = start_s + _SETTLING_S + best.latency_s
    while True:
        if _fails(journal, plan, settled_s):
            raise Halted(
                safety_stop=f"the service fails requests with only {best.in_flight} patient ones in flight"
            )
        _refuse_beyond_ceiling(journal, plan)
        found = throughput(journal.seen, best.in_flight, start_s, journal.now_s)
        lasted_s = journal.now_s - start_s
        known = found is not None and found.cautious_error <= HOLD_ERROR and lasted_s >= 2 * STEP_AT_LEAST_S
        if known or lasted_s >= max(HOLD_AT_MOST_S, 4.0 * best.latency_s):
            return found or best
        yield ()


def _fails(journal: Journal, plan: TriggerPlan, start_s: float) -> bool:
    """Whether more requests than allowed have failed since ``start_s``: two at least."""
    failed = journal.seen.counted("saturated_failed", start_s, journal.now_s)
    ended = failed + journal.seen.counted("saturated", start_s, journal.now_s)
    return failed >= 2 and failed > plan.guards.most_error_ratio * ended


def _refuse_beyond_ceiling(journal: Journal, plan: TriggerPlan) -> None:
    """Ends the test if the closed loop nears the ceiling: then the ceiling would be taken for the service."""
    rate = journal.seen.rate("saturated", journal.now_s - 5 * TICK_EVERY_S, journal.now_s)
    most = SHARE_OF_CEILING * plan.ceiling.rate_per_s
    if rate is not None and rate >= most:
        raise Halted(
            f"the service answers {number(rate)}/s, too near the ceiling of "
            f"{number(plan.ceiling.rate_per_s)} attempts/s to find its capacity: give the capacity "
            f"(--capacity) or raise the ceiling (--max-rate)"
        )
    if journal.seen.now_s > plan.ceiling.duration_s:
        raise Halted(f"finding the capacity took longer than {seconds(plan.ceiling.duration_s)}")
