"""The simulation of loaded chains: against an independent one, in its limits, and what it must conserve."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from analysis.studies.hop_retries import kernel
from analysis.studies.hop_retries.kernel import ATTEMPT, LEAST_S, NOTHING, REQUEST
from analysis.studies.hop_retries.law import amplification, least_trap_if_attempts_are_dropped
from analysis.studies.hop_retries.queued import Deadline, Load, LoadedChain, Seen, run, simulate
from analysis.studies.hop_retries.variants import (
    CALLERS,
    EDGE,
    ENOUGH_LEFT,
    NONE,
    OWN_END,
    SERVICES,
    VARIANTS,
    chain,
    deadline,
    nested,
    silent,
)
from tests.analysis.studies.chain_oracle import Oracle

END_S = 30.0


def small(variant: str, hops: int, **changes: object) -> LoadedChain:
    """A slow chain of two pods at the end, so that everything that can happen does."""
    told = deadline(variant, hops)
    if variant == ENOUGH_LEFT:
        told = replace(told, least_s=0.1)
    made = LoadedChain((1.0,) * hops, 3, told, pods=2, rate_per_pod=4.0, own_work_s=0.03)
    return replace(made, **changes)  # type: ignore[arg-type]


def seen(tried: LoadedChain, *, rate: float = 3.0, seed: int = 1) -> Seen:
    """Calm, a spike, calm."""
    return run(tried, Load(rate, 8.0, 2.0, 6.0, END_S - 10.0), seed)


CASES = {
    **{f"{variant}, H = {hops}": small(variant, hops) for variant in VARIANTS for hops in (1, 2, 3)},
    "two workers, held": small(NONE, 2, workers=4, held=True),
    "held along three hops": small(NONE, 3, workers=5, held=True),
    "held under a deadline": small(SERVICES, 2, workers=5, held=True),
    "held, own end": small(OWN_END, 2, workers=5, held=True),
    "workers not held": small(SERVICES, 2, workers=1, own_work_s=0.2),
    "a full queue": small(CALLERS, 2, places=3),
    "a fault": small(SERVICES, 2, fault_s=(5.0, 12.0)),
    "nested timeouts": nested(small(CALLERS, 3)),
    "a silent hop": silent(small(SERVICES, 3), 2),
}


@pytest.mark.parametrize("name", CASES)
def test_agrees_with_another_simulation(name: str) -> None:
    """The same jobs are answered at the same moments, after as many attempts, as in simpy."""
    tried = CASES[name]
    for seed in (1, 2):
        ours = seen(tried, seed=seed)
        oracle = Oracle(tried, seed).run(ours.arrivals_s, END_S)
        np.testing.assert_allclose(ours.answered_s, oracle.answered_s, rtol=1e-9)
        assert ours.reached.tolist() == oracle.reached
        total = ours.counts.sum(axis=0)
        assert total[kernel.STARTED] == oracle.started
        assert total[kernel.DROPPED] == oracle.dropped
        assert total[kernel.REJECTED] == oracle.rejected


def test_the_cases_exercise_the_rules() -> None:
    """In the cases above calls are dropped, turned away, answered and not answered."""
    runs = {name: seen(tried) for name, tried in CASES.items()}
    assert runs[f"{SERVICES}, H = 1"].counts[:, kernel.DROPPED].sum() > 5
    assert runs[f"{OWN_END}, H = 2"].counts[:, kernel.DROPPED].sum() > 5
    assert runs["a full queue"].counts[:, kernel.REJECTED].sum() > 5
    for name, ours in runs.items():
        answered = np.isfinite(ours.answered_s)
        assert answered.any(), name
        assert not answered.all(), name


@pytest.mark.parametrize("name", CASES)
def test_nothing_is_lost_at_the_last_service(name: str) -> None:
    """What arrives is begun, dropped, turned away or still waits; a job's attempts are those that arrive."""
    ours = seen(CASES[name])
    total = ours.counts.sum(axis=0)
    left = total[kernel.STARTED] + total[kernel.DROPPED] + total[kernel.REJECTED] + ours.waiting
    assert total[kernel.ARRIVED] == left == ours.reached.sum()
    assert total[kernel.USEFUL] <= total[kernel.STARTED]


