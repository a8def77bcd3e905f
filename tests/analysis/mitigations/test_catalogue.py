"""Every mitigation by name: it applies, it is valid, and it changes what it says and nothing else."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest

from analysis.mitigations.catalogue import CATALOGUE, GROUPS, OWN, USUAL, WITHOUT, Choice, bare
from analysis.mitigations.service_side import places
from domain.backoff import FixedBackoff
from domain.errors import ConfigurationError
from domain.experiment import Experiment
from domain.experiment_json import from_json, to_json
from domain.presets import PRESETS
from tipover.scenario import load_scenario

CHANGES = {
    "none": set(),
    "exponential": {"client.backoff"},
    "full-jitter": {"client.backoff"},
    "budget-ratio": {"client.budget"},
    "budget-window": {"client.budget"},
    "budget-aws": {"client.budget"},
    "budget-aws-2026": {"client.budget"},
    "budget-grpc": {"client.budget"},
    "budget-finagle": {"client.budget"},
    "budget-envoy": {"client.budget"},
    "adaptive-throttle": {"client.breaker"},
    "breaker": {"client.breaker"},
    "breaker-polly": {"client.breaker"},
    "deadline": {"client.deadline_s"},
    "hedging": {"client.hedging"},
    "queue-cap": {"admission.queue_cap"},
    "drop-expired": {"admission.drop_expired"},
    "drop-nearly-expired": {"admission.drop_expired", "admission.least_s"},
    "cancel-on-disconnect": {"admission.cancel_on_disconnect"},
    "lifo": {"admission.discipline"},
    "adaptive-lifo": {"admission.discipline"},
    "codel": {"admission.codel"},
    "cap+first-before-retry": {"admission.queue_cap", "admission.first_before_retry"},
    "limit-aimd": {"admission.limit"},
    "limit-vegas": {"admission.limit"},
    "limit-gradient2": {"admission.limit"},
    "limit-envoy": {"admission.limit"},
    "budget+jitter": {"client.budget", "client.backoff"},
    "budget+drop-expired": {"client.budget", "admission.drop_expired"},
    "cap+budget": {"client.budget", "admission.queue_cap"},
    "deadline+drop-expired": {"client.deadline_s", "admission.drop_expired"},
    "adaptive-lifo+codel": {"admission.discipline", "admission.codel"},
    "budget+deadline+limit": {
        "client.budget", "client.deadline_s",
        "admission.drop_expired", "admission.least_s", "admission.limit",
    },
}  # fmt: skip
SET_BY_PRESETS = {
    f"client.{name}"
    for name in ("preset", "max_attempts", "backoff", "budget", "breaker", "propagate", "on_refusal")
}


@pytest.fixture(scope="module")
def trap() -> Experiment:
    """Without what its author expects, which a mitigation does not take over."""
    return replace(load_scenario("f2-40"), expect=None)


def changed(one: Experiment, other: Experiment) -> set[str]:
    """Fields of client, admission and experiment in which they differ."""
    assert one.service is not None
    assert other.service is not None
    pairs = (
        ("client", one.client, other.client),
        ("admission", one.service.admission, other.service.admission),
        ("service", replace(one.service, admission=other.service.admission), other.service),
    )
    found = {
        f"{name}.{field.name}"
        for name, a, b in pairs
        for field in fields(a)
        if getattr(a, field.name) != getattr(b, field.name)
    }
    rest = replace(one, client=other.client, service=other.service)
    return found | ({"experiment"} if rest != other else set())


@pytest.mark.parametrize("name", CATALOGUE)
def test_each_gives_a_valid_experiment(name: str, trap: Experiment) -> None:
    """What a run directory would hold of it reads back as the same, at the wall clock's pace too."""
    made = CATALOGUE[name].apply(trap)
    assert from_json(to_json(made)) == made
    assert from_json(to_json(made.live())) == made.live()


@pytest.mark.parametrize("name", [name for name in CATALOGUE if name not in PRESETS])
def test_each_changes_what_it_says_and_nothing_else(name: str, trap: Experiment) -> None:
    """Against the bare scenario, which the built-in trap is."""
    assert bare(trap) == trap
    assert changed(CATALOGUE[name].apply(trap), trap) == CHANGES[name]


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_sets_the_client_alone(name: str, trap: Experiment) -> None:
    """The timeout is the scenario's own."""
    made = CATALOGUE[name].apply(trap)
    assert made.client.preset == name
    assert changed(made, trap) <= SET_BY_PRESETS


@pytest.mark.parametrize("name", CATALOGUE)
def test_each_is_put_on_the_bare_scenario(name: str, trap: Experiment) -> None:
    """What the scenario itself defends with is taken away first."""
    defended = CATALOGUE["budget+deadline+limit"].apply(trap)
    defended = replace(defended, client=replace(defended.client, backoff=FixedBackoff(1.0)))
    assert CATALOGUE[name].apply(defended) == CATALOGUE[name].apply(trap)


