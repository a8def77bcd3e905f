import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from meter import names
from meter.counting import DEFAULT_BUCKETS_S, AttemptCounts


def test_counts_by_hand():
    """Three first attempts and two retries, four of them ended, one refused."""
    counts = AttemptCounts(buckets_s=(0.1, 1.0))
    for attempt in (1, 1, 2, 1, 3):
        counts.started(attempt)
    for outcome, duration_s in (("ok", 0.05), ("ok", 0.1), ("timeout", 1.0), ("timeout", 7.0)):
        counts.ended(1, outcome, duration_s)
    counts.refused("budget")
    assert (counts.first, counts.retries, counts.ingress, counts.inflight) == (3, 2, 5, 1)
    assert counts.outcomes == {"ok": 2, "timeout": 2}
    assert counts.refusals == {"budget": 1}
    assert counts.cumulative_durations() == [(0.1, 2), (1.0, 3), (float("inf"), 4)]
    assert counts.duration_sum_s == pytest.approx(8.15)


@settings(deadline=None)
@given(st.lists(st.floats(0, 1000), max_size=50))
def test_buckets_hold_every_duration_once(durations_s):
    """Each cumulative count is the number of durations up to its bound."""
    counts = AttemptCounts()
    for duration_s in durations_s:
        counts.started(1)
        counts.ended(1, "ok", duration_s)
    for bound, total in counts.cumulative_durations():
        assert total == sum(duration_s <= bound for duration_s in durations_s)
    assert counts.inflight == 0


@pytest.mark.parametrize("buckets_s", [(), (1.0, 1.0), (2.0, 1.0), (float("nan"), 1.0)])
def test_buckets_must_ascend(buckets_s):
    """Anything else is a bug of the caller."""
    with pytest.raises(ValueError, match="ascend"):
        AttemptCounts(buckets_s)


def test_default_buckets_span_the_timeouts_people_set():
    """1 ms to 120 s."""
    assert (DEFAULT_BUCKETS_S[0], DEFAULT_BUCKETS_S[-1]) == (0.001, 120.0)


def test_names_are_all_described_and_well_formed():
    """Every metric has its help; all are prefixed; counters end in _total; nothing else writes a name out."""
    metrics = {
        value for key, value in vars(names).items() if isinstance(value, str) and value.startswith("tipover_")
    }
    assert metrics == set(names.HELP)
    assert all(re.fullmatch(r"tipover_[a-z_]+[a-z]", name) for name in metrics)
    for source in Path(names.__file__).parent.glob("*.py"):
        if source.name != "names.py":
            assert "tipover_" not in source.read_text(), source.name
