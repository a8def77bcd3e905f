"""``tipover validate``: the sources' own experiments, run again and set beside what the sources say."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from domain.errors import ConfigurationError, ExitCode, Fault
from tipover.commands.options import JsonOption

if TYPE_CHECKING:
    from rich.console import Console

    from analysis.studies.claims import Progress, StudyResult

MOST_EFFORT = 100.0
OUT = Path("results")
MARKS = {True: ("✓", "green"), False: ("✗", "bold red"), None: ("–", "dim")}
FITTED = ("≈", "yellow")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("validate")(validate)


def validate(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="collapse-law, retry-storms, demand-debt, hop-retries, fixed-point, or all.",
            show_default=False,
        ),
    ],
    out: Annotated[Path, typer.Option("--out", help="Directory for pages, numbers and figures.")] = OUT,
    effort: Annotated[
        float, typer.Option("--effort", help="How many seeds and how long: 0.1 for a quick look.")
    ] = 1.0,
    as_json: JsonOption = False,
) -> ExitCode:
    """Run the sources' experiments again, compare every figure.

    Exits 0 when no claim is refuted and 1 when at least one is: that is a finding about the source, and
    says that the table is worth reading. A check of our own that fails exits 1 too. Claims that agree
    with a parameter of ours fitted to them are marked ≈ and counted apart.
    """
    from analysis.studies.registry import STUDIES
    from analysis.studies.results import check_directory

    names = _chosen(name, list(STUDIES), effort)
    check_directory(out, names)
    command = _command(name, effort, out)

    from tipover.commands.output import console, error_console, print_json

    results = _run_all(names, effort, out, command, error_console())
    code = ExitCode.FINDING if any(_refuted(result) for result in results) else ExitCode.CONFIRMED
    if as_json:
        print_json({"studies": [_summary(r, out) for r in results], "exit_code": int(code)})
        return code
    screen = console()
    for result in results:
        _show(result, screen)
    for result in results:
        screen.print(f"{result.name}: {out / f'{result.name}.md'}", soft_wrap=True)
    return code


def _chosen(name: str, known: Sequence[str], effort: float) -> list[str]:
    faults = []
    if name != "all" and name not in known:
        faults.append(Fault("NAME", f"must be one of {', '.join(known)}, all", name))
    if not (math.isfinite(effort) and 0 < effort <= MOST_EFFORT):
        faults.append(Fault("--effort", f"must be above 0 and at most {MOST_EFFORT:g}", effort))
    if faults:
        raise ConfigurationError("nothing can be validated like this", faults)
    return list(known) if name == "all" else [name]


def _command(name: str, effort: float, out: Path) -> str:
    """What to type for the same result again."""
    words = ["tipover", "validate", name]
    words += [] if effort == 1.0 else ["--effort", f"{effort:g}"]
    words += [] if out == OUT else ["--out", str(out)]
    return shlex.join(words)


def _run_all(
    names: Sequence[str], effort: float, out: Path, command: str, screen: Console
) -> list[StudyResult]:
    from datetime import UTC, datetime

    from analysis.studies.registry import load
    from analysis.studies.results import Provenance, write_result

    results = []
    for name in names:
        with _bar(screen, name) as progress:
            result = load(name).run(effort, progress)
        write_result(result, out, Provenance(command, datetime.now(UTC).date().isoformat()))
        results.append(result)
    return results


@contextmanager
def _bar(screen: Console, name: str) -> Iterator[Progress]:
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    if not screen.is_terminal:
        screen.print(f"{name} …")
    columns = (
        TextColumn("{task.fields[study]}"),
        BarColumn(bar_width=20),
        TimeElapsedColumn(),
        TextColumn("{task.description}"),
    )
    with Progress(*columns, console=screen, transient=True, disable=not screen.is_terminal) as bars:
        task = bars.add_task("getting ready", total=1.0, study=name)

        def told(what: str, share: float) -> None:
            bars.update(task, description=what, completed=min(1.0, max(0.0, share)))

        yield told


def _refuted(result: StudyResult) -> bool:
    return any(claim.agrees is False for claim in result.claims)


def _summary(result: StudyResult, out: Path) -> dict[str, Any]:
    from dataclasses import asdict

    from analysis.studies.results import counts

    return {
        "name": result.name,
        "title": result.title,
        "counts": counts(result),
        "claims": [asdict(claim) for claim in result.claims],
        "settings": dict(result.settings),
        "files": {
            "page": str(out / f"{result.name}.md"),
            "numbers": str(out / f"{result.name}.json"),
            "figures": [str(out / result.name / f"{figure.name}.png") for figure in result.figures],
        },
    }


def _show(result: StudyResult, screen: Console) -> None:
    """The table, and under it why what is refuted is refuted, and what of it may be chance."""
    from rich.table import Table
    from rich.text import Text

    from analysis.studies.page import by_chance
    from analysis.studies.results import counts

    count = counts(result)
    screen.print(result.title, style="bold")
    if "source" in result.settings:
        screen.print(Text(f"Source: {result.settings['source']}"))
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 1), expand=True)
    table.add_column("", no_wrap=True)
    table.add_column("claim", ratio=5)
    table.add_column("source", ratio=3)
    table.add_column("ours", ratio=4)
    for claim in result.claims:
        mark, style = FITTED if claim.agrees and claim.fitted else MARKS[claim.agrees]
        source = "own check" if claim.recomputed else claim.source
        statement = Text.assemble(claim.statement, (f" ({source})", "dim"))
        table.add_row(Text(mark, style=style), statement, Text(claim.claimed), Text(claim.ours))
    screen.print(table)
    for claim in result.claims:
        if claim.agrees is False:
            source = "own check, not the source" if claim.recomputed else claim.source
            screen.print(Text(f"✗ {claim.statement} ({source}): {claim.why}", style="red"))
    checks = count["checks_hold"] + count["checks_fail"] + count["checks_not_compared"]
    screen.print(
        f"{count['agree']} agree, {count['agree_fitted']} agree with a parameter fitted (≈),"
        f" {count['disagree']} disagree, {count['not_compared']} not comparable"
        + (f"; own checks: {count['checks_hold']} of {checks} hold" if checks else "")
    )
    screen.print(by_chance(count["by_interval"], result.settings.get("effort", 1.0)) + "\n")
