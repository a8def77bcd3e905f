from __future__ import annotations

import math

import numpy as np
import pytest

from domain.service_time import KINDS, ServiceTime
from domain.streams import stream

TIMES = [*(ServiceTime(kind) for kind in KINDS), ServiceTime("pareto", 4.5), ServiceTime("lognormal", 0.5)]


@pytest.mark.parametrize("service_time", TIMES, ids=str)
def test_mean_is_one_and_the_tail_is_the_formula(service_time: ServiceTime) -> None:
    """200,000 draws: mean, variance where it is finite, and the share beyond 1, 2 and 5."""
    rng = stream(4, "service")
    works = np.array([service_time.draw(rng) for _ in range(200_000)])
    error = works.std() / math.sqrt(works.size)
    assert works.mean() == pytest.approx(1.0, abs=4 * error + 1e-12)
    if service_time.kind not in ("pareto", "lognormal"):
        assert works.var() == pytest.approx(service_time.squared_variation, rel=0.03)
    for work in (0.5, 1.0, 2.0, 5.0):
        share = service_time.exceeds(work)
        assert (works > work).mean() == pytest.approx(share, abs=4 * math.sqrt(share / works.size) + 1e-12)


def test_squared_variation() -> None:
    assert [ServiceTime(kind).squared_variation for kind in KINDS] == pytest.approx(
        [1.0, 0.0, 2.25, 0.8, 4.0]
    )
    assert ServiceTime("pareto", 2.0).squared_variation == math.inf


@pytest.mark.parametrize(
    ("kind", "shape", "message"),
    [
        ("weibull", None, "must be one of exponential"),
        ("exponential", 1.0, "service_time.shape: must be left out"),
        ("pareto", 1.0, "service_time.shape: must be the tail index"),
        ("pareto", math.nan, "service_time.shape: must be the tail index"),
        ("lognormal", 1e160, "service_time.shape: must be the coefficient"),
        ("hyperexponential", 1e8, "service_time.shape: must be the coefficient"),
        ("pareto", 1.0001, "service_time.shape: must be the tail index"),
        ("lognormal", 0.0, "service_time.shape: must be the coefficient"),
        ("hyperexponential", 0.9, "service_time.shape: must be the coefficient of variation, from 1 to 100"),
    ],
)
def test_shapes_outside_the_domain(kind: str, shape: float | None, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ServiceTime(kind, shape)  # type: ignore[arg-type]
