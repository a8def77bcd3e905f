from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from analysis.run_directory import RunFiles
from analysis.summary import analyse
from analysis.validity import assess, generator_health
from tests.analysis.fifo import EMPTY_SERVER, Simulated, kit, simulate
from tests.analysis.run_files import run_json, worker_json, write_run

EXPERIMENT = kit(0.4)  # run ten times as fast: a timeout of one second of the wall clock
SERVER = simulate(EXPERIMENT, until_s=60).server


def files(
    *, run: dict[str, Any] | None = None, workers: int = 1, server: Any = SERVER, **worker: Any
) -> RunFiles:
    return RunFiles(
        Path("run"),
        EXPERIMENT,
        run_json(EXPERIMENT, **(run or {})),
        tuple(worker_json(**worker) for _ in range(workers)),
        server,
    )


def test_good_run_is_valid() -> None:
    """Nothing to say against it, and nothing to warn of."""
    validity = assess(files())
    assert validity.valid
    assert validity.warnings == ()


@pytest.mark.parametrize(
    ("worker", "words"),
    [
        ({"lag_p99_s": 0.12}, "p99 lag 120.0 ms, over the limit of 100.0 ms"),
        ({"lag_max_s": 1.2}, "more than the whole timeout of 1,000.0 ms"),
        ({"cpu_ratio_peak": 0.99, "lag_p99_s": 0.02}, "used 99% of a core at its peak"),
        ({"sent": 999}, "sent 999 of 1,000 planned jobs"),
        ({"sent": 1001}, "sent 1,001 of 1,000 planned jobs"),
        ({"sent": 10, "stopped_by": "the user"}, "was stopped before its load was done: the user"),
        ({"refused_sockets": 3}, "no descriptor or port for 3 attempts"),
        ({"recorder_fault": "disk full"}, "could not record everything: disk full"),
        ({"finished": False}, "did not finish"),
    ],
)
def test_generator_at_fault(worker: dict[str, Any], words: str) -> None:
    """Each fault of the generator makes one reason, with its number."""
    validity = assess(files(**worker))
    assert len(validity.reasons) == 1
    assert words in validity.reasons[0]


@pytest.mark.parametrize(
    ("run", "words"),
    [
        ({"state": "running"}, "did not finish"),
        ({"state": "interrupted", "interrupted_by": "SIGINT"}, "it was interrupted: SIGINT"),
        ({"state": "failed"}, "it failed"),
        ({"workers": 2}, "Only 1 of 2 generator workers"),
        ({"harness_faults": ["the target died"]}, "the target died"),
        ({"kernel": {"listen_overflows": 4, "listen_drops": 0}}, "4 times"),
        ({"kernel": {"listen_overflows": 0, "listen_drops": 5}}, "5 times"),
    ],
)
def test_harness_or_machine_at_fault(run: dict[str, Any], words: str) -> None:
    """Each fault in ``run.json`` makes one reason."""
    validity = assess(files(run=run))
    assert len(validity.reasons) == 1
    assert words in validity.reasons[0]


def test_dropped_connections_of_a_foreign_target_only_warn() -> None:
    """Its listen queue is part of the service."""
    run = {"target": {"url": "http://x", "own": False}, "kernel": {"listen_overflows": 4, "listen_drops": 4}}
    validity = assess(files(run=run))
    assert validity.valid
    assert len(validity.warnings) == 2


def test_drops_at_the_targets_own_socket_decide() -> None:
    """They are the target's fault and nobody else's; the machine's counters then only warn."""
    kernel = {"kernel": {"listen_overflows": 4, "listen_drops": 4}}
    rising = SERVER.assign(listen_drops=range(len(SERVER)))
    (reason,) = assess(files(server=rising, run=kernel)).reasons
    assert f"dropped {len(SERVER) - 1:,} connections before the target" in reason
    quiet = assess(files(server=SERVER.assign(listen_drops=7.0), run=kernel))
    assert quiet.valid
    assert len(quiet.warnings) == 2
    silent = assess(files(server=SERVER.assign(listen_drops=float("nan")), run=kernel))
    assert len(silent.reasons) == 2


