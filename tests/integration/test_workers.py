"""``tipover run --workers``: the load comes from ``tipover serve worker`` started elsewhere."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import psutil
import pyarrow.parquet as pq
import pytest
from scipy import stats

from domain.arrivals import ArrivalPlan
from domain.experiment_json import from_json
from domain.streams import stream
from tests import servers
from tests.integration.commands import (
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
from tipover.cli import main

pytestmark = pytest.mark.sockets

SHORT = """
title = "a steady load, shared out"
[service]
pods = 4
rate_per_pod = 200.0
[client]
timeout_s = 2.0
max_attempts = 2
[demand]
utilization = 0.5
phases = [ { name = "baseline", duration_s = 2 }, { name = "watch", duration_s = 2 } ]
"""
LONG = SHORT.replace('"watch", duration_s = 2', '"watch", duration_s = 300').replace("= 2.0", "= 0.5")
FOREIGN = LONG.replace("[service]\npods = 4\nrate_per_pod = 200.0\n", "").replace(
    "utilization = 0.5", "arrival_rate_per_s = 400"
)
LOCUSTFILE = Path(__file__).parents[2] / "tipover" / "locustfile.py"


@pytest.fixture
def place() -> str:
    """A place where a master can listen."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return f"127.0.0.1:{probe.getsockname()[1]}"


@contextmanager
def _workers(place: str, number: int, *options: str | Path) -> Iterator[list[subprocess.Popen[str]]]:
    with ExitStack() as stack:
        command = ("-m", "tipover", "serve", "worker", "--master", place, "--stop-with-stdin", *options)
        processes = [stack.enter_context(started(*command, stdin=subprocess.PIPE)) for _ in range(number)]
        yield processes
        for process in processes:
            process.terminate()
        for process in processes:
            assert process.wait(20) == 0


def _run(scenario: Path, out: Path, place: str, *options: str) -> tuple[int, str]:
    done = tipover("run", scenario, "--workers", "2", "--bind", place, "--out", out, *options)
    return done.returncode, done.stderr


def _trace(out: Path) -> pd.DataFrame:
    parts = sorted((out / "attempts").glob("*.parquet"))
    rows = pd.concat([pq.read_table(part).to_pandas() for part in parts], ignore_index=True)
    return rows[rows.outcome.notna()]


def _check_the_merged_trace(out: Path) -> int:
    """One trace of the whole plan: each worker's own stream, ids of which none is there twice, and a sum
    that is Poisson at the plan's rate. Returns how many jobs."""
    live = from_json(run_facts(out)["scenario"]).live()
    trace = _trace(out)
    first = trace[trace.attempt == 1]
    assert first.job_id.is_unique
    for worker in (0, 1):
        plan = live.arrival_plan.draw(stream(live.run.seed, "arrivals", worker), worker, 2)
        np.testing.assert_array_equal(np.sort(first[first.worker == worker].planned_s), plan)
    _check_poisson(np.sort(first.planned_s.to_numpy()), live.arrival_plan)
    health = [json.loads(path.read_text()) for path in sorted(out.glob("generator/worker-*.json"))]
    assert [one["worker"] for one in health] == [0, 1]
    assert sum(one["planned"] for one in health) == sum(one["sent"] for one in health) == len(first)
    assert sum(one["attempts"] for one in health) == len(trace)
    return len(first)


def _check_poisson(planned: np.ndarray[Any, Any], plan: ArrivalPlan) -> None:
    (rate,) = {segment.rate_per_s for segment in plan.segments}
    assert stats.kstest(np.diff(planned), "expon", args=(0, 1 / rate)).pvalue > 0.001
    counts = np.histogram(planned, bins=np.arange(0, plan.end_s + 0.05, 0.1))[0]
    dispersion = counts.var(ddof=1) / counts.mean()
    low, high = stats.chi2.ppf([0.0005, 0.9995], len(counts) - 1) / (len(counts) - 1)
    assert low < dispersion < high


def test_two_workers_serve_one_run_and_then_another_in_which_one_is_killed(
    tmp_path: Path, place: str
) -> None:
    """First a whole run: one trace of all of the plan, who made it in the record. Then kill -9 of one worker
    in mid-run: nothing is sent after a second, exit 3, and the record says why."""
    with serving(answering_get_healthz) as log, _workers(place, 2, "--out", tmp_path):
        out = tmp_path / "whole"
        code, errors = _run(scenario_file(tmp_path, SHORT), out, place)
        assert code in {0, 1, 3}, errors  # a busy machine is late: such a run is invalid, and complete
        facts = run_facts(out)
        assert (facts["state"], facts["harness_faults"], facts["workers"]) == ("finished", [], 2)
        assert [(g["worker"], g["same_clock"]) for g in facts["generators"]] == [(0, True), (1, True)]
        assert _check_the_merged_trace(out) > 1200
        assert not (out / "generator" / "shared").exists()
        with _storm(tmp_path, place, log) as (out, run):
            psutil.Process(_pids(out)[0]).kill()
            _no_request_after_a_second(log, time.monotonic())
            assert run.wait(40) == 3
    assert any("died or is cut off" in fault for fault in run_facts(out)["harness_faults"])


