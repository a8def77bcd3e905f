"""Breakers against hand-computed tables, at their deployed defaults and at every edge."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.compiled import compiled_rule
from domain.breakers import decide, window
from domain.breakers.account import BreakerAccount
from domain.breakers.adaptive_throttle import AdaptiveThrottle, refusal_probability
from domain.breakers.circuit_breaker import CLOSED, HALF_OPEN, OPEN, CircuitBreaker
from domain.breakers.decide import Breaker
from domain.breakers.none import NoBreaker

ALL = [
    NoBreaker(),
    AdaptiveThrottle(),
    CircuitBreaker.resilience4j(),
    CircuitBreaker.polly(),
    CircuitBreaker(0.3, window_calls=7, min_calls=5, open_s=0.5, probes=3, half_open_s=1.0),
]
SHORT = CircuitBreaker(0.5, window_calls=4, min_calls=4, open_s=10.0, probes=2)


class Watched(BreakerAccount):
    """An account whose state can be looked at."""

    __slots__ = ()

    @property
    def phase(self) -> float:
        return self._state[0]

    @property
    def state(self) -> list[float]:
        return list(self._state)


def fed(rule: Breaker, outcomes: str, now_s: float = 0.0) -> Watched:
    """An account that was told of calls that failed (F) and succeeded (S), all at one moment."""
    account = Watched(rule)
    for outcome in outcomes:
        account.ended(now_s, outcome == "S")
    return account


# ---- adaptive throttling


@pytest.mark.parametrize(
    ("requests", "accepts", "k", "probability"),
    [
        (0, 0, 2, 0),
        (1, 0, 2, 1 / 2),
        (2, 1, 2, 0),
        (3, 1, 2, 1 / 4),
        (10, 0, 2, 10 / 11),
        (100, 40, 2, 20 / 101),
        (100, 50, 2, 0),
        (100, 100, 1, 0),
        (110, 100, 1.1, 0),
        (111, 100, 1.1, 1 / 112),
    ],
)
def test_the_book_s_formula_by_hand(requests: float, accepts: float, k: float, probability: float) -> None:
    """P = max(0, (requests − K · accepts)/(requests + 1))."""
    assert refusal_probability(requests, accepts, k) == pytest.approx(probability)


@given(requests=st.integers(0, 10**9), accepts=st.integers(0, 10**9), k=st.floats(1, 100))
def test_the_probability_is_below_one(requests: int, accepts: int, k: float) -> None:
    """However bad it looks, a call has a chance: this is how a throttled client finds out."""
    assert 0.0 <= refusal_probability(requests, accepts, k) < 1.0


def test_the_first_call_goes_and_the_second_may_not() -> None:
    """One request without an accept: P = 1/2, refused below it and let through at it."""
    for u, goes in ((0.0, False), (0.4999, False), (0.5, True), (0.9999, True)):
        account = BreakerAccount(AdaptiveThrottle())
        assert account.lets_through(0.0, 0.0)
        assert account.lets_through(0.0, u) is goes


def test_refused_calls_count_as_requests() -> None:
    """Nothing is ever accepted and the draw is always 0: after n calls P = n/(n + 1)."""
    account = BreakerAccount(AdaptiveThrottle())
    for n in range(1, 50):
        account.lets_through(1.0, 0.0)
        account.ended(1.0, False)
        copy = BreakerAccount(AdaptiveThrottle())
        copy._state = list(account._state)
        assert not copy.lets_through(1.0, n / (n + 1) - 1e-9)
        copy._state = list(account._state)
        assert copy.lets_through(1.0, n / (n + 1))


def test_an_accept_excuses_two_requests() -> None:
    """K = 2: one answer in two is enough for never refusing; one in three is not."""
    account = BreakerAccount(AdaptiveThrottle())
    assert account.lets_through(0.0, 0.0)
    account.ended(0.0, True)
    assert account.lets_through(0.0, 0.0)  # (1 − 2)/2 < 0
    assert account.lets_through(0.0, 0.0)  # (2 − 2)/3 = 0
    assert not account.lets_through(0.0, 0.2499)  # (3 − 2)/4
    assert account.lets_through(0.0, 0.4)  # (4 − 2)/5


@pytest.mark.parametrize("asked_s", [0.0, 2.5, 4.999])
def test_the_window_of_two_minutes_ends_with_its_bin(asked_s: float) -> None:
    """What was asked for in the first five seconds counts up to the 120th, and not from there."""
    for now_s, goes in ((asked_s, False), (119.999, False), (120.0, True), (1e6, True)):
        account = BreakerAccount(AdaptiveThrottle())
        assert account.lets_through(asked_s, 0.0)
        assert account.lets_through(now_s, 0.0) is goes


def test_the_window_is_24_bins_of_five_seconds() -> None:
    """A call at the 5th second counts until the 125th."""
    for now_s, goes in ((124.999, False), (125.0, True)):
        account = BreakerAccount(AdaptiveThrottle())
        assert account.lets_through(5.0, 0.0)
        assert account.lets_through(now_s, 0.0) is goes


@given(
    k=st.floats(1, 10),
    gaps=st.lists(st.floats(0, 200), max_size=100),
    span_s=st.floats(0.01, 1000),
)
def test_who_is_always_accepted_is_never_refused(k: float, gaps: list[float], span_s: float) -> None:
    """Answers that come before the next call keep P at 0, whatever falls out of the window."""
    account, now_s = BreakerAccount(AdaptiveThrottle(k, span_s)), 0.0
    for gap in gaps:
        now_s += gap
        assert account.lets_through(now_s, 0.0)
        account.ended(now_s, True)


@given(
    bins=st.integers(1, 12),
    span_s=st.floats(0.1, 100),
    steps=st.lists(st.tuples(st.floats(0, 30), st.integers(0, 3), st.integers(0, 3)), max_size=80),
)
def test_the_window_counts_what_a_list_would(
    bins: int, span_s: float, steps: list[tuple[float, int, int]]
) -> None:
    """The totals are those of all events whose bin is among the last ``bins``."""
    state, now_s, events = [7.0] * window.size(bins), 0.0, []
    window.clear(state, 0)
    for gap, first, second in steps:
        now_s += gap
        window.advance(state, 0, bins, span_s, now_s)
        window.add(state, 0, bins, first, second)
        events.append((math.floor(now_s * bins / span_s), first, second))
        recent = [event for event in events if event[0] > events[-1][0] - bins]
        assert window.first(state, 0) == sum(event[1] for event in recent)
        assert window.second(state, 0) == sum(event[2] for event in recent)


def test_the_window_takes_a_clock_that_steps_back() -> None:
    """What is told late counts in the bin that is filling."""
    state = [0.0] * window.size(4)
    window.clear(state, 0)
    for now_s in (-7.0, 2.0, 1.0):
        window.advance(state, 0, 4, 4.0, now_s)
        window.add(state, 0, 4, 1.0, 0.0)
    assert window.first(state, 0) == 2.0  # that of −7 s is gone
    window.advance(state, 0, 4, 4.0, 5.9)
    assert window.first(state, 0) == 2.0
    window.advance(state, 0, 4, 4.0, 6.0)
    assert window.first(state, 0) == 0.0


# ---- the circuit breaker


@pytest.mark.parametrize(
    ("outcomes", "phase"),
    [
        ("F" * 99, CLOSED),
        ("F" * 100, OPEN),
        ("S" * 50 + "F" * 50, OPEN),
        ("F" * 50 + "S" * 50, OPEN),  # the success that fills the minimum opens it too
        ("S" * 51 + "F" * 49, CLOSED),
        ("F" * 49 + "S" * 51 + "F" * 49, CLOSED),
        ("S" * 51 + "F" * 50, OPEN),  # the first success has slid out
    ],
)
def test_resilience4j_opens_at_half_of_a_hundred(outcomes: str, phase: float) -> None:
    """50% of the last 100 calls, and never before there are 100."""
    assert fed(CircuitBreaker.resilience4j(), outcomes).phase == phase


@pytest.mark.parametrize(
    ("outcomes", "phase"),
    [
        ("FFF", CLOSED),
        ("FSSS", CLOSED),
        ("FSSSF", CLOSED),  # the first failure slides out as the second comes in
        ("FSSSFF", OPEN),
        ("SSSSSSFSSSF", CLOSED),
        ("SSSSSSFSSF", OPEN),
    ],
)
def test_a_window_of_four_calls_slides(outcomes: str, phase: float) -> None:
    """Only the last four outcomes count."""
    assert fed(SHORT, outcomes).phase == phase


def test_the_minimum_is_never_more_than_the_window_holds() -> None:
    """resilience4j takes the smaller of both; else a window of ten would never open."""
    rule = CircuitBreaker(window_calls=10, min_calls=100)
    assert fed(rule, "F" * 9).phase == CLOSED
    assert fed(rule, "F" * 10).phase == OPEN


def test_open_refuses_to_the_last_moment_and_ignores_what_comes_back() -> None:
    """Opened at 7 s: a call at 66.999 s is refused, at 67 s it is let through."""
    account = fed(CircuitBreaker.resilience4j(), "F" * 100, now_s=7.0)
    for outcome in (True, False) * 200:
        account.ended(8.0, outcome)
        assert not account.lets_through(8.0, 0.9)
    assert not account.lets_through(66.999, 0.9)
    assert account.lets_through(67.0, 0.0)
    assert account.phase == HALF_OPEN


@pytest.mark.parametrize(
    ("outcomes", "phase"),
    [
        ("FFFFFFFFF", HALF_OPEN),
        ("SSSSSSSSS", HALF_OPEN),
        ("SSSSSSSSSS", CLOSED),
        ("FFFFSSSSSS", CLOSED),
        ("FFFFFSSSSS", OPEN),
    ],
)
def test_ten_probes_decide(outcomes: str, phase: float) -> None:
    """Ten are let through, an eleventh is not; the tenth answer decides, by the same ratio."""
    account = fed(CircuitBreaker.resilience4j(), "F" * 100)
    assert [account.lets_through(60.0, 0.0) for _ in range(12)] == [True] * 10 + [False] * 2
    for outcome in outcomes:
        account.ended(61.0, outcome == "S")
    assert account.phase == phase
    if phase == OPEN:
        assert not account.lets_through(120.999, 0.0)
        assert account.lets_through(121.0, 0.0)


def test_a_closed_breaker_begins_with_an_empty_window() -> None:
    """After the probes, a hundred more calls are needed to open it again."""
    account = fed(CircuitBreaker.resilience4j(), "F" * 100)
    for _ in range(10):
        assert account.lets_through(60.0, 0.0)
        account.ended(60.0, True)
    for _ in range(99):
        account.ended(61.0, False)
    assert account.phase == CLOSED
    account.ended(61.0, False)
    assert account.phase == OPEN


def test_fewer_results_than_probes_decide_when_the_minimum_is_smaller() -> None:
    """resilience4j: the smaller of the minimum and the probes."""
    account = fed(CircuitBreaker(min_calls=3, open_s=1.0, probes=10), "FFF")
    assert account.lets_through(1.0, 0.0)
    account.ended(1.0, True)
    account.ended(1.0, True)
    assert account.phase == HALF_OPEN
    account.ended(1.0, False)
    assert account.phase == CLOSED


def test_a_late_result_counts_as_a_probe_s() -> None:
    """A call from before that comes back while it is half-open is counted with the probes."""
    account = fed(SHORT, "FFFF")
    assert account.lets_through(10.0, 0.0)
    account.ended(10.5, False)  # let through while closed
    assert account.phase == HALF_OPEN
    account.ended(10.6, True)
    assert account.phase == OPEN


def test_probes_that_never_come_back_are_given_up_on_only_if_asked_for() -> None:
    """Half-open from 10 s to 13 s, open again to 23 s; by default it waits as long as it takes."""
    patient = fed(SHORT, "FFFF")
    account = fed(CircuitBreaker(0.5, 4, 0.0, 4, 10.0, 2, half_open_s=3.0), "FFFF")
    for watched in (patient, account):
        assert [watched.lets_through(10.0, 0.0) for _ in range(3)] == [True, True, False]
    assert not account.lets_through(12.999, 0.0)
    account.ended(13.0, True)  # too late: it is open, and this is ignored
    assert account.phase == OPEN
    assert not account.lets_through(22.999, 0.0)
    assert account.lets_through(23.0, 0.0)
    assert not patient.lets_through(1e9, 0.0)


def test_giving_up_on_probes_counts_from_when_it_was_due() -> None:
    """Nobody asks between 10 s and 20 s: it has been open since 13 s all the same, so to 23 s."""
    account = fed(CircuitBreaker(0.5, 4, 0.0, 4, 10.0, 2, half_open_s=3.0), "FFFF")
    assert account.lets_through(10.0, 0.0)
    assert not account.lets_through(20.0, 0.0)
    assert account.lets_through(23.0, 0.0)


def test_polly_opens_at_a_tenth_of_a_hundred_in_thirty_seconds() -> None:
    """9 of 99 and 9 of 100 do not open it, 10 of 100 do; five seconds later one probe is let through."""
    account = fed(CircuitBreaker.polly(), "S" * 90 + "F" * 9)
    assert account.phase == CLOSED
    assert fed(CircuitBreaker.polly(), "S" * 91 + "F" * 9).phase == CLOSED
    account.ended(0.0, False)
    assert account.phase == OPEN
    assert not account.lets_through(4.999, 0.0)
    assert [account.lets_through(5.0, 0.0) for _ in range(2)] == [True, False]


@pytest.mark.parametrize(("succeeded", "phase"), [(True, CLOSED), (False, OPEN)])
def test_polly_s_one_probe_decides(succeeded: bool, phase: float) -> None:
    """A success closes it, a failure opens it for five seconds more."""
    account = fed(CircuitBreaker.polly(), "F" * 100)
    assert account.lets_through(5.0, 0.0)
    account.ended(6.0, succeeded)
    assert account.phase == phase
    assert account.lets_through(10.999, 0.0) is succeeded
    assert account.lets_through(11.0, 0.0)


@pytest.mark.parametrize(("now_s", "phase"), [(29.999, OPEN), (30.0, CLOSED)])
def test_a_window_of_time_forgets(now_s: float, phase: float) -> None:
    """99 failures of the first three seconds count with one more before the 30th second, not from there."""
    account = fed(CircuitBreaker.polly(), "F" * 99, now_s=2.9)
    account.ended(now_s, False)
    assert account.phase == phase


outcomes_in_time = st.lists(st.tuples(st.floats(0, 3), st.sampled_from(["call", "ok", "fail"])), max_size=200)
rules = st.builds(
    CircuitBreaker,
    failure_ratio=st.floats(0.01, 1),
    window_calls=st.integers(1, 8),
    window_s=st.sampled_from([0.0, 2.0]),
    min_calls=st.integers(1, 8),
    open_s=st.floats(0.1, 5),
    probes=st.integers(1, 4),
    half_open_s=st.sampled_from([0.0, 1.0]),
)


@given(rule=rules, steps=outcomes_in_time)
def test_an_open_breaker_lets_nothing_through_and_no_breaker_hangs(
    rule: CircuitBreaker, steps: list[tuple[float, str]]
) -> None:
    """Once it opens, nothing goes for ``open_s``; once all calls have ended, something goes after that."""
    account, now_s, out, opened_s = Watched(rule), 0.0, 0, -math.inf
    for gap, step in steps:
        now_s += gap
        before = account.phase
        if step == "call":
            goes = account.lets_through(now_s, 0.0)
            assert not (goes and now_s < opened_s + rule.open_s)
            out += goes
        elif out:
            out -= 1
            account.ended(now_s, step == "ok")
            if before != OPEN and account.phase == OPEN and rule.half_open_s == 0.0:
                opened_s = now_s
        if before == OPEN and account.phase == HALF_OPEN:
            assert now_s >= opened_s + rule.open_s
    for _ in range(out):
        account.ended(now_s, False)
    assert account.lets_through(now_s + rule.open_s + rule.half_open_s + 1e-6, 0.0)


# ---- what all have in common


@pytest.mark.parametrize(
    ("make", "field"),
    [
        (lambda: AdaptiveThrottle(k=0.99), "k"),
        (lambda: AdaptiveThrottle(k=math.nan), "k"),
        (lambda: AdaptiveThrottle(window_s=0.0), "window_s"),
        (lambda: AdaptiveThrottle(window_s=math.inf), "window_s"),
        (lambda: CircuitBreaker(failure_ratio=0.0), "failure_ratio"),
        (lambda: CircuitBreaker(failure_ratio=1.01), "failure_ratio"),
        (lambda: CircuitBreaker(window_calls=0), "window_calls"),
        (lambda: CircuitBreaker(window_calls=10**9), "window_calls"),
        (lambda: CircuitBreaker(window_s=-1.0), "window_s"),
        (lambda: CircuitBreaker(min_calls=0), "min_calls"),
        (lambda: CircuitBreaker(open_s=0.0), "open_s"),
        (lambda: CircuitBreaker(probes=0), "probes"),
        (lambda: CircuitBreaker(half_open_s=math.nan), "half_open_s"),
    ],
)
def test_what_cannot_be_is_refused_by_name(make: Callable[[], Breaker], field: str) -> None:
    """The message names the field, the rule and the value."""
    with pytest.raises(ValueError, match=rf"^{field}: .* \(got .*\)$"):
        make()


def played(rule: Breaker, state: Any, seed: int, functions: list[Any], unit: float = 1.0) -> list[bool]:
    """What a random sequence of calls answers; the same for the same seed. Times in ``unit`` seconds."""
    begin, lets_through, note_ended = functions
    rng = np.random.default_rng(seed)
    code, parameters = rule.code, np.array(rule.parameters)
    begin(code, parameters, state)
    now_s, answers = 0.0, []
    for bad in np.repeat(rng.random(40), 40):
        now_s += unit * float(rng.choice([0.0, 0.125, 0.25, 4.0], p=[0.3, 0.5, 0.19, 0.01]))
        kind, u = rng.random(), float(rng.random())
        if kind < 0.5:
            answers.append(bool(lets_through(code, parameters, state, now_s, u)))
        else:
            note_ended(code, parameters, state, now_s, u >= bad)
    return answers


PLAIN: list[Any] = [decide.begin, decide.lets_through, decide.note_ended]
COMPILED: list[Any] = [compiled_rule(function) for function in PLAIN]


@pytest.mark.parametrize("rule", ALL, ids=lambda rule: rule.kind)
def test_compiled_rules_decide_the_same(rule: Breaker) -> None:
    """The simulator's functions give the same answers and leave the same state, bit for bit."""
    plain, compiled = [0.0] * rule.state_size, np.zeros(rule.state_size)
    answers = played(rule, plain, 1, PLAIN)
    assert played(rule, compiled, 1, COMPILED) == answers
    assert compiled.tolist() == plain
    assert rule.code == decide.NONE or 0 < sum(answers) < len(answers)


@pytest.mark.parametrize("rule", ALL, ids=lambda rule: rule.kind)
def test_a_used_state_can_be_begun_again(rule: Breaker) -> None:
    """``begin`` makes a state of any history as good as new."""
    state = [0.0] * rule.state_size
    played(rule, state, 2, PLAIN)
    assert played(rule, state, 1, PLAIN) == played(rule, [0.0] * rule.state_size, 1, PLAIN)


@pytest.mark.parametrize("rule", ALL, ids=lambda rule: rule.kind)
def test_scaling_changes_the_clock_and_nothing_else(rule: Breaker) -> None:
    """In quarters of time the same history gets the same answers."""
    scaled = rule.scaled(0.25)
    assert type(scaled) is type(rule)
    assert len(rule.parameters) == 8
    first, second = ([0.0] * rule.state_size for _ in range(2))
    assert played(scaled, first, 1, PLAIN, unit=0.25) == played(rule, second, 1, PLAIN)
