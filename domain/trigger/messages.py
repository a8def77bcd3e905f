"""The words between the harness and the generator of a trigger test: JSON lines over two pipes.

The harness writes commands, the generator writes lines. The harness beats all the time; a generator that has
heard nothing for ``SILENCE_S`` (or reads the end of the pipe) sends nothing more and ends.

Times in lines are seconds since the generator's start (``started.start_monotonic_s``). All counters are
cumulative since then.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

BEAT_EVERY_S = 0.1
SILENCE_S = 0.8
TICK_EVERY_S = 0.05
TROUBLES_EVERY_S = 1.0


@dataclass(frozen=True, slots=True)
class Load:
    """From now on first attempts at ``rate_per_s`` (0: none), open loop, Poisson; retries as the client
    does. ``phase`` names the stretch in the record. What jobs are open goes on."""

    rate_per_s: float
    phase: str
    do: Literal["load"] = "load"


@dataclass(frozen=True, slots=True)
class Saturate:
    """From now on keep ``in_flight`` patient requests open, without retries (closed loop; 0: none)."""

    in_flight: int
    phase: str
    do: Literal["saturate"] = "saturate"


@dataclass(frozen=True, slots=True)
class Probe:
    """From now on ``rate_per_s`` patient probes, evenly spaced (0: none; what is open goes on)."""

    rate_per_s: float
    do: Literal["probe"] = "probe"


@dataclass(frozen=True, slots=True)
class Drop:
    """Hang up on every open attempt, job and probe, and start none: the load is zero at once."""

    phase: str
    do: Literal["drop"] = "drop"


@dataclass(frozen=True, slots=True)
class End:
    """The test is over: drop everything, write what is recorded, end the process with status 0."""

    do: Literal["end"] = "end"


Command = Load | Saturate | Probe | Drop | End


@dataclass(frozen=True, slots=True)
class Tick:
    """Counters at ``t_s``. ``answered``/``failed`` are attempts of jobs that ended in time / otherwise, of
    which ``rejected`` by a status (or a body) outside the success set, ``timeouts`` and ``errors``.
    ``saturated`` / ``saturated_failed`` are the patient requests of ``Saturate`` that ended so."""

    t_s: float
    planned: int
    first: int
    retries: int
    answered: int
    failed: int
    rejected: int
    timeouts: int
    errors: int
    refused: int
    open_attempts: int
    saturated: int
    saturated_failed: int
    probes_sent: int
    probes_open: int
    lag_p99_s: float
    lag_max_s: float
    kind: Literal["tick"] = "tick"


@dataclass(frozen=True, slots=True)
class ProbeLine:
    """A patient probe that ended. ``attempts_before`` counts the attempts (of jobs, saturation and probes,
    this one not) that had been sent when it was sent, ``rejected_before`` those of them that had been
    rejected or refused by an error by then. ``server`` is the answer's Server header."""

    number: int
    sent_s: float
    done_s: float
    outcome: str
    status: int
    attempts_before: int
    rejected_before: int
    server: str = ""
    kind: Literal["probe"] = "probe"


@dataclass(frozen=True, slots=True)
class Troubles:
    """Why attempts of any kind ended as errors: how often each ``reasons`` was given by ``t_s``. Told when
    that has changed, but at most once in ``TROUBLES_EVERY_S``, and once more before ``Stopped``."""

    t_s: float
    reasons: dict[str, int]
    kind: Literal["troubles"] = "troubles"


@dataclass(frozen=True, slots=True)
class Obeyed:
    """A command took effect at ``t_s``."""

    t_s: float
    command: dict[str, Any]
    kind: Literal["obeyed"] = "obeyed"


@dataclass(frozen=True, slots=True)
class Started:
    """The generator is ready; nothing is sent before the first command."""

    start_monotonic_s: float
    pid: int
    kind: Literal["started"] = "started"


@dataclass(frozen=True, slots=True)
class Stopped:
    """Nothing more is sent. ``reason`` in words; ``ceiling`` names the ceiling that was reached, if one was
    (rate_per_s, attempts, duration_s); ``fault`` what makes the test invalid, if anything does."""

    t_s: float
    reason: str
    ceiling: str | None = None
    fault: str | None = None
    kind: Literal["stopped"] = "stopped"


@dataclass(frozen=True, slots=True)
class Received:
    """Not the generator's: what a Prometheus query counted as received by the service, asked at ``t_s``."""

    t_s: float
    value: float
    kind: Literal["received"] = "received"


@dataclass(frozen=True, slots=True)
class StopAsked:
    """Not the generator's: the harness was told to stop the test at ``t_s``. ``interrupted``: by a signal,
    and not by a guard."""

    t_s: float
    reason: str
    interrupted: bool = False
    kind: Literal["stop"] = "stop"


Line = Tick | ProbeLine | Troubles | Obeyed | Started | Stopped | Received | StopAsked

_COMMANDS: dict[str, type] = {"load": Load, "saturate": Saturate, "probe": Probe, "drop": Drop, "end": End}
_LINES: dict[str, type] = {
    "tick": Tick,
    "probe": ProbeLine,
    "troubles": Troubles,
    "obeyed": Obeyed,
    "started": Started,
    "stopped": Stopped,
    "received": Received,
    "stop": StopAsked,
}


def message_to_json(message: Command | Line) -> dict[str, Any]:
    """What ``json.dumps`` takes."""
    return asdict(message)


def command_from_json(data: dict[str, Any]) -> Command:
    """The command that was written; raises ``KeyError`` or ``TypeError`` on anything else."""
    made: Command = _COMMANDS[data["do"]](**data)
    return made


def line_from_json(data: dict[str, Any]) -> Line:
    """The line that was written; raises ``KeyError`` or ``TypeError`` on anything else."""
    made: Line = _LINES[data["kind"]](**data)
    return made
