"""The load is open: what is sent when depends on the plan alone."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from domain.backoff import FixedBackoff
from domain.streams import stream
from tests import servers
from tests.loadgen.generation import generate, small_experiment
from tests.servers import serving

pytestmark = pytest.mark.sockets


@pytest.mark.parametrize("behaviour", [servers.friendly, servers.silent])
def test_first_attempts_are_planned_by_the_arrivals_alone(
    behaviour: servers.Behaviour, tmp_path: Path
) -> None:
    """The planned starts in the trace are the plan's to the last digit, healthy or hanging."""
    experiment = small_experiment(rate_per_s=200)
    with serving(behaviour) as log:
        result = generate(experiment, log.port, tmp_path)
    first = result.trace[result.trace.attempt == 1].sort_values("job_id")
    planned = experiment.arrival_plan.draw(stream(experiment.run.seed, "arrivals"))
    np.testing.assert_array_equal(first.planned_s.to_numpy(), planned)
    assert (first.sent_s >= first.planned_s - 1e-6).all()
    assert result.health["planned"] == result.health["sent"] == len(planned)


def test_a_retry_is_planned_at_the_failure_plus_the_backoff(tmp_path: Path) -> None:
    """A retry is planned at the end of the attempt before it plus the delay, and not sent sooner."""
    backoff = FixedBackoff(0.1)
    with serving(servers.silent) as log:
        result = generate(small_experiment(backoff=backoff), log.port, tmp_path)
    trace = result.trace.set_index(["job_id", "attempt"]).sort_index()
    second = trace.xs(2, level="attempt")
    first = trace.xs(1, level="attempt").loc[second.index]
    np.testing.assert_array_equal(second.planned_s, first.done_s + 0.1)
    assert (second.sent_s >= second.planned_s - 0.002).all()


def test_an_endless_client_retries_until_the_end(tmp_path: Path) -> None:
    """With m = ∞ a job goes on as long as the run does."""
    with serving(servers.silent) as log:
        result = generate(
            small_experiment(rate_per_s=10, timeout_s=0.1, max_attempts=math.inf), log.port, tmp_path
        )
    attempts = result.trace.groupby("job_id").attempt.max()
    assert attempts.iloc[0] >= 5


def test_an_endless_client_against_a_closed_port_is_paced_and_can_end(tmp_path: Path) -> None:
    """Refused at once, each job sends at most one attempt in 10 ms, and the run ends when it should."""
    with serving(servers.friendly) as log:
        port = log.port
    result = generate(small_experiment(rate_per_s=5, max_attempts=math.inf), port, tmp_path)
    assert set(result.trace.outcome) == {"error"}
    gaps = result.trace.sort_values(["job_id", "attempt"]).groupby("job_id").sent_s.diff().dropna()
    assert len(gaps) > 10
    assert gaps.min() >= 0.01 - 0.001
    assert result.health["elapsed_s"] < 20


def test_a_client_that_is_refused_at_once_still_makes_all_its_attempts(tmp_path: Path) -> None:
    """With an attempt limit nothing is paced: ten attempts follow one another."""
    with serving(servers.friendly) as log:
        port = log.port
    result = generate(small_experiment(rate_per_s=5, max_attempts=10), port, tmp_path)
    assert (result.trace.groupby("job_id").attempt.max() == 10).all()
    assert result.trace.sent_s.max() <= 1.0 + 0.1


def test_attempts_open_at_a_flush_are_on_disk_before_they_end(tmp_path: Path) -> None:
    """Every part written during the run shows what was open when it was closed."""
    experiment = small_experiment(rate_per_s=20, duration_s=3.0, timeout_s=1.5, max_attempts=1)
    with serving(servers.silent) as log:
        result = generate(experiment, log.port, tmp_path)
    still_open = result.rows[result.rows.outcome.isna()]
    assert len(still_open) > 0
    finished = set(zip(result.trace.job_id, result.trace.attempt, strict=True))
    assert set(zip(still_open.job_id, still_open.attempt, strict=True)) <= finished
