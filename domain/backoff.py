"""How long a client waits after a failed attempt before it sends the next one.

Each rule is a frozen value. ``delay_s(failed, u)`` takes the number of attempts that have failed so
far (at least 1) and a uniform draw in [0, 1); ``bounds_s(failed)`` is the range it can fall in, which
the fluid model spreads retries over. Underneath is one function of plain numbers, ``delay_s``, which the
simulator compiles. Source: seed 000 §3.2; AWS Architecture Blog, "Exponential Backoff And Jitter" (2015).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

NONE, FIXED, EXPONENTIAL, FULL_JITTER = range(4)
MOST_DOUBLINGS = 512
"""A client that never gives up would overflow a float after 1,023 failures; the cap binds long before."""


def delay_s(rule: int, base_s: float, cap_s: float, failed: int, u: float) -> float:
    """Seconds to wait after ``failed`` failed attempts, given a uniform draw ``u`` in [0, 1).

    ``rule`` is one of ``NONE``: 0; ``FIXED``: base; ``EXPONENTIAL``: min(base · 2^(failed−1), cap);
    ``FULL_JITTER``: u · min(base · 2^failed, cap).
    """
    if rule == NONE:
        return 0.0
    if rule == FIXED:
        return base_s
    if rule == EXPONENTIAL:
        return min(math.ldexp(base_s, min(failed - 1, MOST_DOUBLINGS)), cap_s)
    return u * min(math.ldexp(base_s, min(failed, MOST_DOUBLINGS)), cap_s)


class Backoff(Protocol):
    """A rule for the delay before the next attempt."""

    @property
    def kind(self) -> str:
        """The name the scenario file uses."""

    def delay_s(self, failed: int, u: float, previous_s: float = 0.0) -> float:
        """Seconds to wait after ``failed`` failed attempts, given a uniform draw ``u``."""

    def bounds_s(self, failed: int) -> tuple[float, float]:
        """Smallest and largest delay possible after ``failed`` failed attempts."""

    def scaled(self, factor: float) -> Backoff:
        """The same rule with every duration multiplied by ``factor``."""

    @property
    def numbers(self) -> tuple[int, float, float]:
        """The rule as ``delay_s`` takes it: rule, base and cap in seconds."""


@dataclass(frozen=True, slots=True)
class NoBackoff:
    """B = 0: retry at once, the fluid worst case."""

    kind = "none"

    def delay_s(self, failed: int, u: float, previous_s: float = 0.0) -> float:
        """Zero."""
        return delay_s(*self.numbers, failed, u)

    def bounds_s(self, failed: int) -> tuple[float, float]:  # noqa: ARG002
        """Zero to zero."""
        return 0.0, 0.0

    def scaled(self, factor: float) -> NoBackoff:  # noqa: ARG002
        """Itself."""
        return self

    @property
    def numbers(self) -> tuple[int, float, float]:
        """The rule as ``delay_s`` takes it."""
        return NONE, 0.0, 0.0


@dataclass(frozen=True, slots=True)
class FixedBackoff:
    """B = d, whatever came before."""

    fixed_s: float
    kind = "fixed"

    def delay_s(self, failed: int, u: float, previous_s: float = 0.0) -> float:
        """``fixed_s``."""
        return delay_s(*self.numbers, failed, u)

    def bounds_s(self, failed: int) -> tuple[float, float]:  # noqa: ARG002
        """``fixed_s`` twice."""
        return self.fixed_s, self.fixed_s

    def scaled(self, factor: float) -> FixedBackoff:
        """The same rule in another unit of time."""
        return FixedBackoff(self.fixed_s * factor)

    @property
    def numbers(self) -> tuple[int, float, float]:
        """The rule as ``delay_s`` takes it."""
        return FIXED, self.fixed_s, self.fixed_s


@dataclass(frozen=True, slots=True)
class ExponentialBackoff:
    """B_n = min(base · 2^(n−1), cap): deterministic, so clients that failed together return together."""

    base_s: float
    cap_s: float
    kind = "exponential"

    def delay_s(self, failed: int, u: float, previous_s: float = 0.0) -> float:
        """min(base · 2^(failed−1), cap)."""
        return delay_s(*self.numbers, failed, u)

    def bounds_s(self, failed: int) -> tuple[float, float]:
        """The delay twice: nothing is random."""
        delay = self.delay_s(failed, 0.0)
        return delay, delay

    def scaled(self, factor: float) -> ExponentialBackoff:
        """The same rule in another unit of time."""
        return ExponentialBackoff(self.base_s * factor, self.cap_s * factor)

    @property
    def numbers(self) -> tuple[int, float, float]:
        """The rule as ``delay_s`` takes it."""
        return EXPONENTIAL, self.base_s, self.cap_s


@dataclass(frozen=True, slots=True)
class FullJitterBackoff:
    """B_n ~ U(0, min(base · 2^n, cap))."""

    base_s: float
    cap_s: float
    kind = "full-jitter"

    def delay_s(self, failed: int, u: float, previous_s: float = 0.0) -> float:
        """u · min(base · 2^failed, cap)."""
        return delay_s(*self.numbers, failed, u)

    def bounds_s(self, failed: int) -> tuple[float, float]:
        """Zero to min(base · 2^failed, cap)."""
        return 0.0, self.delay_s(failed, 1.0)

    def scaled(self, factor: float) -> FullJitterBackoff:
        """The same rule in another unit of time."""
        return FullJitterBackoff(self.base_s * factor, self.cap_s * factor)

    @property
    def numbers(self) -> tuple[int, float, float]:
        """The rule as ``delay_s`` takes it."""
        return FULL_JITTER, self.base_s, self.cap_s
