"""One way into every retry budget, by code: what the live client calls and the simulator compiles.

Order of calls: ``note_sent`` when an attempt goes out; ``note_ended`` when it has ended; then, if it failed
and another is wanted, ``price``. A price of 0 or more has been paid and commits to sending; the price goes
with the attempt and comes back in its ``note_ended``.
"""

from __future__ import annotations

from domain.rule import Numbers, Rule, State

RetryBudget = Rule
REFUSED = -1.0
TIMED_OUT, FAILED, THROTTLED = range(3)
"""How an attempt failed: no answer in time; a broken connection or an error; told to come later (429, 503)."""
NONE, RATIO, WINDOW_RATIO, AWS, GRPC, FINAGLE, ENVOY = range(7)


def begin(code: int, p: Numbers, s: State) -> None:
    """Set the state to what it is before the first call."""


def price(code: int, p: Numbers, s: State, now_s: float, cause: int) -> float:
    """What one more retry costs, or ``REFUSED``; ``cause`` is how the last one failed."""
    return 0.0


def note_sent(code: int, p: Numbers, s: State, now_s: float, attempt: int) -> None:
    """An attempt (1-based) goes out."""


def note_ended(
    code: int, p: Numbers, s: State, now_s: float, attempt: int, succeeded: bool, price: float
) -> None:
    """An attempt has ended, for which ``price`` had been paid (0 for a first one)."""


def take_back(code: int, p: Numbers, s: State, price: float) -> None:
    """A retry for which ``price`` had been paid is not sent after all."""
