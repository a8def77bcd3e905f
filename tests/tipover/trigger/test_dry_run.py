"""The dry run: what it works out, what it refuses, what it shows."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import pytest

from analysis import laws
from domain.budgets.finagle import FinagleBudget
from domain.budgets.ratio import RatioBudget
from domain.errors import ConfigurationError
from domain.experiment import Client
from domain.request_mix import RequestMix, RequestTemplate
from domain.sockets import SocketLimits
from domain.trigger.fit import faults_in_fit
from domain.trigger.guards_plan import Guards
from domain.trigger.plan import Ceiling, Target, TriggerPlan
from domain.trigger.spike import spike_of
from loadgen.request import Request, RequestEncoder
from tipover.trigger.dry_run import check_plan, dry_run, largest_capacity_per_s, placed
from tipover.trigger.dry_run_words import dry_run_json, dry_run_text, sent_text
from tipover.trigger.forecast import forecast

LIMITS = SocketLimits(descriptors=20_000, ports=28_232, port_rest_s=1.0)


def plan(**changes: Any) -> TriggerPlan:
    """Three attempts of a second at half of the capacity, on loopback."""
    usual: dict[str, Any] = {
        "name": "a",
        "target": Target("http://127.0.0.1:8080", "127.0.0.1"),
        "client": Client(1.0, 3),
    }
    return TriggerPlan(**{**usual, **changes})


@pytest.mark.parametrize(
    ("rho", "attempts", "outcome"),
    [
        (0.5, 3, "trapped"),
        (0.3, 3, "recovers"),
        (0.6, 2, "trapped"),
        (0.45, 2, "recovers"),
        (0.9, 1, "recovers"),
    ],
)
@pytest.mark.parametrize("capacity", [None, 175.0])
def test_the_forecast_is_the_trap_condition(
    rho: float, attempts: int, outcome: str, capacity: float | None
) -> None:
    """Aρ ≥ 1 is trapped, whatever the capacity; the rest recovers, in a time."""
    told = forecast(plan(utilization=rho, client=Client(1.0, attempts)), capacity)
    assert told.outcome == outcome
    assert told.amplification == attempts
    assert told.threshold == pytest.approx(1 / attempts)
    assert told.amplified_utilization == pytest.approx(attempts * rho)
    assert (told.recovery_s is None) == (outcome == "trapped")


def test_recovery_does_not_depend_on_the_capacity() -> None:
    """The fluid model knows ratios only; nearer to the threshold it takes longer."""
    near, far = plan(utilization=0.3), plan(utilization=0.2)
    assert forecast(near, None).recovery_s == pytest.approx(forecast(near, 175.0).recovery_s or 0, rel=0.02)
    assert (forecast(near, None).recovery_s or 0) > 2 * (forecast(far, None).recovery_s or math.inf)


def test_a_budget_is_the_amplification() -> None:
    """1 + β, and the law's time to recover."""
    asked = plan(utilization=0.8, client=Client(1.0, 3, budget=RatioBudget(0.1)))
    told = forecast(asked, None)
    assert told.amplification == pytest.approx(1.1)
    assert told.recovery_s == pytest.approx(
        laws.recovery_time_s(
            amplification=1.1,
            spike_factor=spike_of(asked).factor,
            utilization=0.8,
            spike_duration_s=1.0,
            timeout_s=1.0,
        )
    )
    assert "full at the start" in told.notes[0]


def test_a_budget_of_a_rate_needs_the_capacity() -> None:
    """Ten free retries a second are many for ten jobs and few for a thousand."""
    asked = plan(client=Client(1.0, math.inf, budget=FinagleBudget(0.2, 10, 10)))
    assert forecast(asked, None).amplification is None
    assert forecast(asked, 100.0).amplification == pytest.approx(1 + 0.2 + 10 / 50)


def test_an_endless_client_is_always_trapped() -> None:
    """A = ∞: no utilization lets go."""
    told = forecast(plan(utilization=0.01, client=Client(1.0, math.inf)), None)
    assert (told.amplification, told.threshold, told.outcome) == (math.inf, 0.0, "trapped")


