"""The experiment as JSON: what is written is read again, of older versions too, and nonsense is refused."""

from __future__ import annotations

import json
import math
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domain.admission import Admission
from domain.autoscaler import Autoscaler, Doubling, Policies, Policy, Unlimited
from domain.backoff import (
    DecorrelatedJitterBackoff,
    EnvoyBackoff,
    EqualJitterBackoff,
    ExponentialBackoff,
    FinagleJitterBackoff,
    FixedBackoff,
    FullJitterBackoff,
    GrpcBackoff,
    NoBackoff,
)
from domain.breakers.adaptive_throttle import AdaptiveThrottle
from domain.breakers.circuit_breaker import CircuitBreaker
from domain.breakers.none import NoBreaker
from domain.budgets.aws import AwsTokenBucket
from domain.budgets.envoy import EnvoyBudget
from domain.budgets.finagle import FinagleBudget
from domain.budgets.grpc import GrpcThrottle
from domain.budgets.none import NoBudget
from domain.budgets.ratio import RatioBudget
from domain.budgets.window_ratio import WindowRatioBudget
from domain.codel import CoDel
from domain.degradation import Degradation
from domain.errors import ConfigurationError, ExitCode
from domain.experiment import Client, Demand, Expectation, Experiment, Phase, RunSettings, Service
from domain.experiment_json import (
    BACKOFFS,
    BREAKERS,
    BUDGETS,
    LIMITS,
    admission_from_json,
    admission_to_json,
    fleet_from_json,
    fleet_to_json,
    from_json,
    rule_to_json,
    to_json,
)
from domain.fleet import Fleet
from domain.hedging import Hedging
from domain.limits.aimd import AimdLimit
from domain.limits.envoy_gradient import EnvoyGradientLimit
from domain.limits.gradient2 import Gradient2Limit
from domain.limits.vegas import VegasLimit
from domain.service_time import ServiceTime

POSITIVE = st.floats(0.001, 1e6)
SHARE = st.floats(0, 1)
COUNT = st.integers(1, 1000)
NOTHING = st.none()

