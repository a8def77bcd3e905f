"""What is measured, and in which order: a few rules at a time, each with a plain client beside them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tests.bench.budgets.rules import HEALTHY_RULES, NONE, STORM_RULES
from tests.bench.cases import FLOOD, FLOOD_PER_S, RATE_PER_S, STORM, TIMEOUT_S

RULES = {FLOOD: HEALTHY_RULES, STORM: STORM_RULES}
BLOCK = 2
"""So many rules share a measurement without any: a machine whose pace drifts is the same for all three."""


@dataclass(frozen=True)
class Settings:
    """How long and how often; ``quick`` is for looking whether it works, not for numbers to keep."""

    quick: bool
    rounds: int
    warmup_s: float
    window_s: float


FULL = Settings(False, 5, 1.0, 3.0)
QUICK = Settings(True, 1, 0.5, 1.0)


def blocks(condition: str, number: int) -> Iterator[list[str]]:
    """The rules of a round in blocks, with the plain client at a changing place among them."""
    rules = RULES[condition]
    rules = rules[number % len(rules) :] + rules[: number % len(rules)]
    for begin in range(0, len(rules), BLOCK):
        block = list(rules[begin : begin + BLOCK])
        block.insert((number + begin // BLOCK) % (len(block) + 1), NONE)
        yield block


def load_options(condition: str, rule: str, settings: Settings) -> dict[str, Any]:
    """The fields of the ``Load`` that do not name the server."""
    storm = condition == STORM
    return {
        "rate_per_s": RATE_PER_S if storm else FLOOD_PER_S,
        "greenlets": 0,
        "timeout_s": TIMEOUT_S,
        "warmup_s": settings.warmup_s + (TIMEOUT_S if storm else 0.0),
        "window_s": settings.window_s,
        "expected": "timeout" if storm else "ok",
        "rule": rule,
    }
