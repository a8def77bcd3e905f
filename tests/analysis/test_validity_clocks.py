"""Workers whose clock is not the master's are named in a warning."""

from __future__ import annotations

from typing import Any

import pytest

from analysis.validity import assess
from tests.analysis.test_validity import files

OURS = {"worker": 0, "host": "here", "same_clock": True}
THEIRS = {"worker": 1, "host": "there", "same_clock": False}


@pytest.mark.parametrize("generators", [None, [], [OURS], "nonsense", [3]])
def test_a_shared_clock_needs_no_word(generators: Any) -> None:
    """Nor does a record that does not say, as of one process."""
    assert assess(files(run={"generators": generators})).warnings == ()


def test_another_clock_is_a_warning_and_no_reason() -> None:
    """The sum of the streams is Poisson all the same."""
    validity = assess(files(run={"generators": [OURS, THEIRS]}))
    assert validity.valid
    (warning,) = validity.warnings
    assert "1 of 2 generator workers" in warning
    assert "(there)" in warning
