"""What is wrong with a plan file, as faults in its words, or in those of options given instead."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic import ValidationError

from domain.errors import Fault
from tipover.scenario_faults import dotted, faults_in, nearest_key
from tipover.trigger.plan_rules import BASE_RULE, cross_faults
from tipover.trigger.plan_tables import TABLES, PlanTable

_OF_URL = "must be a base URL, without a path: the path goes into --path"
_WHOLE_REQUEST = re.compile(r"request(\[\d+\])?")


@dataclass(frozen=True, slots=True)
class Setting:
    """An option of the command line: the place in the plan file that it wins over."""

    option: str
    place: tuple[str, ...]
    value: Any


def overlaid(raw: Mapping[str, Any], settings: Sequence[Setting]) -> dict[str, Any]:
    """The file's tables with the options' values in their places; what is no table is left to be refused."""
    top = dict(raw)
    for setting in settings:
        at = top
        for key in setting.place[:-1]:
            below = at.get(key, {})
            if not isinstance(below, dict):
                break
            at[key] = at = dict(below)
        else:
            at[setting.place[-1]] = setting.value
    return top


def in_options(faults: Iterable[Fault], settings: Sequence[Setting]) -> list[Fault]:
    """The faults, each under the option that its value came from, if it came from one."""
    options = {dotted(setting.place): setting.option for setting in settings}
    found = []
    for fault in faults:
        place = re.sub(r"\[\d+\]$", "", fault.field)  # an option may give a whole list
        option = options.get(place)
        rule = _OF_URL if option == "--url" and fault.rule == BASE_RULE else fault.rule
        found.append(replace(fault, field=option or fault.field, rule=rule))
    return found


def validated(raw: Mapping[str, Any]) -> tuple[PlanTable | None, list[Fault]]:
    """The plan's tables, if they are right, and every fault at once."""
    known, faults = _known(raw)
    made = None
    try:
        made = PlanTable.model_validate(known)
    except ValidationError as error:
        found = zip(faults_in(error), error.errors(include_url=False), strict=True)
        faults += [_without_request(_in_plain_words(fault, its)) for fault, its in found]
    faults += cross_faults(known)
    return made, faults


def _in_plain_words(fault: Fault, found: Any) -> Fault:
    """The fault in words that the scenario's do not have, or that say more to whoever types a plan."""
    if found["type"] == "list_type" and fault.field == "assert.verdict":
        return replace(fault, rule="must be a list of verdicts")
    if found["type"] == "too_long":
        return replace(fault, rule=f"must have at most {found['ctx']['max_length']} entries", value=None)
    if fault.rule == "must be a number of seconds":
        return replace(fault, rule="must be a number (of seconds, such as 0.5)")
    return replace(fault, rule=re.sub("^Input should be ", "must be ", fault.rule))


def _without_request(fault: Fault) -> Fault:
    """What stands where a request should be is not shown: it may be a credential."""
    return replace(fault, value=None) if _WHOLE_REQUEST.fullmatch(fault.field) else fault


def _known(raw: Mapping[str, Any]) -> tuple[dict[str, Any], list[Fault]]:
    """The tables without keys that nobody knows, and a fault for each of those.

    They are told here, since the scenario's words for them would name the scenario's tables.
    """
    faults = list(_unknown((), raw))
    kept = {key: value for key, value in raw.items() if key in _keys(())}
    for name, value in kept.items():
        if (name,) not in TABLES:
            continue
        if isinstance(value, dict):
            faults += _unknown((name,), value)
            kept[name] = _pruned(name, value)
        elif isinstance(value, list):
            for index, entry in enumerate(value):
                if isinstance(entry, dict):
                    faults += _unknown((name, index), entry)
            kept[name] = [_pruned(name, entry) if isinstance(entry, dict) else entry for entry in value]
    return kept, faults


def _keys(table: tuple[str, ...]) -> list[str]:
    return [field.alias or name for name, field in TABLES[table].model_fields.items()]


def _pruned(name: str, entry: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in entry.items() if key in _keys((name,))}


def _unknown(place: tuple[str | int, ...], entry: Mapping[str, Any]) -> Iterator[Fault]:
    table = tuple(part for part in place if isinstance(part, str))
    known = _keys(table)
    for key in entry:
        if key not in known:
            # Its value is not shown: nobody knows what it is, and it may be a credential.
            yield Fault(dotted((*place, key)), _unknown_rule(key, known), None)


def _unknown_rule(key: str, known: list[str]) -> str:
    meant = nearest_key(key, known)
    if meant:
        return f"is not a known key; did you mean {meant}?"
    for other in TABLES:
        if other and key in _keys(other):
            return f"is not a known key here; it belongs in [{dotted(other)}]"
    return f"is not a known key; known here: {', '.join(known)}"
