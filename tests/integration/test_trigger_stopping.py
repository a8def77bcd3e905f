"""A trigger test that is killed, stopped or hung at any moment leaves no load and no process behind."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from tests import servers
from tests.integration.commands import tipover, wait_until
from tests.integration.trigger_runs import (
    CAPACITY,
    STOPS_WITHIN_S,
    TRAP,
    TriggerRun,
    assert_gone,
    assert_load_over,
    one_worker,
    serving_as,
    triggered,
)

pytestmark = pytest.mark.sockets

HANG_NOTICED_S = 2.5
STARTS_WITHIN_S = 20.0
"""A generator that is still starting notices nothing, and sends nothing."""


@pytest.fixture(autouse=True)
def _own_audit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("TIPOVER_AUDIT", raising=False)


def _assert_reported(run: TriggerRun) -> None:
    """What is left of a test that was killed can be read, and says what happened."""
    health = run.json("generator/worker-00.json")
    assert health["finished"]
    assert run.attempts() == health["attempts"] >= sum(_last(run, "first", "retries"))
    report = tipover("report", run.out)
    assert report.returncode == 130, report.stdout + report.stderr
    assert "kill" in run.json()["interrupted_by"]


def _last(run: TriggerRun, *names: str) -> list[int]:
    """Counters of the last recorded tick."""
    ticks = run.lines("tick")
    return [ticks[-1][name] for name in names] if ticks else [0]


@pytest.mark.parametrize("moment", ["reach", "capacity", "baseline", "spike", "watch", "shed"])
def test_a_killed_harness_leaves_no_load_and_no_process(moment: str, tmp_path: Path) -> None:
    """SIGKILL, which nobody can handle: the generator notices by itself, and what it did is on disk."""
    known = () if moment == "capacity" else CAPACITY
    with one_worker() as service, triggered(tmp_path, service.url, *TRAP, *known) as run:
        run.wait_for(moment)
        wait_until(lambda: len(service.load()) > 0, "the load has begun")
        processes = run.processes()
        assert len(processes) > 1
        run.process.kill()
        killed_s = time.monotonic()
        assert run.ended() == -signal.SIGKILL
        assert_gone(processes, killed_s)
        _assert_reported(run)
        assert_load_over(service, killed_s)
        wait_until(service.is_well, "the service is well again")


def test_a_harness_killed_before_the_load_begins_has_sent_nothing(tmp_path: Path) -> None:
    """The generator is still starting then; once it is ready there is nobody to tell it what to do."""
    with one_worker() as service, triggered(tmp_path, service.url, *TRAP, *CAPACITY) as run:
        run.wait_for("start")
        processes = run.processes()
        run.process.kill()
        killed_s = time.monotonic()
        assert run.ended() == -signal.SIGKILL
        assert_gone(processes, killed_s, STARTS_WITHIN_S)
        assert not service.load()
        assert tipover("report", run.out).returncode == 130


def test_a_killed_generator_makes_the_test_invalid(tmp_path: Path) -> None:
    """The harness sees the end of its lines, says so, and does not call it the service's behaviour."""
    with one_worker() as service, triggered(tmp_path, service.url, *TRAP, *CAPACITY) as run:
        run.wait_for("baseline")
        processes = run.processes()
        generator = run.generator()
        assert generator is not None
        generator.kill()
        killed_s = time.monotonic()
        assert run.ended(10) == 3
        assert_gone(processes, killed_s)
        assert_load_over(service, killed_s)
        assert service.is_well()
    assert "the generator ended early (exit code -9)" in run.output
    assert "the generator ended early" in " ".join(run.json()["invalid_reasons"])


