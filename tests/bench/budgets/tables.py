"""From raw rounds to ratios, and whether they meet the aim."""

from __future__ import annotations

from statistics import median
from typing import Any

from tests.bench.budgets.cases import RULES
from tests.bench.budgets.rules import NONE
from tests.bench.cases import FLOOD, STORM
from tests.bench.summary import Report
from tests.bench.tables import Table

AIM = 0.9
_TITLES = {
    FLOOD: "At the ceiling, every attempt answered",
    STORM: "In a storm of 1,000/s: every attempt times out, budgets refuse the retry after it",
}
_WORDS = {True: "met", False: "NOT met"}


def result_tables(report: Report) -> list[Table]:
    """One table a condition."""
    return [_table(report, condition) for condition in RULES]


def _table(report: Report, condition: str) -> Table:
    columns = ("rule", "attempts per CPU s", "over a client without (range)", "aim: ≥ 0.9", "other outcomes")
    plain = [block[NONE] for block in _blocks(report, condition)]
    rows = [("none", f"{median(map(_per_cpu_s, plain)):,.0f}", "1", "", str(_unexpected(plain)))]
    rows += [_row(report, condition, rule) for rule in RULES[condition]]
    return Table(_TITLES[condition], columns, rows)


def _row(report: Report, condition: str, rule: str) -> tuple[str, ...]:
    blocks = [block for block in _blocks(report, condition) if rule in block]
    ratios = [_per_cpu_s(block[rule]) / _per_cpu_s(block[NONE]) for block in blocks]
    found = [block[rule] for block in blocks]
    return (
        rule,
        f"{median(map(_per_cpu_s, found)):,.0f}",
        f"{median(ratios):.2f} × ({min(ratios):.2f}–{max(ratios):.2f})",
        _WORDS[median(ratios) >= AIM],
        str(_unexpected(found)),
    )


def _blocks(report: Report, condition: str) -> list[dict[str, dict[str, Any]]]:
    return [block["measured"] for block in report["blocks"] if block["condition"] == condition]


def _per_cpu_s(measured: dict[str, Any]) -> float:
    return float(measured["attempts"] / measured["cpu_s"])


def _unexpected(measured: list[dict[str, Any]]) -> int:
    return sum(int(found["unexpected"]) for found in measured)
