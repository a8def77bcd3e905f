"""The spike, the most that a test can send, and what has to fit where."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.experiment import Client
from domain.hedging import Hedging
from domain.sockets import SocketLimits
from domain.trigger.fit import duration_fault, faults_in_fit, socket_use
from domain.trigger.plan import Ceiling, Probing, Target, TriggerPlan
from domain.trigger.spike import (
    attempts_at_most,
    extra_jobs,
    probe_rate_per_s,
    spike_for,
    spike_of,
    worst_case,
)

ROOMY = SocketLimits(descriptors=10**9, ports=10**9, port_rest_s=1.0)


def plan(**changes: Any) -> TriggerPlan:
    """A plan at utilization 0.5 with three attempts of a second, whose probes are one a second."""
    usual: dict[str, Any] = {
        "name": "a",
        "target": Target("http://127.0.0.1:8080"),
        "client": Client(1.0, 3),
        "probing": Probing(rate_per_s=1.0),
    }
    return TriggerPlan(**{**usual, **changes})


@given(st.floats(0.01, 0.99), st.floats(1.01, 20), st.floats(0.01, 60), st.none() | st.floats(0.01, 60))
def test_the_spike_leaves_its_dose(rho: float, dose: float, timeout_s: float, length_s: float | None) -> None:
    """(kρ − 1)Δ is the dose in timeouts, whatever its length; so it is a trigger."""
    spike = spike_for(rho, dose, timeout_s, length_s)
    left_s = (spike.factor * rho - 1) * spike.duration_s
    assert left_s == pytest.approx(dose * timeout_s)
    assert spike.duration_s == (timeout_s if length_s is None else length_s)
    assert left_s > timeout_s


def test_the_worst_case_by_hand() -> None:
    """100/s at ρ = 0.5, T = 1 s, dose 2: 50 jobs/s, 300 in the spike's second, three attempts each."""
    worst = worst_case(plan(), 100.0)
    assert worst.normal_per_s == pytest.approx(150)
    assert worst.spike_first_per_s == pytest.approx(300)
    assert worst.peak_per_s == pytest.approx(900 + 1)
    assert worst.duration_s == pytest.approx(6 + 1 + 40 + 120)
    assert worst.attempts == pytest.approx(3 * (50 * 46 + 300) + 50 * 120 + 167)


@pytest.mark.parametrize(("length_s", "share"), [(0.5, 1.0), (1.0, 1.0), (4.0, 0.25)])
def test_the_peak_is_that_of_one_second(length_s: float, share: float) -> None:
    """Of a short spike all jobs fall into one second, of a long one a second's share."""
    asked = plan(spike_s=length_s)
    assert worst_case(asked, 100.0).peak_per_s == pytest.approx(
        150 + 3 * extra_jobs(asked, 100.0) * share + 1
    )


def test_an_endless_client_is_counted_to_the_end_of_the_watch() -> None:
    """Its attempts are as many as fit, so the worst case stays a number."""
    endless = plan(client=Client(0.5, math.inf))
    assert attempts_at_most(endless) == 41
    assert math.isfinite(worst_case(endless, 100.0).attempts)
    # A job of the spike sends a third attempt within the second, the others of normal load all 41.
    assert worst_case(endless, 100.0).peak_per_s == pytest.approx(
        50 * 41 + 3 * extra_jobs(endless, 100.0) + 1
    )


@pytest.mark.parametrize(("capacity", "expected"), [(10.0, 1.0), (100.0, 3.0), (1000.0, 4.0)])
def test_probes_see_the_queue_and_do_not_make_it(capacity: float, expected: float) -> None:
    """Four a timeout, at most three percent of the capacity, but one a timeout at least."""
    asked = plan(probing=Probing())
    assert probe_rate_per_s(asked, capacity) == pytest.approx(expected)


def test_sockets_by_hand() -> None:
    """Open: 150/s for a second, the spike's 250 further jobs, sixty probes; a port rests a minute longer."""
    use = socket_use(plan(), 100.0, 60.0)
    assert use.open_at_once == pytest.approx(150 + 250 + 60)
    # Failing lasts 41 s, which is less than a port rests.
    assert use.ports == pytest.approx(150 * 41 + 3 * 250 + 60 + 41)
    assert socket_use(plan(client=Client(1.0, hedging=Hedging(3, 0.1))), 100.0, 1.0).open_at_once == (
        pytest.approx(150 + 3 * 250 + 60)
    )


@pytest.mark.parametrize(
    ("changes", "limits", "field", "said"),
    [
        (
            {"ceiling": Ceiling(rate_per_s=900.0)},
            ROOMY,
            "limits.rate_per_s",
            "up to 901 attempts in one second",
        ),
        ({"ceiling": Ceiling(attempts=13_966)}, ROOMY, "limits.attempts", "up to 13,967 attempts"),
        ({"ceiling": Ceiling(duration_s=166.0)}, ROOMY, "limits.duration_s", "are 167 s at worst"),
        ({}, SocketLimits(659, 10**6, 1.0), "file descriptors", "460 open at once; with 200 in reserve"),
        ({}, SocketLimits(10**6, 1111, 1.0), "local ports", "takes 1,112 ports, and 1,111 exist"),
    ],
)
def test_what_does_not_fit_is_told_with_the_arithmetic(
    changes: dict[str, Any], limits: SocketLimits, field: str, said: str
) -> None:
    """One below what is needed is refused, and only for that."""
    (fault,) = faults_in_fit(plan(**changes), 100.0, limits)
    assert fault.field == field
    assert said in fault.rule


def test_what_just_fits_is_not_refused() -> None:
    """The same numbers, one higher."""
    asked = plan(ceiling=Ceiling(901.0, 13_967, 167.0))
    assert faults_in_fit(asked, 100.0, SocketLimits(660, 1112, 1.0)) == []
    assert duration_fault(asked) is None


@given(st.floats(1, 1e4), st.floats(1.01, 10))
def test_more_capacity_never_fits_better(capacity: float, factor: float) -> None:
    """All that is counted grows with the capacity."""
    limits = SocketLimits(20_000, 28_232, 60.0)
    told = {fault.field for fault in faults_in_fit(plan(), capacity, limits)}
    assert told <= {fault.field for fault in faults_in_fit(plan(), capacity * factor, limits)}
    assert spike_of(plan()).factor == pytest.approx(6.0)
