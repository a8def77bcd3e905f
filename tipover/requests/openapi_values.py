"""Values for the parameters and bodies of an OpenAPI document: its examples, else what its schemas allow."""

from __future__ import annotations

import datetime
import json
import math
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from tipover.requests.openapi_document import Document, UnresolvedError

_DEEPEST = 12
_LONGEST = 1000
_OF_FORMATS = {
    "uuid": "00000000-0000-4000-8000-000000000001",
    "date": "2024-01-01",
    "date-time": "2024-01-01T00:00:00Z",
    "time": "00:00:00Z",
    "email": "user@example.com",
    "uri": "http://example.com/",
    "hostname": "example.com",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
    "byte": "AA==",
}


class NoValueError(Exception):
    """No value can be found: why, in words."""


def parameter_value(document: Document, parameter: Mapping[str, Any]) -> Any:
    """A value for a parameter; raises ``NoValueError``."""
    try:
        given = _example(document, parameter)
        if given is not _NONE:
            return given
        schema = parameter.get("schema")
        if schema is None:
            contents = document.table(parameter.get("content"))
            media = next(iter(contents.values()), None)
            return _written("json", _media_value(document, document.table(media))).decode()
        return schema_value(document, schema)
    except UnresolvedError as error:
        raise NoValueError(str(error)) from None


def body_example(document: Document, body: Mapping[str, Any]) -> tuple[str, bytes] | None:
    """Media type and bytes of a body that has an example, JSON first; None if none has.

    Raises ``NoValueError`` for an example that cannot be written down.
    """
    contents = document.table(body.get("content"))
    for media_type in sorted(contents, key=lambda name: "json" not in str(name)):
        media = document.table(contents[media_type])
        example = _example(document, media)
        if example is _NONE:
            example = _example(document, document.table(media.get("schema")))
        if example is not _NONE:
            return str(media_type), _written(str(media_type), example)
    return None


def schema_value(document: Document, schema: object, depth: int = 0) -> Any:
    """A value that a schema allows: its example, default, constant or first choice, else one of its type."""
    if depth > _DEEPEST:
        raise NoValueError("its schema is too deep, or contains itself")
    found = document.table(schema)
    given = _example(document, found)
    if given is not _NONE:
        return given
    for key in ("default", "const"):
        if key in found:
            return found[key]
    if document.rows(found.get("enum")):
        return document.rows(found["enum"])[0]
    for key in ("allOf", "oneOf", "anyOf"):
        for choice in document.rows(found.get(key)):
            return schema_value(document, choice, depth + 1)
    return _of_type(document, found, depth)


def query_pairs(name: str, value: Any, style: str, explode: bool) -> list[str]:
    """``name=value`` for a query (RFC 3986), in the document's style."""
    key = quote(name, safe="")
    if isinstance(value, Mapping):
        if style == "deepObject":
            return [f"{key}%5B{_quoted(sub)}%5D={_quoted(part)}" for sub, part in value.items()]
        if explode:
            return [f"{_quoted(sub)}={_quoted(part)}" for sub, part in value.items()]
        flat = [part for pair in value.items() for part in pair]
        return [f"{key}={','.join(map(_quoted, flat))}"]
    if isinstance(value, list):
        if explode:
            return [f"{key}={_quoted(part)}" for part in value]
        joint = {"spaceDelimited": "%20", "pipeDelimited": "%7C"}.get(style, ",")
        return [f"{key}={joint.join(map(_quoted, value))}"]
    return [f"{key}={_quoted(value)}"]


def path_part(value: Any) -> str:
    """A value as a part of a path, in the style ``simple``; raises ``NoValueError`` for nothing at all."""
    parts = [part for pair in value.items() for part in pair] if isinstance(value, Mapping) else value
    text = ",".join(map(_quoted, parts)) if isinstance(parts, list) else _quoted(parts)
    if text in {"", ".", ".."}:
        raise NoValueError("its value is empty or only dots")
    return text


