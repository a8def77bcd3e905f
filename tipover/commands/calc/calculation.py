"""A law worked out: what went in, each step, what it means, where it comes from."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

COLLAPSE_LAW = "“The Collapse Law”"
RETRY_STORMS = "“Non-linear Dynamics of Retry Storms”"
DEMAND_DEBT = "“Demand Is Not Debt”"
PER_HOP = "“When does a per-hop retry budget amplify a transient slowdown into a sustained outage?”"
FEEDBACK_LESSON = "the lesson on the retry feedback loop (load → failures → retries → load)"

Value = float | bool | str | tuple[float, ...]


_MOST_DIGITS = 17
"""What tells any two floats apart."""
_THOUSAND_HOURS_S = 3.6e6


@dataclass(frozen=True, slots=True)
class Step:
    """One line of the working; with a ``key`` it is a result.

    Its formula and numbers equal the value or, if it is ``deduced``, lead to it: a root, or a yes or no.
    """

    what: str
    symbol: str
    formula: str
    numbers: str
    value: Value
    unit: str = ""
    key: str = ""
    deduced: bool = False


@dataclass(frozen=True, slots=True)
class Calculation:
    """One law for one set of values. ``inputs`` maps a field to its symbol and value, None if not given."""

    title: str
    inputs: Mapping[str, tuple[str, Any]]
    steps: tuple[Step, ...]
    meaning: str
    source: str

    def as_json(self) -> dict[str, object]:
        """The same for programs."""
        return {
            "title": self.title,
            "inputs": {field: value for field, (_, value) in self.inputs.items() if value is not None},
            "steps": [
                {
                    "what": step.what,
                    "symbol": step.symbol,
                    "formula": step.formula,
                    "numbers": step.numbers,
                    "value": step.value,
                    "unit": step.unit,
                }
                for step in self.steps
            ],
            "results": {
                step.key: {"value": step.value, "unit": step.unit} for step in self.steps if step.key
            },
            "meaning": self.meaning,
            "source": self.source,
        }


def figure(value: Value, digits: int = 4) -> str:
    """A value as it stands in the working: 4 figures, ∞, "yes" or "no", powers of ten where they help."""
    from analysis.wording import number

    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        return "  →  ".join([*(figure(entry, digits) for entry in value), "…"])
    if not math.isfinite(value) or not value:
        return number(value, digits)
    if not 1e-4 <= abs(value) < 1e9:
        mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
        return f"{_trimmed(mantissa)}·10^{int(exponent)}".replace("-", "−")
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    return _trimmed(f"{value:,.{decimals}f}").replace("-", "−")


def percent(ratio: float, digits: int = 3) -> str:
    """A ratio as a percentage, of any size."""
    return f"{figure(100 * ratio, digits)}%"


def told_apart(left: float, right: float, digits: int = 4, most: int = _MOST_DIGITS) -> tuple[str, str]:
    """Two values that are compared, with as many figures as it takes to see that they differ.

    ``most`` is 12 where the law itself lets rounding pass.
    """
    while digits < most and left != right and figure(left, digits) == figure(right, digits):
        digits += 1
    return figure(left, digits), figure(right, digits)


def digits_to_subtract(left: float, right: float) -> int:
    """Figures of two values that leave four of their difference."""
    if left == right or not (math.isfinite(left) and math.isfinite(right)):
        return 4
    lost = math.log10(max(abs(left), abs(right)) / abs(left - right))
    return min(_MOST_DIGITS, 4 + max(0, math.ceil(lost)))


def operand(value: float, digits: int = 4) -> str:
    """A value to divide by or to raise to a power: a power of ten or a negative number in brackets."""
    text = figure(value, digits)
    return f"({text})" if "·" in text or text.startswith("−") else text


def counted(value: float, unit: str, digits: int = 4) -> str:
    """A number of things, one of which is spelled without its s: "1 attempt", "3 attempts"."""
    text = figure(value, digits)
    plural = unit.endswith("s") and unit != "s" and "/" not in unit
    return f"{text} {unit[:-1] if text == '1' and plural else unit}"


def demand_times(factor: float) -> str:
    """How a load compares to the demand."""
    text = figure(factor)
    return "just the demand" if text == "1" else f"{text} times the demand"


def lasting(seconds: float) -> str:
    """A duration in the two largest units that fit; from a thousand hours on in hours alone."""
    from tipover.commands.output import span

    return span(seconds) if seconds < _THOUSAND_HOURS_S else f"{figure(seconds / 3600)} h"


def factors(values: Iterable[float]) -> str:
    """A product written out."""
    return " × ".join(figure(value) for value in values) or "1"


def _trimmed(text: str) -> str:
    return text.rstrip("0").rstrip(".") if "." in text else text