def test_kernel_counters_that_could_not_be_read_are_no_fault() -> None:
    """Null says that they are not known."""
    assert assess(files(run={"kernel": {"listen_overflows": None, "listen_drops": None}})).valid
    assert assess(files(run={"kernel": None})).valid


def test_busy_but_punctual_generator_only_warns() -> None:
    """A full core without lag harmed nothing."""
    validity = assess(files(cpu_ratio_peak=0.99))
    assert validity.valid
    assert "kept time" in validity.warnings[0]


def test_target_that_could_not_keep_its_clock() -> None:
    """Late answers over a tenth of the timeout."""
    (reason,) = assess(files(server=SERVER.assign(clock_lag_p99_s=0.15))).reasons
    assert "p99 clock lag 150.0 ms, over the limit of 100.0 ms" in reason


def test_target_that_could_not_keep_its_rate() -> None:
    """It was set to 160 attempts/s; 10% less is not noise over thousands of completions."""
    slow = SERVER.assign(saturated_completed=(SERVER["saturated_completed"] * 0.9).round())
    (reason,) = assess(files(server=slow)).reasons
    assert "instead of 160" in reason


def test_worker_caught_between_planning_and_sending_is_not_at_fault() -> None:
    """Only at its end must a worker have sent all that was due; that it has no end is one reason."""
    (reason,) = assess(files(finished=False, sent=999)).reasons
    assert "did not finish" in reason


def test_target_that_ran_out_of_descriptors(tmp_path: Path) -> None:
    """Connections it could not accept are the machine's fault; the counter is that of its whole life."""
    simulated = simulate(EXPERIMENT, until_s=60)
    during = simulated.server["t_s"] >= 20
    for change, reasons in (({}, []), ({"refused_sockets": 7 + 3.0 * during}, ["3"])):
        server = simulated.server.assign(**{"refused_sockets": 7.0, **change})
        result = analyse(write_run(tmp_path, EXPERIMENT, Simulated(simulated.rows, server)))
        said = [reason.split()[6] for reason in result.invalid_reasons]
        assert said == reasons
        assert all("no descriptor for" in reason for reason in result.invalid_reasons)


def test_target_that_served_others_before_warns() -> None:
    """Its counters and its clock lags are not those of this run alone; rates are, being differences."""
    used = SERVER.assign(
        completed=SERVER["completed"] + 5000,
        saturated_completed=SERVER["saturated_completed"] + 4000,
        saturated_s=SERVER["saturated_s"] + 50,
    )
    validity = assess(files(server=used))
    assert validity.valid
    (warning,) = validity.warnings
    assert "had completed 5," in warning


def test_foreign_service_has_no_clock_to_keep() -> None:
    """Without a setting there is nothing to deviate from."""
    foreign = replace(files(server=EMPTY_SERVER), experiment=replace(EXPERIMENT, service=None))
    assert assess(foreign).valid


def test_worker_that_left_nothing_is_missing() -> None:
    """A generator without a report is no generator."""
    validity = assess(files(workers=0))
    assert "Only 0 of 1" in validity.reasons[0]
    assert generator_health(()) is None


def test_health_over_workers_is_that_of_the_worst() -> None:
    """Counts add up; lags and CPU are the highest."""
    health = generator_health(
        (worker_json(), worker_json(worker=1, lag_p99_s=0.5, cpu_ratio=0.8, recorder_fault="full"))
    )
    assert health is not None
    assert (health.workers, health.planned, health.lag_p99_s, health.cpu_ratio) == (2, 2000, 0.5, 0.8)
    assert health.recorder_fault == "worker 1: full"


def test_unreadable_files_become_warnings() -> None:
    """What was skipped while reading is said."""
    assert assess(replace(files(), warnings=("a",))).warnings == ("a",)
