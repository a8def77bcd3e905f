"""The trigger test against services nobody here wrote: some of ``tests/victims/cases.py``, both sides of 1/A.

All of them are run by ``make cases``; the table of one such run is in docs/trigger.md.
"""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from tests.victims.cases import MOST_TIMEOUTS_TO_VERDICT, Case, Outcome, case, run_case

pytestmark = [pytest.mark.sockets, pytest.mark.timeout(400)]

PLAIN = ("flask-0.75", "flask-1.50", "flask-threads-1.30", "own-fifo-0.80")
GATEWAYS = {"haproxy-1.30": "haproxy", "nginx-0.75": "nginx"}
PROTECTED = ("own-drop-expired-1.50", "own-cap-1.50", "plain-backlog-5-1.50")


def judged(name: str, directory: Path) -> Outcome:
    """The outcome of a case on a machine that let it run. A test that calls itself invalid because of lag, or
    during which the capacity changed, says nothing of the verdict: it is made again, twice at most."""
    for _ in range(3):
        outcome = run_case(_in_short(case(name)), directory)
        assert outcome.result, outcome.said
        reasons = outcome.result["invalid_reasons"]
        drifted = [warning for warning in outcome.result["warnings"] if "capacity changed" in warning]
        if not reasons and not drifted:
            return outcome
        assert all("lag" in reason or " late" in reason for reason in reasons), reasons
        print(f"made again: {reasons} {drifted}")
    raise AssertionError(f"the machine is too busy for this test: {reasons} {drifted}")


def _in_short(wanted: Case) -> Case:
    """Our own target's capacity is known: 240/s need not be looked for."""
    return replace(wanted, options=("--capacity", "240")) if wanted.name.startswith("own-") else wanted


def check_plain(outcome: Outcome) -> None:
    """Right, close, soon, and the service is left as it was found."""
    assert outcome.verdict == outcome.case.expected, outcome.shot["evidence"]
    assert outcome.amplification == pytest.approx(outcome.case.amplification, rel=outcome.case.tolerance), (
        outcome.shot["evidence"]
    )
    assert outcome.timeouts_to_verdict is not None
    assert outcome.timeouts_to_verdict <= MOST_TIMEOUTS_TO_VERDICT
    check_left(outcome)


def check_left(outcome: Outcome) -> None:
    """The test says that the service is healthy, and it is; the exit code is the verdict's."""
    assert outcome.result["left_healthy"] is True
    assert outcome.answers
    assert outcome.exit_code == (1 if outcome.case.expected == "trapped" else 0)


@pytest.mark.parametrize("name", PLAIN)
def test_a_service_is_judged_rightly_on_both_sides(name: str, tmp_path: Path) -> None:
    """Aρ from .75 to 1.5: trapped iff it is 1 or more."""
    check_plain(judged(name, tmp_path))


@pytest.mark.parametrize("name", GATEWAYS)
def test_so_is_one_behind_a_proxy_that_does_not_retry(name: str, tmp_path: Path) -> None:
    """The queue is the service's, and the probes see it through the proxy."""
    program = GATEWAYS[name]
    if shutil.which(program) is None and shutil.which(program, path="/usr/sbin") is None:
        pytest.skip(f"{program} is not installed: `make gateways` installs it")
    check_plain(judged(name, tmp_path))


@pytest.mark.parametrize("name", PROTECTED)
def test_a_service_that_sheds_is_not_vulnerable(name: str, tmp_path: Path) -> None:
    """Expired work dropped, a queue capped inside the timeout, a short listen queue: at Aρ = 1.5."""
    outcome = judged(name, tmp_path)
    assert outcome.verdict == "not vulnerable", outcome.shot["evidence"]
    check_left(outcome)
