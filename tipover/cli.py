"""The ``tipover`` program: puts the commands together and turns errors into messages and exit codes.

To add a command:

1. write ``tipover/commands/<name>.py`` with ``register(app: typer.Typer) -> None``, which calls
   ``app.command("<name>")(function)`` (or ``app.add_typer`` for a group such as ``serve``);
2. add ``<name>`` to ``COMMANDS``; the order there is the order in ``--help``.

The module is imported at every start, so it imports nothing but typer and the standard library at its
top: what is heavy is imported in the function. The function returns an ``ExitCode`` or nothing, takes
``--json`` as ``JsonOption``, writes with ``tipover.commands.output``, and lets every ``TipoverError``
pass: it is reported here, with ``--json`` as JSON on stdout.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import traceback
from collections.abc import Sequence
from dataclasses import asdict
from importlib import import_module
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated

import typer

from domain.errors import ConfigurationError, ExitCode, TipoverError
from tipover.commands.output import print_json

COMMANDS = (
    "list", "predict", "simulate", "matrix", "calc", "run", "trigger", "report", "compare",
    "validate", "serve", "schema",
)  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program with these arguments (the process's own by default) and return its exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    _have_streams()
    _never_fail_to_encode()
    try:
        return _run(given)
    except (BrokenPipeError, SystemExit):
        # Whoever reads our output has gone; click and rich raise SystemExit(1) then, which would read as a
        # finding. A shell says this of a program that a closed pipe ends.
        _write_nowhere()
        return 128 + signal.SIGPIPE
    except OSError as error:
        with contextlib.suppress(OSError):
            print(f"tipover: the answer could not be written: {error}", file=sys.stderr)
        _write_nowhere()
        return ExitCode.INVALID_RUN


def _run(given: list[str]) -> int:
    try:
        code = build_app()(args=given, prog_name="tipover", standalone_mode=False)
    except TipoverError as error:
        return _report(error, as_json="--json" in given)
    except typer.TyperException as error:
        # A group without its subcommand: typer's message is the help, and the class is not public.
        if type(error).__name__ == "NoArgsIsHelpError":
            print(error.format_message(), file=sys.stderr)
            return ExitCode.CONFIGURATION
        return _report(_usage_error(error), as_json="--json" in given)
    except (KeyboardInterrupt, typer.Abort):
        return ExitCode.INTERRUPTED
    except Exception as error:
        # A bug. Python's own exit status for it is 1, which would read as a finding.
        traceback.print_exc()
        fault = TipoverError(f"this is a bug in tipover: {type(error).__name__}: {error}")
        return _report(fault, as_json="--json" in given)
    return int(code or ExitCode.CONFIRMED)


def _have_streams() -> None:
    """A stream that was closed before the start leads nowhere, and its number is given to nothing else."""
    sys.stdout = sys.stdout or Path(os.devnull).open("w")  # noqa: SIM115
    sys.stderr = sys.stderr or Path(os.devnull).open("w")  # noqa: SIM115


def _never_fail_to_encode() -> None:
    """Letters that the streams cannot write become question marks: the answer matters more than a ρ."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")


def _write_nowhere() -> None:
    """What is still to be flushed at exit would fail, and Python's status for that is 120."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def build_app() -> typer.Typer:
    """The program with all its commands."""
    # Plain help and plain tracebacks: rich's would cost a tenth of a second at every start.
    app = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False, add_completion=False)
    app.callback(invoke_without_command=True)(_program)
    for name in COMMANDS:
        import_module(f"tipover.commands.{name}").register(app)
    return app


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(f"tipover {version('tipover')}")
        raise typer.Exit


def _program(
    context: typer.Context,
    _: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit."),
    ] = False,
) -> None:
    """Tip a service over and see whether it gets back up."""
    if context.invoked_subcommand is None:
        print(context.get_help(), file=sys.stderr)
        raise typer.Exit(ExitCode.CONFIGURATION)


def _usage_error(error: typer.TyperException) -> ConfigurationError:
    path = getattr(getattr(error, "ctx", None), "command_path", "tipover")
    return ConfigurationError(f"{error.format_message()} (`{path} --help` says more)")


def _report(error: TipoverError, *, as_json: bool) -> int:
    if not as_json:
        print(f"tipover: {error}", file=sys.stderr)
        return error.exit_code
    summary, faults = (
        (error.summary, error.faults) if isinstance(error, ConfigurationError) else (str(error), ())
    )
    print_json(
        {
            "error": summary,
            "faults": [asdict(fault) for fault in faults],
            "exit_code": int(error.exit_code),
        }
    )
    return error.exit_code
