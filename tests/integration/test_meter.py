"""``tipover serve meter`` between a run's generator and targets: what it counts, and what its death does."""

from __future__ import annotations

import json
import signal
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.edge_agreement import Agreement, recorded
from tests.integration.commands import run_facts, run_started, scenario_file, started, tipover, wait_until

pytestmark = pytest.mark.sockets

STORM = """
title = "a storm through the meter"
[client]
timeout_s = 1.0
max_attempts = 3
[demand]
arrival_rate_per_s = 225
phases = [
  { name = "baseline", duration_s = 1 },
  { name = "spike", duration_s = 2.5, factor = 4.0 },
  { name = "watch", duration_s = 3.5 },
]
"""
"""Against 500/s: Aρ = 1.35; (kρ − 1)Δ = 2 s against T = 1 s. Some 6,000 attempts, most of them given up."""
CAPACITY = ("--pods", "2", "--rate-per-pod", "125")
HERE = ("--port", "0", "--announce")


@contextmanager
def _serving(*arguments: str) -> Iterator[tuple[Any, dict[str, str]]]:
    """A part of Tipover, and where it says it listens."""
    with started("-m", "tipover", "serve", *arguments, *HERE) as process:
        assert process.stdout is not None
        yield process, json.loads(process.stdout.readline())


def _state(url: str) -> dict[str, Any]:
    with urllib.request.urlopen(f"{url}/state", timeout=20) as answer:
        found: dict[str, Any] = json.load(answer)
    return found


def _serve_all_at_once(url: str) -> None:
    """Let a target be done with its backlog."""
    order = urllib.request.Request(f"{url}/control", b'{"capacity_factor": 1000}', method="PUT")
    urllib.request.urlopen(order, timeout=20).close()


@contextmanager
def _edge(targets: int) -> Iterator[tuple[Any, dict[str, str], list[str]]]:
    """A meter before so many targets: its process, its addresses, theirs."""
    with ExitStack() as stack:
        urls = [stack.enter_context(_serving("target", *CAPACITY))[1]["url"] for _ in range(targets)]
        upstreams = [word for url in urls for word in ("--upstream", url)]
        process, places = stack.enter_context(
            _serving("meter", *upstreams, "--count", "/work", "--admin-port", "0")
        )
        yield process, places, urls


def test_in_a_storm_the_meter_counts_what_the_generator_recorded(tmp_path: Path) -> None:
    """Before two targets, each of which gets its half: within 0.1%, and nothing left to explain."""
    out = tmp_path / "run"
    with _edge(2) as (_, places, urls):
        done = tipover(
            "run", scenario_file(tmp_path, STORM), "--target", places["url"], "--out", out, "--json"
        )
        assert done.stdout, done.stderr
        for url in urls:
            _serve_all_at_once(url)

        def drained() -> dict[str, Any] | None:
            state = _state(places["admin_url"])
            return None if state["outstanding"] or state["client_connections"] else state

        state = wait_until(drained, "all that was sent is ended")
        agreement = Agreement(recorded(out), state, tuple(_state(url) for url in urls))
    assert agreement.faults == []
    assert agreement.trace.attempts > 5_000
    assert agreement.trace.outcomes["timeout"] > 0.5 * agreement.trace.attempts
    # None in flight now: who was answered in time, and who had gone.
    assert set(state["outcomes"]) == {"ok", "abandoned"}
    assert state["outcomes"]["abandoned"] > 0.5 * agreement.ingress
    first, second = (target["arrived"] for target in agreement.targets)
    # Scrapes that are not counted have their turns too.
    assert first == pytest.approx(second, rel=0.05)
    assert [u["outstanding"] for u in state["upstreams"]] == [0, 0]


def test_a_meter_stopped_in_the_storm_ends_at_once_and_the_run_says_what_it_saw(tmp_path: Path) -> None:
    """Every attempt after it fails as an error, and is recorded as one: a finding, and no crash."""
    out = tmp_path / "run"
    scenario = scenario_file(tmp_path, STORM, **{"duration_s = 3.5": "duration_s = 1.5"})
    with _edge(1) as (meter, places, _):
        command = ("-m", "tipover", "run", scenario, "--target", places["url"], "--out", out, "--json")
        with started(*command) as run:
            wait_until(lambda: run_started(out), "the load begins")
            wait_until(lambda: _state(places["admin_url"])["outstanding"] > 300, "the storm stands")
            begun_s = time.monotonic()
            meter.send_signal(signal.SIGTERM)
            assert meter.wait(10) == 0
            assert time.monotonic() - begun_s < 3  # one, on a machine with nothing else to do
            said, warned = run.communicate(timeout=90)
    assert run.returncode in {0, 1, 3}, warned
    assert "Traceback" not in warned
    summary = json.loads(said)
    assert summary["measured"]["goodput_ratio"] == pytest.approx(0, abs=0.02)
    assert recorded(out).outcomes["error"] > 1_000
    assert run_facts(out)["state"] == "finished"
    print(run.returncode, summary["outcome"], summary["invalid_reasons"], warned)
