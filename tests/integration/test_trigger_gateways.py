"""The trigger test behind gateways that retry on their own: a hidden queue is told, and seen past."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from tests.victims.cases import MOST_TIMEOUTS_TO_VERDICT, Case, Door, Outcome, behind, run_case
from tests.victims.gateways import envoy, haproxy
from tests.victims.processes import free_port
from tests.victims.prometheus import envoy_counter, prometheus
from tests.victims.services import gunicorn

pytestmark = [pytest.mark.sockets, pytest.mark.timeout(400)]

PER_TRY_S = 0.15


@contextmanager
def counted(log: Path) -> Iterator[Door]:
    """Envoy before gunicorn, and a Prometheus that knows what Envoy has sent to it."""
    admin = free_port()
    with (
        gunicorn(log) as backend,
        envoy(log.with_suffix(".gateway"), backend, per_try_timeout_s=PER_TRY_S, admin_port=admin) as url,
        prometheus(envoy_counter(f"http://127.0.0.1:{admin}")) as api,
    ):
        query = "sum(envoy_cluster_upstream_rq_total)"
        yield Door(url, options=("--prometheus", api, "--received", query))


def judged(case: Case, directory: Path, capacity_per_s: float | None = None) -> Outcome:
    """The outcome of a case, at this capacity or the one it finds. Made again, twice at most, if the machine
    did not keep up, or if the capacity changed meanwhile."""
    options = () if capacity_per_s is None else ("--capacity", f"{capacity_per_s:.1f}")
    for _ in range(3):
        outcome = run_case(replace(case, options=options), directory)
        assert "invalid_reasons" in outcome.result, (outcome.result, outcome.said)
        reasons = outcome.result["invalid_reasons"]
        drifted = [warning for warning in outcome.result["warnings"] if "capacity changed" in warning]
        if not reasons and not drifted:
            return outcome
        assert all("lag" in reason or " late" in reason for reason in reasons), reasons
        print(f"made again: {reasons} {drifted}")
    raise AssertionError(f"the machine is too busy for this test: {reasons} {drifted}")


@pytest.fixture(scope="module")
def direct(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    """Past Envoy, at Aρ = 1.5; the capacity that this finds is given to the other tests."""
    victim = behind(envoy, retries=1, per_try_timeout_s=PER_TRY_S, direct=True)
    return judged(Case("direct", victim, 1.5, hidden=2), tmp_path_factory.mktemp("direct"))


@pytest.fixture
def capacity(direct: Outcome) -> float:
    """Of gunicorn with Flask, which is behind all of these gateways."""
    return float(direct.result["capacity_per_s"]["value"])


def check_left(outcome: Outcome) -> None:
    """The test says that the service is healthy, and it is."""
    assert outcome.result["left_healthy"] is True
    assert outcome.answers


def test_a_gateway_that_answers_the_probes_is_told_and_the_drain_is_timed(
    capacity: float, tmp_path: Path
) -> None:
    """What the client alone sends is .75 of the capacity, with the gateway's retries 1.5."""
    if shutil.which("haproxy", path="/usr/sbin:/usr/bin:/usr/local/bin") is None:
        pytest.skip("haproxy is not installed: `make gateways` installs it")
    victim = behind(haproxy, retries=1, server_timeout_s=PER_TRY_S)
    outcome = judged(Case("hidden", victim, 1.5, hidden=2), tmp_path, capacity)
    assert outcome.verdict == "trapped", outcome.shot["evidence"]
    assert outcome.shot["method"] == "drain"
    assert outcome.amplification is not None
    assert outcome.amplification > 4
    assert outcome.shot["amplification"]["low"] < 6 < 1.1 * outcome.shot["amplification"]["high"]
    said = " ".join(outcome.shot["evidence"])
    for part in ("status 504", "hides the queue", "--probe-url", "--received"):
        assert part in said
    check_left(outcome)


@pytest.mark.parametrize("amplified", [0.75, 1.4])
def test_what_the_service_received_shows_the_gateways_retries(
    amplified: float, capacity: float, tmp_path: Path
) -> None:
    """A = 3 attempts × 2 tries by Envoy's own counter, within 15%, and the verdict in time."""
    outcome = judged(Case(f"counted-{amplified}", counted, amplified, hidden=2), tmp_path, capacity)
    assert outcome.verdict == outcome.case.expected, outcome.shot["evidence"]
    assert outcome.shot["method"] == "prometheus"
    assert outcome.amplification == pytest.approx(6.0, rel=0.15)
    assert outcome.timeouts_to_verdict is not None
    assert outcome.timeouts_to_verdict <= MOST_TIMEOUTS_TO_VERDICT
    check_left(outcome)


def test_probes_past_the_gateway_see_its_retries(direct: Outcome) -> None:
    """The same by the work between two probes."""
    assert direct.verdict == "trapped", direct.shot["evidence"]
    assert direct.shot["method"] == "direct probes"
    assert direct.amplification == pytest.approx(6.0, rel=0.15)
    assert direct.timeouts_to_verdict is not None
    assert direct.timeouts_to_verdict <= MOST_TIMEOUTS_TO_VERDICT
    check_left(direct)
