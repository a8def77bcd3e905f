"""How the stretches of a trigger test are written: as courses, generators that say what to command next.

A course yields commands at every tick of the generator, and goes on when the next tick is in. It has no clock
and does no I/O: all it knows is in the ``Journal``, so the same lines make the same course.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from itertools import takewhile
from typing import TypeVar

from analysis.trigger.observations import Observations
from analysis.trigger.result import PhaseDone
from domain.trigger.messages import TICK_EVERY_S, Command, Tick, message_to_json

DISOBEYED = "the generator did not obey"
OBEYS_WITHIN_S = 3.0
"""A generator that ticks but does not do as it is told for so long is broken."""
COUNTED = ("first", "retries", "saturated", "saturated_failed", "probes_sent")
"""The counters that together are all attempts that were sent."""

T = TypeVar("T")
Course = Generator[tuple[Command, ...], None, T]


class Halted(Exception):  # noqa: N818 - it ends a course, and is no error of the program
    """The test ends before its verdict: ``safety_stop`` because of the service, or ``faults`` because it
    cannot be done like this."""

    def __init__(self, *faults: str, safety_stop: str | None = None) -> None:
        self.safety_stop = safety_stop
        self.faults = faults
        super().__init__(safety_stop or "; ".join(faults))


class Journal:
    """What a test's courses share: what has been seen, the last tick's time, and the phase they are in."""

    def __init__(self) -> None:
        self.seen = Observations()
        self.now_s = 0.0
        self.phase = ""
        self.said = ""
        self.ended: list[PhaseDone] = []
        self.start_s = 0.0
        self.rate_per_s = 0.0

    def take_up_to(self, tick: Tick, seen: Observations, received: Sequence[tuple[float, float]]) -> None:
        """Take a tick from all lines, and what had happened by then, however much more there is by now."""
        known = self.seen
        known.started = seen.started
        for probe in takewhile(lambda one: one.done_s <= tick.t_s, seen.probes[len(known.probes) :]):
            known.take(probe)
        for done in takewhile(lambda one: one.t_s <= tick.t_s, seen.obeyed[len(known.obeyed) :]):
            known.take(done)
        for trouble in takewhile(lambda one: one.t_s <= tick.t_s, seen.troubles[len(known.troubles) :]):
            known.take(trouble)
        known.received = [one for one in received if one[0] <= tick.t_s]
        known.take(tick)
        self.now_s = tick.t_s

    def enter(self, phase: str, start_s: float, rate_per_s: float = 0.0) -> None:
        """End the present phase, and be in another one from ``start_s`` on."""
        self.leave(start_s)
        self.phase, self.said, self.start_s, self.rate_per_s = phase, "", start_s, rate_per_s

    def leave(self, end_s: float) -> None:
        """End the present phase."""
        self.ended = self.phases(end_s)
        self.phase = ""

    def phases(self, end_s: float) -> list[PhaseDone]:
        """All phases up to now, the present one included."""
        if not self.phase:
            return self.ended
        return [*self.ended, PhaseDone(self.phase, self.start_s, end_s, self.rate_per_s, self.said)]

    def answered_share(self, start_s: float) -> tuple[float | None, int]:
        """The share of attempts that were answered in time among those that ended since ``start_s``, and how
        many those were; None of none."""
        answered = self.seen.counted("answered", start_s, self.now_s)
        ended = answered + self.seen.counted("failed", start_s, self.now_s)
        return (answered / ended if ended else None), ended


def obeyed(journal: Journal, *commands: Command) -> Course[float]:
    """Give commands, and wait until the last has taken effect: the time at which it did."""
    asked_s, already = journal.now_s, len(journal.seen.obeyed)
    wanted = message_to_json(commands[-1])
    yield commands
    while True:
        for one in journal.seen.obeyed[already:]:
            if one.command == wanted:
                return one.t_s
        if journal.now_s > asked_s + OBEYS_WITHIN_S:
            raise Halted(f"{DISOBEYED} {wanted} within {OBEYS_WITHIN_S:g} s")
        yield ()


def waited(journal: Journal, until_s: float) -> Course[None]:
    """Wait for the tick nearest to ``until_s``."""
    while journal.now_s + TICK_EVERY_S / 2.0 < until_s:
        yield ()


def attempts_sent(seen: Observations) -> int:
    """All attempts of any kind up to the last tick; of a closed loop's requests, those that ended."""
    return sum(int(getattr(seen.ticks[-1], name)) for name in COUNTED) if seen.ticks else 0


class QuickAnswers:
    """Counts how many patient requests in a row, one in flight, were answered within ``within_s`` each."""

    def __init__(self, journal: Journal, start_s: float, within_s: float) -> None:
        self._journal = journal
        self._within_s = within_s
        self._last_s = start_s
        self._answers, self._failures = self._counts()
        self.in_a_row = 0
        self.failures = 0
        """How many have failed in all."""

    def look(self) -> int:
        """Take in the last tick; how many it is in a row now."""
        answers, failures = self._counts()
        new, failed = answers - self._answers, failures - self._failures
        self._answers, self._failures = answers, failures
        self.failures += failed
        if failed:
            self.in_a_row = 0
        elif new:
            slow = self._journal.now_s - self._last_s > self._within_s + TICK_EVERY_S
            self.in_a_row = new - 1 if slow else self.in_a_row + new
        if new or failed:
            self._last_s = self._journal.now_s
        return self.in_a_row

    def _counts(self) -> tuple[int, int]:
        ticks = self._journal.seen.ticks
        return (ticks[-1].saturated, ticks[-1].saturated_failed) if ticks else (0, 0)