BACKOFF = st.one_of(
    st.just(NoBackoff()),
    st.builds(FixedBackoff, st.floats(0, 1e6)),
    *(
        st.builds(rule, POSITIVE, POSITIVE)
        for rule in (
            ExponentialBackoff,
            FullJitterBackoff,
            EqualJitterBackoff,
            DecorrelatedJitterBackoff,
            FinagleJitterBackoff,
            EnvoyBackoff,
        )
    ),
    st.builds(GrpcBackoff, POSITIVE, POSITIVE, st.floats(1, 10)),
)
BUDGET = st.one_of(
    st.just(NoBudget()),
    st.builds(RatioBudget, SHARE, st.floats(1, 100)),
    st.builds(WindowRatioBudget, SHARE, POSITIVE),
    st.builds(AwsTokenBucket, st.floats(20, 1000), *(st.floats(0, 20) for _ in range(3))),
    st.builds(GrpcThrottle, st.floats(1, 1000), st.floats(0.01, 10)),
    st.builds(FinagleBudget, SHARE, st.floats(0, 100), st.floats(1, 60)),
    st.builds(EnvoyBudget, SHARE, st.integers(0, 100)),
)
BREAKER = st.one_of(
    st.just(NoBreaker()),
    st.builds(AdaptiveThrottle, st.floats(1, 10), POSITIVE),
    st.builds(
        CircuitBreaker, st.floats(0.01, 1), COUNT, st.floats(0, 100), COUNT, POSITIVE, COUNT, st.floats(0, 9)
    ),
)
RANGE = st.lists(COUNT, min_size=3, max_size=3).map(sorted)
LIMIT = st.one_of(
    st.builds(
        lambda r, share, t: AimdLimit(r[1], r[0], r[2], share, t), RANGE, st.floats(0.5, 0.99), POSITIVE
    ),
    st.builds(lambda r: VegasLimit(r[1], r[2]), RANGE),
    st.builds(
        lambda r, window, queue: Gradient2Limit(r[1], r[0], r[2], window, 2.0, queue, 0.5),
        RANGE,
        COUNT,
        st.floats(0, 9),
    ),
    st.builds(
        lambda r, s, t: EnvoyGradientLimit(r[2], r[0], s, 0.5, t, t), RANGE, st.integers(1, 100), POSITIVE
    ),
)
ADMISSION = st.builds(
    Admission,
    discipline=st.sampled_from(["fifo", "lifo", "adaptive-lifo"]),
    standing=NOTHING | COUNT,
    queue_cap=NOTHING | st.integers(0, 1000),
    drop_expired=st.booleans(),
    least_s=st.floats(0, 10),
    cancel_on_disconnect=st.booleans(),
    codel=NOTHING | st.builds(lambda target, more: CoDel(target, target + more), POSITIVE, POSITIVE),
    limit=NOTHING | LIMIT,
    degradation=NOTHING | st.builds(Degradation, POSITIVE, SHARE),
    retry_after_s=NOTHING | st.floats(0, 100),
    error_rate=st.floats(0, 0.99),
)
ADMISSION |= st.builds(Admission, queue_cap=COUNT, first_before_retry=st.just(True))
CLIENT = st.builds(
    Client,
    timeout_s=POSITIVE,
    max_attempts=st.one_of(st.integers(1, 100), st.just(math.inf)),
    backoff=BACKOFF,
    budget=BUDGET,
    breaker=BREAKER,
    clients=COUNT,
    deadline_s=POSITIVE | st.just(math.inf),
    propagate=st.sampled_from(["x-deadline", "grpc-timeout", "none"]),
    hedging=NOTHING | st.builds(Hedging, st.integers(2, 9), POSITIVE),
    on_rejection=st.sampled_from(["retry", "after-timeout", "give-up"]),
    on_refusal=st.sampled_from(["give-up", "retry"]),
    honours_retry_after=st.booleans(),
    preset=NOTHING | st.text(max_size=9),
)
SERVICE = st.builds(
    Service,
    st.integers(1, 99),
    POSITIVE,
    st.sampled_from([ServiceTime(), ServiceTime("deterministic"), ServiceTime("pareto", 2.5)]),
    ADMISSION,
    st.sampled_from(["shared", "round-robin", "random", "shortest-queue"]),
)
POLICIES = st.lists(st.builds(Policy, st.sampled_from(["percent", "pods"]), COUNT, POSITIVE), max_size=3)
SCALE_UP = st.one_of(
    st.just(Unlimited()),
    st.builds(Doubling, st.floats(1, 10), st.integers(0, 99)),
    st.builds(
        lambda policies, select: Policies(tuple(policies), select if policies else "disabled"),
        POLICIES,
        st.sampled_from(["max", "min", "disabled"]),
    ),
)
AUTOSCALER = st.builds(
    lambda least, more, stabilization_s, rule: Autoscaler(least, least + more, stabilization_s, rule),
    COUNT,
    st.integers(0, 100) | st.just(math.inf),
    st.floats(0, 1e6),
    SCALE_UP,
)
FLEET = st.builds(
    Fleet,
    st.lists(st.sampled_from(["cpu", "ingress", "first"]), min_size=1, unique=True).map(tuple),
    target_utilization=st.floats(0.001, 1),
    dead_time_s=st.floats(0, 1e6),
    sync_period_s=POSITIVE,
    metric_lag_s=st.floats(0, 1e6),
    cpu_window_s=POSITIVE,
    rate_window_s=POSITIVE,
    limit_over_request=POSITIVE,
    tolerance=st.floats(0, 0.99),
    autoscaler=AUTOSCALER,
)
PHASES = st.lists(
    st.builds(Phase, st.text(max_size=9), POSITIVE, st.floats(0, 9), SHARE), min_size=1, max_size=4
).map(tuple)
EXPECT = st.builds(
    Expectation,
    st.sampled_from(["healthy", "recovers", "trapped"]),
    NOTHING | POSITIVE,
    POSITIVE,
    st.sampled_from([None, "recovers", "trapped"]),
    NOTHING | POSITIVE,
    st.text(max_size=9),
)
EXPERIMENT = st.builds(
    Experiment,
    name=st.text(max_size=9),
    title=st.text(max_size=9),
    client=CLIENT,
    demand=st.builds(Demand, POSITIVE, PHASES, st.sampled_from(["poisson", "uniform"])),
    service=NOTHING | SERVICE,
    run=st.builds(RunSettings, POSITIVE, st.integers(0, 2**63 - 1)),
    expect=NOTHING | EXPECT,
    fleet=NOTHING | FLEET,
)


