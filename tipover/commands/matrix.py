"""``tipover matrix``: the same storm under each mitigation, and what each costs while all is well."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from domain.errors import ConfigurationError, ExitCode, Fault, TipoverError
from tipover.commands.options import JsonOption, SeedOption, SpeedupOption
from tipover.commands.output import console, error_console, print_json, span

if TYPE_CHECKING:
    from rich.console import Console

    from analysis.mitigations.matrix import LiveRun, Matrix
    from analysis.mitigations.mitigation import Mitigation
    from domain.experiment import Experiment

LIVE_EXTRA_S = 10.0
"""Starting, stopping and judging a live run."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("matrix")(run_matrix)


def run_matrix(
    scenario: Annotated[
        str | None,
        typer.Argument(help="A built-in scenario (see `tipover list`) or a TOML file.", show_default=False),
    ] = None,
    seeds: Annotated[
        int,
        typer.Option("--seeds", help="How many seeds of the storm: the scenario's own and those after it."),
    ] = 20,
    only: Annotated[
        str | None,
        typer.Option(
            "--only", metavar="NAME,...", help="Only these: names, or client, service, combination, preset."
        ),
    ] = None,
    skip: Annotated[str | None, typer.Option("--skip", metavar="NAME,...", help="All but these.")] = None,
    list_them: Annotated[
        bool, typer.Option("--list", help="List the mitigations and what each does, and stop.")
    ] = False,
    live: Annotated[
        bool, typer.Option("--live", help="Run the storm of each on real sockets, too, one after the other.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option("--out", help="Directory for the results.  [default: runs/matrix-NAME]")
    ] = None,
    speedup: SpeedupOption = None,
    seed: SeedOption = None,
    as_json: JsonOption = False,
) -> ExitCode:
    """Run a storm under each mitigation: what helps, and its cost.

    Exits with 0 whenever the matrix could be made, whatever the mitigations do.
    """
    if list_them:
        _list(as_json=as_json)
        return ExitCode.CONFIRMED
    names = (_names(only), _names(skip))
    _check(scenario, seeds, only, skip, out)
    assert scenario is not None

    from tipover.scenario import load_scenario

    experiment = load_scenario(scenario, speedup=speedup, seed=seed, need_service=True, service_for="matrix")

    from analysis.mitigations.catalogue import Choice
    from analysis.mitigations.documents import matrix_json, write_matrix
    from analysis.mitigations.matrix import simulable

    folder = out or Path("runs") / f"matrix-{experiment.name}"
    _raise(_folder_faults(folder))
    mitigations, left_out = simulable(experiment, Choice(*names).mitigations(experiment))
    screen = error_console()
    if live:
        _check_live(experiment, mitigations)
        _say_live(screen, experiment, len(mitigations))
    matrix = replace(_simulate(experiment, mitigations, seeds, screen), notes=left_out)
    code = ExitCode.CONFIRMED
    if live:
        matrix, code = _with_live_runs(matrix, folder / "live", screen)
    try:
        files = write_matrix(matrix, folder)
    except OSError as error:
        raise TipoverError(f"the matrix could not be written: {error}") from error
    if as_json:
        print_json({**matrix_json(matrix), "files": [str(file) for file in files]})
    else:
        _show(console(), matrix, files)
    return code


def _names(given: str | None) -> tuple[str, ...]:
    return tuple(name.strip() for name in (given or "").split(",") if name.strip())


def _check(scenario: str | None, seeds: int, only: str | None, skip: str | None, out: Path | None) -> None:
    from analysis.mitigations.catalogue import Choice

    given = (("--only", only), ("--skip", skip))
    faults = [
        Fault(option, "must name a mitigation or a group", names)
        for option, names in given
        if names is not None and not _names(names)
    ]
    faults += Choice(_names(only), _names(skip)).faults()
    if scenario is None:
        faults.append(Fault("SCENARIO", "is required, unless with --list", None))
    if seeds < 1:
        faults.append(Fault("--seeds", "must be at least 1", seeds))
    if out is not None:
        faults += _folder_faults(out)
    _raise(faults)


def _folder_faults(folder: Path) -> list[Fault]:
    if folder.exists() and not folder.is_dir():
        return [Fault("--out", "must be a directory", str(folder))]
    if (folder / "run.json").exists():
        return [Fault("--out", "must not be the directory of a run", str(folder))]
    return []


def _raise(faults: list[Fault]) -> None:
    if faults:
        raise ConfigurationError("the matrix cannot be made", faults)


def _list(*, as_json: bool) -> None:
    from analysis.mitigations.catalogue import CATALOGUE

    if as_json:
        rows = [{"name": m.name, "group": m.group, "does": m.sentence} for m in CATALOGUE.values()]
        print_json({"mitigations": rows})
        return
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("name", style="cyan", no_wrap=True)
    table.add_column("group", no_wrap=True)
    table.add_column("what it does (T is the timeout)")
    for mitigation in CATALOGUE.values():
        table.add_row(mitigation.name, mitigation.group, mitigation.sentence)
    console().print(table)


def _simulate(
    experiment: Experiment, mitigations: Sequence[Mitigation], seeds: int, screen: Console
) -> Matrix:
    from analysis.mitigations.matrix import expected_cost, runs_needed, simulate_matrix
    from tipover.commands.seed_progress import SeedProgress
    from tipover.commands.simulation import LONG_S, cores_for, roughly

    expected_s, largest = expected_cost(experiment, mitigations, seeds)
    cores = cores_for(largest, "run")
    if expected_s > LONG_S:
        what = f"{len(mitigations)} mitigations over {seeds} {'seed' if seeds == 1 else 'seeds'}"
        screen.print(f"simulating {what}: about {roughly(expected_s)}")
    with SeedProgress(runs_needed(experiment, mitigations, seeds), screen) as progress:
        return simulate_matrix(experiment, mitigations, seeds, cores=cores, on_done=progress)


def _check_live(experiment: Experiment, mitigations: Sequence[Mitigation]) -> None:
    """Raise the ``ConfigurationError`` with which live runs would be refused once all is simulated."""
    from loadgen.limits import check_plan_fits

    faults = []
    for mitigation in mitigations:
        try:
            check_plan_fits(mitigation.apply(experiment), "127.0.0.1")
        except ConfigurationError as error:
            faults += [replace(fault, field=f"{mitigation.name}: {fault.field}") for fault in error.faults]
    if faults:
        raise ConfigurationError("these loads do not fit the machine; nothing was sent", faults)


def _say_live(screen: Console, experiment: Experiment, runs: int) -> None:
    each_s = experiment.live().duration_s + LIVE_EXTRA_S
    screen.print(
        f"{runs} live runs of {span(each_s)} each: about {span(runs * each_s)}, after the simulation"
    )


def _with_live_runs(matrix: Matrix, folder: Path, screen: Console) -> tuple[Matrix, ExitCode]:
    """The matrix with a live run a row. What ends them early takes away nothing that is there already: the
    rest are left out, with a note."""
    rows, notes, code = list(matrix.rows), matrix.notes, ExitCode.CONFIRMED
    for index, row in enumerate(rows):
        screen.print(f"live {index + 1} of {len(rows)}: {row.mitigation.name}")
        try:
            rows[index] = replace(row, live=_run_live(row.experiment, folder / row.mitigation.name, screen))
        except KeyboardInterrupt:
            code = ExitCode.INTERRUPTED
            notes = (*notes, f"Interrupted: {index} of {len(rows)} live runs were made.")
            break
        except TipoverError as error:
            code = error.exit_code
            notes = (*notes, f"{index} of {len(rows)} live runs were made; {row.mitigation.name}: {error}")
            screen.print(f"tipover: {error}", style="red", markup=False)
            break
    return replace(matrix, rows=tuple(rows), notes=notes), code


def _run_live(experiment: Experiment, directory: Path, screen: Console) -> LiveRun:
    """One run and its score; ``KeyboardInterrupt`` if it was interrupted."""
    from analysis.mitigations.matrix import LiveRun
    from analysis.mitigations.runs import with_score
    from tipover.live.conductor import RunOptions, run_experiment
    from tipover.live.view import LiveView
    from tipover.verdict import publish

    with LiveView(experiment, screen) as view:
        record = run_experiment(experiment, directory, RunOptions(), replace=True, watch=view)
    if record.facts["state"] == "interrupted":
        raise KeyboardInterrupt
    result = publish(directory, screen)
    scored = with_score(result, directory.name)
    return LiveRun(str(directory), result.valid, result.invalid_reasons, scored.score)


def _show(out: Console, matrix: Matrix, files: Sequence[Path]) -> None:
    from analysis.mitigations.columns import GROUPS
    from analysis.plots.tradeoffs import foot_notes, most_answered, tradeoffs_title

    out.print(tradeoffs_title(matrix), style="bold")
    if most := most_answered(matrix):
        out.print(most)
    for note in (*foot_notes(matrix)[:2], *matrix.notes):
        out.print(note)
    for groups in (GROUPS[:2], GROUPS[2:]):
        out.print()
        _print_part(out, matrix, groups)
    _print_live(out, matrix)
    out.print()
    for file in files:
        out.print(f"{file.suffix[1:]}: {file.resolve()}", soft_wrap=True)


def _print_part(out: Console, matrix: Matrix, groups: Sequence[str]) -> None:
    """The columns of these groups."""
    from rich.table import Table
    from rich.text import Text

    from analysis.mitigations.columns import COLUMNS, cells

    shown = [index for index, column in enumerate(COLUMNS) if column.group in groups]
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 1, 0, 0))
    table.add_column("mitigation", style="cyan", no_wrap=True)
    for index in shown:
        column = COLUMNS[index]
        table.add_column(
            "\n".join(column.words.split()), justify="left" if column.unit == "outcome" else "right"
        )
    timeout_s = matrix.experiment.client.timeout_s
    for row in matrix.rows:
        texts = cells(row.values, row.outcomes)
        styled = []
        for index in shown:
            value = row.values.get(COLUMNS[index].key)
            badness = COLUMNS[index].badness(value, timeout_s, row.outcomes)
            styled.append(Text(texts[index], style=_style(badness)))
        table.add_row(row.mitigation.name, *styled)
    out.print(table)


def _style(badness: float | None) -> str:
    if badness is None:
        return ""
    return "green" if badness < 1 / 3 else ("yellow" if badness < 2 / 3 else "red")


def _print_live(out: Console, matrix: Matrix) -> None:
    from rich.table import Table

    from analysis.mitigations.documents import LIVE_HEADINGS, live_rows

    rows = live_rows(matrix)
    if not rows:
        return
    out.print("\nThe storm on real sockets, beside the simulated seeds:")
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("mitigation", style="cyan", no_wrap=True)
    for heading in ("simulated", *LIVE_HEADINGS):
        table.add_column(heading)
    for entry in rows:
        table.add_row(entry["name"], entry["simulated"], *entry["cells"])
    out.print(table)
    for entry in rows:
        if entry["reasons"]:
            out.print(f"{entry['name']}: {entry['reasons']}", style="yellow")
