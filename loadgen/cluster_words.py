"""What a Locust master and its workers say to each other, and the check of every word on arrival.

A Locust port asks nobody who he is, so what comes through it is judged like any input: it is of the right
shape or it is refused, and it never decides what this process may load or where it may write.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from domain.errors import ConfigurationError, Fault
from domain.experiment import Experiment
from domain.experiment_json import from_json, to_json

PREPARE_MESSAGE = "tipover_prepare"
"""Master to worker, before each run: what it is to do, an ``Order``."""
READY_MESSAGE = "tipover_ready"
"""Worker to master: an ``Answer``, that it can do so or why not."""
START_MESSAGE = "tipover_start"
"""Master to worker: when time zero is, a ``Start``."""
ALIVE_MESSAGE = "tipover_alive"
"""Both ways while the load runs: that the other lives."""
PROGRESS_MESSAGE = "tipover_progress"
"""Worker to master, every quarter of a second: a line about its share."""
DONE_MESSAGE = "tipover_done"
"""Worker to master: its share is over and on disk."""
STOP_MESSAGE = "tipover_stop"
"""Master to worker: end the load now."""

MAX_WORKERS = 99
_MAX_EXPERIMENT = 1_000_000
_MAX_TEXT = 4000
_RUN = re.compile(r"[0-9a-f]{32}")
_NUMBERS = (
    "start_monotonic_s", "t_s", "planned", "first", "retries", "answered", "failed", "open", "lag_p99_s",
)  # fmt: skip
_STATES = {"running", "finished"}


@dataclass(frozen=True, slots=True)
class Order:
    """What a worker is to do in one run.

    ``run`` names the run and is the mark that the master has left in its directory. ``worker`` is which of
    the ``workers`` shares this one makes, ``neighbours`` how many of them share this worker's network and so
    its local ports. ``target`` is the base URL, ``user`` the name of the user class that says what is sent,
    ``out`` the run directory, None to keep no trace. ``stats`` says whether Locust is told of each attempt.
    """

    run: str
    worker: int
    workers: int
    neighbours: int
    target: str
    user: str
    out: Path | None
    stats: bool
    experiment: Experiment

    def as_message(self) -> dict[str, Any]:
        """The form in which it is sent; the experiment as the text that the run directory has, too."""
        return {
            "run": self.run,
            "worker": self.worker,
            "workers": self.workers,
            "neighbours": self.neighbours,
            "target": self.target,
            "user": self.user,
            "out": None if self.out is None else str(self.out),
            "stats": self.stats,
            "experiment": json.dumps(to_json(self.experiment)),
        }


@dataclass(frozen=True, slots=True)
class Answer:
    """Whether a worker can do what it was told: ``refusal`` says why not. ``clock`` and ``network`` tell
    whose clock and whose local ports it has."""

    run: str
    refusal: str | None
    clock: str
    network: str

    def as_message(self) -> dict[str, Any]:
        """The form in which it is sent."""
        return {"run": self.run, "refusal": self.refusal, "clock": self.clock, "network": self.network}


@dataclass(frozen=True, slots=True)
class Start:
    """Time zero: at ``start_monotonic_s`` on the clock ``clock``, ``lead_s`` after this was sent."""

    run: str
    start_monotonic_s: float
    lead_s: float
    clock: str

    def as_message(self) -> dict[str, Any]:
        """The form in which it is sent."""
        return {
            "run": self.run,
            "start_monotonic_s": self.start_monotonic_s,
            "lead_s": self.lead_s,
            "clock": self.clock,
        }

    def on_clock(self, clock: str, now_s: float) -> float:
        """Time zero on the clock of whoever has ``clock``, where it is now ``now_s``.

        On another machine it is ``lead_s`` after the message has come, so later than elsewhere by the
        message's delay. A clock of the same name that is far off is no shared clock.
        """
        shared = clock == self.clock and abs(self.start_monotonic_s - self.lead_s - now_s) < 5.0
        return self.start_monotonic_s if shared else now_s + self.lead_s


def order_from(message: object) -> Order:
    """The order in a message; raises ``ConfigurationError`` with all that is wrong with it."""
    faults: list[Fault] = []
    word = _Word(message, faults)
    workers = word.whole("workers", 1, MAX_WORKERS)
    order = Order(
        run=word.run(),
        worker=word.whole("worker", 0, max(workers - 1, 0)),
        workers=workers,
        neighbours=word.whole("neighbours", 1, max(workers, 1)),
        target=word.text("target"),
        user=word.text("user"),
        out=word.path("out"),
        stats=word.truth("stats"),
        experiment=word.experiment("experiment"),
    )
    word.check("order")
    return order


def answer_from(message: object) -> Answer:
    """The answer in a message; raises ``ConfigurationError`` if it is none."""
    word = _Word(message, [])
    answer = Answer(word.run(), word.text_or_none("refusal"), word.text("clock"), word.text("network"))
    word.check("answer")
    return answer


def start_from(message: object) -> Start:
    """The start in a message; raises ``ConfigurationError`` if it is none."""
    word = _Word(message, [])
    start = Start(
        word.run(), word.number("start_monotonic_s"), word.number("lead_s", 0.0, 10.0), word.text("clock")
    )
    word.check("start")
    return start


def run_of(message: object) -> str:
    """The run that any message is about; empty if it does not say so properly."""
    word = _Word(message, [])
    run = word.run()
    return "" if word.faults else run


def progress_from(message: object, worker: int, workers: int) -> dict[str, Any]:
    """The line about worker number ``worker``'s share; raises ``ConfigurationError`` if it is none."""
    word = _Word(message, [])
    line: dict[str, Any] = {"worker": worker, "workers": workers, "state": word.one_of("state", _STATES)}
    line |= {name: word.number(name) for name in _NUMBERS}
    word.check("progress")
    return line


