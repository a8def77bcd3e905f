"""``tipover report``: make everything that is worked out from a run directory again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from domain.errors import ExitCode
from tipover.commands.options import JsonOption


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("report")(report_run)


def report_run(
    directory: Annotated[Path, typer.Argument(help="A run directory.", show_default=False)],
    as_json: JsonOption = False,
) -> ExitCode:
    """Judge a run or a trigger test again, from its files alone."""
    from tipover.commands.output import console, error_console
    from tipover.trigger.publishing import is_trigger_test, republish
    from tipover.verdict import exit_code, publish, show

    if is_trigger_test(directory):
        return republish(directory, screen=error_console(), as_json=as_json)
    result = publish(directory, error_console())
    code = exit_code(result)
    show(result, code, as_json=as_json, out=console())
    return code
