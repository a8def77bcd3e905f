"""CoDel against tables by hand, at folly's defaults of 5 and 100 ms."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.compiled import compiled_rule
from domain.codel import STATE_SIZE, CoDel, sheds

TARGET_S, INTERVAL_S = CoDel().target_s, CoDel().interval_s


def taken(*moments_and_waits: tuple[float, float]) -> list[bool]:
    """Whether each attempt is shed that is taken at a moment after a wait, both in milliseconds."""
    state = [0.0] * STATE_SIZE
    return [sheds(TARGET_S, INTERVAL_S, state, at / 1e3, wait / 1e3) for at, wait in moments_and_waits]


def test_the_defaults_are_folly_s() -> None:
    """5 ms of wait, 100 ms of interval."""
    assert CoDel() == CoDel(0.005, 0.1)


def test_the_very_first_attempt_is_an_interval_of_its_own() -> None:
    """The second is judged by it, but begins an interval of its own and is kept; the third is shed."""
    assert taken((1, 900), (2, 900), (3, 900)) == [False, False, True]
    assert taken((1, 5), (2, 900), (3, 900), (4, 900)) == [False] * 4


@pytest.mark.parametrize(("least", "overloaded"), [(5.0, False), (5.001, True)])
def test_a_least_wait_above_the_target_is_overload(least: float, overloaded: bool) -> None:
    """The interval from 1 to 101 ms decides by its least wait for the next, from its second attempt on."""
    moments = [(0, 1), (1, 50), (2, 50), (50, least), (100, 50), (102, 50), (103, 50)]
    assert taken(*moments) == [False] * 6 + [overloaded]


@pytest.mark.parametrize(("wait", "shed"), [(10.0, False), (10.001, True), (6.0, False), (1.0, False)])
def test_only_what_waited_more_than_twice_the_target_is_shed(wait: float, shed: bool) -> None:
    """In overload, 10 ms is served and more is not."""
    assert taken((0, 50), (1, 50), (2, 50), (102, 50), (103, wait))[-1] is shed


def test_an_attempt_alone_in_its_interval_is_never_shed() -> None:
    """One every 101 ms, each after a second: each only begins an interval."""
    assert not any(taken(*((101.0 * n, 1000) for n in range(50))))


def test_one_short_wait_ends_the_overload_an_interval_later() -> None:
    """The overload lasts through the interval in which a wait was short, and is over in the next."""
    moments = [(0, 50), (1, 50), (102, 50), (103, 50), (150, 1), (151, 50), (203, 50), (204, 50)]
    assert taken(*moments) == [False, False, False, True, False, True, False, False]


def test_an_interval_lasts_to_its_end() -> None:
    """From 1 ms to 101 ms, then from 101.001 ms, when the next attempt comes, to 201.001 ms."""
    moments = [(1, 50), (2, 50), (100.999, 50), (101.001, 50), (101.002, 50), (201.0005, 1), (201.0015, 50)]
    assert taken((0, 1), *moments, (201.002, 50)) == [
        *(False, False, False, False, False, True, False, False, False)
    ]


def test_at_its_very_end_an_interval_still_lasts() -> None:
    """Of 1 s, from 1 s, in numbers that a float holds: at 2 s a short wait still counts for it."""
    state = [0.0] * STATE_SIZE
    moments = [(0.5, 0.0), (1.0, 9.0), (2.0, 0.0), (2.5, 9.0), (2.75, 9.0)]
    assert not any(sheds(0.25, 1.0, state, now_s, wait_s) for now_s, wait_s in moments)


@given(steps=st.lists(st.tuples(st.floats(0, 1), st.floats(0, 0.01)), max_size=200))
def test_what_waited_up_to_twice_the_target_is_never_shed(steps: list[tuple[float, float]]) -> None:
    """Whatever else happens to the queue."""
    state, now_s = [0.0] * STATE_SIZE, 0.0
    for gap, wait_s in steps:
        now_s += gap
        sheds(TARGET_S, INTERVAL_S, state, now_s, 100 * wait_s)
        assert not sheds(TARGET_S, INTERVAL_S, state, now_s, wait_s)


@pytest.mark.parametrize(
    ("make", "field"),
    [
        (lambda: CoDel(target_s=0.0), "target_s"),
        (lambda: CoDel(target_s=math.nan), "target_s"),
        (lambda: CoDel(target_s=0.1), "interval_s"),
        (lambda: CoDel(interval_s=math.inf), "interval_s"),
    ],
)
def test_what_cannot_be_is_refused_by_name(make: Callable[[], CoDel], field: str) -> None:
    """folly refuses an interval that is not longer than the target, too."""
    with pytest.raises(ValueError, match=rf"^{field}: .* \(got .*\)$"):
        make()


def test_scaling_changes_the_clock_and_nothing_else() -> None:
    """In quarters of time the same attempts are shed; the compiled rule sheds them too, bit for bit."""
    rng = np.random.default_rng(1)
    scaled, compiled = CoDel().scaled(0.25), compiled_rule(sheds)
    whole, quarter, machine = [0.0] * STATE_SIZE, [0.0] * STATE_SIZE, np.zeros(STATE_SIZE)
    now_s, shed = 0.0, []
    for wait_s in np.repeat(rng.choice([0.001, 0.015], 100), 100) * rng.uniform(0.5, 1.0, 10_000):
        now_s += float(rng.choice([0.0, 0.0078125]))
        shed.append(sheds(TARGET_S, INTERVAL_S, whole, now_s, float(wait_s)))
        assert compiled(TARGET_S, INTERVAL_S, machine, now_s, float(wait_s)) == shed[-1]
        assert sheds(scaled.target_s, scaled.interval_s, quarter, now_s / 4, float(wait_s) / 4) == shed[-1]
    assert machine.tolist() == whole
    assert 1000 < sum(shed) < 5000
