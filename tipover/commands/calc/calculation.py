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

Value = float | bool | str


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
    if math.isfinite(value) and value and not 1e-4 <= abs(value) < 1e9:
        mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
        return f"{mantissa.rstrip('0').rstrip('.')}·10^{int(exponent)}".replace("-", "−")
    return number(value, digits)


def factors(values: Iterable[float]) -> str:
    """A product written out."""
    return " × ".join(figure(value) for value in values) or "1"
