"""The whole stack in containers: built, started, tipped over, scaled, hurt, and taken down. Minutes."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.compose.docker import RUN, Stack, engine, started_stack
from tests.compose.prometheus import Settled, alerts, assert_rules_agree
from tests.integration.commands import run_facts, run_started, wait_until
from tipover.scenario import load_scenario

MISSING = engine()
pytestmark = [
    pytest.mark.sockets,
    pytest.mark.timeout(1800),
    pytest.mark.skipif(MISSING is not None, reason=f"{MISSING}: the stack cannot be started"),
]

STEADY = """
title = "a steady load, shared out"
[service]
pods = 4
rate_per_pod = 40.0
[client]
timeout_s = 2.0
max_attempts = 3
[demand]
utilization = 0.5
phases = [ { name = "baseline", duration_s = 15 }, { name = "watch", duration_s = WATCH } ]
[expect]
outcome = "healthy"
"""
SPEEDUP = 20.0


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """The stack, up and healthy, with the name `generator` free for runs."""
    with started_stack(tmp_path_factory.mktemp("stack")) as made:
        _is_fenced(made)
        made.compose("stop", "-t", "5", "locust")
        yield made


def _is_fenced(stack: Stack) -> None:
    """Loopback ports only, nobody is root, and what makes load has no way out."""
    for container in stack.containers():
        for bindings in (container["HostConfig"]["PortBindings"] or {}).values():
            assert {binding["HostIp"] for binding in bindings} == {"127.0.0.1"}
        if container["State"]["Running"]:
            assert container["Config"]["User"] not in {"", "0", "root", "0:0"}, container["Name"]
    for service in ("worker", "target"):
        (network,) = {
            name for one in stack.containers(service) for name in one["NetworkSettings"]["Networks"]
        }
        assert stack.network(network)["Internal"] is True


def _valid_run(stack: Stack, *words: str, workers: int = 1) -> tuple[int, dict[str, Any], Path]:
    """A run that its own report calls valid; made again where this machine was too busy."""
    for number in range(3):
        out = f"{words[0].rpartition('/')[2]}-{workers}-{number}"
        code, said, errors = stack.run(*words, "--out", f"/results/{out}", "--json", workers=workers)
        assert said.strip(), errors
        summary = json.loads(said[said.index("{") : said.rindex("}") + 1])
        if summary["valid"]:
            return code, summary, stack.results / out
        print(f"made again: {summary['invalid_reasons']}")
        assert all("lag" in reason or " late" in reason for reason in summary["invalid_reasons"])
    raise AssertionError(f"the machine is too busy for this test: {summary['invalid_reasons']}")


def _scenario(stack: Stack, name: str, watch_s: float) -> str:
    (stack.results / name).write_text(STEADY.replace("WATCH", str(watch_s)))
    return f"/results/{name}"


def _firsts(out: Path) -> pd.DataFrame:
    attempts = pd.read_parquet(out / "attempts")
    # A row without an outcome was open when its part was closed; the one that completes it comes later.
    return attempts[(attempts["attempt"] == 1) & attempts["outcome"].notna()]


def test_a_spike_is_a_trap_and_prometheus_says_so(stack: Stack) -> None:
    """f2-40 through meter and target: the verdict, the recording rules, the alerts, the autoscaler's view."""
    code, summary, out = _valid_run(stack, "f2-40", "--speedup", str(SPEEDUP))
    assert code == 0
    assert summary["outcome"] == "trapped"
    facts, live = run_facts(out), load_scenario("f2-40", speedup=SPEEDUP).live()
    assert_rules_agree(stack.prometheus, summary, facts, live)
    end_s = Settled.of(facts, live).end_s
    assert alerts(stack.prometheus, end_s) == {("RetryStorm", "firing"), ("Trapped", "firing")}
    wanted = {
        labels["signal"]: value
        for labels, value in stack.prometheus.series("tipover_autoscaler_proposal", end_s)
    }
    assert wanted["first"] < wanted["ingress"]
    # Watched, and nothing ordered.
    assert stack.prometheus.value("tipover_replicas", end_s) == 4


def test_workers_make_one_stream_and_one_trace(stack: Stack) -> None:
    """Three of them: unique jobs, a third each, and the counts of a Poisson process when merged."""
    stack.compose("up", "-d", "--no-recreate", "--scale", "worker=3", "--scale", "locust=0")
    stack.wait_healthy("worker")
    scenario = _scenario(stack, "steady.toml", 30)
    code, summary, out = _valid_run(stack, scenario, workers=3)
    assert code == 0
    assert summary["generator"]["workers"] == 3
    firsts = _firsts(out)
    assert firsts["job_id"].is_unique
    shares = firsts["worker"].value_counts()
    assert len(shares) == 3
    jobs = len(firsts)
    assert abs(shares - jobs / 3).max() < 5 * np.sqrt(jobs * 2 / 9)
    assert abs(jobs - 80 * 45) < 5 * np.sqrt(80 * 45)
    counts = np.histogram(firsts["planned_s"], bins=np.arange(0.0, 45.01, 0.1))[0]
    assert abs(counts.var() / counts.mean() - 1) < 5 * np.sqrt(2 / len(counts))
    assert len(run_facts(out)["generators"]) == 3


def test_a_worker_that_dies_makes_the_run_invalid(stack: Stack) -> None:
    """Killed in mid-run: exit 3, the others stop as well, and nothing more is sent."""
    stack.compose("up", "-d", "--no-recreate", "--scale", "worker=3", "--scale", "locust=0")
    scenario, out = _scenario(stack, "long.toml", 300), stack.results / "hurt"
    stack.renew_target()
    environment = {**stack.environment, "WORKERS": "3"}
    with subprocess.Popen(
        stack.command(*RUN, scenario, "--out", "/results/hurt", "--json"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=stack.directory,
        env=environment,
    ) as run:
        wait_until(lambda: run_started(out), "the load has begun", 120)
        time.sleep(5)
        subprocess.run(["docker", "kill", stack.containers("worker")[0]["Id"]], check=True)
        said, errors = run.communicate(timeout=90)
    assert run.returncode == 3, errors
    summary = json.loads(said[said.index("{") : said.rindex("}") + 1])
    assert not summary["valid"]
    assert any("worker" in reason for reason in summary["invalid_reasons"])
    time.sleep(2)  # a scrape or two
    sent = "sum(tipover_attempts_total{job='meter'})"
    before = stack.prometheus.value(sent)
    time.sleep(4)
    assert stack.prometheus.value(sent) == before > 100
