from __future__ import annotations

import math

import numpy as np
import pytest

from domain.service_time import KINDS, ServiceTime, exponential_work
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


@pytest.mark.parametrize("service_time", TIMES, ids=str)
def test_a_finite_variance_does_not_depend_on_the_number_of_services(service_time: ServiceTime) -> None:
    assert service_time.squared_variation_over(7) == service_time.squared_variation
    assert not service_time.is_wild


@pytest.mark.parametrize("shape", [1.05, 1.5, 1.9, 2.0])
def test_an_infinite_variance_is_what_so_many_services_show(shape: float) -> None:
    """That of min(S, x), P(S > x) = 1/n, integrated; it grows with n and begins at 0."""
    heavy = ServiceTime("pareto", shape)
    assert heavy.is_wild
    for n in (10.0, 1e3, 1e5):
        most = (shape - 1) / shape * n ** (1 / shape)
        # E[min(S, x)²] = ∫ 2s P(S > s) ds, on a grid that is even in log s.
        s = np.exp(np.linspace(math.log((shape - 1) / shape), math.log(most), 200_001))
        exceeding = np.array([heavy.exceeds(work) for work in s])
        mean = s[0] + np.trapezoid(exceeding, s)
        second = s[0] ** 2 + np.trapezoid(2 * s * exceeding, s)
        assert heavy.squared_variation_over(n) == pytest.approx(second - mean**2, rel=1e-4)
    grows = [heavy.squared_variation_over(n) for n in (0, 1, 2, 10, 100, 1e6)]
    assert grows == sorted(grows)
    assert grows[:2] == pytest.approx([0, 0], abs=1e-12)


def test_a_wild_sum_strays_as_a_power_of_its_length() -> None:
    """√(n c²) goes as n^(1/α): with 1,000 times as many works of α = 1.5 c² is 1,000^(1/3) times as large."""
    heavy = ServiceTime("pareto", 1.5)
    assert heavy.squared_variation_over(1e12) / heavy.squared_variation_over(1e9) == pytest.approx(
        10, rel=0.01
    )


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


def test_the_exponential_kind_has_one_rule() -> None:
    """Drawn by itself or by its kind, the works are the same."""
    one, other = stream(2, "service"), stream(2, "service")
    kind = ServiceTime("exponential")
    assert [exponential_work(one) for _ in range(100)] == [kind.draw(other) for _ in range(100)]
