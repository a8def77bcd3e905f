"""The shares of a cluster: their sum is the plan's Poisson stream, and each fits its own machine."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from domain.errors import ConfigurationError
from domain.sockets import SocketLimits, worst_need
from loadgen import limits
from loadgen.limits import check_plan_fits, machine_id, network_id
from loadgen.schedule import Schedule
from tipover.scenario import load_scenario


def _planned(workers: int) -> list[np.ndarray]:
    live = load_scenario("f2-40").live()
    shares = []
    for worker in range(workers):
        schedule, times = Schedule(live, worker, workers), []
        while schedule.next_s is not None:
            times.append(schedule.take())
        shares.append(np.array(times))
    return shares


def _unit(planned: np.ndarray) -> tuple[np.ndarray, float]:
    """The same at rate 1: mapped through the cumulative rate, which is how many jobs there are in all."""
    segments = load_scenario("f2-40").live().arrival_plan.segments
    edges = [segments[0].start_s, *(segment.end_s for segment in segments)]
    jobs = np.cumsum([0.0, *(s.rate_per_s * (s.end_s - s.start_s) for s in segments)])
    return np.interp(planned, edges, jobs), float(jobs[-1])


@pytest.mark.parametrize("workers", [2, 3, 5])
def test_the_merged_stream_is_poisson_at_the_plans_rate(workers: int) -> None:
    """Mapped to rate 1 it has exponential gaps (Kolmogorov-Smirnov) and counts as dispersed as Poisson's
    (chi-square), and as many jobs as planned; alpha 0.001 or less each, seed fixed."""
    unit, jobs = _unit(np.sort(np.concatenate(_planned(workers))))
    assert stats.kstest(np.diff(unit), "expon").pvalue > 0.001
    counts = np.histogram(unit, bins=np.arange(0.0, jobs, 20.0))[0]
    statistic = counts.var(ddof=1) / counts.mean() * (len(counts) - 1)
    assert 0.0005 < stats.chi2.cdf(statistic, len(counts) - 1) < 0.9995
    assert abs(len(unit) - jobs) < 4 * np.sqrt(jobs)


def test_the_tests_can_tell_a_stream_that_is_not_poisson() -> None:
    """One stream sent twice, as if two workers had one seed, fails the test of counts and that of gaps."""
    (share, _) = _planned(2)
    unit, jobs = _unit(np.sort(np.concatenate([share, share])))
    assert stats.kstest(np.diff(unit), "expon").pvalue < 1e-6
    counts = np.histogram(unit, bins=np.arange(0.0, jobs, 20.0))[0]
    statistic = counts.var(ddof=1) / counts.mean() * (len(counts) - 1)
    assert stats.chi2.sf(statistic, len(counts) - 1) < 1e-6


def test_shares_are_independent_streams_of_equal_rate() -> None:
    """No two workers send at the same times, none sends more than its part, and their counts in the same
    stretches are not correlated."""
    shares = [_unit(share)[0] for share in _planned(3)]
    jobs = _unit(shares[0])[1]
    for share in shares:
        assert abs(len(share) - jobs / 3) < 4 * np.sqrt(jobs / 3)
    assert len(np.unique(np.concatenate(shares))) == sum(map(len, shares))
    first, second, _ = (np.histogram(share, bins=np.arange(0.0, jobs, 20.0))[0] for share in shares)
    assert abs(stats.spearmanr(first, second).statistic) < 4 / np.sqrt(len(first))


def test_a_share_is_judged_by_the_ports_of_its_own_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """What one network has no ports for fits when each of two workers has one of its own; descriptors are
    each process's own anyway."""
    live = load_scenario("f2-40").live()
    need = worst_need(live, 2)
    assert need is not None
    ports = round(need.attempts_per_s * need.timeout_s * 0.75)
    offered = SocketLimits(descriptors=10**6, ports=ports, port_rest_s=0.0)
    monkeypatch.setattr(limits, "machine_limits", lambda _address: offered)
    check_plan_fits(live, "10.0.0.7", 2, neighbours=1)
    for neighbours in (None, 2):
        with pytest.raises(ConfigurationError, match="local ports"):
            check_plan_fits(live, "10.0.0.7", 2, neighbours)
    scarce = replace(offered, descriptors=round(need.open_attempts / 2))
    monkeypatch.setattr(limits, "machine_limits", lambda _address: scarce)
    with pytest.raises(ConfigurationError, match="file descriptors"):
        check_plan_fits(live, "10.0.0.7", 2, neighbours=1)


def test_the_name_of_a_clock_is_the_boot_and_not_a_file_of_the_container() -> None:
    """Containers have a machine id of their own, or none, and share the kernel's boot."""
    boot = Path("/proc/sys/kernel/random/boot_id")
    if not boot.exists():
        pytest.skip("not Linux")
    assert machine_id().startswith(boot.read_text().strip())
    assert network_id() != machine_id()
