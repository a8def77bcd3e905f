"""A master misses a worker that has left or falls silent, and none that is done."""

from __future__ import annotations

import pytest

from loadgen.cluster_crew import FIRST_WORD_WITHIN_S, WORKER_LOST_AFTER_S, ClusterCrew

BOTH = frozenset({"a_1", "b_2"})


@pytest.mark.parametrize(
    ("spoken", "done", "present", "silence_s", "missed"),
    [
        (BOTH, set(), BOTH, WORKER_LOST_AFTER_S - 0.1, None),
        (BOTH, set(), BOTH, WORKER_LOST_AFTER_S + 0.1, 1),
        ({"a_1"}, set(), BOTH, WORKER_LOST_AFTER_S + 0.1, None),
        ({"a_1"}, set(), BOTH, FIRST_WORD_WITHIN_S + 0.1, 1),
        (BOTH, set(), {"a_1"}, 0.0, 1),
        (BOTH, {"b_2"}, {"a_1"}, 60.0, None),
    ],
    ids=["in time", "silent", "not begun yet", "never began", "left", "done"],
)
def test_a_worker_is_missed(
    spoken: set[str], done: set[str], present: set[str], silence_s: float, missed: int | None
) -> None:
    """The first one is always heard; the second as the case says."""
    now_s = 1000.0
    crew = ClusterCrew("0" * 32, {"a_1": 0, "b_2": 1})
    crew.heard_s = {"a_1": now_s, "b_2": now_s - silence_s}
    crew.spoken, crew.done = set(spoken), set(done)
    assert crew.silent(now_s, present) == missed
