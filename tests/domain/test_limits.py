"""Concurrency limits against hand-computed tables, at the defaults of their sources."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.compiled import compiled_rule
from domain.limits import decide
from domain.limits.account import LimitAccount
from domain.limits.aimd import AimdLimit
from domain.limits.decide import ConcurrencyLimit
from domain.limits.envoy_gradient import KEPT, EnvoyGradientLimit, next_limit
from domain.limits.gradient2 import Gradient2Limit
from domain.limits.vegas import VegasLimit, step

ALL: list[AimdLimit | VegasLimit | Gradient2Limit | EnvoyGradientLimit] = [
    AimdLimit(),
    VegasLimit(),
    Gradient2Limit(),
    EnvoyGradientLimit(),
    AimdLimit(30, 5, 40, 0.5, 1.0),
    VegasLimit(5, 12),
    Gradient2Limit(10, 5, 40, window=20, tolerance=1.0, queue=1.0, smoothing=1.0),
    EnvoyGradientLimit(most=20, least=5, samples=3, update_s=0.5, min_rtt_every_s=5.0),
]


def left(account: LimitAccount, sojourns_s: list[float], in_system: float = 1000.0) -> list[float]:
    """The limit after each of these departures, served, with the system full."""
    limits = []
    for sojourn_s in sojourns_s:
        account.ended(0.0, sojourn_s, in_system, False)
        limits.append(account.limit)
    return limits


# ---- AIMD


@pytest.mark.parametrize(
    ("limit", "sojourn_s", "in_system", "dropped", "after"),
    [
        (20, 0.1, 10, False, 21),  # 2 · 10 ≥ 20
        (20, 0.1, 9, False, 20),
        (21, 0.1, 10, False, 21),  # 2 · 10 < 21
        (21, 0.1, 11, False, 22),
        (200, 0.1, 200, False, 200),
        (100, 5.0, 100, False, 101),  # at the timeout is in time
        (100, 5.001, 100, False, 90),
        (100, 0.1, 1, True, 90),
        (99, 0.1, 1, True, 89),  # ⌊89.1⌋
        (22, 0.1, 1, True, 20),  # ⌊19.8⌋ is below the least
        (20, 0.1, 1, True, 20),
    ],
)
def test_aimd_by_hand(limit: int, sojourn_s: float, in_system: int, dropped: bool, after: float) -> None:
    """Up by one when at least half full, down to ⌊.9 L⌋ after a drop or more than five seconds."""
    account = LimitAccount(AimdLimit(initial=limit))
    assert account.limit == limit
    account.ended(0.0, sojourn_s, in_system, dropped)
    assert account.limit == after


# ---- Vegas


@pytest.mark.parametrize(
    ("limit", "log"), [(1, 1), (9, 1), (10, 1), (99, 1), (100, 2), (999, 2), (999.9, 2), (1000, 3)]
)
def test_whole_logarithms(limit: float, log: float) -> None:
    """⌊log10⌋, at least one, exact at the powers of ten."""
    assert step(limit) == log


@pytest.mark.parametrize(
    ("limit", "sojourn_s", "in_system", "dropped", "after"),
    [
        (20, 1.0, 20, False, 26),  # q = 0: + 6
        (20, 1 / 0.951, 20, False, 26),  # q = 1, the threshold
        (20, 1 / 0.949, 20, False, 21),  # q = 2 < 3
        (20, 1 / 0.851, 20, False, 20),  # q = 3: between alpha and beta
        (20, 1 / 0.71, 20, False, 20),  # q = 6
        (20, 1 / 0.69, 20, False, 19),  # q = 7 > 6
        (20, 1.0, 9, False, 20),  # less than half full
        (20, 1.0, 10, False, 26),
        (20, 1.0, 1, True, 19),  # a drop, however empty it is
        (200, 1.0, 200, False, 212),  # log10: 2
        (200, 1 / 0.98, 200, False, 202),  # q = 4 < 6
        (200, 1 / 0.9, 200, False, 198),  # q = 20 > 12
        (998, 1.0, 998, False, 1000),
        (1, 9.0, 1, True, 1),
    ],
)
def test_vegas_by_hand(limit: int, sojourn_s: float, in_system: int, dropped: bool, after: float) -> None:
    """With a shortest sojourn of 1 s: q = ⌈L(1 − 1/sojourn)⌉ against log10 L, 3 log10 L and 6 log10 L."""
    account = LimitAccount(VegasLimit(initial=limit))
    account.ended(0.0, 1.0, 1, False)
    assert account.limit == limit
    account.ended(0.0, sojourn_s + (1e-12 if sojourn_s == 1.0 else 0.0), in_system, dropped)
    assert account.limit == after


def test_vegas_learns_a_shorter_sojourn_without_a_change() -> None:
    """The sample that is a new shortest one does nothing else."""
    account = LimitAccount(VegasLimit())
    assert left(account, [2.0, 1.0, 0.5, 0.5]) == [20, 20, 20, 26]


def test_vegas_forgets_its_shortest_sojourn_after_22_limits_and_a_half() -> None:
    """L = 20: the 450th sample becomes the shortest sojourn, whatever it is; then 2 s is no queue."""
    account = LimitAccount(VegasLimit())
    left(account, [1.0])
    assert left(account, [2.0] * 448, in_system=1)[-1] == 20
    assert left(account, [2.0]) == [20]  # the 450th: with a shortest of 1 s it would be 19
    assert left(account, [2.0]) == [26]


def test_vegas_does_not_forget_a_sample_too_early() -> None:
    """The 449th is still judged by the shortest sojourn of 1 s: q = 10 > 6."""
    account = LimitAccount(VegasLimit())
    left(account, [1.0] + [2.0] * 447, in_system=1)
    assert left(account, [2.0]) == [19]


# ---- Gradient2


def test_gradient2_grows_by_a_fifth_of_its_queue_while_sojourns_stay() -> None:
    """g = 1: L + .2 · 4 a sample, from 20 to 200."""
    account = LimitAccount(Gradient2Limit())
    assert left(account, [1.0] * 3) == pytest.approx([20.8, 21.6, 22.4])
    assert left(account, [1.0] * 300)[-1] == 200.0


def test_gradient2_by_hand_while_it_warms_up() -> None:
    """A sojourn of 4 s after nine of 1 s: long = 1.3, g = max(.5, 1.5 · 1.3/4) = .5."""
    account = LimitAccount(Gradient2Limit(initial=100))
    left(account, [1.0] * 9, in_system=1)
    assert left(account, [4.0]) == pytest.approx([0.8 * 100 + 0.2 * (100 * 0.5 + 4)])


def test_gradient2_by_hand_after_it_has_warmed_up() -> None:
    """From the eleventh, long moves by 2/601 of the difference: g = 1.5 · (1 + 2/601)/2."""
    account = LimitAccount(Gradient2Limit(initial=100))
    left(account, [1.0] * 10, in_system=1)
    gradient = 1.5 * (599 / 601 + 2.0 * 2 / 601) / 2.0
    assert left(account, [2.0]) == pytest.approx([80 + 0.2 * (100 * gradient + 4)])


def test_gradient2_does_nothing_less_than_half_full() -> None:
    """in_system < L/2 leaves the limit, though the sample counts; at half it acts."""
    account = LimitAccount(Gradient2Limit(initial=100))
    assert left(account, [1.0], in_system=49) == [100]
    assert left(account, [1.0], in_system=50) == pytest.approx([100.8])


def test_gradient2_recovers_its_long_run_mean_by_a_twentieth() -> None:
    """Ten of 10 s, then 1 s: long is cut by 5% a sample, but only while it is more than double."""
    rule = Gradient2Limit(window=1_000_000_000)
    parameters, state = rule.parameters, [0.0] * rule.state_size
    decide.begin(rule.code, parameters, state)
    for _ in range(10):
        decide.note_ended(rule.code, parameters, state, 0.0, 10.0, 1, False)
    for n in range(1, 32):  # .95^31 · 10 = 2.04, .95^32 · 10 = 1.94
        decide.note_ended(rule.code, parameters, state, 0.0, 1.0, 1, False)
        assert state[1] == pytest.approx(10 * 0.95**n, rel=1e-6)
    for _ in range(3):
        decide.note_ended(rule.code, parameters, state, 0.0, 1.0, 1, False)
        assert state[1] == pytest.approx(10 * 0.95**32, rel=1e-6)


# ---- Envoy


@pytest.mark.parametrize(
    ("limit", "min_rtt_s", "p50_s", "after"),
    [
        (100, 1.0, 1.25, 110),  # g = 1: 100 + 10
        (100, 1.0, 1.0, 136),  # g = 1.25: 125 + 11.18
        (100, 1.0, 0.5, 214),  # g = 2, clamped: 200 + 14.14
        (100, 1.0, 9.0, 57),  # g = .5, clamped: 50 + 7.07
        (3, 1.0, 1.25, 4),  # 3 + 1.73
        (3, 1.0, 9.0, 2),  # 1.5 + 1.22, below the least
    ],
)
def test_envoy_s_formula_by_hand(limit: float, min_rtt_s: float, p50_s: float, after: float) -> None:
    """⌊gL + √(gL)⌋."""
    assert next_limit(limit, min_rtt_s, p50_s, 0.25) == after


class Envoy(LimitAccount):
    """A limit with a clock."""

    __slots__ = ("now_s",)

    def __init__(self, rule: EnvoyGradientLimit) -> None:
        super().__init__(rule)
        self.now_s = 0.0

    @property
    def state(self) -> list[float]:
        return self._state

    def leave(
        self, sojourn_s: float, *, after_s: float = 0.0, times: int = 1, dropped: bool = False
    ) -> float:
        for _ in range(times):
            self.now_s += after_s
            self.ended(self.now_s, sojourn_s, 1, dropped)
        return self.limit


def measured() -> Envoy:
    """Just after 50 samples of 1 s at t = 2.5 s: minRTT = 1 s, L = 3; updates at 2.6, 2.7 …"""
    envoy = Envoy(EnvoyGradientLimit())
    assert envoy.leave(1.0, after_s=0.05, times=49) == 3
    assert envoy.state[2] == 0.0
    assert envoy.leave(1.0, after_s=0.05) == 3
    assert envoy.state[2] == 1.0
    envoy.now_s = 2.5
    envoy.state[5] = 2.6
    return envoy


def test_envoy_measures_first_and_grows_from_its_least() -> None:
    """L = 3 until fifty have left, then by g = 1.25 a tenth of a second: ⌊3.75 + 1.94⌋, ⌊6.25 + 2.5⌋ …"""
    envoy = measured()
    assert envoy.leave(1.0, after_s=0.05) == 3
    envoy.now_s = 2.6
    assert envoy.leave(1.0) == 5
    assert envoy.leave(1.0, after_s=0.05) == 5
    assert envoy.leave(1.0, after_s=0.051) == 8
    assert envoy.leave(1.0, after_s=0.1) == 13


def test_envoy_takes_the_median_of_what_left_since_the_last_update() -> None:
    """Sojourns of 5, 1 and 1.25 s: p50 = 1.25, g = 1; of 1 and 1.5: their mean; dropped ones do not count."""
    envoy = measured()
    for sojourn_s in (5.0, 1.0, 1.25):
        envoy.leave(sojourn_s)
    envoy.leave(0.001, times=9, dropped=True)
    envoy.state[0] = 100.0
    envoy.now_s = 2.65
    assert envoy.leave(1.5) == 110
    envoy.leave(1.0)
    envoy.state[0] = 100.0
    envoy.now_s = 2.75
    assert envoy.leave(1.0, dropped=True) == 110


def test_envoy_leaves_its_limit_when_nothing_has_left() -> None:
    """An hour without departures is many updates, none of which changes anything; nor is one made up for."""
    rule = EnvoyGradientLimit(min_rtt_every_s=1e6)
    envoy = Envoy(rule)
    envoy.leave(1.0, after_s=0.05, times=50)
    envoy.state[0] = 100.0
    assert envoy.leave(1.0, after_s=3600.0) == 100
    assert envoy.leave(1.0, after_s=0.01) == 100
    assert envoy.leave(1.0, after_s=0.1) == 136


def test_envoy_measures_again_after_a_minute_and_its_mean_jitter() -> None:
    """64.5 s after the last: L is held at 3 until fifty that came after it have left, then it is back."""
    envoy = measured()
    envoy.state[0] = 100.0
    envoy.now_s = 2.5 + 64.49
    assert envoy.leave(9.0, dropped=True) == 100
    envoy.now_s = 2.5 + 64.5 + 1e-9
    began_s = envoy.now_s
    assert envoy.leave(1.0) == 3
    envoy.leave(1.5, after_s=0.01, times=100)  # all of them came before
    assert envoy.limit == 3
    envoy.now_s = began_s + 2.0
    assert envoy.leave(2.0, times=49) == 3  # came at the very moment: they count
    assert envoy.leave(2.0) == 100
    assert envoy.state[2] == 2.0


def test_envoy_measures_again_when_stuck_at_its_least() -> None:
    """Five updates from 3 to 3 in a row: the sixth sample begins a measurement, and 9 s is the new minRTT."""
    envoy = measured()
    for _ in range(5):
        envoy.now_s = envoy.state[5]
        assert envoy.state[1] == 0.0
        assert envoy.leave(9.0) == 3  # its own update sees the sample before
    assert envoy.state[1] == 0.0
    envoy.now_s = envoy.state[5]
    envoy.leave(9.0)
    assert envoy.state[1] == 3.0
    envoy.now_s += 9.0
    envoy.leave(9.0, times=50)
    assert envoy.state[1] == 0.0
    assert envoy.state[2] == 9.0


def test_envoy_is_not_stuck_if_it_grows_in_between() -> None:
    """Four updates at the least, one up to 5, two down, and four more: never five in a row."""
    envoy = measured()
    limits = []
    for sojourn_s in [9.0] * 4 + [1.0] + [9.0] * 7:  # each is seen by the update after it
        envoy.now_s = envoy.state[5]
        limits.append(envoy.leave(sojourn_s))
    assert limits == [3, 3, 3, 3, 3, 5, 4, 3, 3, 3, 3, 3]
    assert envoy.state[1] == 0.0


def test_envoy_measures_before_an_update_that_was_due_later() -> None:
    """The samples of that update are thrown away with it, and do not count for the measurement."""
    envoy = measured()
    envoy.state[0] = 100.0
    envoy.leave(1.0, times=49)
    envoy.state[4] = 2.55
    envoy.now_s = 2.7
    assert envoy.leave(1.0) == 3
    envoy.now_s = 4.7
    assert envoy.leave(2.0) == 3
    assert envoy.leave(2.0, times=48) == 3
    assert envoy.leave(2.0) == 100


def test_envoy_keeps_no_more_samples_than_it_has_room_for() -> None:
    """The first 256 of an interval: 1 s each; what comes after does not move the median."""
    envoy = measured()
    envoy.leave(1.25, times=KEPT)
    envoy.leave(100.0, times=5000)
    envoy.state[0] = 100.0
    assert envoy.leave(1.0, after_s=0.11) == 110
    assert len(envoy.state) == EnvoyGradientLimit().state_size


@given(sojourns_s=st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=60))
def test_envoy_s_median_is_the_median(sojourns_s: list[float]) -> None:
    """Sorted as they come, the middle one, or the mean of the middle two."""
    rule = EnvoyGradientLimit(samples=len(sojourns_s))
    state = [0.0] * rule.state_size
    decide.begin(rule.code, rule.parameters, state)
    for sojourn_s in sojourns_s:
        decide.note_ended(rule.code, rule.parameters, state, 0.0, sojourn_s, 1, False)
    assert state[2] == np.median(sojourns_s)


# ---- what all have in common

departures = st.lists(
    st.tuples(st.floats(0, 100), st.floats(0, 1e4), st.integers(1, 2000), st.booleans()), max_size=200
)


@pytest.mark.parametrize("rule", ALL, ids=repr)
@given(steps=departures)
def test_limits_stay_in_their_range(
    rule: AimdLimit | VegasLimit | Gradient2Limit | EnvoyGradientLimit,
    steps: list[tuple[float, float, int, bool]],
) -> None:
    """After any history, of sojourns of nothing too, the limit is within [least, most] and finite."""
    account, now_s = LimitAccount(rule), 0.0
    least = 1 if isinstance(rule, VegasLimit) else rule.least
    for gap, sojourn_s, in_system, dropped in steps:
        now_s += gap
        assert least <= account.limit <= rule.most
        account.ended(now_s, sojourn_s, in_system, dropped)
    assert least <= account.limit <= rule.most


@pytest.mark.parametrize(
    ("make", "field"),
    [
        (lambda: AimdLimit(least=0), "least"),
        (lambda: AimdLimit(initial=19), "initial"),
        (lambda: AimdLimit(initial=201), "initial"),
        (lambda: AimdLimit(most=19), "most"),
        (lambda: AimdLimit(initial=math.nan), "initial"),  # type: ignore[arg-type]
        (lambda: AimdLimit(most=math.inf), "most"),  # type: ignore[arg-type]
        (lambda: AimdLimit(backoff_ratio=0.49), "backoff_ratio"),
        (lambda: AimdLimit(backoff_ratio=1.0), "backoff_ratio"),
        (lambda: AimdLimit(timeout_s=0.0), "timeout_s"),
        (lambda: VegasLimit(initial=0), "initial"),
        (lambda: VegasLimit(most=19), "initial"),
        (lambda: Gradient2Limit(initial=19), "initial"),
        (lambda: Gradient2Limit(window=0), "window"),
        (lambda: Gradient2Limit(tolerance=0.9), "tolerance"),
        (lambda: Gradient2Limit(queue=-1.0), "queue"),
        (lambda: Gradient2Limit(smoothing=0.0), "smoothing"),
        (lambda: Gradient2Limit(smoothing=1.1), "smoothing"),
        (lambda: EnvoyGradientLimit(least=0), "least"),
        (lambda: EnvoyGradientLimit(most=2), "most"),
        (lambda: EnvoyGradientLimit(samples=0), "samples"),
        (lambda: EnvoyGradientLimit(samples=KEPT + 1), "samples"),
        (lambda: EnvoyGradientLimit(buffer=-0.1), "buffer"),
        (lambda: EnvoyGradientLimit(update_s=0.0), "update_s"),
        (lambda: EnvoyGradientLimit(min_rtt_every_s=math.inf), "min_rtt_every_s"),
    ],
)
def test_what_cannot_be_is_refused_by_name(make: Callable[[], ConcurrencyLimit], field: str) -> None:
    """The message names the field, the rule and the value."""
    with pytest.raises(ValueError, match=rf"^{field}: .* \(got .*\)$"):
        make()


def test_without_a_limit_there_is_none() -> None:
    """Code ``NONE`` lets any number in and keeps nothing."""
    for begin, limit, note_ended in ((decide.begin, decide.limit, decide.note_ended), COMPILED):
        begin(decide.NONE, np.zeros(8), np.zeros(1))
        note_ended(decide.NONE, np.zeros(8), np.zeros(1), 1.0, 1.0, 1.0, True)
        assert limit(decide.NONE, np.zeros(8), np.zeros(1)) == math.inf


PLAIN: tuple[Any, ...] = (decide.begin, decide.limit, decide.note_ended)
COMPILED: tuple[Any, ...] = tuple(compiled_rule(function) for function in PLAIN)


def played(rule: ConcurrencyLimit, state: Any, seed: int, functions: Any, unit: float = 1.0) -> list[float]:
    """The limit after each of a random sequence of departures; the same for the same seed."""
    begin, limit, note_ended = functions
    rng = np.random.default_rng(seed)
    code, parameters = rule.code, np.array(rule.parameters)
    begin(code, parameters, state)
    now_s, limits = 0.0, []
    for load in np.repeat(rng.choice([0.5, 1.0, 8.0], 60), 40):
        now_s += float(rng.choice([0.0, 0.0078125, 0.125, 16.0], p=[0.3, 0.5, 0.19, 0.01]))
        sojourn_s = float(load * rng.integers(32, 64)) / 64.0
        in_system = float(limit(code, parameters, state)) * float(rng.choice([0.25, 1.0]))
        note_ended(
            code, parameters, state, now_s * unit, sojourn_s * unit, in_system, bool(rng.random() < 0.01)
        )
        limits.append(float(limit(code, parameters, state)))
    return limits


@pytest.mark.parametrize("rule", ALL, ids=repr)
def test_compiled_limits_are_the_same(rule: ConcurrencyLimit) -> None:
    """The simulator's functions give the same limits and leave the same state, bit for bit."""
    plain, compiled = [0.0] * rule.state_size, np.zeros(rule.state_size)
    limits = played(rule, plain, 1, PLAIN)
    assert played(rule, compiled, 1, COMPILED) == limits
    assert compiled.tolist() == plain
    assert len(set(limits)) > 5


@pytest.mark.parametrize("rule", ALL, ids=repr)
def test_a_used_state_can_be_begun_again(rule: ConcurrencyLimit) -> None:
    """``begin`` makes a state of any history as good as new."""
    state = [0.0] * rule.state_size
    played(rule, state, 2, PLAIN)
    assert played(rule, state, 1, PLAIN) == played(rule, [0.0] * rule.state_size, 1, PLAIN)


@pytest.mark.parametrize("rule", ALL, ids=repr)
def test_scaling_changes_the_clock_and_nothing_else(rule: ConcurrencyLimit) -> None:
    """In quarters of time the same history gives the same limits."""
    scaled = rule.scaled(0.25)
    assert type(scaled) is type(rule)
    first, second = ([0.0] * rule.state_size for _ in range(2))
    assert played(scaled, first, 1, PLAIN, unit=0.25) == played(rule, second, 1, PLAIN)