@contextmanager
def _storm(tmp_path: Path, place: str, log: ServerLog) -> Iterator[tuple[Path, subprocess.Popen[str]]]:
    """A long run by two workers against a silent server, well under way."""
    out = tmp_path / "run"
    target = ("--target", f"http://127.0.0.1:{log.port}")
    command = ("-m", "tipover", "run", scenario_file(tmp_path, LONG), "--workers", "2", "--bind", place)
    with started(*command, "--out", out, *target) as run:
        wait_until(lambda: run_started(out), "the load begins")
        wait_until(lambda: len(log.requests) > 300, "the storm is under way")
        yield out, run


def answering_get_healthz(talk: servers.Conversation) -> None:
    """Answers what is not work, and leaves work without an answer."""
    while (head := talk.read_request()) is not None:
        if b"/work" not in head:
            talk.send(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")


def _no_request_after_a_second(log: ServerLog, stopped_s: float) -> None:
    time.sleep(2.0)
    late = [at for at, _ in log.requests if at > stopped_s + 1.0]
    assert not late, f"{len(late)} requests came {late[0] - stopped_s:.2f} s and more after the stop"


def _pids(out: Path) -> list[int]:
    files = wait_until(lambda: sorted(out.glob("generator/worker-*.json")), "health files")
    return [json.loads(file.read_text())["pid"] for file in files]


@contextmanager
def _plain_master(place: str, target: str, *options: str | Path) -> Iterator[subprocess.Popen[str]]:
    """Locust's own command as a master."""
    command = ("-m", "locust", "-f", LOCUSTFILE, "--master", "--host", target)
    address = ("--master-bind-host", "127.0.0.1", "--master-bind-port", place.rpartition(":")[2])
    with started(*command, *address, *options) as master:
        yield master


def _headless(folder: Path, workers: int, *, steady: str = "") -> tuple[str | Path, ...]:
    return ("--headless", "--expect-workers", str(workers), "--scenario", scenario_file(folder, steady))


def test_a_worker_that_is_told_to_stop_in_mid_run_makes_it_invalid(tmp_path: Path, place: str) -> None:
    """SIGTERM of one, as a container is stopped: it ends at once, and so does the load of the other."""
    with serving(servers.silent) as log, _workers(place, 2) as (first, _):
        options = _headless(tmp_path, 2, steady=FOREIGN)
        with _plain_master(place, f"http://127.0.0.1:{log.port}", *options) as master:
            wait_until(lambda: len(log.requests) > 300, "the storm is under way")
            first.send_signal(signal.SIGTERM)
            _no_request_after_a_second(log, time.monotonic())
            _, errors = master.communicate(timeout=30)
    assert master.returncode == 3
    assert re.search(r"this run is invalid: worker [01] ended early", errors)


def _ask(url: str, data: bytes | None = None) -> Any:
    with urllib.request.urlopen(url, data, timeout=5) as answer:
        return json.loads(answer.read())


def test_the_web_page_leads_workers_elsewhere_and_its_loss_stops_them(tmp_path: Path, place: str) -> None:
    """Start, stop, start again: a directory each, all shares in it. Then kill -9 of the page's process: no
    request after a second, and the workers wait for the next master."""
    page = f"http://127.0.0.1:{_free_port()}"
    with serving(servers.silent) as log, _workers(place, 2, "--json") as workers:
        target = f"http://127.0.0.1:{log.port}"
        options = ("--web-host", "127.0.0.1", "--web-port", page.rpartition(":")[2])
        options += ("--scenario", scenario_file(tmp_path, FOREIGN), "--out", tmp_path / "ui")
        form = f"user_count=1&spawn_rate=1&host={target}".encode()
        with _plain_master(place, target, *options) as master:
            wait_until(lambda: _workers_of(page) == 2, "both workers are there")
            assert _ask(f"{page}/swarm", form)["success"]
            wait_until(lambda: len(log.requests) > 300, "the storm is under way")
            _ask(f"{page}/stop", b"")
            _no_request_after_a_second(log, time.monotonic())
            wait_until(lambda: _state_of(page) == "stopped", "Locust has stopped")
            before = len(log.requests)
            assert _ask(f"{page}/swarm", form)["success"]
            wait_until(lambda: len(log.requests) > before + 300, "the storm is under way again")
            master.kill()
            _no_request_after_a_second(log, time.monotonic())
        for out in (tmp_path / "ui", tmp_path / "ui-2"):
            assert set(_trace(out).worker) == {0, 1}
            assert run_facts(out)["target"]["url"] == target
        for worker in workers:
            assert worker.stdout is not None
            states = [json.loads(worker.stdout.readline())["state"] for _ in range(4)]
            assert states == ["waiting", "serving", "gone", "waiting"]


def _workers_of(page: str) -> int:
    try:
        return len(_ask(f"{page}/stats/requests")["workers"])
    except OSError:
        return 0


def _state_of(page: str) -> str:
    return str(_ask(f"{page}/stats/requests")["state"])


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


def test_when_nobody_reads_the_masters_lines_the_load_stops_everywhere(tmp_path: Path, place: str) -> None:
    """kill -9 of ``tipover run`` itself: the master notices, and the workers stop."""
    with (
        serving(answering_get_healthz) as log,
        _workers(place, 2),
        _storm(tmp_path, place, log) as (out, run),
    ):
        children = [p for p in processes_of(out) if p.pid != run.pid]
        run.kill()
        _no_request_after_a_second(log, time.monotonic())
        wait_until(lambda: none_left(children), "the master ends")


def test_a_master_cannot_aim_a_worker_at_what_the_worker_does_not_allow(tmp_path: Path, place: str) -> None:
    """The master allows another address, the worker does not: refused before anything is sent."""
    options = (*_headless(tmp_path, 1, steady=FOREIGN), "--allow-host", "192.0.2.1")
    with _workers(place, 1) as (worker,):
        with _plain_master(place, "http://192.0.2.1:9", *options) as master:
            _, errors = master.communicate(timeout=40)
        assert worker.poll() is None
    assert master.returncode == 2, errors
    assert "refuses: the target is not allowed" in errors


def test_a_worker_with_another_clock_sends_its_share_and_the_record_says_so(
    tmp_path: Path, place: str
) -> None:
    """In a time namespace, whose clock is 28 hours ahead with the boot's name the same: as on another
    machine, time zero is half a second after the word of it."""
    elsewhere = ("unshare", "--time", "--monotonic", "100000", "--fork", "--kill-child")
    if subprocess.run([*elsewhere, "true"], check=False, capture_output=True).returncode != 0:
        pytest.skip("no time namespace can be made here")
    text = SHORT.replace('"watch", duration_s = 2', '"watch", duration_s = 1')
    text = text.replace("[service]\npods = 4\nrate_per_pod = 200.0\n", "")
    text = text.replace("utilization = 0.5", "arrival_rate_per_s = 200")
    out = tmp_path / "run"
    command = ("-m", "tipover", "serve", "worker", "--master", place)
    with serving(servers.friendly) as log, _workers(place, 1), started(*command, within=elsewhere):
        options = (*_headless(tmp_path, 2, steady=text), "--out", out)
        with _plain_master(place, f"http://127.0.0.1:{log.port}", *options) as master:
            _, errors = master.communicate(timeout=40)
    assert master.returncode == 0, errors
    assert sorted(g["same_clock"] for g in run_facts(out)["generators"]) == [False, True]
    _check_the_merged_trace(out)
    arrived = np.array([at for at, _ in log.requests])
    assert 2.5 < arrived.max() - arrived.min() < 6


def test_a_directory_that_the_worker_may_not_write_is_refused(tmp_path: Path, place: str) -> None:
    """A worker with another --out, as one on another machine would be: exit 2, and nothing was sent."""
    other = tmp_path / "other"
    other.mkdir()
    with serving(servers.friendly) as log, _workers(place, 2, "--out", other):
        out = tmp_path / "run"
        code, errors = _run(
            scenario_file(tmp_path, SHORT), out, place, "--target", f"http://127.0.0.1:{log.port}"
        )
    assert code == 2, errors
    assert "must be below this worker's --out" in errors
    assert not [request for _, request in log.requests if b"/work" in request]
    assert run_facts(out)["state"] == "failed"


def test_too_few_workers_end_it_with_one_message(tmp_path: Path, place: str) -> None:
    """One of two comes: exit 2, and the terminal said how many were waited for."""
    with _workers(place, 1):
        code, errors = _run(
            scenario_file(tmp_path, SHORT), tmp_path / "run", place, "--wait-for-workers", "3"
        )
    assert code == 2
    # On a machine that is very busy not even the one is there in time.
    assert "waiting for 2 of 2 workers" in errors
    assert re.search("only [01] of 2 workers came", errors)
    assert "Traceback" not in errors


@pytest.mark.parametrize(
    "options",
    [
        ("--workers", "0"),
        ("--workers", "2", "--processes", "2"),
        ("--workers", "2", "--bind", "nowhere"),
        ("--workers", "2", "--bind", "192.0.2.1:5557"),
        ("--workers", "2", "--wait-for-workers", "0"),
        ("--workers", "2", "--metrics-port", "9000"),
        ("--bind", "127.0.0.1:5557"),
    ],
    ids=" ".join,
)
def test_options_that_do_not_go_together_are_refused(
    options: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One message that names the option, exit 2, and nothing is made."""
    scenario = scenario_file(tmp_path, SHORT)
    assert main(["run", str(scenario), "--out", str(tmp_path / "run"), *options]) == 2
    said = capsys.readouterr().err
    assert options[0] in said or options[-2] in said
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    "options",
    [("--master", "nowhere"), ("--master", "a:0"), ("--out", "/no/such/place"), ("--metrics-port", "0")],
    ids=" ".join,
)
def test_a_worker_with_wrong_options_is_not_started(
    options: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    """One message that names the option, exit 2."""
    assert main(["serve", "worker", *options]) == 2
    assert options[0] in capsys.readouterr().err
