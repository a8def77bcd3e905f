"""The feedback fixed point: load raises failures, failures raise retries, retries raise load.

Capacity is the unit: λ = ``utilization`` is first attempts over capacity, L = ``load`` all attempts over
capacity. With b = ``base_failure`` and p(L) = b + (1−b)·max(0, (L−1)/L), the load answers
F(L) = λ(1 + p + … + p^(m−1)).

F has exactly one fixed point. Up to L = 1 it is constant, L0 = λ(1−b^m)/(1−b), a fixed point iff
L0 ≤ 1. Above, p = 1 − (1−b)/L, so F(L)/L = λ(1−p^m)/(1−b), which falls as L grows: it is 1 once if
L0 > 1 and nowhere else if L0 ≤ 1. Setting it to 1 gives p^m = 1 − (1−b)/λ, in closed form. The model
therefore has no hysteresis: it leaves out the queue, and so comes back as soon as λ does.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from analysis.laws.amplification import retry_amplification
from analysis.laws.checks import DomainError, check, faults_of
from analysis.laws.elementwise import elementwise
from domain.errors import Fault

MOST_EXACT_ATTEMPTS = 10_000
"""Exact powers of more than this would take minutes."""

MOST_EXACT_DIGITS = 60
"""Decimals of what is given, and of the width, to compute with."""

MOST_DIGITS_IN_ALL = 120_000
"""The digits of an m-th power are m times its base's: more than this, for every probe, would take minutes."""

Exact = int | str | float | Fraction
"""A number taken exactly: "0.95" is 19/20, the float 0.95 is the binary fraction it is stored as."""


@dataclass(frozen=True, slots=True)
class Enclosure:
    """Two exact numbers with the fixed point between them, ends included; equal if it is known exactly."""

    low: Fraction
    high: Fraction

    @property
    def width(self) -> Fraction:
        """How far apart the ends are."""
        return self.high - self.low

    @property
    def middle(self) -> float:
        """The fixed point to within half the width."""
        return float((self.low + self.high) / 2)


@dataclass(frozen=True, slots=True)
class FeedbackStep:
    """One turn of the loop: the load fed in, and the failures, attempts per job and load it leads to."""

    load: float
    failure_probability: float
    amplification: float
    next_load: float


@elementwise
def overload_failure_probability(load: float, base_failure: float) -> float:
    """Probability that an attempt fails at load L: b + (1−b)·max(0, (L−1)/L). Source: seed 004.

    Raises ``ValueError`` for L < 0 or b outside [0, 1).
    """
    check(load=load, base_failure=base_failure)
    return base_failure + (1.0 - base_failure) * (load - 1.0) / load if load > 1 else float(base_failure)


@elementwise
def fixed_point_load(utilization: float, max_attempts: float, base_failure: float) -> float:
    """The load L with F(L) = L: L0 = λ(1−b^m)/(1−b) if L0 ≤ 1, else (1−b)/(1 − (1 − (1−b)/λ)^(1/m)).

    In units of capacity. Infinite for m = ∞ and λ > 1 − b: then nothing bounds it. Raises ``ValueError``
    for λ < 0, m < 1 or b outside [0, 1). Source: the model is seed 004's, the closed form this
    module's docstring.
    """
    check(utilization=utilization, max_attempts=max_attempts, base_failure=base_failure)
    answered = 1.0 - base_failure
    unstressed = utilization * retry_amplification(max_attempts, base_failure)
    if unstressed <= 1.0:
        return unstressed
    if math.isinf(max_attempts):
        return math.inf
    share = answered / utilization
    if share >= 1.0:
        return 1.0
    # 1 − (1 − share)^(1/m) by logarithms, since both powers near 1 for large λ and m.
    per_attempt = -math.expm1(math.log1p(-share) / max_attempts)
    return answered / per_attempt if per_attempt > 0 else math.inf


@elementwise
def first_overload_utilization(max_attempts: float, base_failure: float) -> float:
    """Demand above which the fixed point exceeds capacity: λ = (1−b)/(1−b^m).

    1 for b = 0, 1 − b for m = ∞. Raises ``ValueError`` for m < 1 or b outside [0, 1).
    Source: seed 004 (its exercise).
    """
    check(max_attempts=max_attempts, base_failure=base_failure)
    return 1.0 / retry_amplification(max_attempts, base_failure)


