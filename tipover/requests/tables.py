"""``[[request]]`` and ``[success]`` of a plan file: which keys there are, of which type, in which range.

Headers, paths and bodies may hold credentials where none should be, so their faults are told without values:
pydantic takes what stands there as it is, and ``mix_of`` says what is wrong with it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import BeforeValidator, Field, ValidationError, WithJsonSchema
from pydantic_core import PydanticCustomError

from domain.errors import ConfigurationError, Fault
from domain.placeholders import literal
from domain.request_mix import (
    LARGEST_WEIGHT,
    MAX_BODY_BYTES,
    RequestMix,
    RequestTemplate,
    Success,
    faults_in_mix,
    faults_in_request,
    faults_in_success,
)
from tipover.requests.imported import read_bytes, value_of
from tipover.requests.secrets import literal_faults
from tipover.scenario_faults import faults_in, nearest_key
from tipover.scenario_tables.base import Table, Text, stated

_CLASS = re.compile(r"([2-9])xx", re.IGNORECASE)
_SPAN = re.compile(r"([0-9]{3})(?:\s*-\s*([0-9]{3}))?")
_STATUS_RULE = 'must be HTTP statuses from 200 on, such as 418, "2xx" or "200-204"'
_T = TypeVar("_T", bound=Table)
_OF_TEXTS = {"type": "object", "additionalProperties": {"type": "string"}}


def status_span(entry: object) -> tuple[int, int]:
    """The statuses that ``418``, ``"2xx"`` or ``"200-204"`` means; raises ``ValueError``."""
    text = str(entry).strip() if isinstance(entry, str | int) and not isinstance(entry, bool) else ""
    if found := _CLASS.fullmatch(text):
        first = int(found[1]) * 100
        return first, first + 99
    if found := _SPAN.fullmatch(text):
        first, last = int(found[1]), int(found[2] or found[1])
        if 200 <= first <= last:
            return first, last
    raise ValueError(f"{_STATUS_RULE} (got {entry!r})")


def status_spans(entries: Iterable[object]) -> tuple[tuple[int, int], ...]:
    """The statuses of all entries, in order, spans that touch in one; raises ``ValueError``."""
    spans: list[tuple[int, int]] = []
    for first, last in sorted(map(status_span, entries)):
        if spans and first <= spans[-1][1] + 1:
            spans[-1] = spans[-1][0], max(last, spans[-1][1])
        else:
            spans.append((first, last))
    return tuple(spans)


def _statuses(value: object) -> object:
    try:
        if not isinstance(value, list | tuple) or not value:
            raise ValueError
        for entry in value:
            status_span(entry)
    except ValueError:
        raise PydanticCustomError(
            "statuses", "{rule}", {"rule": f"must be a list; each {_STATUS_RULE}"}
        ) from None
    return value


def _pattern(value: object) -> object:
    for fault in faults_in_success(Success().statuses, value) if isinstance(value, str) else ():
        raise PydanticCustomError("pattern", "{rule}", {"rule": fault.rule})
    return value


class SuccessTable(Table):
    """``[success]``: what counts as an answer."""

    statuses: Annotated[
        Any,
        BeforeValidator(_statuses),
        WithJsonSchema({"type": "array", "items": {"type": ["integer", "string"]}, "minItems": 1}),
    ] = Field(default=("2xx", "3xx"), description='statuses: 418, "2xx" or "200-204"')
    body_match: Annotated[str | None, BeforeValidator(_pattern)] = Field(
        default=None, description="a regular expression that must be found in the body"
    )

    def value(self) -> Success:
        """The set of successes."""
        return Success(status_spans(self.statuses), self.body_match)


class RequestTable(Table):
    """``[[request]]``: one kind of request, at most one of ``body``, ``json`` and ``body_file``."""

    method: Text = stated(RequestTemplate, "method", "any method, such as GET")
    path: Text = stated(RequestTemplate, "path", "path and query, percent-encoded; ${NAME} for a variable")
    headers: Annotated[Any, WithJsonSchema(_OF_TEXTS)] = Field(
        default={}, description="credentials as ${NAME}, taken from the environment"
    )
    body: Annotated[Any, WithJsonSchema({"type": "string"})] = Field(
        default=None, description="text; ${NAME} for a variable"
    )
    # "json" is a method of pydantic's models; the file's key is the alias.
    json_body: Any = Field(default=None, alias="json", description="a value that is sent as JSON")
    body_file: Text | None = Field(default=None, description="a file that is sent as it is")
    weight: Annotated[float, Field(gt=0, le=LARGEST_WEIGHT)] = stated(
        RequestTemplate, "weight", "how often, relative to the other requests"
    )
    name: str = stated(RequestTemplate, "name", "what it is called in reports")

    def value(self, directory: Path = Path()) -> RequestTemplate:
        """The request; ``body_file`` is looked for in ``directory``. Raises ``ConfigurationError``."""
        made, faults = self.made(directory)
        if made is None:
            raise ConfigurationError("this request cannot be sent", faults)
        return made

    def made(self, directory: Path) -> tuple[RequestTemplate | None, list[Fault]]:
        """The request if it can be one, and everything that is wrong with it."""
        headers, faults = self._headers()
        body, more = self._body(directory)
        faults += more
        if "json_body" in self.model_fields_set and not value_of(headers, "content-type"):
            headers = (*headers, ("Content-Type", "application/json"))
        faults += faults_in_request(self.method, self.path, headers, body, self.weight)
        faults += literal_faults(self.path, headers, body, value_of(headers, "content-type"))
        if faults:
            return None, faults
        return RequestTemplate(self.method, self.path, headers, body, self.weight, self.name), []

    def _headers(self) -> tuple[tuple[tuple[str, str], ...], list[Fault]]:
        if not isinstance(self.headers, Mapping):
            return (), [Fault("headers", 'must be a table, such as { Accept = "text/html" }', None)]
        faults = [
            Fault(f"headers.{name}", "must be text", None)
            for name, value in self.headers.items()
            if not isinstance(value, str)
        ]
        return tuple((name, text) for name, text in self.headers.items() if isinstance(text, str)), faults

    def _body(self, directory: Path) -> tuple[bytes, list[Fault]]:
        given = [name for name in ("body", "json_body", "body_file") if name in self.model_fields_set]
        if len(given) > 1:
            words = " and ".join(name.removesuffix("_body") for name in given)
            return b"", [Fault("body", f"must be given once, not as {words}", None)]
        try:
            return self._bytes(directory), []
        except ConfigurationError as error:
            return b"", list(error.faults)
        except (TypeError, ValueError, RecursionError):
            shown, rule = (
                ("json", "must be a value that JSON has") if given == ["json_body"] else ("body", "")
            )
            return b"", [Fault(shown, rule or "must be text that UTF-8 can hold", None)]

    def _bytes(self, directory: Path) -> bytes:
        if self.body_file is not None:
            content = read_bytes(directory / self.body_file, "body_file", MAX_BODY_BYTES)
            return literal(content.decode("latin-1")).encode("latin-1")
        if "json_body" in self.model_fields_set:
            return json.dumps(self.json_body, ensure_ascii=False, allow_nan=False).encode()
        if self.body is None:
            return b""
        if not isinstance(self.body, str):
            raise TypeError("a body is text")
        return self.body.encode()


def mix_of(
    requests: Sequence[RequestTable], success: SuccessTable, directory: Path = Path()
) -> tuple[RequestMix | None, list[Fault]]:
    """The mix that tables describe (``GET /`` without any), if they can be one, and every fault at once."""
    made, faults = [], []
    for index, table in enumerate(requests):
        request, found = table.made(directory)
        made.append(request)
        faults += _placed(found, f"request[{index}]")
    templates = tuple(request for request in made if request is not None) or (RequestTemplate(),)
    counts = success.value()
    if not faults:
        faults += faults_in_mix(templates, counts)
    return (None, faults) if faults else (RequestMix(templates, counts), [])


def mix_from_tables(raw: Mapping[str, Any], directory: Path = Path()) -> RequestMix:
    """The mix in the ``request`` and ``success`` tables of a file; raises ``ConfigurationError`` with every
    fault at once."""
    faults: list[Fault] = []
    entries = raw.get("request", [])
    if not isinstance(entries, list):
        faults.append(Fault("request", "must be a list of tables", None))
        entries = []
    tables = [_table(RequestTable, entry, f"request[{index}]", faults) for index, entry in enumerate(entries)]
    success = _table(SuccessTable, raw.get("success", {}), "success", faults)
    known = [table for table in tables if table is not None]
    if len(known) < len(tables):  # the others' faults are told under their own numbers
        for index, table in enumerate(tables):
            if table is not None:
                faults += _placed(table.made(directory)[1], f"request[{index}]")
        mix = None
    else:
        mix, more = mix_of(known, success or SuccessTable(), directory)
        faults += more
    if mix is None or faults:
        count = "1 fault" if len(faults) == 1 else f"{len(faults)} faults"
        raise ConfigurationError(f"the requests have {count}", faults)
    return mix


def _placed(faults: Iterable[Fault], at: str) -> list[Fault]:
    return [Fault(f"{at}.{fault.field}", fault.rule, fault.value) for fault in faults]


def _table(kind: type[_T], data: object, at: str, faults: list[Fault]) -> _T | None:
    """The table; notes what is wrong with it."""
    if not isinstance(data, Mapping):
        faults.append(Fault(at, "must be a table", None))
        return None
    known = [field.alias or name for name, field in kind.model_fields.items()]
    for key in data:
        if key not in known:
            meant = nearest_key(str(key), known)
            hint = f"did you mean {meant}?" if meant else f"known here: {', '.join(known)}"
            faults.append(Fault(f"{at}.{key}", f"is not a known key; {hint}", None))
    try:
        return kind.model_validate({key: value for key, value in data.items() if key in known})
    except ValidationError as error:
        faults += faults_in(error, (at,))
        return None
