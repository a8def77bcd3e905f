"""Turns a calculation into a command: options in, working or JSON out, faults by the option's name."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any

from domain.errors import ConfigurationError, Fault
from tipover.commands.calc.calculation import Calculation, Step, counted, figure
from tipover.commands.options import JsonOption
from tipover.commands.output import console, print_json

if TYPE_CHECKING:
    from rich.console import Console

WHOLE = "must be a whole number or inf"


def answering(calculation: Callable[..., Calculation]) -> Callable[..., None]:
    """The command that takes the calculation's options and ``--json``, and shows what it returns."""

    @wraps(calculation)
    def command(*, as_json: bool, **options: Any) -> None:
        from analysis.laws import DomainError

        try:
            answer = calculation(**options)
        except DomainError as error:
            raise faulty([_named_as_option(fault) for fault in error.faults]) from None
        if as_json:
            print_json(answer.as_json())
        else:
            _show(answer, console())

    signature = inspect.signature(calculation, eval_str=True)
    json_option = inspect.Parameter(
        "as_json", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=JsonOption
    )
    # typer reads the options off the signature.
    command.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[*signature.parameters.values(), json_option], return_annotation=None
    )
    return command


def checked(**values: Any) -> None:
    """Raise ``DomainError`` with every value outside its field's domain; None is what was not given."""
    from analysis.laws import DomainError, check

    given = {field: value for field, value in values.items() if value is not None}
    faults: list[Fault] = []
    try:
        check(**given)
    except DomainError as error:
        faults.extend(error.faults)
    attempts = given.get("max_attempts", 1)
    if attempts >= 1 and attempts != float("inf") and attempts % 1:
        faults.append(Fault("max_attempts", WHOLE, attempts))
    if faults:
        raise DomainError(faults)


def faulty(faults: Sequence[Fault]) -> ConfigurationError:
    """The error for options that cannot be used, all of them at once."""
    count = "a fault" if len(faults) == 1 else f"{len(faults)} faults"
    return ConfigurationError(f"the options have {count}", faults)


def exactly_one(**values: Any) -> None:
    """Raise ``ConfigurationError`` unless exactly one of these options was given."""
    given = [field for field, value in values.items() if value is not None]
    if len(given) != 1:
        names = ", ".join(option(field) for field in values)
        got = f", not {' and '.join(option(field) for field in given)}" if given else ""
        raise faulty([Fault(names, f"give exactly one of them{got}", None)])


def option(field: str) -> str:
    """The option that sets a field."""
    return field if field.startswith("--") else "--" + field.replace("_", "-")


def _named_as_option(fault: Fault) -> Fault:
    return Fault(option(fault.field), fault.rule, fault.value)


def _show(answer: Calculation, out: Console) -> None:
    out.print(answer.title, style="bold")
    given = [
        (f"{symbol} = {_plain(value)}", option(field))
        for field, (symbol, value) in answer.inputs.items()
        if value is not None
    ]
    widest = max(len(equation) for equation, _ in given)
    for equation, name in given:
        out.print(f"  {equation:{widest}}  {name}")
    for step in answer.steps:
        out.print()
        out.print(step.what)
        for line in _lines(step, out.width):
            out.print(line, style="bold" if step.key else "", soft_wrap=len(line) <= out.width)
    out.print()
    out.print(answer.meaning)
    out.print(f"Source: {answer.source}.", style="dim")


def _lines(step: Step, width: int) -> list[str]:
    """``symbol = formula = numbers = value``, on one line if it fits, else one part a line."""
    number = isinstance(step.value, float | int) and not isinstance(step.value, bool)
    shown = counted(step.value, step.unit) if step.unit and number else figure(step.value)  # type: ignore[arg-type]
    if step.deduced:
        grounds = ":  ".join(part for part in (step.formula, step.numbers) if part)
        return [f"  {grounds}  →  {step.symbol}{' = ' if step.symbol else ''}{shown}"]
    parts = list(dict.fromkeys(part for part in (step.formula, step.numbers, shown) if part))
    start = f"  {step.symbol} = "
    line = start + " = ".join(parts)
    if len(line) <= width:
        return [line]
    return [start + parts[0], *(f"{' ' * (len(start) - 2)}= {part}" for part in parts[1:])]


def _plain(value: object) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(_plain(entry) for entry in value)
    return figure(value) if isinstance(value, float | str) else figure(float(value))  # type: ignore[arg-type]
