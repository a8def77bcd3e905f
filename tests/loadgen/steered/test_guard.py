"""The ceilings, without a clock: what passes, what does not, and what it is called."""

from __future__ import annotations

import math
from collections.abc import Iterable

import pytest
from greenlet import GreenletExit
from hypothesis import given
from hypothesis import strategies as st

from domain.trigger.plan import Ceiling
from loadgen.steered.guard import Guard


def _passed(guard: Guard, times: Iterable[float]) -> list[float]:
    """The times at which an attempt was let through."""
    passed = []
    for now_s in times:
        try:
            guard(now_s)
        except GreenletExit:
            continue
        passed.append(now_s)
    return passed


GAPS = st.lists(st.floats(0.0, 0.4), max_size=300)


@given(gaps=GAPS, rate=st.integers(1, 20), attempts=st.integers(1, 100))
def test_no_second_has_more_and_the_first_beyond_ends_it(gaps: list[float], rate: int, attempts: int) -> None:
    """All pass up to the first that would be one too many in its second or in all; then none does."""
    times = [math.fsum(gaps[: i + 1]) for i in range(len(gaps))]
    reached: list[str] = []
    passed = _passed(guard := Guard(Ceiling(rate, attempts, 100), reached.append), times)
    assert guard.sent == len(passed)
    for index, end_s in enumerate(passed):
        assert sum(end_s - t < 1.0 for t in passed[: index + 1]) <= rate
    assert passed == times[: len(passed)]
    if len(passed) == len(times):
        assert not reached
        return
    stopped_s = times[len(passed)]
    in_second = sum(stopped_s - t < 1.0 for t in passed)
    if len(passed) == attempts:
        assert reached == ["attempts"]
    else:
        assert reached == ["rate_per_s"]
        assert in_second == rate


def test_exactly_the_ceiling_is_allowed() -> None:
    """Eight a second, evenly for a minute, never reach a ceiling of eight a second."""
    reached: list[str] = []
    times = [i / 8 for i in range(480)]
    assert _passed(Guard(Ceiling(8, 1000, 100), reached.append), times) == times
    assert not reached


def test_a_closed_guard_lets_nothing_pass_and_says_nothing() -> None:
    """After a stop for another reason attempts are kept back silently."""
    reached: list[str] = []
    guard = Guard(Ceiling(10, 10, 100), reached.append)
    guard.closed = True
    assert _passed(guard, [0.0, 5.0]) == []
    assert not reached
    assert guard.sent == 0


def test_the_first_attempt_from_a_moment_on_has_it_looked_at() -> None:
    """``look`` is asked from ``look_at_s`` on, before the attempt, which it can keep back."""
    looked = []

    def look(now_s: float) -> None:
        looked.append(now_s)
        guard.look_at_s = now_s + 1.0
        guard.closed = now_s > 2.0

    guard = Guard(Ceiling(100, 100, 100), lambda _ceiling: None, look)
    guard.look_at_s = 1.0
    assert _passed(guard, [0.5, 1.0, 1.5, 1.9, 2.5, 2.6]) == [0.5, 1.0, 1.5, 1.9]
    assert looked == [1.0, 2.5]


@pytest.mark.parametrize("rate", [1, 2, 10, 50])
def test_whoever_waits_for_room_never_reaches_the_ceiling(rate: int) -> None:
    """Attempts as fast as room is given, for ten seconds: some 90% of the ceiling, which is not reached."""
    reached: list[str] = []
    guard, now_s = Guard(Ceiling(rate, 10_000, 100), reached.append), 0.0
    while now_s < 10:
        now_s += guard.room_s(now_s) + 1e-9
        guard(now_s)
    assert not reached
    assert guard.sent >= 10 * max(int(0.9 * rate), 1) - 1
