"""How long a client waits after a failed attempt before it sends the next one.

Each rule is a frozen value. ``delay_s(failed, u, previous_s)`` takes the number of attempts that have failed
so far (at least 1), a uniform draw in [0, 1) and the delay before; ``bounds_s(failed)`` is the range it can
fall in, which the fluid model spreads retries over. Underneath is one function of plain numbers, ``delay_s``,
which the simulator compiles. Sources: seed 000 §3.2; AWS Architecture Blog, "Exponential Backoff And Jitter"
(2015); Finagle ``Backoff.scala``; grpc-go ``stream.go``; Envoy ``router_filter.rst``.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar, Protocol, Self

NONE, FIXED, EXPONENTIAL, FULL_JITTER, EQUAL_JITTER = range(5)
DECORRELATED_JITTER, FINAGLE_JITTER, GRPC, ENVOY = range(5, 9)
"""The rules; from ``FULL_JITTER`` on they draw."""
MOST_DOUBLINGS = 512
"""A client that never gives up would overflow a float after 1,023 failures; the cap binds long before."""
_MOST_TREBLINGS = 320
_LARGEST_LOG = 700.0
_GRPC_LEAST, _GRPC_SPREAD = 0.8, 0.4


def delay_s(
    rule: int, base_s: float, cap_s: float, multiplier: float, previous_s: float, failed: int, u: float
) -> float:
    """Seconds to wait after ``failed`` failed attempts, given a uniform draw ``u`` in [0, 1).

    With n = ``failed``, b = base, U(x, y) = x + u·(y − x), and p the delay before this attempt
    (``previous_s``, at least b), ``rule`` is one of ``NONE``: 0; ``FIXED``: b; ``EXPONENTIAL``:
    min(b·2^(n−1), cap); ``FULL_JITTER``: U(0, w) with w = min(b·2^n, cap); ``EQUAL_JITTER``: U(w/2, w);
    ``DECORRELATED_JITTER``: min(U(b, 3p), cap); ``FINAGLE_JITTER``: b at first, then U(p, min(3p, cap));
    ``GRPC``: min(b·multiplier^(n−1), cap)·U(.8, 1.2); ``ENVOY``: U(0, min((2^n − 1)·b, cap)).
    """
    if rule < FULL_JITTER:
        return _fixed_delay_s(rule, base_s, cap_s, failed)
    if rule == DECORRELATED_JITTER:
        return min(base_s + u * (3.0 * max(previous_s, base_s) - base_s), cap_s)
    if rule == FINAGLE_JITTER:
        return _finagle_delay_s(base_s, cap_s, previous_s, failed, u)
    if rule == GRPC:
        return _power_s(base_s, cap_s, multiplier, failed - 1) * (_GRPC_LEAST + _GRPC_SPREAD * u)
    window_s = _window_s(rule, base_s, cap_s, failed)
    if rule == EQUAL_JITTER:
        return window_s / 2.0 + u * (window_s / 2.0)
    return u * window_s


def _fixed_delay_s(rule: int, base_s: float, cap_s: float, failed: int) -> float:
    if rule == NONE:
        return 0.0
    if rule == FIXED:
        return base_s
    return min(math.ldexp(base_s, min(failed - 1, MOST_DOUBLINGS)), cap_s)


def _window_s(rule: int, base_s: float, cap_s: float, failed: int) -> float:
    doubled_s = math.ldexp(base_s, min(failed, MOST_DOUBLINGS))
    return min(doubled_s - base_s if rule == ENVOY else doubled_s, cap_s)


def _finagle_delay_s(base_s: float, cap_s: float, previous_s: float, failed: int, u: float) -> float:
    if failed == 1:
        return min(base_s, cap_s)
    last_s = min(max(previous_s, base_s), cap_s)
    return last_s + u * (min(3.0 * last_s, cap_s) - last_s)


def _power_s(base_s: float, cap_s: float, multiplier: float, power: int) -> float:
    if power * math.log(multiplier) > _LARGEST_LOG:
        return cap_s
    return min(base_s * math.pow(multiplier, float(power)), cap_s)


class Backoff(Protocol):
    """A rule for the delay before the next attempt."""

    @property
    def kind(self) -> str:
        """The name the scenario file uses."""

    @property
    def is_random(self) -> bool:
        """Whether the delay depends on the draw."""

    def delay_s(self, failed: int, u: float, previous_s: float = 0.0) -> float:
        """Seconds to wait after ``failed`` failed attempts, given a uniform draw ``u``.

        ``previous_s`` is the delay before the attempt that has just failed, 0 after a first one.
        """

    def bounds_s(self, failed: int) -> tuple[float, float]:
        """Smallest and largest delay possible after ``failed`` failed attempts, whatever came before."""

    def scaled(self, factor: float) -> Backoff:
        """The same rule with every duration multiplied by ``factor``."""

    @property
    def numbers(self) -> tuple[int, float, float, float]:
        """The rule as ``delay_s`` takes it: rule, base and cap in seconds, multiplier (0: it has none)."""


class _Rule(ABC):
    """What all rules share: everything but their settings, which ``numbers`` gives."""

    __slots__ = ()

    kind: ClassVar[str]
    code: ClassVar[int]

    @property
    def is_random(self) -> bool:
        """Whether the delay depends on the draw."""
        return self.code >= FULL_JITTER

    @property
    @abstractmethod
    def numbers(self) -> tuple[int, float, float, float]:
        """The rule as the plain ``delay_s`` takes it."""

    def delay_s(self, failed: int, u: float, previous_s: float = 0.0) -> float:
        """Seconds to wait after ``failed`` failed attempts: see the plain function."""
        return delay_s(*self.numbers, previous_s, failed, u)

    def bounds_s(self, failed: int) -> tuple[float, float]:
        """Smallest and largest delay possible after ``failed`` failed attempts."""
        return self.delay_s(failed, 0.0), self.delay_s(failed, 1.0)


@dataclass(frozen=True, slots=True)
class NoBackoff(_Rule):
    """B = 0: retry at once, the fluid worst case."""

    kind = "none"
    code = NONE

    def scaled(self, factor: float) -> Self:  # noqa: ARG002
        """Itself."""
        return self

    @property
    def numbers(self) -> tuple[int, float, float, float]:
        """The rule as the plain ``delay_s`` takes it."""
        return NONE, 0.0, 0.0, 0.0


@dataclass(frozen=True, slots=True)
class FixedBackoff(_Rule):
    """B = d, whatever came before."""

    fixed_s: float
    kind = "fixed"
    code = FIXED

    def scaled(self, factor: float) -> Self:
        """The same rule in another unit of time."""
        return replace(self, fixed_s=self.fixed_s * factor)

    @property
    def numbers(self) -> tuple[int, float, float, float]:
        """The rule as the plain ``delay_s`` takes it."""
        return FIXED, float(self.fixed_s), float(self.fixed_s), 0.0


@dataclass(frozen=True, slots=True)
class _Growing(_Rule):
    """A rule that starts from a base and grows up to a cap."""

    base_s: float
    cap_s: float

    def scaled(self, factor: float) -> Self:
        """The same rule in another unit of time."""
        return replace(self, base_s=self.base_s * factor, cap_s=self.cap_s * factor)

    @property
    def numbers(self) -> tuple[int, float, float, float]:
        """The rule as the plain ``delay_s`` takes it."""
        return self.code, float(self.base_s), float(self.cap_s), 0.0


@dataclass(frozen=True, slots=True)
class ExponentialBackoff(_Growing):
    """B_n = min(base · 2^(n−1), cap): deterministic, so clients that failed together return together."""

    kind = "exponential"
    code = EXPONENTIAL


@dataclass(frozen=True, slots=True)
class FullJitterBackoff(_Growing):
    """B_n ~ U(0, min(base · 2^n, cap))."""

    kind = "full-jitter"
    code = FULL_JITTER


@dataclass(frozen=True, slots=True)
class EqualJitterBackoff(_Growing):
    """B_n ~ U(w/2, w) with w = min(base · 2^n, cap): half of the growth is kept, the other half drawn."""

    kind = "equal-jitter"
    code = EQUAL_JITTER


@dataclass(frozen=True, slots=True)
class DecorrelatedJitterBackoff(_Growing):
    """B_n ~ min(U(base, 3 · B_(n−1)), cap) with B_0 = base, as AWS has it."""

    base_s: float = 1.0
    cap_s: float = 20.0
    kind = "decorrelated-jitter"
    code = DECORRELATED_JITTER

    def bounds_s(self, failed: int) -> tuple[float, float]:
        """min(base, cap) to min(base · 3^failed, cap)."""
        before_s = self.base_s * 3.0 ** min(failed - 1, _MOST_TREBLINGS)
        return self.delay_s(failed, 0.0, self.base_s), self.delay_s(failed, 1.0, before_s)


@dataclass(frozen=True, slots=True)
class FinagleJitterBackoff(_Growing):
    """B_1 = base, then B_n ~ U(B_(n−1), min(3 · B_(n−1), cap)): it never shrinks."""

    kind = "finagle-jitter"
    code = FINAGLE_JITTER

    def bounds_s(self, failed: int) -> tuple[float, float]:
        """min(base, cap) to min(base · 3^(failed−1), cap)."""
        before_s = self.base_s * 3.0 ** min(max(failed - 2, 0), _MOST_TREBLINGS)
        return self.delay_s(failed, 0.0, self.base_s), self.delay_s(failed, 1.0, before_s)


@dataclass(frozen=True, slots=True)
class GrpcBackoff(_Growing):
    """B_n ~ min(base · multiplier^(n−1), cap) · U(.8, 1.2); the configuration must give all three."""

    multiplier: float
    kind = "grpc"
    code = GRPC

    def __post_init__(self) -> None:
        if not 0.0 < self.multiplier < math.inf:
            raise ValueError(f"multiplier: must be positive and finite (got {self.multiplier!r})")

    @property
    def numbers(self) -> tuple[int, float, float, float]:
        """The rule as the plain ``delay_s`` takes it."""
        return GRPC, float(self.base_s), float(self.cap_s), float(self.multiplier)


@dataclass(frozen=True, slots=True)
class EnvoyBackoff(_Growing):
    """B_n ~ U(0, min((2^n − 1) · base, cap)), as Envoy's documentation has it.

    Its present source draws from 2^(n−1) · base instead, which is the same for the first retry.
    """

    base_s: float = 0.025
    cap_s: float = 0.25
    kind = "envoy"
    code = ENVOY
