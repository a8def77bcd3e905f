"""The schedule: looks and decisions at their times, until somebody says stop."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tipover.autoscaling.agenda import Agenda, Due, next_look
from tipover.autoscaling.controller import Controller
from tipover.autoscaling.decision import Decision
from tipover.autoscaling.readings import Readings

LAST_WORDS_S = 0.4
"""How long a decision that is being made when the end comes may go on."""
_LONGEST_SLEEP_S = 3600.0
"""The platform refuses waits of a few centuries; whoever wakes looks at the clock again."""


class Loop:
    """Decides by ``agenda`` in one thread, and looks ``looks`` times per sync period in another, so that
    neither an order that takes long nor a page that hangs keeps the other waiting. ``told`` is given every
    decision."""

    def __init__(
        self,
        agenda: Agenda,
        looks: int,
        readings: Readings,
        controller: Controller,
        told: Callable[[Decision], None],
    ) -> None:
        self._agenda = agenda
        self._looks = looks
        self._readings = readings
        self._controller = controller
        self._told = told
        self._stop = threading.Event()
        self._failures: list[BaseException] = []

    def run(self, ended: EndOfRun, *, decisions: int | None = None, at_once: bool = False) -> None:
        """Until ``ended``, or until so many decisions are made; ``at_once`` makes the first without waiting
        for its time. A bug in a thread is raised here."""
        looking = threading.Thread(target=self._guarded, args=(self._look, ended), daemon=True)
        deciding = threading.Thread(
            target=self._guarded, args=(lambda: self._decide(decisions, at_once), ended, True), daemon=True
        )
        if self._readings.needs_looks:
            looking.start()
        deciding.start()
        ended.wait()
        self._stop.set()
        self._controller.stop()
        deciding.join(LAST_WORDS_S)
        if self._failures:
            raise self._failures[0]

    def _guarded(self, work: Callable[[], None], ended: EndOfRun, ends_all: bool = False) -> None:
        try:
            work()
        except BaseException as error:
            self._failures.append(error)
            ended.end()
        if ends_all:
            ended.end()

    def _decide(self, decisions: int | None, at_once: bool) -> None:
        made, last = 0, self._agenda.before(time.monotonic())
        while decisions is None or made < decisions:
            now_s = time.monotonic()
            if at_once and made == 0:
                due: Due | None = Due(last, max(0.0, now_s - self._agenda.epoch_s), 0.0, 0, scheduled=False)
            else:
                due = self._agenda.due(now_s, last)
            if due is None:
                if self._stop.wait(min(self._agenda.at(last + 1) - now_s, _LONGEST_SLEEP_S)):
                    return
                continue
            last = due.number
            self._told(self._controller.decide(due))
            made += 1

    def _look(self) -> None:
        while True:
            at_s, decides = next_look(self._agenda, self._looks, time.monotonic())
            while (left_s := at_s - time.monotonic()) > 0:
                if self._stop.wait(min(left_s, _LONGEST_SLEEP_S)):
                    return
            if self._stop.is_set():
                return
            if not decides:
                self._readings.look()


class EndOfRun:
    """Something to wait for that a signal, or anybody in this process, can bring about.

    A pipe: the handler of a signal may run at any point of the main thread, where taking a lock could wait
    for itself.
    """

    def __init__(self) -> None:
        self._out, self._in = os.pipe()

    def end(self) -> None:
        """It is over."""
        with contextlib.suppress(OSError):
            os.write(self._in, b"!")

    def wait(self) -> None:
        """Until it is over."""
        os.read(self._out, 1)


@contextmanager
def end_on_signals() -> Iterator[EndOfRun]:
    """SIGTERM and SIGINT bring the end; what they did before comes back afterwards. Main thread only."""
    ended = EndOfRun()
    before = {
        number: signal.signal(number, lambda *_: ended.end()) for number in (signal.SIGTERM, signal.SIGINT)
    }
    try:
        yield ended
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
