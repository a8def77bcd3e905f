"""One way into every retry budget, by code: what the live client calls and the simulator compiles.

Order of calls: ``note_sent`` when an attempt goes out; ``note_ended`` when it has ended; then, if it failed
and another is wanted, ``price``. A price of 0 or more has been paid and commits to sending; the price goes
with the attempt and comes back in its ``note_ended``, or in ``take_back`` if it is not sent after all.
"""

from __future__ import annotations

from domain.budgets.aws import begin as aws_begin
from domain.budgets.aws import note_ended as aws_note_ended
from domain.budgets.aws import price as aws_price
from domain.budgets.aws import take_back as aws_take_back
from domain.budgets.codes import (
    AWS,
    ENVOY,
    FAILED,
    FINAGLE,
    GRPC,
    NONE,
    RATIO,
    REFUSED,
    THROTTLED,
    TIMED_OUT,
    WINDOW_RATIO,
)
from domain.budgets.envoy import begin as envoy_begin
from domain.budgets.envoy import note_ended as envoy_note_ended
from domain.budgets.envoy import note_sent as envoy_note_sent
from domain.budgets.envoy import price as envoy_price
from domain.budgets.envoy import take_back as envoy_take_back
from domain.budgets.finagle import begin as finagle_begin
from domain.budgets.finagle import note_sent as finagle_note_sent
from domain.budgets.finagle import price as finagle_price
from domain.budgets.finagle import take_back as finagle_take_back
from domain.budgets.grpc import begin as grpc_begin
from domain.budgets.grpc import note_ended as grpc_note_ended
from domain.budgets.grpc import price as grpc_price
from domain.budgets.ratio import begin as ratio_begin
from domain.budgets.ratio import note_sent as ratio_note_sent
from domain.budgets.ratio import price as ratio_price
from domain.budgets.ratio import take_back as ratio_take_back
from domain.budgets.window_ratio import begin as window_ratio_begin
from domain.budgets.window_ratio import note_sent as window_ratio_note_sent
from domain.budgets.window_ratio import price as window_ratio_price
from domain.budgets.window_ratio import take_back as window_ratio_take_back
from domain.rule import Numbers, Rule, State

__all__ = [
    "AWS",
    "ENVOY",
    "FAILED",
    "FINAGLE",
    "GRPC",
    "NONE",
    "RATIO",
    "REFUSED",
    "THROTTLED",
    "TIMED_OUT",
    "WINDOW_RATIO",
    "RetryBudget",
    "begin",
    "note_ended",
    "note_sent",
    "price",
    "take_back",
]

RetryBudget = Rule


def begin(code: int, p: Numbers, s: State) -> None:
    """Set the state to what it is before the first call."""
    if code == RATIO:
        ratio_begin(p, s)
    elif code == WINDOW_RATIO:
        window_ratio_begin(s)
    elif code == AWS:
        aws_begin(p, s)
    elif code == GRPC:
        grpc_begin(p, s)
    elif code == FINAGLE:
        finagle_begin(s)
    elif code == ENVOY:
        envoy_begin(s)


def price(code: int, p: Numbers, s: State, now_s: float, cause: int) -> float:
    """What one more retry costs, or ``REFUSED``; ``cause`` is how the last one failed."""
    cost = 0.0
    if code == RATIO:
        cost = ratio_price(s)
    elif code == WINDOW_RATIO:
        cost = window_ratio_price(p, s, now_s)
    elif code == AWS:
        cost = aws_price(p, s, cause)
    elif code == GRPC:
        cost = grpc_price(p, s)
    elif code == FINAGLE:
        cost = finagle_price(p, s, now_s)
    elif code == ENVOY:
        cost = envoy_price(p, s)
    return cost


def note_sent(code: int, p: Numbers, s: State, now_s: float, attempt: int) -> None:
    """An attempt (1-based) goes out."""
    if code == RATIO:
        ratio_note_sent(p, s, attempt)
    elif code == WINDOW_RATIO:
        window_ratio_note_sent(p, s, now_s, attempt)
    elif code == FINAGLE:
        finagle_note_sent(p, s, now_s, attempt)
    elif code == ENVOY:
        envoy_note_sent(s)


def note_ended(
    code: int,
    p: Numbers,
    s: State,
    now_s: float,  # noqa: ARG001 - no rule needs it so far; those of breakers and limits do
    attempt: int,
    succeeded: bool,
    price: float,
) -> None:
    """An attempt has ended, for which ``price`` had been paid (0 for a first one)."""
    if code == AWS:
        aws_note_ended(p, s, attempt, succeeded, price)
    elif code == GRPC:
        grpc_note_ended(p, s, succeeded)
    elif code == ENVOY:
        envoy_note_ended(s, price)


def take_back(code: int, p: Numbers, s: State, price: float) -> None:
    """A retry for which ``price`` had been paid is not sent after all."""
    if code == RATIO:
        ratio_take_back(p, s, price)
    elif code == WINDOW_RATIO:
        window_ratio_take_back(s)
    elif code == AWS:
        aws_take_back(p, s, price)
    elif code == FINAGLE:
        finagle_take_back(s, price)
    elif code == ENVOY:
        envoy_take_back(s, price)