def end_from(message: object) -> tuple[str | None, str | None]:
    """Of a DONE message: what makes the share worthless, and what ended it early."""
    word = _Word(message, [])
    return word.text_or_none("fault"), word.text_or_none("stopped_by")


class _Word:
    """Takes a message apart; what is wrong with it goes to ``faults``."""

    def __init__(self, message: object, faults: list[Fault]) -> None:
        self.faults = faults
        self._data: Mapping[Any, Any] = message if isinstance(message, Mapping) else {}
        if not isinstance(message, Mapping):
            self._fault("message", "must be a mapping", type(message).__name__)

    def check(self, what: str) -> None:
        """Raise ``ConfigurationError`` if anything was wrong."""
        if self.faults:
            raise ConfigurationError(f"this is no {what} of tipover's", self.faults)

    def run(self) -> str:
        """The run's name."""
        run = self._data.get("run")
        if isinstance(run, str) and _RUN.fullmatch(run):
            return run
        self._fault("run", "must be 32 hexadecimal digits", run)
        return ""

    def whole(self, name: str, least: int, most: int) -> int:
        """A whole number."""
        value = self._data.get(name)
        if isinstance(value, int) and not isinstance(value, bool) and least <= value <= most:
            return value
        self._fault(name, f"must be a whole number from {least} to {most}", value)
        return least

    def truth(self, name: str) -> bool:
        """True or false."""
        value = self._data.get(name)
        if not isinstance(value, bool):
            self._fault(name, "must be true or false", value)
        return value is True

    def number(self, name: str, least: float = -math.inf, most: float = math.inf) -> float:
        """A finite number, as it came."""
        value = self._data.get(name)
        if isinstance(value, int | float) and math.isfinite(value) and least <= value <= most:
            return value
        self._fault(name, "must be a finite number", value)
        return 0.0

    def text(self, name: str) -> str:
        """A text of bounded length."""
        value = self._data.get(name)
        if isinstance(value, str) and len(value) <= _MAX_TEXT:
            return value
        self._fault(name, f"must be a text of at most {_MAX_TEXT} characters", value)
        return ""

    def text_or_none(self, name: str) -> str | None:
        """The same, or nothing."""
        return None if self._data.get(name) is None else self.text(name)

    def one_of(self, name: str, known: set[str]) -> str:
        """One of these texts."""
        value = self.text(name)
        if value not in known:
            self._fault(name, f"must be one of {', '.join(sorted(known))}", value)
        return value

    def path(self, name: str) -> Path | None:
        """An absolute path, or nothing."""
        value = self.text_or_none(name)
        if value is None:
            return None
        if not value.startswith("/") or "\0" in value:
            self._fault(name, "must be an absolute path", value)
        return Path(value)

    def experiment(self, name: str) -> Any:
        """An ``Experiment``, from JSON text; None where there is none, in an order that is refused."""
        value = self._data.get(name)
        if not isinstance(value, str) or len(value) > _MAX_EXPERIMENT:
            self._fault(name, "must be an experiment as JSON text", type(value).__name__)
            return None
        try:
            data = json.loads(value)
            if not isinstance(data, dict):
                raise ValueError("must be a JSON object")
            return from_json(data)
        except (ValueError, RecursionError) as error:
            self._fault(name, f"must be an experiment of this version: {str(error)[:_MAX_TEXT]}", None)
            return None

    def _fault(self, name: str, rule: str, value: object) -> None:
        shown = value if isinstance(value, int | float | None) else repr(value)[:80]
        self.faults.append(Fault(name, rule, shown))