def through_json(value: dict[str, Any]) -> dict[str, Any]:
    """As another process gets it."""
    read: dict[str, Any] = json.loads(json.dumps(value, allow_nan=False))
    return read


@settings(max_examples=200, deadline=None)
@given(EXPERIMENT)
def test_every_experiment_survives_json(experiment: Experiment) -> None:
    """Whatever can be run can be written down, and read again as the same value."""
    assert from_json(through_json(to_json(experiment))) == experiment


@settings(max_examples=100, deadline=None)
@given(ADMISSION)
def test_every_admission_survives_json(admission: Admission) -> None:
    """The defences alone too, as the target is handed them."""
    assert admission_from_json(through_json(admission_to_json(admission))) == admission


@settings(max_examples=100, deadline=None)
@given(FLEET)
def test_every_fleet_survives_json(fleet: Fleet) -> None:
    """Alone too, as an autoscaler is handed it."""
    assert fleet_from_json(through_json(fleet_to_json(fleet))) == fleet


def test_all_that_is_wrong_with_a_fleet_is_told() -> None:
    """As a configuration error, with every fault."""
    with pytest.raises(ConfigurationError) as caught:
        fleet_from_json(
            {
                "signals": ["first", "memory"],
                "dead_time_s": "soon",
                "autoscaler": {"min_pods": 3, "max_pods": 2},
                "colour": "red",
            }
        )
    assert caught.value.exit_code is ExitCode.CONFIGURATION
    assert [fault.field for fault in caught.value.faults] == [
        "fleet.colour",
        "fleet.signals[1]",
        "fleet.dead_time_s",
        "fleet.autoscaler",
    ]
    assert "min_pods: must be from 1 to max_pods" in str(caught.value)
    with pytest.raises(ConfigurationError, match=r"scale_up\.kind: must be one of unlimited, doubl"):
        fleet_from_json({"signals": ["cpu"], "autoscaler": {"scale_up": {"kind": "triple"}}})


def test_every_rule_there_is_can_be_read() -> None:
    """No subclass of a family is forgotten: the kinds are those the project promises."""
    assert set(BACKOFFS) == {
        "none",
        "fixed",
        "exponential",
        "full-jitter",
        "equal-jitter",
        "decorrelated-jitter",
        "finagle-jitter",
        "grpc",
        "envoy",
    }
    assert set(BUDGETS) == {
        "none",
        "ratio",
        "window-ratio",
        "aws-token-bucket",
        "grpc-throttle",
        "finagle",
        "envoy",
    }
    assert set(BREAKERS) == {"none", "adaptive-throttle", "circuit-breaker"}
    assert set(LIMITS) == {"aimd", "vegas", "gradient2", "envoy-gradient"}
    assert rule_to_json(FixedBackoff(2.0)) == {"kind": "fixed", "fixed_s": 2.0}


OLD: dict[str, Any] = {
    "name": "f2-40",
    "title": "a trap",
    "client": {
        "timeout_s": 10.0,
        "max_attempts": "inf",
        "backoff": {"kind": "exponential", "base_s": 10.0, "cap_s": 80.0},
    },
    "demand": {
        "arrival_rate_per_s": 64.0,
        "phases": [{"name": "a", "duration_s": 1.0, "factor": 1.0, "capacity_factor": 1.0}],
        "arrivals": "poisson",
    },
    "service": {"pods": 4, "rate_per_pod": 40.0, "service_time": "exponential", "discipline": "fifo"},
    "run": {"speedup": 10.0, "seed": 1},
    "expect": None,
}


@pytest.mark.parametrize("service_time", ["exponential", {"kind": "exponential", "shape": None}])
def test_runs_of_older_versions_are_read(service_time: object) -> None:
    """They know no budgets and no admission; the service itself had the discipline."""
    old = deepcopy(OLD)
    old["service"]["service_time"] = service_time
    assert from_json(old) == Experiment(
        "f2-40",
        "a trap",
        Client(10.0, math.inf, ExponentialBackoff(10.0, 80.0)),
        Demand(64.0, (Phase("a", 1.0),)),
        Service(4, 40.0),
        RunSettings(10.0, 1),
    )


