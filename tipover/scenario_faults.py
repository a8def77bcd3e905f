"""What pydantic found wrong with a scenario, as faults in the words of the scenario file."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from typing import Any

from pydantic import ValidationError

from domain.errors import Fault
from tipover.scenario_schema import TABLES, UNIONS

_UNIT = re.compile(r"_(us|ms|s|secs?|seconds?|m|mins?|minutes?|h|hours?|per_s|per_min|rps|qps|pct|percent)$")
_SAID = re.compile(r"(\w+): (.*?)(?: \(got .*\))?")
_MEANT = {
    "retries": "max_attempts (it counts the first attempt too)",
    "max_retries": "max_attempts (it counts the first attempt too)",
    "retry": "max_attempts (it counts the first attempt too)",
    "rho": "utilization",
    "name": "title",
    "honor_retry_after": "honour_retry_after",
    "honours_retry_after": "honour_retry_after",
    "retry_after": "honour_retry_after",
    "max_queue": "queue_cap",
    "queue_limit": "queue_cap",
    "concurrency_limit": "limit",
    "circuit_breaker": "breaker",
    "throttle": "breaker",
    "retry_budget": "budget",
    "target": "target_utilization",
    "min_replicas": "min_pods",
    "max_replicas": "max_pods",
    "stabilization_window": "stabilization_s, in seconds",
    "lifo": 'discipline (as in discipline = "lifo")',
}
_WORDS: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "missing": lambda _: "is required",
    "finite_number": lambda _: "must be a finite number",
    "greater_than": lambda limit: f"must be greater than {limit['gt']:g}",
    "greater_than_equal": lambda limit: f"must be at least {limit['ge']:g}",
    "less_than": lambda limit: f"must be less than {limit['lt']:g}",
    "less_than_equal": lambda limit: f"must be at most {limit['le']:g}",
    "int_type": lambda _: "must be a whole number",
    "bool_type": lambda _: "must be true or false",
    "string_type": lambda _: "must be text",
    "string_too_short": lambda _: "must not be empty",
    "list_type": lambda _: "must be a list of tables",
    "too_short": lambda _: "must have at least one entry",
    "model_type": lambda _: "must be a table",
    "dict_type": lambda _: "must be a table",
    "literal_error": lambda allowed: f"must be {allowed['expected']}",
    "union_tag_invalid": lambda allowed: f"must be one of {allowed['expected_tags']}",
}


def kinds_at(place: tuple[int | str, ...]) -> list[str]:
    """The kinds that a rule at this place comes in."""
    return [at[-1] for at in TABLES if at and at[:-1] == place]


EXAMPLES: dict[tuple[int | str, ...], str] = {
    ("fleet", "signals"): '["first"]',
    ("service", "codel"): "{ target_s = 0.005, interval_s = 0.1 }",
    ("service", "degradation"): "{ half_queue = 100, floor = 0.5 }",
    ("client", "hedging"): "{ copies = 4, delay_s = 0.5 }",
    **{place: f'{{ kind = "{kinds_at(place)[0]}" }}' for place in UNIONS},
}
"""What may be written at a place that holds a small table, or a list of words."""
_NO_TABLE = ("model_type", "dict_type", "model_attributes_type")


def faults_in(error: ValidationError, at: tuple[str, ...] = ()) -> list[Fault]:
    """One fault for each thing found; ``at`` is the place of the validated table in the file."""
    return [_fault(found, (*at, *found["loc"])) for found in error.errors(include_url=False)]


def dotted(place: tuple[int | str, ...]) -> str:
    """A place in the file as the user writes it, such as ``demand.phases[1].factor``."""
    text = ""
    for index, part in enumerate(place):
        if isinstance(part, int):
            text += f"[{part}]"
        elif place[:index] not in UNIONS or len(place) == index + 1:
            # After client.backoff pydantic names the kind of backoff, which is no key of the file.
            text += f".{part}" if text else part
    return text


def _fault(found: Mapping[str, Any], place: tuple[int | str, ...]) -> Fault:
    kind, value = found["type"], found["input"]
    if kind == "value_error":
        return _domain_fault(str(found["ctx"]["error"]), place, value)
    if kind == "missing":
        value = None
    elif kind.startswith("union_tag"):
        place, value = (*place, "kind"), value.get("kind")
    return Fault(dotted(place), _rule(kind, place, found), value)


def _domain_fault(message: str, place: tuple[int | str, ...], table: Mapping[str, Any]) -> Fault:
    """A value of the domain that could not be made: it says ``key: rule (got value)``."""
    said = _SAID.fullmatch(message)
    if said is None:
        return Fault(dotted(place), message, None)
    key, rule = said.groups()
    model = TABLES[tuple(part for part in place if isinstance(part, str))]
    return Fault(dotted((*place, key)), rule, table.get(key, model.model_fields[key].default))


def _rule(kind: str, place: tuple[int | str, ...], found: Mapping[str, Any]) -> str:
    if kind == "extra_forbidden":
        return _unknown_key(place)
    if kind in ("float_type", "float_parsing"):
        return f"must be a number{_unit_in_words(str(place[-1]))}"
    if kind in _NO_TABLE and place in EXAMPLES:
        return f"must be a table, such as {EXAMPLES[place]}"
    if kind == "list_type" and place in EXAMPLES:
        return f"must be a list, such as {EXAMPLES[place]}"
    if kind == "union_tag_not_found":
        return f"is required; one of {', '.join(map(repr, kinds_at(place[:-1])))}"
    words = _WORDS.get(kind)
    return words(found.get("ctx", {})) if words else str(found["msg"])


def _unit_in_words(key: str) -> str:
    if key.endswith("_per_s"):
        return " (per second)"
    return " of seconds" if key.endswith("_s") else ""


def _unknown_key(place: tuple[int | str, ...]) -> str:
    key = str(place[-1])
    table = tuple(part for part in place[:-1] if isinstance(part, str))
    known = list(TABLES[table].model_fields)
    meant = nearest_key(key, known)
    if meant:
        return f"is not a known key; did you mean {meant}?"
    for other, model in TABLES.items():
        if key in model.model_fields and other[:2] not in UNIONS:
            return f"is not a known key here; it belongs in {f'[{dotted(other)}]' if other else 'no table'}"
    return f"is not a known key; known here: {', '.join(known)}"


def nearest_key(key: str, known: list[str]) -> str | None:
    """The known key that was probably meant: the same but for its unit, a synonym, or a near spelling."""
    stem = _UNIT.sub("", key.lower())
    for candidate in known:
        if _UNIT.sub("", candidate) == stem:
            return candidate + (", in seconds" if re.search("(?<!_per)_s$", candidate) else "")
    synonym = _MEANT.get(stem)
    if synonym and synonym.split()[0] in known:
        return synonym
    close = get_close_matches(key, known, n=1, cutoff=0.7)
    return close[0] if close else None