@pytest.mark.parametrize(
    ("number", "moment"), [(signal.SIGINT, "watch"), (signal.SIGTERM, "spike"), (signal.SIGHUP, "reach")]
)
def test_a_signal_ends_the_load_and_keeps_what_was_seen(
    number: signal.Signals, moment: str, tmp_path: Path
) -> None:
    """Ctrl-C, SIGTERM or a lost terminal: no request after a second, exit 130, everything written."""
    with one_worker() as service, triggered(tmp_path, service.url, *TRAP, *CAPACITY) as run:
        run.wait_for(moment)
        processes = run.processes()
        run.process.send_signal(number)
        asked_s = time.monotonic()
        assert run.ended(15) == 130
        assert_load_over(service, asked_s)
        assert_gone(processes, time.monotonic())
        wait_until(service.is_well, "the service is well again")
    assert run.json()["interrupted_by"] == number.name
    assert run.json("run.json")["state"] == "interrupted"
    assert run.attempts() == run.json("generator/worker-00.json")["attempts"]
    assert (run.out / "trigger.html").stat().st_size
    assert number.name in (run.out / "audit.jsonl").read_text()


def test_a_stop_while_the_generator_starts_and_fails_ends_the_test(tmp_path: Path) -> None:
    """Then there is neither a first line nor anybody to obey; the harness does not wait for either."""
    with one_worker() as service, triggered(tmp_path, service.url, *TRAP, *CAPACITY) as run:
        run.wait_for("start")
        processes, generator = run.processes(), run.generator()
        assert generator is not None
        run.process.send_signal(signal.SIGINT)
        generator.kill()
        assert run.ended(10) == 130
        assert_gone(processes, time.monotonic())
        assert not service.load()


@pytest.mark.parametrize(
    "place", [lambda run: run.out / "STOP", lambda run: run.out.parent / "STOP"], ids=["run", "working"]
)
def test_a_stop_file_ends_the_load(place: Callable[[TriggerRun], Path], tmp_path: Path) -> None:
    """In the run directory or in the working directory, from whoever has a shell there."""
    with one_worker() as service, triggered(tmp_path, service.url, *TRAP, *CAPACITY) as run:
        run.wait_for("baseline")
        processes, file = run.processes(), place(run)
        file.touch()
        asked_s = time.monotonic()
        assert run.ended(15) == 4
        assert_load_over(service, asked_s)
        assert_gone(processes, time.monotonic())
        assert service.is_well()
    assert str(file) in run.json()["safety_stop"]
    assert str(file) in (run.out / "audit.jsonl").read_text()


def test_a_hung_harness_ends_the_load(tmp_path: Path) -> None:
    """SIGSTOP: the pipes stay open and nothing comes through them; the generator waits for no one."""
    with one_worker() as service, triggered(tmp_path, service.url, *TRAP, *CAPACITY) as run:
        run.wait_for("baseline")
        generator = run.generator()
        assert generator is not None
        run.process.send_signal(signal.SIGSTOP)
        hung_s = time.monotonic()
        assert_load_over(service, hung_s, HANG_NOTICED_S)
        wait_until(lambda: generator.status() == psutil.STATUS_ZOMBIE, "the generator has ended")
        assert run.attempts() == run.json("generator/worker-00.json")["attempts"]
        assert service.is_well()
        os.kill(run.process.pid, signal.SIGCONT)
        assert run.ended(15) == 4
    assert "nothing was heard from the harness" in run.json()["safety_stop"]


def test_a_query_that_hangs_does_not_hold_up_a_stop(tmp_path: Path) -> None:
    """What a query of the received requests waits for is nobody else's business."""
    with one_worker() as service, serving_as(servers.silent) as hanging:
        counts = ("--prometheus", hanging.url, "--received", "sum(requests_total)")
        with triggered(tmp_path, service.url, *TRAP, *CAPACITY, *counts) as run:
            run.wait_for("baseline")
            asked = len(hanging.log.requests)
            wait_until(lambda: len(hanging.log.requests) > asked, "the query is asked")
            run.process.send_signal(signal.SIGINT)
            asked_s = time.monotonic()
            assert run.ended(15) == 130
            assert_load_over(service, asked_s, STOPS_WITHIN_S)
    stopped = next(iter(run.lines("stopped")))
    assert run.lines("stop")[0]["t_s"] <= stopped["t_s"]
