"""Puts the tables of a report into ``docs/performance.md``, between its two marks."""

from __future__ import annotations

from tests.bench.processes import ROOT
from tests.bench.summary import Report
from tests.bench.tables import result_tables

DOCUMENT = ROOT / "docs" / "performance.md"
BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"


def write_document(report: Report) -> None:
    """Replace everything between the marks."""
    text = DOCUMENT.read_text()
    before, rest = text.split(BEGIN)
    after = rest.split(END)[1]
    DOCUMENT.write_text(f"{before}{BEGIN}\n{_measured(report)}\n{END}{after}")


def _measured(report: Report) -> str:
    settings = report["settings"]
    machine = "; ".join(f"{name}: {value}" for name, value in report["machine"].items())
    note = (
        f"Measured on {report['date']}. {machine}.\n\n"
        f"{settings['rounds']} rounds in changing order, a window of {settings['window_s']:g} s each after a "
        "warm-up; medians, ratios taken within a round."
    )
    if settings["quick"]:
        note += " **A quick run: not numbers to keep.**"
    return "\n\n".join([note, *(table.markdown() for table in result_tables(report))])
