"""What a run says of a mitigation, on runs made up by hand."""

from __future__ import annotations

import math
from dataclasses import dataclass

import pandas as pd
import pytest

from analysis.mitigations.score import (
    Score,
    Stretch,
    answers,
    attempts_per_job,
    latencies,
    longest_job_s,
    score,
    stretch,
    wasted_share,
)
from analysis.run_directory import SERVER_COLUMNS
from analysis.trace import Attempts, attempts_of, resolve
from domain.experiment import Client, Demand, Experiment, Phase, RunSettings, Service
from domain.trace import TRACE_SCHEMA
from tests.analysis.fifo import simulate


@dataclass
class Row:
    """One attempt; ``planned`` is when its job was due."""

    job: int
    attempt: int
    planned: float
    done: float
    outcome: str
    status: int = 0


def attempts(*rows: Row) -> Attempts:
    """As read from a run directory."""
    blank = dict.fromkeys(TRACE_SCHEMA.names, None)
    frame = pd.DataFrame(
        [
            {
                **blank,
                "job_id": r.job,
                "attempt": r.attempt,
                "planned_s": r.planned,
                "sent_s": r.planned,
                "done_s": r.done,
                "outcome": r.outcome,
                "status": r.status,
                "worker": 0,
            }
            for r in rows
        ]
    )
    return attempts_of(resolve(frame))


FOUR = attempts(
    Row(1, 1, 0.0, 0.2, "ok", 200),
    Row(2, 1, 1.0, 1.0, "refused"),
    Row(3, 1, 2.0, 2.1, "rejected", 503),
    Row(3, 2, 2.1, 2.6, "ok", 200),
    Row(4, 1, 3.0, 3.1, "rejected", 500),
    Row(4, 2, 3.1, 4.1, "timeout"),
)
"""Answered at once; refused by the client; turned away, then answered; an error, then a timeout."""


def test_a_stretch_in_shares() -> None:
    """Four jobs, five attempts sent, two answers."""
    assert stretch(FOUR, 0.0, 4.0) == Stretch(
        jobs=4, answered=0.5, refused=0.25, turned_away=0.25, rejected=0.2, attempts=1.25, goodput_per_s=0.5
    )


def test_jobs_belong_to_when_they_are_due_and_attempts_to_when_they_are_sent() -> None:
    """The third job's retry is sent after 2.05 s, where no job is due."""
    after = stretch(FOUR, 2.05, 2.5)
    assert (after.jobs, after.attempts, after.rejected) == (0, None, 0.0)
    assert stretch(FOUR, 2.0, 2.05).answered == 1.0


def test_an_error_is_no_rejection() -> None:
    """Only 429 and 503 say that the service turned the attempt away."""
    assert stretch(FOUR, 3.0, 4.0).turned_away == 0.0
    assert stretch(attempts(Row(1, 1, 0.0, 0.1, "rejected", 429)), 0.0, 1.0).turned_away == 1.0


def test_nothing_has_no_shares() -> None:
    """Neither has an empty stretch a rate."""
    assert stretch(FOUR, 9.0, 9.0) == Stretch(0, None, None, None, None, None, None)


def test_latency_counts_from_when_the_job_was_due_to_its_first_answer() -> None:
    """0.2 s and, over two attempts, 0.6 s; a second answer to a job changes nothing."""
    assert latencies(FOUR, 0.0, 4.0) == pytest.approx((0.4, 0.2 + 0.99 * 0.4))
    hedged = attempts(Row(1, 1, 0.0, 0.7, "ok", 200), Row(1, 2, 0.5, 0.6, "ok", 200))
    assert latencies(hedged, 0.0, 1.0) == pytest.approx((0.6, 0.6))
    assert answers(hedged, 0.0, 1.0) == 1
    assert latencies(FOUR, 1.0, 2.0) == (None, None)


def test_attempts_by_job_follow_a_job_beyond_the_window() -> None:
    """The fourth job's second attempt is sent after 3.05 s; a job that is refused has none."""
    assert attempts_per_job(FOUR, 3.0, 3.05) == 2.0
    assert attempts_per_job(FOUR, 0.0, 4.0) == 1.25
    assert attempts_per_job(FOUR, 4.0, 5.0) is None


