"""Any number of reasons takes bounded room."""

from __future__ import annotations

from loadgen.reasons import MOST_CHARACTERS, MOST_REASONS, OTHER_REASONS, Reasons


def test_reasons_are_counted_by_their_text() -> None:
    """A reason that is given again is the same one."""
    reasons = Reasons()
    for text in ("reset", "closed", "reset"):
        reasons.note(text)
    assert reasons == {"reset": 2, "closed": 1}


def test_only_so_many_have_names_and_none_is_lost() -> None:
    """The first ones keep being counted; all others are one."""
    reasons = Reasons()
    for number in [*range(MOST_REASONS + 5), 0]:
        reasons.note(f"reason {number}")
    assert len(reasons) == MOST_REASONS + 1
    assert reasons["reason 0"] == 2
    assert reasons[OTHER_REASONS] == 5


def test_a_long_text_is_cut() -> None:
    """Whoever wrote it."""
    reasons = Reasons()
    reasons.note("x" * 10_000)
    assert list(reasons) == ["x" * MOST_CHARACTERS]
