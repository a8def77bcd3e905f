"""A pipeline's view of a trigger test: cases that fail for what is found, errors for what the harness did."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from analysis.trigger.against import compare
from analysis.trigger.assertions import check
from analysis.trigger.junit import write_trigger_junit
from analysis.trigger.result import TriggerResult
from domain.trigger.assertions import Assertions
from domain.trigger.plan import TriggerPlan
from tests.analysis.trigger.made_up import EVERY_KIND, INVALID, RECOVERS, STOPPED, TRAPPED, UNDECIDED, plan

NOTHING = Assertions()


def suite_of(directory: Path, result: TriggerResult, asked: Assertions = NOTHING) -> ElementTree.Element:
    """The one suite in the file."""
    test = replace(plan(), assertions=asked)
    comparison = compare(test, result, test, RECOVERS)
    path = write_trigger_junit(directory, test, result, check(result, asked), comparison)
    (suite,) = ElementTree.parse(path).getroot()
    return suite


def failing(suite: ElementTree.Element) -> list[str]:
    """The names of the cases that failed."""
    return [str(case.get("name")) for case in suite.iter("testcase") if case.find("failure") is not None]


@pytest.mark.parametrize("kind", EVERY_KIND)
def test_counts_match(kind: str, tmp_path: Path) -> None:
    """The numbers on the suite are those of the elements in it."""
    asked = Assertions(0.5, 2.0, 1.0, ("recovers",))
    suite = suite_of(tmp_path, EVERY_KIND[kind], asked)
    names = [case.get("name") for case in suite.findall("testcase")]
    assert names[:3] == ["valid", "verdict", "left healthy"]
    assert names[3:6] == ["max_utilization", "max_amplification", "max_recovery_s"]
    assert int(suite.get("tests", "")) == len(names) == len(set(names))
    assert int(suite.get("failures", "")) == len(failing(suite))
    assert (
        int(suite.get("errors", ""))
        == len(suite.findall("testcase/error"))
        == int(kind in ("invalid", "stopped"))
    )


@pytest.mark.parametrize(
    ("result", "accepted", "fails"),
    [
        (TRAPPED, (), True),
        (UNDECIDED, (), True),
        (RECOVERS, (), False),
        (TRAPPED, ("trapped",), False),
        (UNDECIDED, ("trapped", "undecided"), False),
        (RECOVERS, ("trapped",), True),
    ],
)
def test_a_verdict_fails_unless_it_is_accepted(
    result: TriggerResult, accepted: tuple[str, ...], fails: bool, tmp_path: Path
) -> None:
    """A pipeline may expect a trap."""
    suite = suite_of(tmp_path, result, Assertions(verdicts=accepted))
    assert ("verdict" in failing(suite)) is fails


def test_a_service_left_unhealthy_and_a_safety_stop_fail(tmp_path: Path) -> None:
    """In a case of their own."""
    assert "left healthy" in failing(suite_of(tmp_path, UNDECIDED))
    stopped = suite_of(tmp_path, STOPPED)
    failure = stopped.find("testcase[@name='left healthy']/failure")
    assert failure is not None
    assert "bystander" in str(failure.get("message"))
    assert "left healthy" not in failing(suite_of(tmp_path, TRAPPED))


def test_what_got_worse_fails_and_what_cannot_be_compared_does_not(tmp_path: Path) -> None:
    """Case by case."""
    assert failing(suite_of(tmp_path, TRAPPED, Assertions(verdicts=("trapped",)))) == ["compared: verdict"]
    assert failing(suite_of(tmp_path, INVALID, Assertions(verdicts=("trapped",)))) == ["compared"]
    case = suite_of(tmp_path, INVALID).find("testcase[@name='compared']/failure")
    assert case is not None
    assert "nothing could be compared" in str(case.get("message"))
    assert "invalid" in str(case.text)


def test_a_quantity_that_is_not_known_is_skipped_with_its_reason(tmp_path: Path) -> None:
    """And counted as that; what could be compared still passes or fails."""
    suite = suite_of(tmp_path, replace(RECOVERS, threshold=None))
    skipped = suite.find("testcase[@name='compared: threshold']/skipped")
    assert skipped is not None
    assert skipped.get("message") == "not known of the present test"
    assert int(suite.get("skipped", "")) == len(suite.findall("testcase/skipped")) == 1
    assert failing(suite) == []


def test_an_interrupted_test_passes_in_nothing_that_was_not_seen(tmp_path: Path) -> None:
    """Neither as valid nor as left healthy; a health that was seen is kept."""
    cut = replace(TRAPPED, interrupted_by="SIGINT", left_healthy=None)
    suite = suite_of(tmp_path, cut)
    for name in ("valid", "left healthy"):
        error = suite.find(f"testcase[@name='{name}']/error")
        assert error is not None
        assert error.get("type") == "Interrupted"
    assert (
        suite_of(tmp_path, replace(cut, left_healthy=True)).find("testcase[@name='left healthy']/error")
        is None
    )
    unseen = suite_of(tmp_path, replace(TRAPPED, left_healthy=None))
    assert unseen.find("testcase[@name='left healthy']/error[@type='NotSeen']") is not None
    stopped = suite_of(tmp_path, STOPPED)
    assert stopped.find("testcase[@name='valid']/error[@type='SafetyStop']") is not None


def test_it_says_of_the_failures_what_the_page_says(tmp_path: Path) -> None:
    """By the share that was answered."""
    path = write_trigger_junit(tmp_path, plan(), TRAPPED, answered=0.0)
    assert "answered nobody in time" in path.read_text()
    assert "went on failing" not in path.read_text()


def test_times_are_those_of_the_record(tmp_path: Path) -> None:
    """From ``run.json``, or else from the phases."""
    run = {"started_at": "2025-03-01T03:00:00+00:00", "ended_at": "2025-03-01T03:01:00+00:00"}
    for given, expected in ((run, 60.0), ({}, 24.0)):
        path = write_trigger_junit(tmp_path, plan(), TRAPPED, run=given)
        (suite,) = ElementTree.parse(path).getroot()
        assert float(suite.get("time", "")) == expected
        assert suite.get("timestamp") == given.get("started_at")


def test_hostile_text_is_escaped(tmp_path: Path) -> None:
    """Whatever a plan is called."""
    evil = "<failure/>]]>&\"'\x00\x1b"
    named: TriggerPlan = replace(plan(), name=evil)
    path = write_trigger_junit(tmp_path, named, replace(TRAPPED, warnings=(evil,)))
    (suite,) = ElementTree.parse(path).getroot()
    assert str(suite.get("name")).startswith("<failure/>]]>&\"'")
    assert len(suite.findall("testcase/failure")) == 1
