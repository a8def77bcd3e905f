"""``tipover schema``: the JSON schema of scenario files, and of trigger plans."""

from __future__ import annotations

from typing import Annotated

import typer

from tipover.commands.output import print_json


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("schema")(schema)


def schema(
    plan: Annotated[
        bool, typer.Option("--plan", help="That of the plan files of `tipover trigger` instead.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", hidden=True)] = False,  # noqa: ARG001 - it always is
) -> None:
    """Print the JSON schema of scenario files."""
    if plan:
        from tipover.trigger.plan_tables import plan_json_schema

        print_json(plan_json_schema())
        return
    from tipover.scenario import scenario_json_schema

    print_json(scenario_json_schema())
