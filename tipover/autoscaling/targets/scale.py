"""What every scale target says and takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Scale:
    """``replicas`` are ordered, ``ready`` of them serve now; of ``starting`` (how many, in how many seconds)
    it is known when they will."""

    replicas: int
    ready: int
    starting: tuple[tuple[int, float], ...] = ()


class ScaleError(Exception):
    """The target could not be asked or did not take the order; the message says why."""


class ScaleTarget(Protocol):
    """Whoever keeps the pods. Both methods end in bounded time and raise ``ScaleError`` and nothing else."""

    @property
    def name(self) -> str:
        """How it is called in the log."""

    def look(self) -> Scale:
        """The pods there are now."""

    def order(self, replicas: int) -> Scale | None:
        """Have so many pods. The scale after that, if the target tells."""

    def stop(self) -> None:
        """Give up whatever is under way: the process ends."""
