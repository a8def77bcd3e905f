"""Stop means stop: no attempt after a second, the trace is kept, no process is left."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from tests import servers
from tests.integration.commands import (
    FAST,
    none_left,
    processes_of,
    run_facts,
    run_started,
    scenario_file,
    started,
    tipover,
    wait_until,
)
from tests.servers import ServerLog, serving

pytestmark = pytest.mark.sockets

LONG = FAST.replace("duration_s = 60", "duration_s = 600")


@contextmanager
def _storm(
    folder: Path, log: ServerLog, *options: str, client: str = "max_attempts = 3"
) -> Iterator[tuple[Path, subprocess.Popen[str]]]:
    """A run that hammers a silent server, well under way."""
    out = folder / "run"
    url = f"http://127.0.0.1:{log.port}"
    scenario = scenario_file(folder, LONG.replace("max_attempts = 3", client))
    command = ("-m", "tipover", "run", scenario, "--target", url, "--out", out, *options)
    with started(*command) as run:
        # Past the check that the target answers, and past the first parts of the trace.
        wait_until(lambda: run_started(out), "the load begins")
        wait_until(lambda: len(log.requests) > 300, "the storm is under way")
        wait_until(lambda: len(list(out.glob("attempts/*.parquet"))) >= 1, "the first part is on disk")
        yield out, run


def _no_request_after_a_second(log: ServerLog, stopped_s: float) -> None:
    time.sleep(2.5)
    late = [at for at, _ in log.requests if at > stopped_s + 1.0]
    assert not late, f"{len(late)} requests came {late[0] - stopped_s:.2f} s and more after the stop"


def answering_get_healthz(talk: servers.Conversation) -> None:
    """Answers what is not work, and leaves work without an answer."""
    while (head := talk.read_request()) is not None:
        if b"/work" not in head:
            talk.send(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")


@pytest.mark.parametrize("processes", ["1", "2"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupting_a_run_ends_the_load_and_keeps_the_trace(
    number: signal.Signals, processes: str, tmp_path: Path
) -> None:
    """Ctrl-C or SIGTERM: no attempt after a second, exit 130, a report, nothing left running."""
    with serving(answering_get_healthz) as log, _storm(tmp_path, log, "--processes", processes) as (out, run):
        children = processes_of(out)
        run.send_signal(number)
        _no_request_after_a_second(log, time.monotonic())
        assert run.wait(30) == 130
        assert none_left(children)
    assert run_facts(out)["state"] == "interrupted"
    assert (out / "report.html").exists()
    summary = json.loads((out / "summary.json").read_text())
    assert summary["valid"] is False
    assert summary["totals"]["attempts"] >= 300


@pytest.mark.parametrize(
    "client",
    [
        "hedging = { copies = 8, delay_s = 1 }",
        'max_attempts = 12\nbackoff = { kind = "fixed", fixed_s = 2 }\non_rejection = "after-timeout"\n'
        'budget = { kind = "ratio", ratio = 0.5 }\non_refusal = "retry"',
    ],
    ids=["copies to come", "refused jobs that ask again"],
)
def test_nothing_that_is_still_to_come_is_sent_after_a_stop(client: str, tmp_path: Path) -> None:
    """Every open job has copies or retries ahead of it; all of them end, and no row is left open."""
    with (
        serving(answering_get_healthz) as log,
        _storm(tmp_path, log, client=client) as (out, run),
    ):
        children = processes_of(out)
        run.send_signal(signal.SIGINT)
        _no_request_after_a_second(log, time.monotonic())
        assert run.wait(30) == 130
        assert none_left(children)
    health = json.loads((out / "generator" / "worker-00.json").read_text())
    totals = json.loads((out / "summary.json").read_text())["totals"]
    assert health["finished"]
    assert totals["aborted"] > 0
    assert totals["attempts"] == health["attempts"]


def test_stopping_while_the_last_attempts_are_open_is_as_quick(tmp_path: Path) -> None:
    """After the last phase only answers are waited for; a stop then ends that too, with all rows kept."""
    out = tmp_path / "run"
    text = FAST.replace("timeout_s = 10.0", "timeout_s = 200.0").replace("duration_s = 60", "duration_s = 10")
    with serving(answering_get_healthz) as log:
        url = f"http://127.0.0.1:{log.port}"
        command = ("-m", "tipover", "run", scenario_file(tmp_path, text), "--target", url, "--out", out)
        with started(*command) as run:
            wait_until(lambda: run_started(out), "the load begins")
            time.sleep(6.5)  # five seconds of load, half a second of lead, and then the wait for answers
            begun_s = time.monotonic()
            run.send_signal(signal.SIGINT)
            assert run.wait(15) == 130
            assert time.monotonic() - begun_s < 12
    health = json.loads((out / "generator" / "worker-00.json").read_text())
    assert health["finished"]
    summary = json.loads((out / "summary.json").read_text())
    assert summary["totals"]["aborted"] == summary["totals"]["attempts"] == health["attempts"]


def test_a_directory_whose_run_is_going_on_is_not_replaced(tmp_path: Path) -> None:
    """A second run into the directory is refused, --replace or not, and the first goes on."""
    with serving(answering_get_healthz) as log, _storm(tmp_path, log) as (out, run):
        second = tipover("run", scenario_file(tmp_path, FAST), "--out", out, "--replace")
        assert second.returncode == 2
        assert "going on" in second.stderr
        assert run.poll() is None
        assert run_facts(out)["state"] == "running"


def test_a_run_killed_half_way_leaves_no_load_and_a_readable_trace(tmp_path: Path) -> None:
    """kill -9 of the conductor: the generator notices and stops, and the trace reads as unfinished."""
    with serving(answering_get_healthz) as log, _storm(tmp_path, log) as (out, run):
        children = processes_of(out)
        run.kill()
        _no_request_after_a_second(log, time.monotonic())
        wait_until(lambda: none_left([c for c in children if c.pid != run.pid]), "all children end")
    done = tipover("report", out, "--json")
    summary = json.loads(done.stdout)
    assert done.returncode == 3
    assert summary["valid"] is False
    assert any("did not finish" in reason for reason in summary["invalid_reasons"])
    assert (out / "report.html").exists()


def _generators(out: Path) -> list[psutil.Process]:
    return [p for p in processes_of(out) if "locust" in " ".join(p.cmdline())]


def test_a_generator_killed_half_way_makes_the_run_invalid(tmp_path: Path) -> None:
    """kill -9 of the generator: exit 3, the message says so, what was on disk is read."""
    with serving(answering_get_healthz) as log, _storm(tmp_path, log) as (out, run):
        for generator in _generators(out):
            generator.kill()
        assert run.wait(40) == 3
        output = run.stdout.read() if run.stdout else ""
    assert "generator" in output
    summary = json.loads((out / "summary.json").read_text())
    assert summary["totals"]["attempts"] > 0


def test_a_worker_that_dies_ends_the_run(tmp_path: Path) -> None:
    """One worker of two is killed: the other's load ends too, and the run is invalid."""
    with serving(answering_get_healthz) as log, _storm(tmp_path, log, "--processes", "2") as (out, run):
        files = wait_until(lambda: sorted(out.glob("generator/worker-*.json")), "health files")
        os.kill(json.loads(files[0].read_text())["pid"], signal.SIGKILL)
        assert run.wait(60) == 3
    assert any("died" in fault for fault in run_facts(out)["harness_faults"])