def test_more_than_the_whole_capacity_is_read() -> None:
    """No scenario file may ask for it, but an experiment may have it, and so may a run of one."""
    grown = deepcopy(OLD)
    grown["demand"]["phases"][0]["capacity_factor"] = 1.5
    assert from_json(grown).demand.phases == (Phase("a", 1.0, capacity_factor=1.5),)


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        ("client.timeout_s", "soon", r"client\.timeout_s: must be a number of at least 0 \(got 'soon'\)"),
        ("client.timeout_s", math.nan, r"client\.timeout_s: must be a number of at least 0"),
        ("client.timeout_s", 10**400, r"client\.timeout_s: must be less than 2\^63"),
        ("client.timeout_s", 0, r"client\.timeout_s: must be above 0 \(got 0\)"),
        ("client.deadline_s", 0.0, r"client\.deadline_s: must be above 0 \(got 0\.0\)"),
        ("client.clients", 0, r"client\.clients: must be above 0"),
        ("client.max_attempts", 0, r"client\.max_attempts: must be at least 1, .* \(got 0\)"),
        ("service.pods", 0, r"service\.pods: must be above 0"),
        ("service.rate_per_pod", 0.0, r"service\.rate_per_pod: must be above 0"),
        ("run.speedup", 0, r"run\.speedup: must be above 0 \(got 0\)"),
        ("client.clients", True, r"client\.clients: must be a whole number of at least 0 \(got True\)"),
        (
            "client.backoff",
            {"kind": "lucky"},
            r"client\.backoff\.kind: must be one of none, fixed, .*'lucky'",
        ),
        ("client.backoff", {"kind": "fixed"}, r"client\.backoff\.fixed_s: is required"),
        ("client.budget", 3, r"client\.budget: must be a JSON object \(got 3\)"),
        ("client.propagate", "smoke", r"client\.propagate: must be one of x-deadline, grpc-timeout, none"),
        ("client.patience", 1, r"client\.patience: is not one of timeout_s, .*\(got 1\)"),
        ("demand.phases", {}, r"demand\.phases: must be a list"),
        ("demand.phases", [], r"demand\.phases: must last longer than 0 s in all \(got 0\.0\)"),
        ("demand.phases", [{"name": "a", "duration_s": 0}], r"demand\.phases: must last longer than 0 s"),
        (
            "demand.phases",
            [{"name": 7, "duration_s": 1}],
            r"demand\.phases\[0\]\.name: must be text \(got 7\)",
        ),
        ("service.service_time", {"kind": "pareto", "shape": 1}, r"shape: must be the tail index"),
        ("service.pods", 2.5, r"service\.pods: must be a whole number"),
        ("run", None, r"^run: must be a JSON object$"),
    ],
)
def test_what_is_no_experiment_is_refused_with_its_place(place: str, value: object, message: str) -> None:
    """The error names the field, the rule and the value."""
    data: Any = deepcopy(OLD)
    at, (*path, last) = data, place.split(".")
    for part in path:
        at = at[part]
    at[last] = value
    with pytest.raises(ValueError, match=message):
        from_json(data)


def test_all_that_is_wrong_with_an_admission_is_told() -> None:
    """As a configuration error, with every fault."""
    nonsense = {
        "queue_cap": -1,
        "drop_expired": "yes",
        "error_rate": 1.5,  # a share
        "limit": {"kind": "aimd", "initial": 5, "least": 20},
        "colour": "red",
    }
    with pytest.raises(ConfigurationError) as caught:
        admission_from_json(nonsense)
    assert caught.value.exit_code is ExitCode.CONFIGURATION
    assert [fault.field for fault in caught.value.faults] == [
        "admission.colour",
        "admission.queue_cap",
        "admission.drop_expired",
        "admission.limit",
        "admission.error_rate",
    ]
    assert "initial: must be from 20 to 200" in str(caught.value)
    with pytest.raises(ConfigurationError, match=r"admission: must be a JSON object \(got \[\]\)"):
        admission_from_json([])
