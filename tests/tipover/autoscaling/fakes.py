"""Time, pages and pods that a test decides about."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from domain.fleet import Fleet, Signal
from domain.roster import Roster
from tipover.autoscaling.agenda import Due
from tipover.autoscaling.controller import Controller
from tipover.autoscaling.readings import Reading, Readings
from tipover.autoscaling.targets.scale import Scale, ScaleError, ScaleTarget

WALL = datetime(2030, 1, 2, 3, 4, 5, 678000, tzinfo=UTC)


@dataclass
class Time:
    """A clock that is set."""

    now_s: float = 0.0

    def __call__(self) -> float:
        return self.now_s


@dataclass
class FakePage:
    """Shows what ``shown`` says at the time; without it, an error."""

    time: Time
    shown: Callable[[float], Mapping[str, float]] | None
    name: str = "page"

    def counters(self) -> tuple[float, Mapping[str, float]]:
        if self.shown is None:
            raise OSError("no answer within 1 s")
        return self.time(), self.shown(self.time())


@dataclass
class FakeReadings:
    """Values that are set; None is an error."""

    values: dict[Signal, float | None]
    needs_looks: bool = True
    looks: int = 0

    def look(self) -> None:
        self.looks += 1

    def read(self, at_s: float) -> dict[Signal, Reading]:
        return {s: Reading(v, "" if v is not None else "the page is gone") for s, v in self.values.items()}


@dataclass
class FakeFleet:
    """Pods that serve ``dead_time_s`` after they are ordered. ``tells`` when they will."""

    time: Time
    roster: Roster
    dead_time_s: float = 0.0
    tells: bool = True
    fails: str | None = None
    refuses: str | None = None
    orders: list[int] = field(default_factory=list)
    name: str = "fake"
    stopped: bool = False

    def look(self) -> Scale:
        if self.fails is not None:
            raise ScaleError(self.fails)
        now_s = self.time()
        starting = [(count, since - now_s) for since, count in self.roster.groups if since > now_s + 1e-9]
        ready = self.roster.ready(now_s)
        return Scale(self.roster.total, ready, tuple(starting) if self.tells else ())

    def order(self, replicas: int) -> Scale | None:
        if self.refuses is not None:
            raise ScaleError(self.refuses)
        self.orders.append(replicas)
        self.roster.set(replicas, self.time() + self.dead_time_s)
        return self.look() if self.tells else None

    def stop(self) -> None:
        self.stopped = True


def controller(fleet: Fleet, readings: Readings, target: ScaleTarget, time: Time) -> Controller:
    """One of pods of 40/s each."""
    return Controller(fleet, 40.0, readings, target, now=time, wall=lambda: WALL)


def dues(every_s: float, count: int, time: Time) -> Iterator[Due]:
    """Punctual decisions, the clock being set to each."""
    for number in range(1, count + 1):
        time.now_s = number * every_s
        yield Due(number, number * every_s, 0.0, 0)