def test_the_longest_job_lasts_to_the_end_of_its_last_attempt() -> None:
    """From when it was due; one that has not ended has no length."""
    assert longest_job_s(FOUR, 0.0, 3.0) == pytest.approx(0.6)
    assert longest_job_s(FOUR, 0.0, 4.0) == pytest.approx(1.1)
    assert longest_job_s(FOUR, 9.0, 10.0) == 0.0
    assert longest_job_s(attempts(Row(1, 1, 0.0, math.nan, "aborted")), 0.0, 1.0) == math.inf


def test_the_storm_s_answers_are_of_the_jobs_of_trigger_and_watch() -> None:
    """Each job counts once: 100 of which half, and 300 of which all."""
    spike, after, none = (
        Stretch(jobs, answered, 0.0, 0.0, 0.0, 1.0, 1.0)
        for jobs, answered in ((100, 0.5), (300, 1.0), (0, None))
    )

    def answered(trigger: Stretch | None, watch: Stretch) -> float | None:
        return Score("recovered", 1.0, 1.0, None, None, None, None, none, trigger, watch).storm_answered

    assert answered(spike, after) == pytest.approx(0.875)
    assert answered(None, after) == 1.0
    assert answered(spike, none) == 0.5
    assert answered(none, none) is None


def server(*rows: tuple[float, float, float]) -> pd.DataFrame:
    """Scrapes of time, busy seconds and abandoned seconds."""
    frame = pd.DataFrame(rows, columns=["t_s", "busy_s", "abandoned_s"])
    return frame.reindex(columns=list(SERVER_COLUMNS)).astype("float64")


def test_wasted_is_abandoned_over_busy_between_two_moments() -> None:
    """Between the scrapes the counters are taken to grow evenly."""
    scrapes = server((0.0, 0.0, 0.0), (10.0, 8.0, 0.0), (20.0, 28.0, 15.0))
    assert wasted_share(scrapes, 10.0, 20.0) == pytest.approx(0.75)
    assert wasted_share(scrapes, 0.0, 20.0) == pytest.approx(15 / 28)
    assert wasted_share(scrapes, 15.0, 20.0) == pytest.approx(0.75)


@pytest.mark.parametrize(
    "scrapes",
    [
        server(),
        server((0.0, math.nan, math.nan), (9.0, math.nan, math.nan)),
        server((0.0, 1.0, 0.0), (9.0, 1.0, 0.0)),
    ],
)
def test_a_service_that_tells_nothing_or_does_nothing_wastes_nothing_known(scrapes: pd.DataFrame) -> None:
    """None, not 0."""
    assert wasted_share(scrapes, 0.0, 9.0) is None


def storm(max_attempts: int) -> Experiment:
    """A fourfold spike at 45%, ten times as fast."""
    service = Service(4, 50.0)
    return Experiment(
        name="storm",
        title="storm",
        client=Client(timeout_s=10.0, max_attempts=max_attempts),
        demand=Demand(90.0, (Phase("before", 30.0), Phase("spike", 30.0, 4.0), Phase("watch", 240.0))),
        service=service,
        run=RunSettings(10.0, 1),
    )


def test_a_trap_and_a_recovery_are_scored() -> None:
    """In scenario time, from the same simulation that makes the other tests' run directories."""
    trapped, recovered = (
        score(attempts_of(run.attempts), run.server, experiment)
        for experiment in (storm(3), storm(1))
        for run in [simulate(experiment)]
    )
    assert (trapped.outcome, recovered.outcome) == ("trapped", "recovered")
    assert trapped.recovery_s is None
    assert recovered.recovery_s is not None
    assert 0 < recovered.recovery_s < 120
    assert trapped.amplification == pytest.approx(3.0)
    assert trapped.before.answered == recovered.before.answered == 1.0
    assert trapped.watch.answered is not None
    assert recovered.watch.answered is not None
    assert trapped.watch.answered < 0.1
    assert recovered.watch.answered > 0.7
    assert trapped.latency_p50_s is not None
    # One server of 200/s, ten times as fast: an M/M/1 sojourn at 45%, whose median is ln 2 · 0.05 s / 0.55.
    assert trapped.latency_p50_s == pytest.approx(0.063, rel=0.25)
