"""What retry budgets, breakers and concurrency limits have in common: a value of numbers, and a state.

Each such rule is a frozen value (its settings) and a handful of plain functions of numbers: ``parameters``,
a ``state`` of floats that they change in place, the time, and where chance is needed a uniform draw. The
live client and target keep the state in a list, the simulator in a row of an array, and compiles the very
same functions; ``code`` says which rule it is. ``scaled`` gives the rule in another unit of time.
"""

from __future__ import annotations

from typing import Protocol, Self

PARAMETERS = 8
"""Numbers every rule's ``parameters`` has, unused ones 0."""


class Numbers(Protocol):
    """Floats by position."""

    def __getitem__(self, index: int, /) -> float: ...


class State(Numbers, Protocol):
    """Floats by position that can be changed."""

    def __setitem__(self, index: int, value: float, /) -> None: ...


class Rule(Protocol):
    """The settings of one rule."""

    @property
    def kind(self) -> str:
        """The name the scenario file uses."""

    @property
    def code(self) -> int:
        """Which rule it is among its family."""

    @property
    def parameters(self) -> tuple[float, ...]:
        """``PARAMETERS`` numbers, as the plain functions take them; times in seconds."""

    @property
    def state_size(self) -> int:
        """How many floats of state it needs."""

    def scaled(self, factor: float) -> Self:
        """The same rule with every duration multiplied by ``factor``; rates and counts stay."""


def padded(*numbers: float) -> tuple[float, ...]:
    """The numbers, filled up with zeros to ``PARAMETERS``."""
    return (*numbers, *(0.0,) * (PARAMETERS - len(numbers)))
