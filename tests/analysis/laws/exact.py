"""The steady-state curve in 50-digit decimals, maximised and solved by brute force."""

from __future__ import annotations

from decimal import Decimal, localcontext

_DIGITS = 50
_CLOSEST = Decimal(10) ** -22


def curve(x: Decimal, theta: Decimal, max_attempts: int | None) -> Decimal:
    """x(1 − q)/(1 − q^m) straight from its definition; None is m = ∞."""
    q = (-theta * (1 - x)).exp()
    return x * (1 - q) / (1 - (q**max_attempts if max_attempts else 0))


def ceiling(theta: str, max_attempts: int | None = None) -> tuple[float, float]:
    """Where the curve is largest, and how large, by ternary search on (0, 1)."""
    with localcontext() as context:
        context.prec = _DIGITS
        low, high = Decimal(0), 1 - _CLOSEST
        while high - low > _CLOSEST:
            third = (high - low) / 3
            left, right = low + third, high - third
            if curve(left, Decimal(theta), max_attempts) < curve(right, Decimal(theta), max_attempts):
                low = left
            else:
                high = right
        return float(low), float(curve(low, Decimal(theta), max_attempts))
