from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis import laws


@pytest.mark.parametrize(
    ("p", "load", "success"), [(0.1, 1.11**4, 0.999**5), (0.7, 2.19**4, 0.657**5), (1, 81, 0), (0, 1, 1)]
)
def test_the_call_tree_of_seed_001(p: float, load: float, success: float) -> None:
    """Five services, three attempts: 1.518 and .995, 23.0 and .122, the ceiling 81."""
    assert laws.call_tree_load(p, 3, 5) == pytest.approx(load, rel=1e-12)
    assert laws.call_tree_success(p, 3, 5) == pytest.approx(success, rel=1e-12)


def test_the_printed_figures() -> None:
    """As the theory page has them."""
    assert laws.call_tree_load(0.1, 3, 5) == pytest.approx(1.518, abs=5e-4)
    assert laws.call_tree_load(0.7, 3, 5) == pytest.approx(23.0, abs=0.05)
    assert laws.call_tree_success(0.1, 3, 5) == pytest.approx(0.995, abs=5e-4)
    assert laws.call_tree_success(0.7, 3, 5) == pytest.approx(0.122, abs=5e-4)


def _calls(draw: random.Random, depth: int, p: float, m: int) -> tuple[bool, int]:
    """One call through ``depth`` callers to a service that alone fails: success, and its attempts."""
    if depth == 0:
        return draw.random() >= p, 1
    attempts = 0
    for _ in range(m):
        well, made = _calls(draw, depth - 1, p, m)
        attempts += made
        if well:
            return True, attempts
    return False, attempts


def test_when_only_the_last_service_fails_nested_retries_act_as_one() -> None:
    """3.33 attempts at p = .7, counted; the formula of the source, 23, is for every tier failing."""
    draw = random.Random(7)
    counted = [_calls(draw, 4, 0.7, 3)[1] for _ in range(4000)]
    assert sum(counted) / len(counted) == pytest.approx(laws.last_service_load(0.7, 3, 5), rel=0.05)
    assert laws.last_service_load(0.7, 3, 5) == pytest.approx(1 / 0.3, rel=1e-9)


@given(p=st.floats(0, 1), m=st.integers(1, 5), n=st.integers(1, 6))
def test_bounds(p: float, m: int, n: int) -> None:
    """Between 1 and m^(N−1), and the tree of failing tiers is never below the one of a failing leaf."""
    tree, leaf = laws.call_tree_load(p, m, n), laws.last_service_load(p, m, n)
    assert 1 <= leaf <= tree * (1 + 1e-9)
    assert tree <= m ** (n - 1) * (1 + 1e-9)
    assert 0 <= laws.call_tree_success(p, m, n) <= 1


def test_a_chain_too_long_for_its_attempts_to_be_counted() -> None:
    """p^M is 0 then, so a leaf that fails alone sees 1/(1 − p); only at p = 1 is that more than a float."""
    assert laws.last_service_load(0.1, 3, 1000) == pytest.approx(1 / 0.9)
    with pytest.raises(ValueError, match=r"3\^999 is more than a float"):
        laws.last_service_load(1, 3, 1000)
