"""How many pods served when."""

from __future__ import annotations

import numpy as np
import pytest

from analysis.fleets.pod_path import PodPath

PATH = PodPath(np.array([0.0, 100.0, 200.0, 300.0]), np.array([4.0, 10.0, 50.0, 20.0]))


@pytest.mark.parametrize(("t_s", "pods"), [(-5.0, 4), (0.0, 4), (100.0, 4), (100.1, 10), (1e6, 20)])
def test_pods_just_before_a_moment(t_s: float, pods: float) -> None:
    assert PATH.at(t_s) == pods


def test_most_counts_what_the_window_began_with() -> None:
    assert PATH.most(250.0, 400.0) == 50
    assert PATH.most(301.0, 400.0) == 20
    assert PATH.most(0.0, 150.0) == 10


@pytest.mark.parametrize(
    ("start_s", "end_s", "pod_seconds"),
    [(0.0, 400.0, 8400.0), (100.0, 200.0, 1000.0), (50.0, 250.0, 200 + 1000 + 2500), (350.0, 450.0, 2000.0)],
)
def test_pod_seconds(start_s: float, end_s: float, pod_seconds: float) -> None:
    assert PATH.pod_seconds(start_s, end_s) == pytest.approx(pod_seconds)


def test_first_moment_with_so_many() -> None:
    assert PATH.first_at_least(10, 0.0) == 100.0
    assert PATH.first_at_least(4, 50.0) == 50.0, "there already"
    assert PATH.first_at_least(51, 0.0) is None
    assert PATH.first_at_least(50, 0.0, 200.0) is None, "not within the window"


def test_steady_until_the_end() -> None:
    assert PATH.steady_from_s(0.0, 400.0, 0.2) == 300.0
    assert PATH.steady_from_s(320.0, 400.0, 0.2) == 320.0


def test_a_target_that_told_nothing() -> None:
    assert PodPath.of_reports(np.array([0.0, 1.0]), np.array([np.nan, np.nan])) is None
    told = PodPath.of_reports(np.array([0.0, 1.0, 2.0]), np.array([4.0, np.nan, 6.0]))
    assert told is not None
    assert told.at(1.5) == 4
