"""A budget in use: one rule and its state. A client, or a whole process, keeps one."""

from __future__ import annotations

from domain.budgets import decide
from domain.budgets.decide import RetryBudget


class BudgetAccount:
    """What a client asks before it retries, and tells of every attempt. Times: one monotonic clock."""

    __slots__ = ("_code", "_parameters", "_state")

    def __init__(self, rule: RetryBudget) -> None:
        self._code = rule.code
        self._parameters = rule.parameters
        self._state = [0.0] * rule.state_size
        decide.begin(self._code, self._parameters, self._state)

    def price(self, now_s: float, cause: int) -> float:
        """What the retry after an attempt that just failed costs, or ``REFUSED``.

        A price is a commitment to send: it has been paid. Call it after ``ended`` of that attempt.
        """
        return decide.price(self._code, self._parameters, self._state, now_s, cause)

    def sent(self, now_s: float, attempt: int) -> None:
        """Attempt number ``attempt`` (1-based) goes out."""
        decide.note_sent(self._code, self._parameters, self._state, now_s, attempt)

    def ended(self, now_s: float, attempt: int, succeeded: bool, price: float) -> None:
        """It has ended; ``price`` is what was paid for it, 0 for a first attempt."""
        decide.note_ended(self._code, self._parameters, self._state, now_s, attempt, succeeded, price)

    def withdrawn(self, price: float) -> None:
        """A retry that was paid for is not sent after all."""
        decide.take_back(self._code, self._parameters, self._state, price)
