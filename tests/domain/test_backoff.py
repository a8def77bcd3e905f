"""Every backoff against hand-computed tables, within its bounds, and compiled."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.compiled import compiled_rule
from domain.backoff import (
    Backoff,
    DecorrelatedJitterBackoff,
    EnvoyBackoff,
    EqualJitterBackoff,
    ExponentialBackoff,
    FinagleJitterBackoff,
    FixedBackoff,
    FullJitterBackoff,
    GrpcBackoff,
    NoBackoff,
    delay_s,
)

T = 2.0
BACKOFFS: tuple[Backoff, ...] = (
    NoBackoff(),
    FixedBackoff(1.0),
    ExponentialBackoff(1.0, 8.0),
    FullJitterBackoff(1.0, 8.0),
    EqualJitterBackoff(1.0, 8.0),
    DecorrelatedJitterBackoff(1.0, 8.0),
    FinagleJitterBackoff(1.0, 8.0),
    GrpcBackoff(1.0, 8.0, 1.6),
    EnvoyBackoff(1.0, 8.0),
)
NAMES = [backoff.kind for backoff in BACKOFFS]


def chain(backoff: Backoff, draws: list[float]) -> list[float]:
    """The delays of one job that keeps failing."""
    delays: list[float] = []
    for failed, u in enumerate(draws, start=1):
        delays.append(backoff.delay_s(failed, u, delays[-1] if delays else 0.0))
    return delays


def test_the_names() -> None:
    """What a scenario calls them."""
    assert NAMES == [
        "none",
        "fixed",
        "exponential",
        "full-jitter",
        "equal-jitter",
        "decorrelated-jitter",
        "finagle-jitter",
        "grpc",
        "envoy",
    ]
    assert [backoff.numbers[0] for backoff in BACKOFFS] == list(range(9))


@pytest.mark.parametrize(
    ("backoff", "delays"),
    [
        (NoBackoff(), [0, 0, 0, 0, 0]),
        (FixedBackoff(T / 2), [1, 1, 1, 1, 1]),
        (ExponentialBackoff(T, 8 * T), [2, 4, 8, 16, 16]),
        (FullJitterBackoff(T, 8 * T), [0.5 * x for x in (4, 8, 16, 16, 16)]),
        (EqualJitterBackoff(T, 8 * T), [0.75 * x for x in (4, 8, 16, 16, 16)]),
        # (2 + 3·2)/2 = 4, (2 + 3·4)/2 = 7, (2 + 3·7)/2 = 11.5, (2 + 34.5)/2 = 18.25 and capped
        (DecorrelatedJitterBackoff(T, 8 * T), [4, 7, 11.5, 16, 16]),
        # 2, (2 + 6)/2, (4 + 12)/2, (8 + 16)/2, (12 + 16)/2
        (FinagleJitterBackoff(T, 8 * T), [2, 4, 8, 12, 14]),
        (GrpcBackoff(T, 8 * T, 1.5), [2, 3, 4.5, 6.75, 10.125]),
        (EnvoyBackoff(T, 8 * T), [0.5 * x for x in (2, 6, 14, 16, 16)]),
    ],
)
def test_the_delays_at_a_middling_draw(backoff: Backoff, delays: list[float]) -> None:
    """B_n after n = 1…5 failures with base 2, cap 16 and u = 1/2 (seed 000 §3.2 for the first four)."""
    assert chain(backoff, [0.5] * 5) == pytest.approx(delays, rel=1e-15)


def test_the_defaults_of_those_who_have_some() -> None:
    """AWS: 1 s up to 20 s; Envoy: 25 ms up to 250 ms, so at most 25, 75, 175, 250 ms."""
    assert DecorrelatedJitterBackoff() == DecorrelatedJitterBackoff(1.0, 20.0)
    assert [EnvoyBackoff().bounds_s(n)[1] for n in (1, 2, 3, 4)] == pytest.approx([0.025, 0.075, 0.175, 0.25])


@pytest.mark.parametrize("backoff", BACKOFFS, ids=NAMES)
@given(draws=st.lists(st.floats(0, 1, exclude_max=True), min_size=1, max_size=12))
def test_delays_stay_in_their_bounds(backoff: Backoff, draws: list[float]) -> None:
    """Whatever the draws of a job, every delay is within the bounds of its number."""
    for failed, delay in enumerate(chain(backoff, draws), start=1):
        low, high = backoff.bounds_s(failed)
        assert low <= delay <= high


@pytest.mark.parametrize("backoff", BACKOFFS, ids=NAMES)
def test_the_bounds_are_reached(backoff: Backoff) -> None:
    """The least draws give the smallest delay, the largest the largest: nothing is left to spare."""
    bounds = [backoff.bounds_s(failed) for failed in range(1, 9)]
    assert chain(backoff, [0.0] * 8) == pytest.approx([low for low, _ in bounds], rel=1e-15)
    assert chain(backoff, [1.0] * 8) == pytest.approx([high for _, high in bounds], rel=1e-15)


@pytest.mark.parametrize("backoff", BACKOFFS, ids=NAMES)
def test_endless_clients_do_not_overflow(backoff: Backoff) -> None:
    """After 5,000 failures the cap binds, gRPC's with a fifth on top."""
    high = backoff.bounds_s(5000)[1]
    assert backoff.delay_s(5000, 0.5, high) <= high <= 1.2 * 8.0 * (1 + 1e-12)
    assert backoff.bounds_s(5001) == backoff.bounds_s(5000)