def fixed_point_enclosure(
    utilization: Exact, max_attempts: float, base_failure: Exact, width: Exact = "1e-9"
) -> Enclosure:
    """Exact ends around the load L with F(L) = L, no further apart than ``width``.

    Bisection on [λ, λm] with F evaluated in fractions; where the fixed point is at most 1 it is itself a
    fraction and both ends are it. Raises ``ValueError`` for λ < 0, b outside [0, 1), a width ≤ 0, m that
    is no whole number from 1 to ``MOST_EXACT_ATTEMPTS``, and more digits than can be computed with.
    Source: seed 004.
    """
    given = {"utilization": utilization, "base_failure": base_failure, "width": width}
    demand, base, wanted = _exact_values(given, max_attempts)
    attempts = int(max_attempts)
    unstressed = demand * (1 - base**attempts) / (1 - base)
    if unstressed <= 1:
        return Enclosure(unstressed, unstressed)
    # F(λ) ≥ λ and F(λm) ≤ λm, as one job makes at least one attempt and at most m. Each probe keeps
    # F(low) ≥ low and F(high) ≤ high, without rounding. F is continuous, so F(L) = L in between.
    low, high = demand, demand * attempts
    # Probes on a grid of 2^−k ≤ width/4 keep every denominator below 2^k: nothing compounds. A middle
    # moved to the grid by at most 2^−k/2 stays inside an interval that is still wider than the width,
    # and leaves at most 5/8 of it.
    grid = 1 << max(0, math.ceil(4 / wanted) - 1).bit_length()
    while high - low > wanted:
        probe = Fraction(round((low + high) / 2 * grid), grid)
        if _feedback(probe, demand, attempts, base) >= probe:
            low = probe
        else:
            high = probe
    return Enclosure(low, high)


def feedback_steps(
    utilization: float, max_attempts: float, base_failure: float, steps: int = 5
) -> list[FeedbackStep]:
    """The first turns of the loop from L = λ on, in floats: λ, F(λ), F(F(λ)), …

    Raises ``ValueError`` for λ < 0, m < 1, b outside [0, 1) or steps < 0. Source: seed 004.
    """
    check(utilization=utilization, max_attempts=max_attempts, base_failure=base_failure, steps=steps)
    turns, load = [], utilization
    for _ in range(steps):
        p = overload_failure_probability(load, base_failure)
        attempts = retry_amplification(max_attempts, p)
        turns.append(FeedbackStep(load, p, attempts, utilization * attempts))
        load = turns[-1].next_load
    return turns


_LIMITS = {
    "utilization": f"must be at most 1e{MOST_EXACT_DIGITS} and have at most {MOST_EXACT_DIGITS} decimals",
    "base_failure": f"must have at most {MOST_EXACT_DIGITS} decimals",
    "width": f"must be at least 1e-{MOST_EXACT_DIGITS}, and at most 1e{MOST_EXACT_DIGITS}",
}
_EXPONENT = re.compile(r"e([-+]?[\d_]+)\s*$", re.IGNORECASE)


def _exact_values(given: Mapping[str, Exact], max_attempts: float) -> list[Fraction]:
    """The values as fractions; ``DomainError`` with everything that is wrong with them and with m."""
    exact: dict[str, Fraction] = {}
    faults = []
    for field, value in given.items():
        exponent = _EXPONENT.search(value) if isinstance(value, str) else None
        try:
            # Written out, 1e-999999999 would fill the memory.
            if exponent and abs(int(exponent[1])) > 10 * MOST_EXACT_DIGITS:
                faults.append(Fault(field, f"{_LIMITS[field]} to be computed exactly", value))
            else:
                exact[field] = Fraction(value)
        except (ValueError, OverflowError, ZeroDivisionError):
            faults.append(Fault(field, "must be a finite number", value))
    broken = faults_of(exact, given)
    sound = {field: exact[field] for field in exact if field not in {fault.field for fault in broken}}
    digits = {field: _digits(field, value) for field, value in sound.items()}
    broken += [
        Fault(field, f"{_LIMITS[field]} to be computed exactly", given[field])
        for field, count in digits.items()
        if count > MOST_EXACT_DIGITS
    ]
    if not (1 <= max_attempts <= MOST_EXACT_ATTEMPTS and max_attempts % 1 == 0):
        rule = f"must be a whole number from 1 to {MOST_EXACT_ATTEMPTS:,} to be computed exactly"
        broken.append(Fault("max_attempts", rule, max_attempts))
    elif not faults + broken and max_attempts * max(digits.values()) > MOST_DIGITS_IN_ALL:
        longest = max(digits, key=lambda field: digits[field])
        most = int(MOST_DIGITS_IN_ALL // max_attempts)
        rule = f"must have at most {most} decimals with {max_attempts:g} attempts to be computed exactly"
        broken.append(Fault(longest, rule, given[longest]))
    if faults + broken:
        raise DomainError(faults + broken)
    return list(exact.values())


def _digits(field: str, value: Fraction) -> int:
    """How many decimal digits computing with a value takes."""
    whole = value.numerator // value.denominator
    # A width is only divided by: of 1/3 what counts is its size.
    fine = value.denominator // value.numerator if field == "width" else value.denominator
    return math.ceil(math.log10(max(whole, fine, 1)))


def _feedback(load: Fraction, demand: Fraction, attempts: int, base: Fraction) -> Fraction:
    """F(L), exactly."""
    failing = base + (1 - base) * max(Fraction(0), (load - 1) / load)
    return demand * (1 - failing**attempts) / (1 - failing)
