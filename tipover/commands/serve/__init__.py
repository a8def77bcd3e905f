"""``tipover serve``: one part on its own, each in a module of its own."""

from __future__ import annotations

import typer

from tipover.commands.serve.autoscaler import serve_autoscaler
from tipover.commands.serve.meter import serve_meter
from tipover.commands.serve.target import serve_target
from tipover.commands.serve.worker import serve_worker


def register(app: typer.Typer) -> None:
    """Add the group."""
    group = typer.Typer(help="Start one part on its own.", rich_markup_mode=None, no_args_is_help=True)
    group.command("target")(serve_target)
    group.command("meter")(serve_meter)
    group.command("autoscaler")(serve_autoscaler)
    group.command("worker")(serve_worker)
    app.add_typer(group, name="serve")