def test_what_is_no_defence_stays(trap: Experiment) -> None:
    """A service that errs keeps erring under every mitigation."""
    assert trap.service is not None
    admission = replace(trap.service.admission, error_rate=0.02, retry_after_s=3.0)
    erring = replace(trap, service=replace(trap.service, admission=admission))
    for mitigation in CATALOGUE.values():
        service = mitigation.apply(erring).service
        assert service is not None
        assert (service.admission.error_rate, service.admission.retry_after_s) == (0.02, 3.0)


def test_a_service_that_drops_what_is_late_is_told_when_that_is(trap: Experiment) -> None:
    """Clients that pass on no deadline would make the mitigation nothing; a notation of their own stays."""
    for told, expected in (("none", "x-deadline"), ("grpc-timeout", "grpc-timeout")):
        silent = replace(trap, client=replace(trap.client, propagate=told))
        for name in ("drop-expired", "deadline+drop-expired"):
            assert CATALOGUE[name].apply(silent).client.propagate == expected


@pytest.mark.parametrize(("speedup", "expected"), [(10.0, 80), (1.0, 800), (1000.0, 1)])
def test_places_are_counted_at_the_pace_of_the_run(trap: Experiment, speedup: float, expected: int) -> None:
    """T·C/2 = 10 s · 160/s / 2 in scenario time; a run ten times as fast has a tenth of the timeout."""
    made = CATALOGUE["queue-cap"].apply(trap.with_run(speedup=speedup))
    assert places(trap.with_run(speedup=speedup)) == expected
    assert made.service is not None
    assert made.service.admission.queue_cap == expected


def test_names_and_groups_choose_and_leave_out(trap: Experiment) -> None:
    """In the catalogue's order, after what all are compared with."""

    def names(**choice: tuple[str, ...]) -> list[str]:
        return [mitigation.name for mitigation in Choice(**choice).mitigations(trap)]

    assert names(only=("lifo", "budget-aws")) == ["none", "budget-aws", "lifo"]
    assert names(only=("none",)) == ["none"]
    assert names(only=("preset",)) == ["none", *PRESETS]
    assert names() == ["none", *(n for n, m in CATALOGUE.items() if m.group in USUAL)]
    service = [n for n, m in CATALOGUE.items() if m.group == "service"]
    left = [name for name in service if name not in ("lifo", "limit-vegas")]
    assert names(only=("service",), skip=("lifo", "limit-vegas")) == ["none", *left]


def test_a_defended_scenario_is_shown_as_it_is_too(trap: Experiment) -> None:
    """Right after the bare one."""
    own = CATALOGUE["budget-grpc"].apply(trap)
    chosen = Choice(only=("lifo",)).mitigations(own)
    assert chosen[:2] == [WITHOUT, OWN]
    assert chosen[0].apply(own) == trap
    assert chosen[1].apply(own) == own


def test_unknown_names_are_told_all_at_once_with_the_known(trap: Experiment) -> None:
    """A name is a mitigation's or a group's."""
    with pytest.raises(ConfigurationError) as caught:
        Choice(only=("lifo", "fifo"), skip=("hedge",)).mitigations(trap)
    assert [(fault.field, fault.value) for fault in caught.value.faults] == [
        ("--only", "fifo"),
        ("--skip", "hedge"),
    ]
    assert all(word in caught.value.faults[0].rule for word in (*CATALOGUE, *GROUPS))


def test_the_closest_names_come_first(trap: Experiment) -> None:
    """As for scenarios."""
    (fault,) = Choice(only=("lfio",)).faults()
    names = fault.rule.split(": ")[1].split(", ")
    assert names[0] == "lifo"
    assert set(names) == {*CATALOGUE, *GROUPS}


@pytest.mark.parametrize(
    ("only", "skip", "left"),
    [
        (("lifo",), ("lifo",), False),
        (("lifo",), ("service",), False),
        ((), USUAL, False),
        (("none",), ("none",), False),
        (("none", "lifo"), ("lifo",), True),
        (("lifo", "codel"), ("lifo",), True),
    ],
)
def test_something_must_be_left(only: tuple[str, ...], skip: tuple[str, ...], left: bool) -> None:
    """The bare scenario alone is a matrix only where it is asked for."""
    faults = Choice(only, skip).faults()
    assert [(fault.field, fault.value) for fault in faults] == ([] if left else [("--skip", ",".join(skip))])


def test_names_serve_as_directories_and_sentences_as_such() -> None:
    """Live runs are kept under the names."""
    for name, mitigation in CATALOGUE.items():
        assert name == mitigation.name
        assert not set(name) & set("/ ,")
        assert mitigation.sentence.endswith(".")


def test_what_the_scenario_expects_is_not_expected_of_a_mitigation() -> None:
    """f2-40 expects a trap, which a budget is there to open; bare, it expects what it did."""
    scenario = load_scenario("f2-40")
    assert scenario.expect is not None
    assert CATALOGUE["none"].apply(scenario).expect == scenario.expect
    assert CATALOGUE["budget-ratio"].apply(scenario).expect is None
    assert CATALOGUE["none"].apply(load_scenario("f2-40-cap")).expect is None