@pytest.mark.parametrize("backoff", BACKOFFS, ids=NAMES)
def test_it_draws_iff_it_says_so(backoff: Backoff) -> None:
    """``is_random`` tells whether another draw can give another delay."""
    assert backoff.is_random == (chain(backoff, [0.0, 0.0]) != chain(backoff, [0.9, 0.9]))


@pytest.mark.parametrize("backoff", BACKOFFS, ids=NAMES)
@given(factor=st.floats(1e-3, 1e3), u=st.floats(0, 1, exclude_max=True))
def test_scaling_scales_every_duration(backoff: Backoff, factor: float, u: float) -> None:
    """A rule in another unit gives the same delays in that unit."""
    scaled = chain(backoff.scaled(factor), [u] * 6)
    assert scaled == pytest.approx([delay * factor for delay in chain(backoff, [u] * 6)], rel=1e-12)
    assert backoff.scaled(factor).kind == backoff.kind


@pytest.mark.parametrize("backoff", BACKOFFS, ids=NAMES)
def test_the_compiled_rule_gives_the_same_numbers(backoff: Backoff) -> None:
    """To the last bit, for any number of failures and any delay before."""
    compiled = compiled_rule(delay_s)
    for failed in (1, 2, 3, 10, 600, 5000):
        for previous_s in (0.0, 1.0, 2.7, 8.0):
            for u in (0.0, 0.3, 0.999):
                expected = backoff.delay_s(failed, u, previous_s)
                assert compiled(*backoff.numbers, previous_s, failed, u) == expected


@pytest.mark.parametrize("multiplier", [0.0, -1.0, math.inf, math.nan])
def test_a_multiplier_that_is_none(multiplier: float) -> None:
    """gRPC requires it to be above 0."""
    with pytest.raises(ValueError, match=r"^multiplier: must be positive and finite \(got "):
        GrpcBackoff(1.0, 8.0, multiplier)


def test_grpc_with_a_multiplier_below_one_shrinks() -> None:
    """Half as long each time, and no error however small it gets."""
    backoff = GrpcBackoff(1.0, 8.0, 0.5)
    assert chain(backoff, [0.5] * 3) == pytest.approx([1.0, 0.5, 0.25])
    assert backoff.delay_s(5000, 0.5) == 0.0