def test_the_largest_capacity_that_fits_is_the_largest() -> None:
    """A little more does not fit."""
    largest = largest_capacity_per_s(plan(), LIMITS)
    assert faults_in_fit(plan(), largest, LIMITS) == []
    (fault,) = faults_in_fit(plan(), largest * 1.001, LIMITS)
    assert fault.field == "limits.rate_per_s"
    # 5,000 attempts/s are nine capacities, and four probes a second.
    assert largest == pytest.approx((5000 - 4) / 9, rel=1e-6)


def test_a_plan_that_does_not_fit_is_refused_once_the_capacity_is_known() -> None:
    """By the conductor that has just found it, and by the dry run to which it is given."""
    with pytest.raises(ConfigurationError, match="up to 10,804 attempts in one second"):
        check_plan(plan(), 1200.0)
    with pytest.raises(ConfigurationError, match=r"does not fit at a capacity of 1,200/s"):
        dry_run(plan(capacity_per_s=1200.0))
    check_plan(plan(), 200.0)
    with pytest.raises(ConfigurationError, match=r"or in a plan file test\.watch_timeouts or test\.rescue_s"):
        check_plan(plan(ceiling=Ceiling(attempts=100)), 200.0)


def test_without_a_capacity_all_is_in_units_of_it() -> None:
    """The same test with C = 200 has two hundred times as much."""
    unknown, known = dry_run(plan()), dry_run(plan(capacity_per_s=200.0))
    names = [phase.name for phase in unknown.phases]
    assert names == ["reach", "capacity", "baseline", "spike", "watch", "rescue", "check"]
    assert [phase.name for phase in known.phases] == [name for name in names if name != "capacity"]
    for phase in unknown.phases:
        same = next((other for other in known.phases if other.name == phase.name), None)
        if same is not None and phase.attempts_per_s is not None:
            assert same.attempts_per_s == pytest.approx(200 * phase.attempts_per_s)
    assert known.worst.peak_per_s == pytest.approx(200 * unknown.worst.peak_per_s, rel=0.01)
    assert known.worst.attempts == pytest.approx(200 * unknown.worst.attempts, rel=0.02)
    assert known.worst.duration_s == unknown.worst.duration_s == 167
    assert "305" not in dry_run_text(unknown)


def test_people_read_all_that_counts() -> None:
    """Address, requests with the names of secrets, peak, ceilings, prediction and guards."""
    mix = RequestMix(
        (RequestTemplate("POST", "/a", (("Authorization", "${TOKEN}"),), b"1234"), RequestTemplate(weight=3))
    )
    guards = Guards(health_url="http://b/health", prometheus="http://p", stop_query="errors > 1")
    asked = plan(mix=mix, guards=guards, capacity_per_s=175.0, client=Client(0.5, 3), find_threshold=True)
    text = dry_run_text(dry_run(asked, ("look out",)))
    for said in (
        "http://127.0.0.1:8080 → 127.0.0.1",
        "25%  POST /a, body of 4 bytes",
        "75%  GET /",
        "Authorization: ${TOKEN}",
        "6 times the baseline, leaves a queue of 2 timeouts",
        "ceiling 5,000/s",
        "trapped from a utilization of 1/A = 33.3%",
        "Aρ = 1.5, it never recovers by itself",
        "http://b/health must not fail for 2 s",
        "stops when errors > 1 at http://p is above 0, or nothing, for 2 s",
        "to find the threshold",
        "warning: look out",
    ):
        assert said in text
    assert sent_text(dry_run(asked)) in text


def test_requests_of_a_locustfile_are_not_the_mix() -> None:
    """Its class makes them; ``GET /`` is only what stands in a plan that names none."""
    shown = dry_run(plan(locustfile="mine.py"))
    assert "those that the user class of mine.py makes" in dry_run_text(shown)
    assert "GET /" not in dry_run_text(shown)
    assert dry_run_json(shown)["requests"] == []


