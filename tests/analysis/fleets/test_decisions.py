"""The autoscaler's record: read if it is there, skipped line by line if it is damaged."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from analysis.fleets.decisions import read_decisions, signals_of

LINE = {
    "t_s": 1.5,
    "replicas": 4,
    "ready": 4,
    "readings": {"first": 400.0, "cpu": None},
    "proposals": {"first": 20, "cpu": None},
    "wanted": 20,
    "ordered": 20,
    "error": None,
}


def written(directory: Path, *lines: str) -> Path:
    (directory / "autoscaler.jsonl").write_text("\n".join(lines), encoding="utf-8")
    return directory


def test_lines_in_scenario_time(tmp_path: Path) -> None:
    later = {**LINE, "t_s": 3.0, "error": "no metric"}
    frame, warnings = read_decisions(written(tmp_path, json.dumps(later), json.dumps(LINE)), 10.0)
    assert frame is not None
    assert warnings == ()
    assert frame["t_s"].tolist() == [15.0, 30.0]
    assert signals_of(frame) == ("first", "cpu")
    assert frame["proposal:first"].tolist() == [20.0, 20.0]
    assert math.isnan(frame["reading:cpu"][0])
    assert frame["error"].tolist() == ["", "no metric"]


def test_no_record(tmp_path: Path) -> None:
    assert read_decisions(tmp_path, 10.0) == (None, ())
    assert read_decisions(written(tmp_path, ""), 10.0) == (None, ())


@pytest.mark.parametrize(
    "damaged", ["{", "[]", "17", '{"t_s": null}', '{"t_s": "1"}', '{"t_s": NaN}', '{"readings": {}}']
)
def test_a_damaged_line_is_skipped_and_told(tmp_path: Path, damaged: str) -> None:
    frame, warnings = read_decisions(written(tmp_path, damaged, json.dumps(LINE)), 1.0)
    assert frame is not None
    assert len(frame) == 1
    assert warnings == ("Line 1 of autoscaler.jsonl cannot be read and was skipped.",)


def test_a_last_line_cut_short_by_a_kill_is_no_fault(tmp_path: Path) -> None:
    frame, warnings = read_decisions(written(tmp_path, json.dumps(LINE), json.dumps(LINE)[:20]), 1.0)
    assert frame is not None
    assert warnings == ()


def test_many_damaged_lines_make_one_sentence(tmp_path: Path) -> None:
    _, warnings = read_decisions(written(tmp_path, "{", "{", json.dumps(LINE)), 1.0)
    assert warnings == ("2 lines, the first of them 1, of autoscaler.jsonl cannot be read and were skipped.",)


def test_values_of_the_wrong_kind_are_unknown(tmp_path: Path) -> None:
    odd = {**LINE, "readings": [1], "proposals": {"first": "20"}, "ordered": True}
    frame, _ = read_decisions(written(tmp_path, json.dumps(odd)), 1.0)
    assert frame is not None
    assert math.isnan(frame["ordered"][0])
    assert math.isnan(frame["proposal:first"][0])
    assert signals_of(frame) == ()
