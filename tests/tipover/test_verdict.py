"""The lines a finished run ends with."""

from __future__ import annotations

from dataclasses import replace
from io import StringIO
from pathlib import Path

from rich.console import Console

from analysis.result import Check, RunResult
from domain.errors import ExitCode
from tests.analysis.made_up_results import invalid, recovered, trapped
from tipover.verdict import show


def lines(result: RunResult) -> list[str]:
    """What is printed, on a screen wide enough for every line."""
    out = Console(file=StringIO(), width=300)
    show(result, ExitCode.CONFIRMED, as_json=False, out=out)
    assert isinstance(out.file, StringIO)
    return out.file.getvalue().splitlines()


def test_the_scenarios_word_is_expected_and_the_models_predicted(tmp_path: Path) -> None:
    """Outcome and shedding are the scenario's, unless it expects nothing."""
    sound = trapped(tmp_path)
    result = replace(sound, checks=(*sound.checks, Check("after_shed", "recovered", "trapped", None, False)))
    said = lines(result)
    assert "  ✓ outcome: expected trapped, measured trapped" in said
    assert "  ✗ after_shed: expected recovered, measured trapped" in said
    assert any(line.startswith("  ✓ capacity_per_s: predicted 160, ") for line in said)
    unasked = replace(sound, experiment=replace(sound.experiment, expect=None))
    assert "  ✓ outcome: predicted trapped, measured trapped" in lines(unasked)


def test_a_trapped_run_ends_with_where_to_go_from_there(tmp_path: Path) -> None:
    """Just before the report's place; not after a recovery, nor on the word of an invalid run."""
    assert "`tipover matrix`" in lines(trapped(tmp_path))[-2]
    for result in (recovered(tmp_path), invalid(tmp_path)):
        assert "tipover matrix" not in "\n".join(lines(result))
