"""What one line of an access log says, whoever wrote it."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal, get_args

from meter.edge import outcome_of

Gateway = Literal["haproxy", "nginx", "envoy"]
"""Who may have written a line."""

GATEWAYS: tuple[Gateway, ...] = get_args(Gateway)

MISSING = (None, "", "-")
"""What gateways write for what is not there."""


_STATUS = re.compile(r"-?[0-9]{1,3}")


class MalformedLineError(ValueError):
    """A line that says nothing that can be counted; the message is a clause with the reason."""


class Ending(StrEnum):
    """How a request ended, as far as the gateway saw it."""

    WHOLE = "whole"
    """The service (or the gateway's own configuration) answered: the status says the rest."""
    ABANDONED = "abandoned"
    """The client had gone before the answer was complete."""
    TIMED_OUT = "timeout"
    """The gateway gave the service up for its silence."""
    BROKEN = "error"
    """The service could not be reached, or broke off."""


@dataclass(frozen=True, slots=True)
class LoggedRequest:
    """One request that has ended.

    ``path`` is as it was asked for, with its query if the log has that; ``headers`` are those that were
    logged and present, with names in lower case; ``duration_s`` is from the request's first byte to the end.
    """

    path: str
    status: int
    duration_s: float
    ending: Ending = Ending.WHOLE
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def outcome(self) -> str:
        """``ok``, ``rejected``, or what the ending is called: ``abandoned``, ``timeout``, ``error``."""
        if self.ending is not Ending.WHOLE:
            return self.ending.value
        if self.status < 100:
            return Ending.BROKEN.value
        return outcome_of(self.status)


def present(headers: Mapping[str, object]) -> dict[str, str]:
    """The headers that a request really had: one that is missing is logged as ``-``, nothing or null."""
    return {name.lower(): str(value) for name, value in headers.items() if value not in MISSING}


def seconds(value: object, *, per_second: float = 1.0) -> float:
    """A duration in units of which a second has ``per_second``; what was not measured (-1) counts as 0.

    Raises MalformedLineError if it is no finite number.
    """
    try:
        number = float(value)  # type: ignore[arg-type]  # whatever JSON has
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise MalformedLineError(f"its duration is no number: {str(value)[:40]!r}")
    return max(0.0, number / per_second)


def status_code(value: object) -> int:
    """The status; none (``-``, null, -1) is 0.

    Raises MalformedLineError if it is no number.
    """
    if value in MISSING:
        return 0
    text = str(value)
    if not _STATUS.fullmatch(text):
        raise MalformedLineError(f"its status is no status: {text[:40]!r}")
    return max(0, int(text))
