import math

from hypothesis import given
from hypothesis import strategies as st

from domain.roster import Roster


def test_pods_ordered_serve_later_and_the_newest_are_given_up_first():
    """Four, then six and two more that start; giving up takes starting ones before those that serve."""
    roster = Roster.of(4)
    roster.set(10, ready_s=100.0)
    roster.set(12, ready_s=115.0)
    assert (roster.total, roster.ready(99.9), roster.ready(100.0), roster.ready(115.0)) == (12, 4, 10, 12)
    assert roster.starting(50.0) == [(100.0, 6), (115.0, 2)]
    assert roster.starting(100.0) == [(115.0, 2)]
    roster.set(9, ready_s=math.inf)
    assert roster.starting(50.0) == [(100.0, 5)]
    roster.set(3, ready_s=math.inf)
    assert (roster.total, roster.ready(0.0), roster.starting(0.0)) == (3, 3, [])


def test_the_same_number_changes_nothing():
    """Ordering what there is leaves those that start where they are."""
    roster = Roster.of(2)
    roster.set(5, ready_s=9.0)
    roster.set(5, ready_s=20.0)
    assert roster.starting(0.0) == [(9.0, 3)]


def test_serving_pods_at_once():
    """So many serve from then on, and whatever starts is given up, whether that is more or fewer."""
    for pods in (1, 3, 4, 8):
        roster = Roster.of(2)
        roster.set(4, ready_s=5.0)
        roster.set(6, ready_s=50.0)
        roster.serve(pods, at_s=10.0)
        assert (roster.total, roster.ready(10.0), roster.starting(10.0)) == (pods, pods, [])
        roster.set(pods + 2, ready_s=30.0)
        assert (roster.total, roster.ready(29.0), roster.ready(30.0)) == (pods + 2, pods, pods + 2)


@given(st.lists(st.tuples(st.floats(0, 10), st.integers(0, 30)), max_size=20), st.floats(0, 200))
def test_what_does_not_serve_starts(orders, at_s):
    """Ready and starting pods are all pods, at any time; the starting ones come soonest first."""
    roster, now_s = Roster.of(3), 0.0
    for gap_s, replicas in orders:
        now_s += gap_s
        roster.set(replicas, now_s + 20.0)
        assert roster.total == replicas
    starting = roster.starting(at_s)
    assert roster.ready(at_s) + sum(count for _, count in starting) == roster.total
    assert [since for since, _ in starting] == sorted(since for since, _ in starting)
    assert all(count > 0 for _, count in starting)
