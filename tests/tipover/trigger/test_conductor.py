"""What the harness does about a generator that fails, and about guards; a stand-in plays the generator."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from analysis.trigger.observations import Observations
from domain.sockets import SocketLimits
from tests.loadgen.steered.generator import a_plan
from tipover.live.record import DirectoryRecord
from tipover.trigger import conductor as module
from tipover.trigger.conductor import Conductor, Surroundings
from tipover.trigger.steering import Steering

HEAD = """
import json, os, sys, threading, time
told, said = (int(sys.argv[sys.argv.index(name) + 1]) for name in ("--commands-fd", "--progress-fd"))
began = time.monotonic()
def say(**line):
    os.write(said, json.dumps(line).encode() + b"\\n")
def tick():
    counts = "planned first retries answered failed rejected timeouts errors refused open_attempts"
    counts += " saturated saturated_failed probes_sent probes_open lag_p99_s lag_max_s"
    say(kind="tick", t_s=time.monotonic() - began, **dict.fromkeys(counts.split(), 0))
say(kind="started", start_monotonic_s=began, pid=os.getpid())
tick()
"""
OBEYS = """
def ticking():
    while True:
        time.sleep(0.05)
        tick()
threading.Thread(target=ticking, daemon=True).start()
for text in os.fdopen(told):
    command = json.loads(text)
    if "do" in command:
        say(kind="obeyed", t_s=time.monotonic() - began, command=command)
    if command.get("do") == "end":
        say(kind="stopped", t_s=time.monotonic() - began, reason="the test is over")
        break
"""
"""Ticks, and ends when it is told to."""
FALLS_SILENT = "os.fdopen(told).read()"
DIES = "print('no room left', file=sys.stderr); sys.exit(7)"


class Trip:
    """A guard that is well when it is asked first, and never again."""

    def __init__(self) -> None:
        self.asked = 0

    def tripped(self) -> str | None:
        """Why to stop."""
        self.asked += 1
        return None if self.asked < 5 else "the bystander is ill"


@pytest.fixture
def conduct(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Conduct a test with a stand-in for the generator; the conductor and what the record says."""

    def run(
        program: str,
        around: Surroundings | None = None,
        lines: Path | None = None,
        make: type[Steering] = Steering,
    ) -> tuple[Conductor, dict[str, Any]]:
        record = DirectoryRecord(tmp_path / "run", "name", {}, replace=False)
        kept = lines or record.directory / "trigger-lines.jsonl"

        def stand_in(arguments: list[str], log: Path, _lines: Path, environ: dict[str, str]) -> Steering:
            (tmp_path / "arguments.json").write_text(json.dumps(arguments))
            return make(["-c", HEAD + program], log, kept, environ)

        monkeypatch.setattr(module, "Steering", stand_in)
        limits = SocketLimits(20_000, 20_000, 60.0)
        conductor = Conductor(
            a_plan(9), record.directory / "plan.json", record, around or Surroundings({}), limits
        )
        conductor.run()
        return conductor, json.loads((record.directory / "run.json").read_text())

    return run


def test_a_generator_that_dies_makes_the_test_invalid(conduct: Callable[..., Any]) -> None:
    """With its last words."""
    _, facts = conduct(DIES)
    assert facts["harness_faults"] == ["the generator ended early (exit code 7): no room left"]


def test_a_generator_that_falls_silent_is_hung_up_on(
    conduct: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """At once, so that it ends by itself and the load with it."""
    monkeypatch.setattr(module, "_SILENT_S", 0.3)
    began_s = time.monotonic()
    _, facts = conduct(FALLS_SILENT)
    assert facts["harness_faults"] == ["the generator hung: nothing heard from it for 0.3 s"]
    assert time.monotonic() - began_s < module._END_WITHIN_S


def test_a_guard_that_trips_drops_the_load_and_ends_the_test(
    conduct: Callable[..., Any], tmp_path: Path
) -> None:
    """First the load, then the paperwork."""
    conductor, facts = conduct(OBEYS, Surroundings({}, guards=(Trip(),)))
    kept = [json.loads(line) for line in (tmp_path / "run" / "trigger-lines.jsonl").read_text().splitlines()]
    told = [line["command"] for line in kept if line["kind"] == "obeyed"]
    # Not by the protocol, which is asked only once there are lines.
    assert told[-2:] == [{"phase": "stopped", "do": "drop"}, {"do": "end"}]
    assert [line["reason"] for line in kept if line["kind"] == "stop"] == ["the bystander is ill"]
    assert conductor.seen.stop_asked.reason == "the bystander is ill"
    assert (facts["state"], facts["harness_faults"]) == ("finished", [])


def test_a_record_that_cannot_be_kept_makes_the_test_invalid(conduct: Callable[..., Any]) -> None:
    """Also if the test has been stopped before that is seen."""
    _, facts = conduct(OBEYS, Surroundings({}, guards=(Trip(),)), Path("/dev/full"))
    assert len(facts["harness_faults"]) == 1
    assert "/dev/full could not be written" in facts["harness_faults"][0]


def test_what_fails_last_makes_the_test_invalid_too(conduct: Callable[..., Any]) -> None:
    """Such as the last lines of the record, which are written when it is closed."""

    class FullAtTheEnd(Steering):
        def hang_up(self) -> None:
            super().hang_up()
            self.fault = "the disk is full"

    _, facts = conduct(OBEYS, Surroundings({}, guards=(Trip(),)), make=FullAtTheEnd)
    assert facts["harness_faults"] == ["the disk is full"]


def test_counts_are_kept_from_the_start_on(conduct: Callable[..., Any]) -> None:
    """Each as often as it is given."""
    seen: list[Observations] = []

    class Counted:
        def tripped(self) -> str | None:
            return "enough" if seen and len(seen[-1].received) >= 2 else None

    counts = itertools.cycle([None, 5.0])
    around = Surroundings(
        {}, (Counted(),), received=lambda: next(counts), show=lambda _, shown: seen.append(shown)
    )
    conductor, _ = conduct(OBEYS, around)
    times = [at_s for at_s, _ in conductor.seen.received]
    assert [value for _, value in conductor.seen.received] == [5.0] * len(times)
    assert 0.0 < times[0] < times[1]


def test_the_generator_is_told_where_it_may_go_and_no_secret_by_its_arguments(
    conduct: Callable[..., Any], tmp_path: Path
) -> None:
    """Secrets are in its environment alone; anybody may read arguments."""
    says = "print(os.environ['TIPOVER_SECRET_1'], file=sys.stderr); " + DIES
    around = Surroundings({"TIPOVER_SECRET_1": "hunter2"}, allowed_hosts=("10.1.2.3", "10.1.2.4"))
    conduct(says, around)
    arguments = json.loads((tmp_path / "arguments.json").read_text())
    assert arguments[arguments.index("--allow-host") + 1] == "10.1.2.3,10.1.2.4"
    assert arguments[arguments.index("--host") + 1] == "http://127.0.0.1:9"
    assert "hunter2" not in " ".join(arguments)
    assert "hunter2" in (tmp_path / "run" / "generator.log").read_text()
