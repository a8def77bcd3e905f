"""What a finished trigger test leaves: files, lines, an exit code; and all of it made again."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from analysis.trigger.against import compare
from analysis.trigger.assertions import check
from analysis.trigger.result import Interval, TriggerResult
from analysis.trigger.result_json import read_record, result_from_json, result_to_json
from analysis.trigger.watch import judge
from domain.errors import ExitCode
from domain.trigger.assertions import Assertions
from domain.trigger.messages import message_to_json
from domain.trigger.plan import TriggerPlan
from domain.trigger.plan_json import plan_to_json
from tests.analysis.trigger.made_up import (
    INVALID,
    NOT_VULNERABLE,
    RECOVERS,
    STOPPED,
    TRAPPED,
    UNDECIDED,
    lines,
    observations,
    plan,
)
from tests.analysis.trigger.simulated_run import plan_for, run
from tests.analysis.trigger.simulated_service import Fifo
from tipover.cli import main
from tipover.trigger.publishing import STEP_SUMMARY, exit_code, is_trigger_test, publish, republish

FILES = {"trigger.json", "trigger.html", "trigger.md", "junit.xml", "plots", "trigger-lines.jsonl"}


@pytest.fixture(autouse=True)
def no_step_summary(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pipeline of our own must not get the findings of tests."""
    monkeypatch.delenv(STEP_SUMMARY, raising=False)


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """A run directory with the lines of a push."""
    folder = tmp_path / "run-1"
    folder.mkdir()
    written = "".join(json.dumps(line) + "\n" for line in lines(observations()))
    (folder / "trigger-lines.jsonl").write_text(written)
    return folder


def screen() -> Console:
    """Somewhere to write that nobody looks at."""
    return Console(file=StringIO())


def asking(**asked: object) -> TriggerPlan:
    """The plan with assertions."""
    return replace(plan(), assertions=Assertions(**asked))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("result", "accepted", "code"),
    [
        (RECOVERS, (), ExitCode.CONFIRMED),
        (NOT_VULNERABLE, (), ExitCode.CONFIRMED),
        (TRAPPED, (), ExitCode.FINDING),
        (TRAPPED, ("trapped",), ExitCode.CONFIRMED),
        (RECOVERS, ("trapped",), ExitCode.FINDING),
        (replace(UNDECIDED, left_healthy=True), (), ExitCode.FINDING),
        (INVALID, (), ExitCode.INVALID_RUN),
        (INVALID, ("trapped",), ExitCode.INVALID_RUN),
        (UNDECIDED, (), ExitCode.SAFETY_STOP),  # left unhealthy
        (STOPPED, (), ExitCode.SAFETY_STOP),
        (replace(INVALID, left_healthy=False), ("trapped",), ExitCode.SAFETY_STOP),
        (replace(RECOVERS, left_healthy=None), (), ExitCode.CONFIRMED),
        (replace(INVALID, left_healthy=False, interrupted_by="SIGINT"), (), ExitCode.INTERRUPTED),
    ],
)
def test_the_gravest_decides_the_exit_code(
    result: TriggerResult, accepted: tuple[str, ...], code: ExitCode
) -> None:
    """Interrupted over unsafe over invalid over the finding."""
    asked = asking(verdicts=accepted)
    assert exit_code(asked, result, check(result, asked.assertions)) is code


def test_a_failed_assertion_and_a_worse_comparison_are_findings() -> None:
    """Whatever the verdict."""
    asked = asking(max_utilization=0.5)
    assert exit_code(asked, RECOVERS, check(RECOVERS, asked.assertions)) is ExitCode.FINDING
    weaker = replace(RECOVERS, capacity_per_s=Interval(99.0, 98.0, 100.0))
    worse = compare(plan(), weaker, plan(), RECOVERS)
    assert exit_code(plan(), weaker, (), worse) is ExitCode.FINDING
    assert exit_code(plan(), RECOVERS, (), compare(plan(), RECOVERS, plan(), RECOVERS)) is ExitCode.CONFIRMED
    other = compare(plan(), RECOVERS, replace(plan(), utilization=0.5), RECOVERS)
    assert exit_code(plan(), RECOVERS, (), other) is ExitCode.FINDING