@pytest.mark.parametrize("variant", [v for v in VARIANTS if v != NONE])
def test_no_answer_comes_after_the_deadline(variant: str) -> None:
    """An answer is one that the user was still waiting for."""
    ours = seen(small(variant, 2))
    answered = np.isfinite(ours.answered_s)
    assert (ours.answered_s - ours.arrivals_s)[answered].max() <= deadline(variant, 2).deadline_s + LEAST_S


@pytest.mark.parametrize(("pods", "load"), [(1, 0.5), (1, 0.8), (4, 0.8)])
def test_one_hop_without_retries_waits_as_erlang_says(pods: int, load: float) -> None:
    """H = 1, m = 1: the mean wait of M/M/c within 5%, over 200,000 works."""
    tried = LoadedChain((1e6,), 1, Deadline(math.inf, (NOTHING,)), pods, 1.0)
    rate = load * pods
    ours = simulate(tried, Load(rate, 200_000 / rate, 0.0, 1.0, 0.0).arrivals(3), 200_000 / rate, 3, 100.0)
    offered = rate
    last = offered**pods / math.factorial(pods) / (1 - load)
    wait = last / (sum(offered**k / math.factorial(k) for k in range(pods)) + last)
    total = ours.counts.sum(axis=0)
    assert total[kernel.WAITED] / total[kernel.STARTED] == pytest.approx(wait / (pods * (1 - load)), rel=0.05)


@pytest.mark.parametrize(("hops", "callers", "services"), [(1, 3, 2), (2, 6, 3), (3, 10, 4), (4, 15, 5)])
def test_what_fits_into_a_deadline(hops: int, callers: int, services: int) -> None:
    """D = 2.75T: C(2 + H, H) attempts are sent before it, 1 + H of them a timeout before it."""
    assert amplification(chain(NONE, hops)).served == 4**hops
    assert amplification(chain(EDGE, hops)).served == 3 * 4 ** (hops - 1)
    assert amplification(chain(CALLERS, hops)).served == callers == math.comb(2 + hops, hops)
    assert amplification(chain(SERVICES, hops)).arrive == callers
    assert amplification(chain(SERVICES, hops)).served == services == 1 + hops
    assert amplification(chain(OWN_END, hops)).arrive == 3
    assert amplification(chain(SERVICES, hops, deadline_s=1.75, max_attempts=10)).served == 1
    assert amplification(nested(chain(CALLERS, hops))).arrive == 3


@pytest.mark.parametrize("name", [name for name, tried in CASES.items() if "held" not in name])
def test_the_law_counts_what_the_simulation_sends(name: str) -> None:
    """A lone request to a last service that never answers: as many attempts as the law says."""
    tried = replace(CASES[name], rate_per_pod=1e-9, own_work_s=1e-6, workers=10, places=10**6)
    law = amplification(tried)
    alone = simulate(tried, np.array([0.5]), 1000.0, 1)
    assert alone.reached.tolist() == [law.arrive]


def test_the_least_trap_of_a_service_that_drops_attempts() -> None:
    """Falls towards 1/m as pods grow, rises with the time that must be left, and is 1 at one attempt."""
    by_pods = [least_trap_if_attempts_are_dropped(3, pods) for pods in (1, 10, 100, 10_000)]
    assert by_pods == sorted(by_pods, reverse=True)
    assert 1 / 3 < by_pods[-1] < 0.345
    by_kept = [least_trap_if_attempts_are_dropped(3, 100, kept) for kept in (0.0, 1.0, 3.0)]
    assert by_kept == sorted(by_kept)
    assert by_kept[-1] > 0.9
    assert least_trap_if_attempts_are_dropped(1, 10) == pytest.approx(1.0, abs=1e-5)


def test_what_each_hop_tells() -> None:
    """The request's deadline for all but the last two variants, which tell the attempt's own end."""
    assert deadline(SERVICES, 3).tells == (REQUEST,) * 3
    assert deadline(OWN_END, 2).tells == (ATTEMPT,) * 2
    assert deadline(EDGE, 2).tells == (NOTHING,) * 2
    assert silent(chain(CALLERS, 3), 2).deadline.tells == (REQUEST, NOTHING, REQUEST)