@pytest.mark.parametrize(
    ("propagate", "told"),
    [
        ("x-deadline", ["X-Request-Id", "X-Attempt", "X-Deadline"]),
        ("grpc-timeout", ["X-Request-Id", "X-Attempt", "grpc-timeout"]),
        ("none", ["X-Request-Id", "X-Attempt"]),
    ],
)
def test_added_headers_are_those_that_are_sent(propagate: Any, told: list[str]) -> None:
    """Shown are the very headers that the encoder adds."""
    shown = dry_run(plan(client=Client(1.0, 3, propagate=propagate)))
    assert dry_run_json(shown)["added_headers"] == told
    assert f"added to each: {', '.join(told)}" in dry_run_text(shown)
    sent = RequestEncoder("h", "run", propagate).encode(Request(), 1, 1, 1.0).decode()
    names = [line.partition(":")[0] for line in sent.split("\r\n") if ": " in line]
    own = {"Host", *Request().headers}
    assert [name for name in names if name not in own] == told


def test_programs_read_the_same() -> None:
    """JSON all through, and what is sent is nothing."""
    data = dry_run_json(dry_run(plan(capacity_per_s=175.0)))
    again = json.loads(json.dumps(data))
    assert again["predicted"]["amplification"] == 3
    assert again["spike"] == {"factor": 6.0, "duration_s": 1.0}
    assert again["worst"]["peak_per_s"] == pytest.approx(9 * 175 + 4)
    assert again["rates_in"] == "1/s"
    assert again["sent"] == 0
    assert dry_run_json(dry_run(plan()))["rates_in"] == "C"


def test_the_target_is_resolved_and_pinned() -> None:
    """The address is the plan's from then on, that of the probes too; an entry's rate is a ceiling."""
    asked = replace(plan(), target=Target("http://127.0.0.1:9", probe_url="http://127.0.0.2:9"))
    found, where = placed(asked, connect=False)
    assert (found.target.address, found.target.probe_address) == ("127.0.0.1", "127.0.0.2")
    assert where.is_loopback
    assert found.ceiling == Ceiling()


def test_an_entry_of_the_allow_list_sets_a_ceiling(tmp_path: Any) -> None:
    """What its owner allows is never exceeded; without an entry another host is refused."""
    elsewhere = replace(plan(), target=Target("http://10.1.2.3"))
    with pytest.raises(ConfigurationError, match="not allowed"):
        placed(replace(elsewhere, guards=Guards(allow_file=None)), connect=False)
    file = tmp_path / "allow.toml"
    file.write_text('[[allow]]\nhost = "10.1.2.3"\nmax_rate_per_s = 500\nnote = "ours"\n')
    found, _ = placed(replace(elsewhere, guards=Guards(allow_file=str(file))), connect=False)
    assert found.ceiling.rate_per_s == 500
    assert found.target.address == "10.1.2.3"


@pytest.mark.parametrize(("capacity", "warns"), [(50.0, False), (1000.0, True), (None, False)])
def test_https_says_what_it_costs_the_generator(capacity: float | None, warns: bool) -> None:
    """And a peak that one process cannot send is warned of."""
    asked = plan(
        target=Target("https://127.0.0.1:8080", "127.0.0.1"),
        capacity_per_s=capacity,
        ceiling=Ceiling(rate_per_s=20_000.0),
    )
    shown = dry_run(asked)
    assert "one generator process tops out near 600 attempts/s" in dry_run_text(shown)
    assert ["over fresh TLS connections" in warning for warning in shown.warnings] == [True] * warns
    in_units = "the peak of this test at a capacity of" in dry_run_text(shown)
    assert in_units == (capacity is None)


def test_http_does_not_speak_of_tls() -> None:
    asked = plan(capacity_per_s=300.0, ceiling=Ceiling(rate_per_s=20_000.0))
    assert "TLS" not in dry_run_text(dry_run(asked))
