"""What the hot paths tell whoever counts: the meter implements it, tests and benches use the null one."""

from __future__ import annotations

from typing import Protocol


class AttemptObserver(Protocol):
    """Told of every attempt at its start and at its end."""

    def started(self, attempt: int) -> None:
        """Attempt number ``attempt`` (1-based) begins."""

    def ended(self, attempt: int, outcome: str, duration_s: float) -> None:
        """It ended with ``outcome`` after ``duration_s`` seconds."""

    def refused(self, reason: str) -> None:
        """An attempt was wanted and not sent."""


class NullObserver:
    """Counts nothing."""

    def started(self, attempt: int) -> None:
        """Ignored."""

    def ended(self, attempt: int, outcome: str, duration_s: float) -> None:
        """Ignored."""

    def refused(self, reason: str) -> None:
        """Ignored."""
