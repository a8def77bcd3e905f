"""One root error, few children, each with its exit code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum


class ExitCode(IntEnum):
    """What a command's exit status says."""

    CONFIRMED = 0
    FINDING = 1
    CONFIGURATION = 2
    INVALID_RUN = 3
    SAFETY_STOP = 4
    INTERRUPTED = 130


class TipoverError(Exception):
    """Root of every error whose message is meant for the user."""

    exit_code = ExitCode.INVALID_RUN


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing wrong with what the user asked for: where, which rule, which value."""

    field: str
    rule: str
    value: object

    def __str__(self) -> str:
        # What is missing has no value to show.
        return f"{self.field}: {self.rule}" + ("" if self.value is None else f" (got {self.value!r})")


class ConfigurationError(TipoverError):
    """What was asked for cannot be done; nothing was started."""

    exit_code = ExitCode.CONFIGURATION

    def __init__(self, message: str, faults: Sequence[Fault] = ()) -> None:
        self.summary = message
        self.faults = tuple(faults)
        super().__init__("\n".join([message, *(f"  - {fault}" for fault in self.faults)]))


class InvalidRunError(TipoverError):
    """The generator or the machine, not the service, was the limit."""