def plain_text(value: Any) -> str:
    """A value as the text of a header."""
    if isinstance(value, list):
        return ",".join(map(plain_text, value))
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(_as_text(value)) if value is not None else ""


_NONE: Any = object()


def _example(document: Document, holder: Mapping[str, Any]) -> Any:
    """``example``, or the first of ``examples``: of a schema a list of values, elsewhere named objects."""
    if "example" in holder:
        return holder["example"]
    examples = document.resolved(holder.get("examples"))
    if isinstance(examples, list) and examples:
        return examples[0]
    for entry in examples.values() if isinstance(examples, Mapping) else ():
        found = document.table(entry)
        if "value" in found:
            return found["value"]
    return _NONE


def _media_value(document: Document, media: Mapping[str, Any]) -> Any:
    given = _example(document, media)
    return schema_value(document, media.get("schema")) if given is _NONE else given


def _of_type(document: Document, schema: Mapping[str, Any], depth: int) -> Any:
    kinds = schema.get("type")
    kind = next((one for one in kinds if one != "null"), None) if isinstance(kinds, list) else kinds
    if kind in ("integer", "number"):
        return _number(schema, kind == "integer")
    if kind == "boolean":
        return True
    if kind == "string":
        return _string(schema)
    if kind == "array":
        return [schema_value(document, schema.get("items"), depth + 1)]
    raise NoValueError("it has no example, and its schema no type that gives a value")


def _number(schema: Mapping[str, Any], whole: bool) -> float:
    least, most = _limit(schema, "inimum", -math.inf, 1), _limit(schema, "aximum", math.inf, -1)
    value = min(max(1.0, least), most)
    if whole:
        value = math.ceil(value) if value == least else math.floor(value)
    step = schema.get("multipleOf")
    if isinstance(step, int | float) and step > 0:
        value = math.ceil(value / step) * step
    if not least <= value <= most:
        raise NoValueError("no simple number lies within its limits")
    return value


def _limit(schema: Mapping[str, Any], key: str, none: float, inwards: int) -> float:
    """``minimum`` or ``maximum``; an exclusive one, in either version's notation, one further in."""
    least = schema.get(f"m{key}", none)
    exclusive = schema.get(f"exclusiveM{key}")
    if isinstance(exclusive, int | float) and not isinstance(exclusive, bool):
        return float(exclusive) + inwards
    if not isinstance(least, int | float):
        return none
    return float(least) + (inwards if exclusive is True else 0)


def _string(schema: Mapping[str, Any]) -> str:
    if "pattern" in schema:
        raise NoValueError("it has a pattern and no example")
    text = _OF_FORMATS.get(str(schema.get("format")))
    if text is not None:
        return text
    least, most = schema.get("minLength", 0), schema.get("maxLength", _LONGEST)
    if not isinstance(least, int) or not isinstance(most, int) or not least <= min(most, _LONGEST):
        raise NoValueError(f"its length must be a number up to {_LONGEST}")
    return "example".ljust(least, "x")[: max(most, 0)]


def _written(media_type: str, example: Any) -> bytes:
    try:
        if "json" in media_type:
            return json.dumps(example, default=_as_text, ensure_ascii=False, allow_nan=False).encode()
        if media_type == "application/x-www-form-urlencoded" and isinstance(example, Mapping):
            pairs = (query_pairs(str(name), value, "form", True) for name, value in example.items())
            return "&".join(pair for some in pairs for pair in some).encode()
        if isinstance(example, str):
            return example.encode()
    except (TypeError, ValueError, RecursionError):
        raise NoValueError("its example is no value that JSON has") from None
    raise NoValueError(f"its example cannot be written as {media_type}")


def _quoted(value: Any) -> str:
    return quote(plain_text(value), safe="")


def _as_text(value: object) -> object:
    """Dates, which YAML reads out of texts, as texts again."""
    return value.isoformat() if isinstance(value, datetime.date | datetime.datetime) else str(value)
