import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.errors import ConfigurationError
from domain.sightings import Sightings


def test_an_id_is_new_once():
    """And for as long as it is remembered."""
    seen = Sightings(capacity=10, expiry_s=5.0)
    assert seen.first_sight("a", 0.0)
    assert not seen.first_sight("a", 4.9)
    assert seen.first_sight("a", 5.0)
    assert seen.evicted == 0


def test_the_oldest_goes_first_and_is_counted():
    """A memory that is too small says so."""
    seen = Sightings(capacity=2, expiry_s=100.0)
    for at, key in enumerate("abc"):
        assert seen.first_sight(key, at)
    assert (len(seen), seen.evicted) == (2, 1)
    assert not seen.first_sight("c", 3)
    assert not seen.first_sight("b", 3)
    assert seen.first_sight("a", 3)


def test_what_has_expired_is_no_eviction():
    """The place is free again."""
    seen = Sightings(capacity=1, expiry_s=1.0)
    assert seen.first_sight("a", 0.0)
    assert seen.first_sight("b", 2.0)
    assert seen.evicted == 0


def test_a_clock_that_steps_back_stands_still():
    """Nothing expires early or out of order."""
    seen = Sightings(capacity=9, expiry_s=1.0)
    seen.first_sight("a", 10.0)
    seen.first_sight("b", 3.0)
    assert not seen.first_sight("b", 10.9)
    assert seen.first_sight("b", 11.0)


def test_a_million_distinct_ids_take_no_more_memory_than_the_capacity():
    """Ten thousand places, whatever comes and however long the ids are."""
    tracemalloc.start()
    try:
        seen = Sightings(capacity=10_000, expiry_s=1e9)
        for number in range(20_000):
            seen.first_sight(f"{number}-" + "x" * 200, number)
        tracemalloc.reset_peak()
        for number in range(20_000, 1_000_000):
            seen.first_sight(f"{number}", number)
        assert tracemalloc.get_traced_memory()[1] < 10_000 * 300
    finally:
        tracemalloc.stop()
    assert (len(seen), seen.evicted) == (10_000, 990_000)


@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.floats(0, 3)), max_size=60))
def test_as_a_plain_list_would_have_it(steps):
    """Against a list of (id, time) that is filtered afresh each time."""
    seen, plain, now = Sightings(capacity=3, expiry_s=4.0), [], 0.0
    for key, wait in steps:
        now += wait
        plain = [(k, t) for k, t in plain if now - t < 4.0]
        new = key not in [k for k, _ in plain]
        assert seen.first_sight(key, now) == new
        plain = [*plain, (key, now)][-3:] if new else plain


def test_bounds_above_zero():
    """Both faults at once."""
    with pytest.raises(ConfigurationError) as raised:
        Sightings(0, 0.0)
    assert len(raised.value.faults) == 2
