from __future__ import annotations

import inspect
import math
import subprocess
import sys

import pytest

from analysis import laws
from analysis.laws.checks import RULES
from domain.experiment import Client

NAN = math.nan
GOOD = {
    "amplification": 2.0,
    "arrival_rate_per_s": 1.0,
    "base_failure": 0.1,
    "budget": 0.5,
    "capacity_ceiling_per_s": 10.0,
    "capacity_per_s": 10.0,
    "client": Client(1.0, 3),
    "cut_duration_s": 1.0,
    "cut_factor": 2.0,
    "depth": 1.0,
    "dispersion": 1.0,
    "squared_variation": 1.0,
    "drift_per_s": 1.0,
    "failure_probability": 0.5,
    "hops": 2,
    "load": 0.5,
    "max_attempts": 3.0,
    "offered_utilization": 0.5,
    "queue_cap": 2,
    "ratio": 0.1,
    "retry_cost": 5.0,
    "services": 3,
    "slack": 2.0,
    "spike_duration_s": 300.0,
    "spike_factor": 5.0,
    "steps": 3,
    "target_utilization": 0.5,
    "timeout_s": 10.0,
    "timeout_slack": 3.5,
    "tolerance": 0.01,
    "utilization": 0.4,
    "variance": 1.0,
}
EVERY_LAW = [
    getattr(laws, name)
    for name in laws.__all__
    if inspect.isfunction(getattr(laws, name))
    and name not in ("check", "layered_amplification", "fixed_point_enclosure", "decide")
]


@pytest.mark.parametrize("law", EVERY_LAW, ids=lambda law: law.__name__)
def test_every_law_refuses_nan_and_less_than_nothing_in_every_field(law: object) -> None:
    """Whatever the field: never NaN in, NaN out."""
    fields = list(inspect.signature(law).parameters)  # type: ignore[arg-type]
    values = {field: GOOD[field] for field in fields}
    assert law(**values) is not None  # type: ignore[operator]
    for field in set(fields) - {"client"}:
        for bad in (NAN, -1.0):
            # A law may take rates and speak of the utilization they come to.
            with pytest.raises(laws.DomainError, match=rf"^({field}|utilization): must .* \(got "):
                law(**{**values, field: bad})  # type: ignore[operator]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: laws.trap_threshold(0.5), "amplification: must be at least 1 (got 0.5)"),
        (lambda: laws.is_trap(2, math.inf), "utilization: must be finite and at least 0 (got inf)"),
        (lambda: laws.spike_wait_s(0, 0.5, 1), "spike_factor: must be positive and finite (got 0)"),
        (
            lambda: laws.capacity_cut_wait_s(cut_factor=0, utilization=1, cut_duration_s=1),
            "cut_factor: must be positive (got 0)",
        ),
        (lambda: laws.retry_amplification(3, 1.5), "failure_probability: must lie in [0, 1] (got 1.5)"),
        (lambda: laws.hop_amplification(3, 0), "hops: must be a whole number of at least 1 (got 0)"),
        (
            lambda: laws.hop_amplification(3, 1000),
            "hops: must be smaller: 3^1000 is more than a float can hold (got 1000)",
        ),
        (
            lambda: laws.call_tree_load(1, 9, 400),
            "services: must be smaller: 9^399 is more than a float can hold (got 400)",
        ),
        (lambda: laws.layered_amplification([3, 0.5]), "amplification: must be at least 1 (got 0.5)"),
        (lambda: laws.timeout_kernel(1.1, 5), "offered_utilization: must lie in [0, 1] (got 1.1)"),
        (lambda: laws.collapse_ceiling(math.inf), "timeout_slack: must be positive and finite (got inf)"),
        (lambda: laws.tight_ceiling(4), "timeout_slack: must be below 4 for the limit θ → 0 (got 4)"),
        (lambda: laws.patient_ceiling(1), "timeout_slack: must be above 1 for the limit θ → ∞ (got 1)"),
        (
            lambda: laws.capped_timeout_probability(2.5, 5),  # type: ignore[arg-type]
            "queue_cap: must be a whole number of at least 0 (got 2.5)",
        ),
        (
            lambda: laws.largest_breaking_cap(1, 6),
            "timeout_slack: must be above ln m = 1.79176 for any cap to break the loop (got 1)",
        ),
        (
            lambda: laws.largest_breaking_cap(5, math.inf),
            "max_attempts: must be finite: no cap stops ∞ (got inf)",
        ),
        (
            lambda: laws.aws_drain_point(5, 1),
            "max_attempts: must be above 1: without retries nothing drains (got 1)",
        ),
        (
            lambda: laws.spike_triggers(spike_factor=2, utilization=1, spike_duration_s=1, timeout_s=1),
            "utilization: must be below 1: from 1 on it needs no trigger (got 1)",
        ),
    ],
)
def test_errors_name_field_rule_and_value(call: object, message: str) -> None:
    """The whole message."""
    with pytest.raises(ValueError, match="must") as raised:
        call()  # type: ignore[operator]
    assert str(raised.value) == message


def test_all_faults_of_a_call_are_told_at_once() -> None:
    """In the order of the fields."""
    with pytest.raises(laws.DomainError) as raised:
        laws.recovery_time_s(
            amplification=0, spike_factor=-1, utilization=0.5, spike_duration_s=1, timeout_s=NAN
        )
    assert [fault.field for fault in raised.value.faults] == ["amplification", "spike_factor", "timeout_s"]


def test_infinity_is_welcome_where_it_means_something() -> None:
    """Endless clients, outages and unlimited replicas."""
    for field in ("amplification", "max_attempts", "cut_factor", "capacity_ceiling_per_s"):
        assert RULES[field].holds(math.inf)


def test_laws_are_light() -> None:
    """Importing them loads neither NumPy nor SciPy: the commands must start fast."""
    code = "import sys; from analysis import laws; print([m for m in ('numpy', 'scipy') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
