"""Whose budget and breaker a job is held to, however many processes share the load."""

from __future__ import annotations

import pytest

from domain.breakers.circuit_breaker import CircuitBreaker
from domain.budgets.codes import FAILED, REFUSED
from domain.budgets.ratio import RatioBudget
from domain.errors import ConfigurationError
from domain.experiment import Client
from loadgen.gates import check_clients_can_be_shared, gates_of

BUDGET = RatioBudget(ratio=0.0, reserve=2.0)


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_all_workers_together_have_the_budgets_of_all_clients_and_no_more(workers: int) -> None:
    """Six clients of two retries each may retry twelve times, in one process or in three."""
    client = Client(1.0, budget=BUDGET, clients=6)
    check_clients_can_be_shared(client, workers)
    shares = [gates_of(client, workers) for _ in range(workers)]
    granted = 0
    for gates in (gates for share in shares for gates in share):
        assert gates.budget is not None
        while gates.budget.price(0.0, FAILED) != REFUSED:
            granted += 1
    assert granted == 12


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_a_client_has_its_turn_among_the_jobs_of_all_workers(workers: int) -> None:
    """Job j is client j modulo 6's, as simulated; a worker's i-th job is number i · workers + worker."""
    client = Client(1.0, budget=BUDGET, clients=6)
    owners: dict[int, set[int]] = {}
    shares = [gates_of(client, workers) for _ in range(workers)]
    for worker, share in enumerate(shares):
        for index in range(24):
            job = index * workers + worker
            owners.setdefault(job % 6, set()).add(id(share[index % len(share)]))
    assert [len(accounts) for accounts in owners.values()] == [1] * 6
    assert len(set.union(*owners.values())) == 6


@pytest.mark.parametrize(
    ("client", "workers"),
    [
        (Client(1.0, budget=BUDGET), 2),
        (Client(1.0, breaker=CircuitBreaker(), clients=3), 2),
        (Client(1.0, budget=BUDGET, clients=2), 4),
    ],
)
def test_a_client_in_two_processes_is_refused(client: Client, workers: int) -> None:
    """Each process would keep an account of its own, and the client have twice the budget."""
    with pytest.raises(ConfigurationError) as caught:
        check_clients_can_be_shared(client, workers)
    (fault,) = caught.value.faults
    assert (fault.field, fault.value) == ("client.clients", client.clients)
    assert f"multiple of the {workers} generator processes" in fault.rule


def test_clients_without_an_account_may_be_anywhere() -> None:
    """They are all alike."""
    client = Client(1.0, clients=3)
    check_clients_can_be_shared(client, 2)
    (gates,) = gates_of(client, 2)
    assert (gates.budget, gates.breaker, gates.keep_account) == (None, None, False)