def test_a_lost_master_stops_its_workers(tmp_path: Path) -> None:
    """kill -9 of Locust's master: its workers send nothing after a second."""
    with serving(answering_get_healthz) as log, _storm(tmp_path, log, "--processes", "2") as (out, run):
        workers = {json.loads(p.read_text())["pid"] for p in out.glob("generator/worker-*.json")}
        masters = [p for p in _generators(out) if p.pid not in workers]
        for master in masters:
            master.kill()
        _no_request_after_a_second(log, time.monotonic())
        assert run.wait(60) == 3


def test_a_disk_without_room_is_said_to_be_one(tmp_path: Path) -> None:
    """No room for the trace or the report: exit 3, no traceback, and what was written stays."""
    out = tmp_path / "run"
    done = tipover("run", scenario_file(tmp_path), "--out", out, file_limit=12_000)
    assert done.returncode == 3
    assert "the trace could not be written" in done.stderr
    assert "the report could not be written" in done.stderr
    assert "Traceback" not in done.stderr
    assert none_left(processes_of(out))
    again = tipover("report", out, "--json")
    assert again.returncode == 3
    assert json.loads(again.stdout)["totals"]["attempts"] > 0


def test_a_full_disk_stops_the_load_and_keeps_what_was_recorded(tmp_path: Path) -> None:
    """When a part cannot be written any more the run stops, says so, and exits 3."""
    with serving(answering_get_healthz) as log, _storm(tmp_path, log) as (out, run):
        parts = len(list(out.glob("attempts/*.parquet")))
        # As good as a full disk, and possible without one: the directory is not there any more.
        (out / "attempts").rename(out / "moved")
        (out / "attempts").write_text("no directory")
        assert run.wait(40) in {2, 3}
        (out / "attempts").unlink()
        (out / "moved").rename(out / "attempts")
    faults = [json.loads(p.read_text())["recorder_fault"] for p in out.glob("generator/*.json")]
    assert all("could not be written" in fault for fault in faults)
    done = tipover("report", out, "--json")
    assert done.returncode == 3
    summary = json.loads(done.stdout)
    assert any("could not be written" in reason for reason in summary["invalid_reasons"])
    assert len(list(out.glob("attempts/*.parquet"))) >= parts
