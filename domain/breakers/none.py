"""No breaker: every call may go."""

from __future__ import annotations

from dataclasses import dataclass

from domain.breakers.codes import NONE
from domain.rule import padded


@dataclass(frozen=True, slots=True)
class NoBreaker:
    """Every call may go."""

    kind = "none"
    code = NONE
    parameters = padded()
    state_size = 1

    def scaled(self, factor: float) -> NoBreaker:  # noqa: ARG002
        """Itself."""
        return self
