"""Scenarios: from a TOML file, or the name of a built-in one, to a ``domain.Experiment``."""

from __future__ import annotations

import re
import tomllib
from difflib import SequenceMatcher
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from domain.errors import ConfigurationError, Fault
from domain.experiment import Demand, Expectation, Experiment, Phase, RunSettings
from tipover.scenario_faults import faults_in
from tipover.scenario_rules import Need, cross_faults
from tipover.scenario_schema import RunTable, ScenarioTable, scenario_json_schema

__all__ = ["builtin_names", "builtin_scenarios", "load_scenario", "parse_scenario", "scenario_json_schema"]


def load_scenario(
    name_or_path: str,
    *,
    speedup: float | None = None,
    seed: int | None = None,
    need_service: bool = False,
    service_for: Need = "run",
) -> Experiment:
    """The experiment in a scenario file, or in the built-in scenario of that name.

    A built-in name wins over a file of the same name; ``./name`` is always a file. ``speedup`` and
    ``seed`` replace the file's; ``service_for`` is why the service is needed. Raises
    ``ConfigurationError`` with every fault at once.
    """
    source = _source(name_or_path)
    text = _read(source, name_or_path)
    name = Path(source.name).stem
    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationError(
            f"cannot read scenario {name!r}", [_toml_fault(source, text, error)]
        ) from None
    return parse_scenario(
        raw, name=name, speedup=speedup, seed=seed, need_service=need_service, service_for=service_for
    )


def parse_scenario(
    raw: dict[str, Any],
    *,
    name: str,
    speedup: float | None = None,
    seed: int | None = None,
    need_service: bool = False,
    service_for: Need = "run",
) -> Experiment:
    """The experiment in the tables of a scenario; raises ``ConfigurationError`` with every fault at once."""
    faults: list[Fault] = []
    table = None
    try:
        table = ScenarioTable.model_validate(raw)
    except ValidationError as error:
        faults += faults_in(error)
    faults += cross_faults(raw, need_service=need_service, service_for=service_for, speedup=speedup)
    faults += _override_faults(speedup=speedup, seed=seed)
    if table is None or faults:
        raise ConfigurationError(f"scenario {name!r} has {_count(len(faults))}", faults)
    return _experiment(name, table).with_run(speedup=speedup, seed=seed)


def builtin_names() -> tuple[str, ...]:
    """Names of the built-in scenarios, sorted."""
    return tuple(sorted(Path(f.name).stem for f in _builtin_files().iterdir() if f.name.endswith(".toml")))


def builtin_scenarios() -> tuple[Experiment, ...]:
    """Every built-in scenario, by name; each knows its name, title, expectation and duration."""
    return tuple(load_scenario(name) for name in builtin_names())


def _builtin_files() -> Traversable:
    return files("tipover") / "scenarios"


def _source(name_or_path: str) -> Traversable:
    if name_or_path in builtin_names():
        return _builtin_files() / f"{name_or_path}.toml"
    path = Path(name_or_path)
    if path.suffix == ".toml" or path.name != name_or_path or path.is_file():
        return path
    known = sorted(builtin_names(), key=lambda name: -SequenceMatcher(None, name_or_path, name).ratio())
    names = ", ".join(known)
    rule = f"is neither a scenario file (NAME.toml) nor a built-in scenario; closest first: {names}"
    raise ConfigurationError("no such scenario", [Fault("scenario", rule, name_or_path)])


def _read(source: Traversable, name: str) -> str:
    try:
        return source.read_text(encoding="utf-8")
    except OSError as error:
        fault = Fault("scenario", f"cannot be read: {error.strerror or error}", name)
    except UnicodeDecodeError as error:
        fault = Fault("scenario", f"must be UTF-8 text: {error.reason} at byte {error.start}", name)
    raise ConfigurationError("cannot read the scenario", [fault])


def _toml_fault(source: Traversable, text: str, error: tomllib.TOMLDecodeError) -> Fault:
    where = re.search(r"at line (\d+)", str(error))
    lines = text.splitlines()
    number = int(where.group(1)) if where else len(lines)
    line = lines[number - 1].strip() if 0 < number <= len(lines) else ""
    return Fault(source.name, f"must be TOML: {error}{_number_hint(line)}", line)


def _number_hint(line: str) -> str:
    """What to write for a number without a digit on either side of its point, which TOML does not know."""
    bare = re.search(r"[=\[,]\s*([+-]?)(?:(\.\d+)|(\d+\.))(?![\w.])", line.split("#", maxsplit=1)[0])
    if bare is None:
        return ""
    sign, fraction, whole = bare.groups()
    return f"; write {sign}{f'0{fraction}' if fraction else f'{whole}0'}"


def _override_faults(**overrides: float | None) -> list[Fault]:
    given = {key: value for key, value in overrides.items() if value is not None}
    try:
        RunTable.model_validate(given)
    except ValidationError as error:
        return [Fault(f"--{fault.field}", fault.rule, fault.value) for fault in faults_in(error)]
    return []


def _count(faults: int) -> str:
    return "1 fault" if faults == 1 else f"{faults} faults"


def _experiment(name: str, table: ScenarioTable) -> Experiment:
    service = table.service.value() if table.service else None
    demand = table.demand
    rate_per_s = demand.arrival_rate_per_s or (demand.utilization or 0.0) * (
        service.capacity_per_s if service else 0.0
    )
    return Experiment(
        name=name,
        title=table.title or name,
        client=table.client.value(),
        demand=Demand(
            arrival_rate_per_s=rate_per_s,
            phases=tuple(Phase(**phase.model_dump()) for phase in demand.phases),
            arrivals=demand.arrivals,
        ),
        service=service,
        run=RunSettings(**table.run.model_dump()),
        expect=Expectation(**table.expect.model_dump()) if table.expect else None,
        fleet=table.fleet.value() if table.fleet else None,
    )
