"""A ratio of first attempts: each earns β of a retry, up to a small reserve, so A = 1 + β (seed 002 Def. 8)."""

from __future__ import annotations

RATIO_RESERVE = 10.0
"""Retries that a ratio budget can have saved up."""
_ROUNDING = 1e-9


def ratio_balance(balance: float, ratio: float) -> float:
    """Retries in hand after one more first attempt: each earns ``ratio``, up to the reserve."""
    return min(balance + ratio, RATIO_RESERVE)


def ratio_allows(balance: float) -> bool:
    """Whether one more retry, which costs 1, is in hand."""
    return balance >= 1.0 - _ROUNDING
