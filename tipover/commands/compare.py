"""``tipover compare``: runs side by side, in one table and one picture."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from domain.errors import ConfigurationError, Fault, TipoverError
from tipover.commands.options import JsonOption
from tipover.commands.output import console, error_console, print_json

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from analysis.mitigations.runs import ScoredRun
    from analysis.mitigations.side_by_side import Line

LEAST = 2
MOST = 21
"""As many lines as can be told apart in a picture."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("compare")(compare_runs)


def compare_runs(
    runs: Annotated[
        list[Path] | None,
        typer.Argument(metavar="RUN_A RUN_B ...", help="Two or more run directories.", show_default=False),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", help="Directory for table and picture.  [default: runs/compare-TIME]"),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Put runs side by side, in a table and a picture."""
    directories = list(runs or [])
    _check(directories, out)

    from analysis.mitigations.runs import names_of, scored_run
    from analysis.mitigations.side_by_side import comparison_json, write_comparison

    screen = error_console()
    scored, faults = [], []
    for directory, name in zip(directories, names_of(directories), strict=True):
        with screen.status(f"reading {directory} …"):
            try:
                scored.append(scored_run(directory, name))
            except ConfigurationError as error:
                faults.append(Fault("RUN", str(error), str(directory)))
    if faults:
        raise ConfigurationError("these runs cannot be compared", faults)
    folder = out or Path("runs") / f"compare-{datetime.now().strftime('%Y%m%d-%H%M%S')}"
    try:
        files = write_comparison(scored, folder)
    except OSError as error:
        raise TipoverError(f"the comparison could not be written: {error}") from error
    if as_json:
        print_json({**comparison_json(scored), "files": [str(file) for file in files]})
        return
    _show(console(), scored, files)


def _check(directories: Sequence[Path], out: Path | None) -> None:
    faults = []
    if not LEAST <= len(directories) <= MOST:
        faults.append(Fault("RUN", f"{LEAST} to {MOST} run directories are needed", len(directories)))
    seen: set[Path] = set()
    for directory in directories:
        if directory.resolve() in seen:
            faults.append(Fault("RUN", "is given twice", str(directory)))
        seen.add(directory.resolve())
    if out is not None and out.exists() and not out.is_dir():
        faults.append(Fault("--out", "must be a directory", str(out)))
    if faults:
        raise ConfigurationError("these runs cannot be compared", faults)


def _show(out: Console, runs: Sequence[ScoredRun], files: Sequence[Path]) -> None:
    from analysis.mitigations.side_by_side import differing, notes, results

    invalid = tuple(f"{run.name} is INVALID" for run in runs if not run.result.valid)
    for note in notes(runs):
        out.print(note, style="yellow" if note.startswith(invalid) else None)
    names = [run.name for run in runs]
    different = differing(runs)
    if different:
        _print_table(out, "settings that differ", names, different)
    else:
        out.print("No setting differs.")
    out.print()
    _print_table(out, "results", names, results(runs))
    for file in files:
        out.print(f"{file.suffix[1:]}: {file.resolve()}", soft_wrap=True)


def _print_table(out: Console, heading: str, names: Sequence[str], lines: Sequence[Line]) -> None:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column(heading, style="cyan", overflow="fold")
    for name in names:
        table.add_column(name, justify="right", overflow="fold")
    for line in lines:
        table.add_row(line.name, *(_tinted(line.name, text) for text in line.texts))
    out.print(table)


def _tinted(name: str, text: str) -> str | Text:
    from rich.text import Text

    styles = {"trapped": "red", "INVALID": "bold red", "recovered": "green", "healthy": "green"}
    return Text(text, style=styles.get(text, "")) if name in ("outcome", "valid") else text
