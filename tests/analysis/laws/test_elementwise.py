from __future__ import annotations

import math

import numpy as np
import pytest

from analysis import laws

THETA = np.array([0.5, 2.0, 5.0])
RHO = np.array([[0.1], [0.4]])
ARRAYS = [
    (laws.trap_threshold, {"amplification": THETA + 1}),
    (laws.is_trap, {"amplification": THETA + 1, "utilization": RHO}),
    (laws.trapped_ingress_per_s, {"amplification": 3, "arrival_rate_per_s": RHO}),
    (laws.spike_wait_s, {"spike_factor": 5, "utilization": RHO, "spike_duration_s": THETA}),
    (
        laws.spike_triggers,
        {"spike_factor": 5, "utilization": RHO, "spike_duration_s": 300, "timeout_s": 10},
    ),
    (laws.capacity_cut_wait_s, {"cut_factor": math.inf, "utilization": RHO, "cut_duration_s": 60}),
    (
        laws.cut_triggers,
        {"cut_factor": math.inf, "utilization": RHO, "cut_duration_s": 4, "timeout_s": THETA},
    ),
    (laws.time_to_first_timeout_s, {"spike_factor": 5, "utilization": RHO, "timeout_s": THETA}),
    (
        laws.recovery_time_s,
        {
            "amplification": 3,
            "spike_factor": 5,
            "utilization": RHO,
            "spike_duration_s": 300,
            "timeout_s": THETA,
        },
    ),
    (laws.drain_time_s, {"depth": THETA, "capacity_per_s": 1, "arrival_rate_per_s": RHO, "amplification": 3}),
    (laws.retry_amplification, {"max_attempts": [1, 3, math.inf], "failure_probability": RHO}),
    (laws.hop_amplification, {"max_attempts": THETA + 1, "hops": [1, 2, 3]}),
    (laws.budget_amplification, {"budget": THETA}),
    (laws.timeout_kernel, {"offered_utilization": RHO, "timeout_slack": THETA}),
    (laws.steady_utilization, {"offered_utilization": RHO, "timeout_slack": THETA, "max_attempts": 6}),
    (laws.collapse_ceiling, {"timeout_slack": THETA, "max_attempts": [[2], [math.inf]]}),
    (laws.is_bistable, {"timeout_slack": THETA, "max_attempts": [[2], [3]]}),
    (laws.healthy_offered_utilization, {"utilization": 0.05, "timeout_slack": THETA}),
    (laws.separatrix_depth, {"utilization": 0.1, "timeout_slack": THETA}),
    (laws.capped_timeout_probability, {"queue_cap": [[0], [3]], "timeout_slack": THETA}),
    (laws.call_tree_load, {"failure_probability": RHO, "max_attempts": 3, "services": [2, 5]}),
    (laws.first_attempt_scaler_trapped, {"amplification": THETA + 1, "target_utilization": RHO}),
    (laws.aws_drain_point, {"retry_cost": THETA}),
    (laws.fixed_point_load, {"utilization": RHO, "max_attempts": 4, "base_failure": [0.1, 0.5]}),
]


@pytest.mark.parametrize(("law", "values"), ARRAYS, ids=lambda value: getattr(value, "__name__", ""))
def test_arrays_give_what_each_element_gives(law: object, values: dict[str, object]) -> None:
    """Broadcast, and equal to the last bit; floats stay floats and yes or no stays bool."""
    got = law(**values)  # type: ignore[operator]
    spread = np.broadcast_arrays(*values.values())
    assert isinstance(got, np.ndarray)
    assert got.shape == spread[0].shape
    for index in np.ndindex(got.shape):
        alone = law(**{k: a[index].item() for k, a in zip(values, spread, strict=True)})  # type: ignore[operator]
        assert type(alone) in (float, bool)
        assert got[index] == alone
        assert got.dtype == type(alone)


def test_numbers_of_numpy_are_numbers() -> None:
    """A NumPy scalar and an array of no dimension give a plain float."""
    for theta in (np.float64(5), np.array(5.0), np.int64(5), np.float32(5)):
        assert type(laws.collapse_ceiling(theta)) is float
    assert type(laws.is_trap(np.float64(3), np.float64(0.4))) is bool


def test_the_first_offending_element_is_named() -> None:
    """In the order of the array."""
    with pytest.raises(laws.DomainError, match=r"^timeout_slack: must be positive and finite \(got -1\.0\)$"):
        laws.collapse_ceiling(np.array([1.0, -1.0, math.nan]))


def test_shapes_that_do_not_fit_are_numpys_error() -> None:
    """Nothing is guessed."""
    with pytest.raises(ValueError, match="shape mismatch"):
        laws.is_trap(np.ones(2), np.ones(3))


def test_empty_arrays_keep_their_type() -> None:
    """No element, but still bool or float."""
    assert laws.is_trap(np.array([]), 0.5).dtype == bool
    assert laws.trap_threshold(np.array([])).dtype == float


def test_a_law_is_still_itself() -> None:
    """Name and docstring survive."""
    assert laws.is_trap.__name__ == "is_trap"
    assert "Aρ ≥ 1" in (laws.is_trap.__doc__ or "")
