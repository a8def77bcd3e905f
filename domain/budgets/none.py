"""No budget: every retry may go. Amplification when all attempts fail is the attempt cap m."""

from __future__ import annotations

from dataclasses import dataclass

from domain.budgets.codes import NONE
from domain.rule import padded


@dataclass(frozen=True, slots=True)
class NoBudget:
    """Every retry may go."""

    kind = "none"
    code = NONE
    parameters = padded()
    state_size = 1

    def scaled(self, factor: float) -> NoBudget:  # noqa: ARG002
        """Itself."""
        return self
