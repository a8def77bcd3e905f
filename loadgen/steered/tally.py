"""Counts of how attempts ended, for the lines to the harness."""

from __future__ import annotations

from domain.attempts import Outcome


class Tally:
    """An ``AttemptObserver`` that counts failures by their kind; attempts that were hung up on are none."""

    __slots__ = ("_ends", "refused_attempts")

    def __init__(self) -> None:
        self._ends: dict[str, int] = dict.fromkeys(Outcome, 0)
        self.refused_attempts = 0

    def started(self, attempt: int) -> None:
        """The guard and the wire count these."""

    def ended(self, attempt: int, outcome: str, duration_s: float) -> None:  # noqa: ARG002
        """One more of this outcome."""
        self._ends[outcome] += 1

    def refused(self, reason: str) -> None:  # noqa: ARG002
        """The client itself said no."""
        self.refused_attempts += 1

    @property
    def rejected(self) -> int:
        """Answered with something that is no success."""
        return self._ends[Outcome.REJECTED]

    @property
    def timeouts(self) -> int:
        """Not answered within the deadline."""
        return self._ends[Outcome.TIMEOUT] + self._ends[Outcome.LATE]

    @property
    def errors(self) -> int:
        """Connections that failed."""
        return self._ends[Outcome.ERROR]