def test_everything_is_written_and_the_verdict_printed(
    directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Files in the directory, the verdict with its numbers, the advice, where the page is."""
    code = publish(directory, plan(), TRAPPED, screen=screen())
    assert code is ExitCode.FINDING
    assert {file.name for file in directory.iterdir()} == FILES
    record = read_record(directory)
    assert (record.result, record.plan, record.exit_code) == (TRAPPED, plan(), 1)
    said = " ".join(capsys.readouterr().out.split())
    assert said.startswith("TRAPPED: once pushed, it does not come back by itself at 40% utilization")
    assert "the service answered nobody in time" in said
    assert "a retry budget of 10%, then it comes back at up to 91% utilization. A would be 1.1." in said
    assert "The service was left healthy." in said
    assert said.endswith("trigger.html")


def test_json_is_the_record_alone(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing else on stdout."""
    publish(directory, plan(), TRAPPED, screen=screen(), as_json=True)
    data = json.loads(capsys.readouterr().out)
    assert (data["verdict"], data["exit_code"], data["directory"]) == ("trapped", 1, str(directory))


def test_what_is_loud_comes_first(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A service left unhealthy, then the verdict; an invalid test gives no advice."""
    assert publish(directory, plan(), UNDECIDED, screen=screen()) is ExitCode.SAFETY_STOP
    assert capsys.readouterr().out.startswith("THE SERVICE WAS LEFT UNHEALTHY")
    assert publish(directory, plan(), INVALID, screen=screen()) is ExitCode.INVALID_RUN
    said = capsys.readouterr().out
    assert said.startswith("INVALID TEST")
    assert "What would change it" not in said


def test_a_test_that_sent_nothing_leaves_its_files_too(tmp_path: Path) -> None:
    """Without a single line."""
    assert publish(tmp_path, plan(), STOPPED, screen=screen()) is ExitCode.SAFETY_STOP
    assert {file.name for file in tmp_path.iterdir()} == FILES - {"trigger-lines.jsonl"}


def test_an_earlier_result_is_compared_with(
    directory: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By its file or its directory; worse is a finding, even of a verdict that is accepted."""
    earlier = tmp_path / "earlier"
    earlier.mkdir()
    publish(earlier, plan(), RECOVERS, screen=screen())
    asked = asking(verdicts=("trapped",))
    assert publish(directory, asked, TRAPPED, screen=screen()) is ExitCode.CONFIRMED
    for place in (earlier, earlier / "trigger.json"):
        assert (
            publish(directory, asked, TRAPPED, screen=screen(), against=read_record(place))
            is ExitCode.FINDING
        )
    assert "WORSE than the earlier result: verdict." in capsys.readouterr().out
    assert read_record(directory).comparison is not None
    assert "WORSE" in (directory / "trigger.html").read_text()


def test_the_summary_of_a_job_is_appended_to(
    directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What stands there stays; a summary that cannot be written is no reason to fail."""
    place = tmp_path / "summary.md"
    place.write_text("before\n")
    monkeypatch.setenv(STEP_SUMMARY, str(place))
    publish(directory, plan(), TRAPPED, screen=screen())
    text = place.read_text()
    assert text.startswith("before\n### ❌ tipover trigger: checkout")
    assert (directory / "trigger.md").read_text() in text
    monkeypatch.setenv(STEP_SUMMARY, str(tmp_path / "none" / "summary.md"))
    assert publish(directory, plan(), TRAPPED, screen=screen()) is ExitCode.FINDING


@pytest.fixture(scope="module")
def recorded() -> Callable[[Path], tuple[TriggerPlan, TriggerResult]]:
    """Puts a whole simulated test into a directory."""
    test = plan_for(0.45)
    made = run(test, Fifo(175.0), judge=judge)

    def into(folder: Path) -> tuple[TriggerPlan, TriggerResult]:
        written = "".join(json.dumps(message_to_json(line)) + "\n" for line in made.lines)
        (folder / "trigger-lines.jsonl").write_text(written)
        (folder / "plan.json").write_text(json.dumps(plan_to_json(test)))
        return test, made.result

    return into


def test_a_recorded_test_is_judged_again_from_its_lines(
    tmp_path: Path, recorded: Callable[[Path], tuple[TriggerPlan, TriggerResult]]
) -> None:
    """With the same finding; what only the harness knew is kept."""
    test, result = recorded(tmp_path)
    result = replace(result, warnings=(*result.warnings, "the generator used 61% of its core"))
    code = publish(tmp_path, test, result, screen=screen())
    for file in ("trigger.html", "trigger.md", "junit.xml"):
        (tmp_path / file).unlink()
    assert republish(tmp_path, screen=screen()) is code is ExitCode.FINDING
    assert result_to_json(read_record(tmp_path).result) == result_to_json(result)
    assert result_from_json(result_to_json(result)) == result
    assert {file.name for file in tmp_path.iterdir()} == {*FILES, "plan.json"}


def test_the_finding_stands_if_this_version_would_have_tested_otherwise(
    tmp_path: Path, recorded: Callable[[Path], tuple[TriggerPlan, TriggerResult]]
) -> None:
    """Then the lines answer other commands than it would give."""
    test, result = recorded(tmp_path)
    publish(tmp_path, test, result, screen=screen())
    path = tmp_path / "trigger-lines.jsonl"
    lines = [line for line in path.read_text().splitlines() if '"phase": "spike"' not in line]
    path.write_text("\n".join(lines) + "\n")
    assert republish(tmp_path, screen=screen()) is ExitCode.FINDING
    assert result_to_json(read_record(tmp_path).result) == result_to_json(result)


def test_a_killed_test_is_reported_as_interrupted(
    tmp_path: Path,
    recorded: Callable[[Path], tuple[TriggerPlan, TriggerResult]],
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Only its lines are there, the last one cut short."""
    recorded(tmp_path)
    path = tmp_path / "trigger-lines.jsonl"
    kept = path.read_text()[: path.stat().st_size // 2]
    path.write_text(kept)
    assert main(["report", str(tmp_path)]) == ExitCode.INTERRUPTED
    assert "INTERRUPTED by a kill" in capsys.readouterr().out
    assert (tmp_path / "trigger.html").is_file()


def test_report_makes_a_trigger_tests_page_again(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same command as for runs; a directory that holds neither is a run, and says what it lacks."""
    (directory / "trigger-lines.jsonl").unlink()
    publish(directory, plan(), TRAPPED, screen=screen())
    (directory / "trigger.html").unlink()
    capsys.readouterr()
    assert main(["report", str(directory), "--json"]) == ExitCode.FINDING
    assert json.loads(capsys.readouterr().out)["verdict"] == "trapped"
    assert (directory / "trigger.html").is_file()
    assert is_trigger_test(directory)
    assert not is_trigger_test(directory / "plots")


@pytest.mark.parametrize("fault", ["no plan", "bad plan", "bad line", "bad record"])
def test_a_directory_that_cannot_be_understood_is_a_message(
    fault: str, directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit 2 with the file's name, and no traceback."""
    if fault == "bad plan":
        (directory / "plan.json").write_text("{}")
    if fault == "bad line":
        (directory / "plan.json").write_text(json.dumps(plan_to_json(plan())))
        (directory / "trigger-lines.jsonl").write_text('{"kind": "tock"}\n')
    if fault == "bad record":
        (directory / "trigger.json").write_text('{"schema_version": 99}')
    assert main(["report", str(directory)]) == ExitCode.CONFIGURATION
    said = capsys.readouterr().err
    assert {"bad line": "trigger-lines.jsonl", "bad record": "trigger.json"}.get(fault, "plan.json") in said
    assert "Traceback" not in said


def test_an_interrupt_while_the_page_is_made_says_how_to_make_it(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And ends as an interrupt does."""

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("analysis.trigger.page.draw_plots", interrupted)
    out = StringIO()
    with pytest.raises(KeyboardInterrupt):
        publish(directory, plan(), TRAPPED, screen=Console(file=out))
    assert f"`tipover report {directory}` makes it" in out.getvalue()
