"""What a client asks before it sends: its retry budget and its breaker, one of each for every client.

Job number j belongs to client number j modulo how many there are, and client number c to worker number c
modulo the workers. So a client has all its jobs in one process, if the clients are a multiple of the workers.
"""

from __future__ import annotations

from domain.breakers import decide as breakers
from domain.breakers.account import BreakerAccount
from domain.budgets import decide as budgets
from domain.budgets.account import BudgetAccount
from domain.errors import ConfigurationError, Fault
from domain.experiment import Client


class Gates:
    """The accounts of one client; None is a rule that lets everything pass, so that it costs nothing.

    ``keep_account`` says whether anybody has to be told how attempts end.
    """

    __slots__ = ("breaker", "budget", "keep_account")

    def __init__(self, budget: BudgetAccount | None, breaker: BreakerAccount | None) -> None:
        self.budget = budget
        self.breaker = breaker
        self.keep_account = budget is not None or breaker is not None

    def ended(self, now_s: float, attempt: int, succeeded: bool, price: float) -> None:
        """An attempt that was sent has ended, for which the budget had been paid ``price``."""
        if self.budget is not None:
            self.budget.ended(now_s, attempt, succeeded, price)
        if self.breaker is not None:
            self.breaker.ended(now_s, succeeded)


def check_clients_can_be_shared(client: Client, workers: int) -> None:
    """Raise ``ConfigurationError`` if a client with a budget or a breaker would be in two processes, each of
    which would give it an account of its own."""
    if any(_kept(client)) and client.clients % workers != 0:
        rule = (
            f"must be a multiple of the {workers} generator processes: a client's budget and breaker are "
            "kept in one of them (one process takes any number)"
        )
        fault = Fault("client.clients", rule, client.clients)
        raise ConfigurationError("these clients cannot be shared out; nothing was sent", [fault])


def gates_of(client: Client, workers: int = 1) -> tuple[Gates, ...]:
    """One for each client of a worker; its job number i belongs to number i modulo how many there are. A
    single one if there is nothing to keep account of."""
    budgeted, guarded = _kept(client)
    return tuple(
        Gates(
            BudgetAccount(client.budget) if budgeted else None,
            BreakerAccount(client.breaker) if guarded else None,
        )
        for _ in range(client.clients // workers if budgeted or guarded else 1)
    )


def _kept(client: Client) -> tuple[bool, bool]:
    """Whether there is a budget and whether there is a breaker to keep account of."""
    return client.budget.code != budgets.NONE, client.breaker.code != breakers.NONE
