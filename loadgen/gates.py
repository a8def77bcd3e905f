"""What a client asks before it sends: its retry budget and its breaker, one of each for every client."""

from __future__ import annotations

from domain.breakers import decide as breakers
from domain.breakers.account import BreakerAccount
from domain.budgets import decide as budgets
from domain.budgets.account import BudgetAccount
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


def gates_of(client: Client) -> tuple[Gates, ...]:
    """One for each of the ``client.clients`` clients; job number i of a worker belongs to number i modulo
    how many there are. A single one if there is nothing to keep account of."""
    budgeted, guarded = client.budget.code != budgets.NONE, client.breaker.code != breakers.NONE
    return tuple(
        Gates(
            BudgetAccount(client.budget) if budgeted else None,
            BreakerAccount(client.breaker) if guarded else None,
        )
        for _ in range(client.clients if budgeted or guarded else 1)
    )
