"""The schedule in real time: what is slow holds up nothing but itself."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable

import pytest

from domain.autoscaler import Autoscaler
from domain.fleet import Fleet
from tests.tipover.autoscaling.fakes import FakeReadings
from tipover.autoscaling.agenda import Agenda
from tipover.autoscaling.controller import Controller
from tipover.autoscaling.decision import Decision
from tipover.autoscaling.loop import EndOfRun, Loop, end_on_signals
from tipover.autoscaling.places import since
from tipover.autoscaling.targets.dry import FixedPods

pytestmark = pytest.mark.sockets

EVERY_S = 0.2
FLEET = Fleet(("first",), sync_period_s=EVERY_S, autoscaler=Autoscaler(1, 50))


class Slow(FixedPods):
    """Takes its time over an order."""

    def __init__(self, act: Callable[[int], None]) -> None:
        super().__init__(4)
        self._act = act
        self.stopped = threading.Event()

    def order(self, replicas: int) -> None:
        self._act(replicas)

    def stop(self) -> None:
        self.stopped.set()


def run(
    act: Callable[[int], None], decisions: int, ended: EndOfRun | None = None
) -> tuple[list[Decision], int]:
    """So many decisions, each of which orders, and how often the page was looked at."""
    made: list[Decision] = []
    readings = FakeReadings({"first": 400.0})
    epoch_s = time.monotonic()
    controller = Controller(FLEET, 40.0, readings, Slow(act), now=since(epoch_s))
    loop = Loop(Agenda(epoch_s, EVERY_S), 4, readings, controller, made.append)
    loop.run(ended or EndOfRun(), decisions=decisions)
    return made, readings.looks


def test_decisions_are_made_when_they_are_due() -> None:
    """On the grid, none twice; those in between are looks alone."""
    made, looks = run(lambda _: None, 4)
    numbers = [round(decision.t_s / EVERY_S) for decision in made]
    assert numbers == sorted(set(numbers))
    assert all(decision.missed == after - before - 1
               for before, after, decision in zip([0, *numbers], numbers, made, strict=False))  # fmt: skip
    assert looks > len(made)


def test_an_order_that_takes_long_makes_decisions_miss_and_not_looks() -> None:
    """Two and a half periods: two decisions never come about, and those that do say so."""
    slept: list[float] = []

    def slowly(_: int) -> None:
        if not slept:
            slept.append(time.monotonic())
            time.sleep(2.5 * EVERY_S)

    made, looks = run(slowly, 3)
    assert made[1].missed >= 1
    assert "missed" in made[1].why
    assert made[1].t_s >= made[0].t_s + 2 * EVERY_S - 1e-9
    # The page was looked at while the order was under way.
    assert looks > len(made) + 2


def test_a_bug_ends_the_loop_and_is_raised() -> None:
    def broken(_: int) -> None:
        raise RuntimeError("a bug")

    with pytest.raises(RuntimeError, match="a bug"):
        run(broken, 3)


def test_an_order_that_hangs_does_not_hold_up_the_end() -> None:
    ended, hung, let_go = EndOfRun(), threading.Event(), threading.Event()

    def hanging(_: int) -> None:
        hung.set()
        let_go.wait(60)

    def end_once_it_hangs() -> None:
        hung.wait(60)
        ended.end()

    threading.Thread(target=end_once_it_hangs, daemon=True).start()
    made, _ = run(hanging, 3, ended)
    let_go.set()
    assert made == []


def test_signals_end_it_and_then_do_what_they_did() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with end_on_signals() as ended:
        os.kill(os.getpid(), signal.SIGTERM)
        ended.wait()
    assert signal.getsignal(signal.SIGTERM) is before
