"""``tipover run`` with an autoscaled fleet: from a scenario file to orders, pods and a verdict."""

from __future__ import annotations

import json
import math
import signal
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests import servers
from tests.integration.commands import (
    none_left,
    processes_of,
    run_facts,
    run_started,
    scenario_file,
    started,
    tipover,
    valid_run,
    wait_until,
)
from tests.servers import serving

pytestmark = pytest.mark.sockets

SPEEDUP = 15.0
"""The dead time is 6 s then, the sync period one second, C·T at the start 107."""
Lines = list[dict[str, Any]]
Finished = tuple[Path, int, dict[str, Any]]

SMALL = """
title = "a small fleet"
[service]
pods = 2
rate_per_pod = 50.0
[fleet]
signals = ["first"]
dead_time_s = 10
sync_period_s = 5
rate_window_s = 10
max_pods = 20
[client]
timeout_s = 10.0
[demand]
utilization = 0.5
phases = [
  { name = "baseline", duration_s = 40 },
  { name = "step", duration_s = 600, factor = 4.0 },
]
[run]
speedup = 10.0
"""
"""Demand needs 2 pods, then 8. A minute of wall clock, which no test waits for."""


def lines_of(path: Path) -> Lines:
    """A file of JSON lines, whole ones only."""
    text = path.read_text() if path.exists() else ""
    return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]


def decisions_in(out: Path) -> Lines:
    """What the autoscaler wrote down."""
    return lines_of(out / "autoscaler.jsonl")


def after_step(lines: Lines) -> Lines:
    """The lines from the step on."""
    return [line for line in lines if line["t_s"] > 100 / SPEEDUP]


