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
from dataclasses import dataclass
from fractions import Fraction

from analysis.laws.amplification import retry_amplification
from analysis.laws.checks import DomainError, check, faults_of
from analysis.laws.elementwise import elementwise
from domain.errors import Fault

MOST_EXACT_ATTEMPTS = 10_000
"""Exact powers of more than this would take minutes."""

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
    fraction and both ends are it. Raises ``ValueError`` for λ < 0, b outside [0, 1), a width ≤ 0, and m
    that is no whole number from 1 to ``MOST_EXACT_ATTEMPTS``. Source: seed 004.
    """
    given = {"utilization": utilization, "base_failure": base_failure, "width": width}
    exact, faults = {}, []
    for field, value in given.items():
        try:
            exact[field] = Fraction(value)
        except (ValueError, OverflowError, ZeroDivisionError):
            faults.append(Fault(field, "must be a finite number", value))
    faults += faults_of(exact, given)
    if not (1 <= max_attempts <= MOST_EXACT_ATTEMPTS and max_attempts % 1 == 0):
        rule = f"must be a whole number from 1 to {MOST_EXACT_ATTEMPTS:,} to be computed exactly"
        faults.append(Fault("max_attempts", rule, max_attempts))
    if faults:
        raise DomainError(faults)
    demand, base, wanted = exact.values()
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


def _feedback(load: Fraction, demand: Fraction, attempts: int, base: Fraction) -> Fraction:
    """F(L), exactly."""
    failing = base + (1 - base) * max(Fraction(0), (load - 1) / load)
    return demand * (1 - failing**attempts) / (1 - failing)
