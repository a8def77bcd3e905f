"""The JUnit file is XML that CI systems take, with counts that match."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from analysis.junit import live_seconds, write_junit
from analysis.result import Check, RunResult
from tests.analysis.made_up_results import EVERY_KIND, empty, invalid, recovered, trapped


def suite_of(result: RunResult) -> ElementTree.Element:
    """The one test suite in the file."""
    (suite,) = ElementTree.parse(write_junit(result)).getroot()
    return suite


@pytest.mark.parametrize("kind", EVERY_KIND)
def test_counts_match(kind: str, tmp_path: Path) -> None:
    """The numbers on the suite are those of the elements in it."""
    result = EVERY_KIND[kind](tmp_path)
    suite = suite_of(result)
    cases = suite.findall("testcase")
    assert suite.get("name") == result.experiment.name
    assert int(suite.get("tests", "")) == len(cases) == 1 + len(result.checks)
    assert int(suite.get("failures", "")) == len(suite.findall("testcase/failure"))
    assert int(suite.get("errors", "")) == len(suite.findall("testcase/error")) == int(not result.valid)
    assert cases[0].get("name") == "valid"


def test_an_invalid_run_is_an_error_with_its_reasons(tmp_path: Path) -> None:
    """Errors are the harness's fault, failures are findings."""
    suite = suite_of(invalid(tmp_path))
    error = suite.find("testcase[@name='valid']/error")
    assert error is not None
    assert "the generator lagged" in (error.text or "")
    failure = suite.find("testcase[@name='goodput_ratio']/failure")
    assert failure is not None
    assert failure.get("message") == "goodput_ratio: predicted 0, measured 0, tolerance ± 0.05"
    assert failure.text is not None
    assert failure.text.endswith(": goodput came back")


def test_time_is_that_of_the_wall_clock(tmp_path: Path) -> None:
    """From start to end if both are on record, else the plan over the speed-up."""
    assert float(suite_of(trapped(tmp_path)).get("time", "")) == 160.5
    assert live_seconds(empty(tmp_path)) == 60.0
    assert live_seconds(replace(recovered(tmp_path), run={"started_at": "x", "ended_at": None})) == 1240.0
    mixed = {"started_at": "2025-03-01T03:00:00+00:00", "ended_at": "2025-03-01T03:00:00"}
    assert live_seconds(replace(recovered(tmp_path), run=mixed)) == 1240.0


def test_hostile_text_is_escaped(tmp_path: Path) -> None:
    """Markup comes back as it was written; what XML cannot hold is replaced."""
    evil = "<failure/>]]>&\"'\x00\x1b\ud800\n✗"
    sound = trapped(tmp_path)
    checks = (Check(evil, evil, 1.0, None, False, why=evil), Check("fine", None, None, 0.1, True))
    result = replace(
        sound, checks=checks, warnings=(evil,), experiment=replace(sound.experiment, name=evil, title=evil)
    )
    suite = suite_of(result)
    assert (suite.get("name") or "").startswith("<failure/>]]>&\"'")
    assert len(suite.findall("testcase")) == 3
    assert len(suite.findall("testcase/failure")) == 1