@pytest.fixture(scope="module")
def by_first(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    """A run of f3-first: directory, exit code, summary."""
    out = tmp_path_factory.mktemp("first") / "run"
    return (out, *valid_run(Path("f3-first"), out, "--speedup", str(SPEEDUP)))


@pytest.fixture(scope="module")
def paired(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    """A run of f4-paired."""
    out = tmp_path_factory.mktemp("paired") / "run"
    return (out, *valid_run(Path("f4-paired"), out, "--speedup", str(SPEEDUP)))


def test_demand_alone_sizes_a_fleet_that_stays_failed(by_first: Finished) -> None:
    """As many pods as users need, nobody is served, and the scenario says so."""
    out, code, summary = by_first
    assert code == 0
    assert summary["outcome"] == "trapped"
    assert summary["measured"]["goodput_ratio"] == pytest.approx(0, abs=0.02)
    last = lines_of(out / "server.jsonl")[-1]
    assert 19 <= last["pods"] == last["replicas"] <= 24  # 20, but for the scatter of 400/s over 4 s


def test_first_and_ingress_go_to_the_ceiling_and_come_back(paired: Finished) -> None:
    """All debt is paid with 50 pods, and then the demand alone decides."""
    out, code, summary = paired
    assert code == 0
    assert summary["outcome"] == "recovered"
    assert summary["measured"]["recovery_s"] == pytest.approx(270, rel=0.15)
    pods = [line["pods"] for line in after_step(lines_of(out / "server.jsonl"))]
    assert max(pods) == 50
    assert 19 <= pods[-1] <= 24


@pytest.mark.parametrize("run", ["by_first", "paired"])
def test_decisions_fall_on_whole_periods_and_say_why(run: str, request: pytest.FixtureRequest) -> None:
    """Each with its readings, and its order the largest proposal of those remembered, up to the ceiling."""
    out, _, _ = request.getfixturevalue(run)
    decisions = decisions_in(out)
    signals = run_facts(out)["scenario"]["fleet"]["signals"]
    times = [round(decision["t_s"]) for decision in decisions]
    assert times == list(range(times[0], times[-1] + 1))
    for decision in after_step(decisions):
        assert decision["error"] is None
        assert set(decision["readings"]) == set(signals)
        assert decision["wanted"] == max(decision["proposals"].values())
        assert min(decision["wanted"], 50) <= decision["ordered"] <= 50
        assert decision["why"]
        assert decision["proposals"]["first"] == math.ceil(decision["readings"]["first"] / 20 - 1e-6)
    settled = [d["readings"]["first"] for d in decisions if d["t_s"] > 200 / SPEEDUP]
    assert sum(settled) / len(settled) == pytest.approx(400, rel=0.05)


def test_pods_serve_a_dead_time_after_they_were_ordered(paired: Finished) -> None:
    """No pod serves before, and all of them at the next look after it."""
    out, _, _ = paired
    states, dead_s = lines_of(out / "server.jsonl"), 90 / SPEEDUP
    first = next(d for d in after_step(decisions_in(out)) if d["ordered"] > d["replicas"])
    before = [s["pods"] for s in states if s["t_s"] < first["t_s"] + dead_s]
    after = [s["pods"] for s in states if s["t_s"] > first["t_s"] + dead_s + 1.0]
    assert max(before) < first["ordered"]
    assert after[0] >= first["ordered"]


def test_the_run_says_how_its_autoscaler_was_started(by_first: Finished) -> None:
    """From the start of the load, in live seconds; and it is gone with the rest."""
    out, _, _ = by_first
    facts = run_facts(out)
    assert facts["autoscaler"]["epoch_monotonic_s"] == facts["start_monotonic_s"]
    command = facts["autoscaler"]["command"]
    assert json.loads(command[command.index("--fleet") + 1])["dead_time_s"] == pytest.approx(90 / SPEEDUP)
    assert none_left(processes_of(out))


@contextmanager
def _own_target(*options: str) -> Iterator[str]:
    """A target that the run does not start: its URL."""
    command = ("-m", "tipover", "serve", "target", "--port", "0", "--announce", "--pods", "2")
    with started(*command, "--rate-per-pod", "50", *options) as process:
        assert process.stdout is not None
        yield json.loads(process.stdout.readline())["url"]


def _scale(url: str) -> dict[str, Any]:
    with urllib.request.urlopen(f"{url}/scale", timeout=10) as answer:
        found: dict[str, Any] = json.load(answer)
    return found


def test_a_target_that_takes_no_orders_for_pods_is_refused(tmp_path: Path) -> None:
    """Somebody else's service has pods of its own."""
    with serving(servers.friendly) as log:
        url = f"http://127.0.0.1:{log.port}"
        done = tipover("run", scenario_file(tmp_path, SMALL), "--target", url, "--out", tmp_path / "r")
    assert done.returncode == 2
    assert "takes no orders for pods" in done.stderr
    assert not (tmp_path / "r").exists()


def test_a_target_with_another_dead_time_or_size_is_refused(tmp_path: Path) -> None:
    """With what it must be started with; nothing of it is changed."""
    scenario = scenario_file(tmp_path, SMALL)
    with _own_target("--dead-time", "90") as url:
        change = urllib.request.Request(f"{url}/scale", b'{"replicas": 3}', method="PUT")
        urllib.request.urlopen(change, timeout=10).close()
        done = tipover("run", scenario, "--target", url, "--out", tmp_path / "r")
        assert _scale(url)["replicas"] == 3
    assert done.returncode == 2
    assert "dead_time_s: must be the scenario's at its speed-up (--dead-time 1) (got 90" in done.stderr
    assert "replicas: must be the scenario's 2 when a run begins (got 3)" in done.stderr
    assert "starting: must be none" in done.stderr


def test_a_stopped_run_gives_a_target_its_pods_back(tmp_path: Path) -> None:
    """In the middle of a scale-up: exit 130, as many pods as before, and nothing of the run left."""
    out = tmp_path / "run"
    with _own_target("--dead-time", "1") as url:
        command = ("-m", "tipover", "run", scenario_file(tmp_path, SMALL), "--target", url, "--out", out)
        with started(*command) as run:
            wait_until(lambda: any(d["ordered"] >= 6 for d in decisions_in(out)), "pods are ordered")
            assert _scale(url)["replicas"] >= 6
            children = [child for child in processes_of(out) if child.pid != run.pid]
            assert any("autoscaler" in child.cmdline() for child in children)
            run.send_signal(signal.SIGINT)
            wait_until(lambda: none_left(children), "load and autoscaler are over", 10)
            assert run.wait(90) == 130  # the report takes its time
        assert _scale(url)["replicas"] == 2


def test_an_autoscaler_that_dies_makes_the_run_invalid(tmp_path: Path) -> None:
    """Its death is no property of the service: exit 3 with the reason, at once, and nothing left."""
    out = tmp_path / "run"
    with started("-m", "tipover", "run", scenario_file(tmp_path, SMALL), "--out", out) as run:
        wait_until(lambda: run_started(out) and decisions_in(out), "the autoscaler decides")
        children = processes_of(out)
        autoscaler = next(c for c in children if "autoscaler" in c.cmdline())
        autoscaler.kill()
        assert run.wait(90) == 3
    (fault,) = run_facts(out)["harness_faults"]
    assert fault == "the autoscaler died (exit code -9); see autoscaler.log"
    assert none_left([*children, *_targets_of(out)])


def _targets_of(out: Path) -> list[psutil.Process]:
    """What still listens where the run's own target was, if anything does."""
    port = int(run_facts(out)["target"]["url"].rsplit(":", 1)[1])
    listening = [c for c in psutil.net_connections("tcp") if c.laddr and c.laddr.port == port]
    return [psutil.Process(c.pid) for c in listening if c.pid and c.status == psutil.CONN_LISTEN]
