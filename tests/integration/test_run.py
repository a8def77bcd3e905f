"""``tipover run`` on real sockets, from a scenario to a verdict."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from domain.experiment_json import from_json
from domain.streams import stream
from tests.integration.commands import (
    FAST,
    none_left,
    processes_of,
    run_facts,
    scenario_file,
    tipover,
    valid_run,
)

pytestmark = pytest.mark.sockets


@pytest.fixture(scope="module")
def trapped(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int, dict[str, object]]:
    """One run of a small trap: directory, exit code, summary."""
    folder = tmp_path_factory.mktemp("trapped")
    out = folder / "run"
    code, summary = valid_run(scenario_file(folder), out)
    return out, code, summary


def test_a_trap_is_found_and_confirmed(trapped: tuple[Path, int, dict[str, object]]) -> None:
    """The service stays down after the spike, at the amplification that theory says."""
    _, code, summary = trapped
    assert summary["outcome"] == "trapped"
    assert code == 0
    measured = summary["measured"]
    assert isinstance(measured, dict)
    assert measured["amplification"] == pytest.approx(3, rel=0.03)
    assert measured["goodput_ratio"] == pytest.approx(0, abs=0.05)


def test_the_load_was_the_planned_one(trapped: tuple[Path, int, dict[str, object]]) -> None:
    """Every planned job was sent, and the count is the plan's."""
    out, _, summary = trapped
    live = from_json(run_facts(out)["scenario"]).live()
    planned = live.arrival_plan.draw(stream(live.run.seed, "arrivals"))
    generator = summary["generator"]
    assert isinstance(generator, dict)
    assert generator["planned"] == generator["sent"] == len(planned)


def test_everything_promised_is_in_the_run_directory(trapped: tuple[Path, int, dict[str, object]]) -> None:
    """Trace, series, summary, plots, report and junit are there, and run.json says what ran."""
    out, _, _ = trapped
    for name in ("run.json", "series.parquet", "summary.json", "report.html", "junit.xml", "server.jsonl"):
        assert (out / name).stat().st_size > 0, name
    assert list(out.glob("attempts/part-00-*.parquet"))
    assert len(list(out.glob("plots/*.png"))) >= 4
    facts = run_facts(out)
    assert facts["state"] == "finished"
    assert facts["kernel"] is None or set(facts["kernel"]) == {"listen_overflows", "listen_drops"}
    suite = ElementTree.parse(out / "junit.xml").getroot()
    assert len(list(suite.iter("testcase"))) >= 5


def test_report_makes_the_same_again(trapped: tuple[Path, int, dict[str, object]]) -> None:
    """``tipover report`` reads nothing but the run directory and comes to the same verdict."""
    out, code, summary = trapped
    (out / "report.html").unlink()
    (out / "summary.json").unlink()
    again = tipover("report", out, "--json")
    assert again.returncode == code
    assert json.loads(again.stdout) == summary
    assert (out / "report.html").exists()


def test_nothing_is_left_running(trapped: tuple[Path, int, dict[str, object]]) -> None:
    """No process of the run outlives it."""
    out, _, _ = trapped
    assert none_left(processes_of(out))


def test_an_output_directory_that_holds_a_run_is_left_alone(
    trapped: tuple[Path, int, dict[str, object]], tmp_path: Path
) -> None:
    """A second run into the same directory is refused with exit 2, and the first is untouched."""
    out, _, _ = trapped
    before = run_facts(out)
    done = tipover("run", scenario_file(tmp_path), "--out", out)
    assert done.returncode == 2
    assert "holds a run already" in done.stderr
    assert run_facts(out) == before


def test_a_healthy_service_is_healthy_in_two_processes(tmp_path: Path) -> None:
    """Without a trigger nothing times out, and two workers send all of the plan between them."""
    text = FAST.replace("factor = 4.0", "factor = 1.0").replace('"trapped"', '"healthy"')
    out = tmp_path / "run"
    code, summary = valid_run(scenario_file(tmp_path, text), out, "--processes", "2")
    assert code == 0
    assert summary["outcome"] == "healthy"
    assert summary["generator"]["workers"] == 2
    assert summary["generator"]["planned"] == summary["generator"]["sent"]


def test_an_outage_is_a_capacity_of_nothing(tmp_path: Path) -> None:
    """During an outage the target completes nothing; queued work is served after it."""
    text = FAST.replace("factor = 4.0", "capacity_factor = 0.0")
    out = tmp_path / "run"
    _, summary = valid_run(scenario_file(tmp_path, text), out)
    assert summary["outcome"] == "trapped"
    states = [json.loads(line) for line in (out / "server.jsonl").read_text().splitlines()]
    down = [s for s in states if s["capacity_factor"] == 0]
    assert len(down) >= 2
    assert down[0]["completed"] == down[-1]["completed"]
    assert states[-1]["completed"] > down[-1]["completed"]


def test_a_refuted_expectation_exits_1(tmp_path: Path) -> None:
    """An expectation that does not come true is the finding."""
    text = FAST.replace('"trapped"', '"recovers"')
    code, summary = valid_run(scenario_file(tmp_path, text), tmp_path / "run")
    assert code == 1
    assert summary["confirmed"] is False
