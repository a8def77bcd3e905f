"""How much work an attempt is: a distribution of mean 1, drawn from a stream of random numbers.

One pod of rate μ serves a work of ``w`` in ``w``/μ seconds. ``draw_work`` is plain arithmetic on plain
numbers, so the target calls it as it stands and the simulator compiles it: both get the same works
from the same stream.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

ServiceTimeKind = Literal["exponential", "deterministic", "lognormal", "pareto", "hyperexponential"]
KINDS: tuple[ServiceTimeKind, ...] = get_args(ServiceTimeKind)
EXPONENTIAL, DETERMINISTIC, LOGNORMAL, PARETO, HYPEREXPONENTIAL = range(5)

DEFAULT_SHAPES: dict[ServiceTimeKind, float] = {"lognormal": 1.5, "pareto": 2.5, "hyperexponential": 2.0}
SHAPE_RULES: dict[ServiceTimeKind, str] = {
    "lognormal": "the coefficient of variation, from 0.01 to 100",
    "pareto": "the tail index α, from 1.05 to 100 (up to 2 the variance is infinite)",
    "hyperexponential": "the coefficient of variation, from 1 to 100",
}


@dataclass(frozen=True, slots=True)
class ServiceTime:
    """A distribution of service times, scaled to mean 1.

    ``shape`` is the coefficient of variation of ``lognormal`` and ``hyperexponential`` (two branches
    with balanced means) and the tail index of ``pareto``; the other kinds have none (NaN).
    Raises ``ValueError`` for a shape outside its domain.
    """

    kind: ServiceTimeKind = "exponential"
    shape: float | None = None

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"service_time: must be one of {', '.join(KINDS)} (got {self.kind!r})")
        if self.shape is None and self.kind in DEFAULT_SHAPES:
            object.__setattr__(self, "shape", DEFAULT_SHAPES[self.kind])
        if not shape_is_valid(self.kind, self.shape):
            rule = SHAPE_RULES.get(self.kind, f"left out: {self.kind} has none")
            raise ValueError(f"service_time.shape: must be {rule} (got {self.shape!r})")

    @property
    def code(self) -> int:
        """The kind as ``draw_work`` takes it."""
        return KINDS.index(self.kind)

    @property
    def parameter(self) -> float:
        """The shape as ``draw_work`` takes it."""
        return math.nan if self.shape is None else self.shape

    @property
    def squared_variation(self) -> float:
        """Variance over squared mean: how much chance one attempt adds; infinite for Pareto up to α = 2."""
        shape = self.parameter
        if self.kind == "pareto":
            return 1.0 / (shape * (shape - 2.0)) if shape > 2.0 else math.inf
        return {"exponential": 1.0, "deterministic": 0.0}.get(self.kind, shape * shape)

    @property
    def is_wild(self) -> bool:
        """Whether the variance is infinite, so that no sum of works comes near a normal law."""
        return math.isinf(self.squared_variation)

    def squared_variation_over(self, services: float) -> float:
        """``squared_variation`` as so many services show it; finite, and never less for more of them.

        The same where that is finite. Of Pareto up to α = 2, whose variance is infinite, n services are
        hardly ever larger than the quantile x = x_m·n^(1/α) that one of them in n passes, with
        x_m = (α−1)/α. So this is the variance of min(S, x): with z = n^((2−α)/α),
        x_m²·(α(z − 1)/(2 − α) + z) − (1 − n^(1/α−1)/α)², and for α = 2 x_m²·(ln n + 1) less the same.
        √(n times this) grows as n^(1/α), as a sum of n such works strays from its mean. Nothing is
        known of fewer than one service: that counts as one, and gives 0.
        """
        if not self.is_wild:
            return self.squared_variation
        shape, n = self.parameter, max(1.0, services)
        least, rest = (shape - 1.0) / shape, (2.0 - shape) / shape
        # α(z − 1)/(2 − α) with z = n^rest is (z − 1)/rest, whose limit is ln n.
        body = math.expm1(rest * math.log(n)) / rest if rest else math.log(n)
        mean: float = 1.0 - n ** (1.0 / shape - 1.0) / shape
        return float(max(0.0, least * least * (body + n**rest) - mean * mean))

    def draw(self, rng: np.random.Generator) -> float:
        """One work."""
        return draw_work(self.code, self.parameter, rng)

    def exceeds(self, work: float) -> float:
        """P(an attempt is more work than ``work``)."""
        return tail(self.kind, self.parameter, work)

    def __str__(self) -> str:
        return self.kind if self.shape is None else f"{self.kind} (shape {self.shape:g})"


def shape_is_valid(kind: ServiceTimeKind, shape: float | None) -> bool:
    """Whether ``shape`` is in the domain of ``kind``."""
    if kind not in DEFAULT_SHAPES:
        return shape is None
    if shape is None or not math.isfinite(shape):
        return False
    least, most = {"lognormal": (0.01, 100.0), "pareto": (1.05, 100.0), "hyperexponential": (1.0, 100.0)}[
        kind
    ]
    return least <= shape <= most


def exponential_work(rng: np.random.Generator) -> float:
    """What ``draw_work`` draws of the exponential kind."""
    return float(rng.standard_exponential())


def draw_work(kind: int, shape: float, rng: np.random.Generator) -> float:
    """One work of mean 1 from the stream; see ``ServiceTime`` for the shapes."""
    if kind == EXPONENTIAL:
        return float(rng.standard_exponential())
    if kind == DETERMINISTIC:
        return 1.0
    if kind == LOGNORMAL:
        variance = math.log1p(shape * shape)
        return math.exp(math.sqrt(variance) * rng.standard_normal() - variance / 2.0)
    if kind == PARETO:
        return (shape - 1.0) / shape * math.exp(rng.standard_exponential() / shape)
    squared = shape * shape
    likely = 0.5 * (1.0 + math.sqrt((squared - 1.0) / (squared + 1.0)))
    branch = likely if rng.random() < likely else 1.0 - likely
    return float(rng.standard_exponential() / (2.0 * branch))


def tail(kind: ServiceTimeKind, shape: float, work: float) -> float:
    """P(work > ``work``) of a distribution of mean 1."""
    if work <= 0:
        return 1.0
    if kind == "deterministic":
        return 1.0 if work < 1.0 else 0.0
    if kind == "lognormal":
        variance = math.log1p(shape * shape)
        return 0.5 * math.erfc((math.log(work) + variance / 2.0) / math.sqrt(2.0 * variance))
    if kind == "pareto":
        least = (shape - 1.0) / shape
        return min(1.0, math.pow(least / work, shape))
    if kind == "hyperexponential":
        squared = shape * shape
        likely = 0.5 * (1.0 + math.sqrt((squared - 1.0) / (squared + 1.0)))
        rare = 1.0 - likely
        return likely * math.exp(-2.0 * likely * work) + rare * math.exp(-2.0 * rare * work)
    return math.exp(-work)
