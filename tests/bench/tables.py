"""The same tables for the terminal and for the documentation."""

from __future__ import annotations

from dataclasses import dataclass

from rich.console import Console
from rich.table import Table as RichTable

from tests.bench.cases import CLOSED, FLOOD, HEALTHY, STORM
from tests.bench.summary import (
    MEGABYTE,
    Aim,
    Line,
    Report,
    aims,
    growth_bytes,
    lines,
    others_cores,
    recorder_share,
)

_CONDITIONS = {
    HEALTHY: "Healthy, 1,000 attempts/s",
    STORM: "Storm, 1,000 attempts/s, every one timing out after 1 s",
    FLOOD: "Ceiling, open loop: far more offered than can be sent",
    CLOSED: "Ceiling, closed loop of 50 greenlets or users",
}


@dataclass(frozen=True)
class Table:
    """Plain text in rows; the first column is a name, the others are figures."""

    title: str
    columns: tuple[str, ...]
    rows: list[tuple[str, ...]]

    def markdown(self) -> str:
        rule = "|---" + "|---:" * (len(self.columns) - 1) + "|"
        rows = ["| " + " | ".join(row) + " |" for row in (self.columns, *self.rows)]
        return "\n".join([f"**{self.title}**", "", rows[0], rule, *rows[1:]])

    def show(self, console: Console) -> None:
        table = RichTable(title=self.title, title_justify="left")
        for number, column in enumerate(self.columns):
            table.add_column(column, justify="right" if number else "left", no_wrap=not number)
        for row in self.rows:
            table.add_row(*row)
        console.print(table)


def result_tables(report: Report) -> list[Table]:
    """Everything measured, the aims first."""
    return [aims_table(aims(report)), *condition_tables(report), memory_table(report), steady_table(report)]


def aims_table(found: list[Aim]) -> Table:
    """What was promised, and what was measured."""
    words = {True: "met", False: "NOT met", None: "no aim"}
    rows = [(aim.what, aim.wanted, aim.measured, words[aim.met]) for aim in found]
    return Table("Aims", ("what", "aim", "measured", "verdict"), rows)


def condition_tables(report: Report) -> list[Table]:
    """One table a condition, medians over the rounds."""
    columns = ("variant", "attempts per CPU s", "CPU ms per attempt (range)", "attempts/s", "of a core")
    columns += ("lag p50 ms", "lag p99 ms", "server's core", "other outcomes")
    found = lines(report)
    return [
        Table(title, columns, [_row(line) for line in found if line.condition == condition])
        for condition, title in _CONDITIONS.items()
    ]


def _row(line: Line) -> tuple[str, ...]:
    low, high = line.cpu_ms_range
    return (
        line.variant,
        f"{line.per_core_s:,.0f}",
        f"{line.cpu_ms:.3f} ({low:.3f}–{high:.3f})",
        f"{line.achieved_per_s:,.0f}",
        f"{line.core_share:.0%}",
        _milliseconds(line.lag_p50_s),
        _milliseconds(line.lag_p99_s),
        f"{line.server_share:.0%}",
        str(line.unexpected),
    )


def _milliseconds(seconds: float | None) -> str:
    return "–" if seconds is None else f"{seconds * 1e3:,.1f}"


def memory_table(report: Report) -> Table:
    """Resident memory as attempts grow in number."""
    rows = []
    for key, name in (("memory", "healthy"), ("memory_storm", "storm")):
        memory = report[key]
        rows += [
            (
                f"{name}, {memory['rate_per_s']:,.0f}/s",
                f"{p['attempts']:,}",
                f"{p['rss_bytes'] / MEGABYTE:.1f}",
            )
            for p in memory["points"]
        ]
        second = memory["points"][1]["attempts"]
        rows.append(
            (f"{name}: growth from {second:,} on", "", f"{growth_bytes(memory):+.1f} bytes an attempt")
        )
    return Table("Memory of the generator, recording on", ("load", "attempts", "resident MB"), rows)


def steady_table(report: Report) -> Table:
    """The steady run of the real command, and what recording costs."""
    steady = report["steady"]
    rows = [
        ("jobs planned / sent", f"{steady['planned']:,} / {steady['sent']:,}"),
        (
            "lag p50 / p99 / max",
            " / ".join(f"{steady[f'lag_{q}_s'] * 1e3:.1f} ms" for q in ("p50", "p99", "max")),
        ),
        (
            "CPU, mean and busiest second",
            f"{steady['cpu_ratio']:.0%}, {steady['cpu_ratio_peak']:.0%} of a core",
        ),
        ("CPU per attempt", f"{steady['cpu_ratio'] * steady['elapsed_s'] / steady['attempts'] * 1e3:.3f} ms"),
        ("valid run", "yes" if steady["valid"] else "no: " + "; ".join(steady["invalid_reasons"])),
    ]
    rows += [
        (f"recorder's share of the CPU, {name}", f"{recorder_share(report, condition):.0%}")
        for condition, name in ((HEALTHY, "healthy"), (STORM, "storm"), (FLOOD, "at the ceiling"))
    ]
    rows.append(("cores that other processes used during the rounds", f"{others_cores(report):.2f}"))
    title = (
        f"{steady['duration_s']:.0f} s of `tipover run` at 1,000 jobs/s against the real target, and the rest"
    )
    return Table(title, ("what", "measured"), rows)
