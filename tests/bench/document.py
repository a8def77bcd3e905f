"""Puts the tables of a report into ``docs/performance.md``, between the two marks of its section."""

from __future__ import annotations

from collections.abc import Sequence

from tests.bench.processes import ROOT
from tests.bench.summary import Report
from tests.bench.tables import Table

DOCUMENT = ROOT / "docs" / "performance.md"
GENERATOR, BUDGETS, SIMULATION = "measured", "measured budgets", "measured simulation"
"""The names of the sections, as their marks say them."""


def write_document(section: str, report: Report, note: str, tables: Sequence[Table]) -> None:
    """Replace everything between the marks of the section; ``note`` says how it was measured."""
    begin, end = f"<!-- {section}: begin -->", f"<!-- {section}: end -->"
    before, rest = DOCUMENT.read_text().split(begin)
    after = rest.split(end)[1]
    measured = "\n\n".join([_heading(report, note), *(table.markdown() for table in tables)])
    DOCUMENT.write_text(f"{before}{begin}\n{measured}\n{end}{after}")


def _heading(report: Report, note: str) -> str:
    machine = "; ".join(f"{name}: {value}" for name, value in report["machine"].items())
    if report["settings"]["quick"]:
        note += " **A quick run: not numbers to keep.**"
    return f"Measured on {report['date']}. {machine}.\n\n{note}"
