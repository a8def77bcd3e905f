"""A mix of requests as JSON: placeholders as they stand, never the values behind them.

A body that is UTF-8 text is ``body``, any other ``body_base64``.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any

from domain.errors import Fault
from domain.request_mix import (
    RequestMix,
    RequestTemplate,
    Success,
    faults_in_mix,
    faults_in_request,
    faults_in_success,
)

_REQUEST_KEYS = (*(field.name for field in fields(RequestTemplate)), "body_base64")
_SUCCESS_KEYS = tuple(field.name for field in fields(Success))
_MIX_KEYS = tuple(field.name for field in fields(RequestMix))


def mix_to_json(mix: RequestMix) -> dict[str, Any]:
    """A value that ``json.dumps`` takes and ``mix_from_json`` turns back into an equal mix."""
    return {
        "requests": [_request_to_json(request) for request in mix.requests],
        "success": {
            "statuses": [list(span) for span in mix.success.statuses],
            "body_match": mix.success.body_match,
        },
    }


def mix_from_json(data: object) -> RequestMix:
    """The mix that ``mix_to_json`` wrote; what is left out has the domain's default.

    Raises ``ValueError`` that names everything that cannot be one.
    """
    reader = _Reader()
    mix = reader.mix(data)
    if mix is None or reader.faults:
        raise ValueError("; ".join(map(str, reader.faults)))
    return mix


def _request_to_json(request: RequestTemplate) -> dict[str, Any]:
    try:
        body = {"body": request.body.decode()}
    except UnicodeDecodeError:
        body = {"body_base64": base64.b64encode(request.body).decode()}
    return {
        "method": request.method,
        "path": request.path,
        "headers": [list(header) for header in request.headers],
        **body,
        "weight": request.weight,
        "name": request.name,
    }


class _Reader:
    """Notes what is wrong while it makes what it can."""

    def __init__(self) -> None:
        self.faults: list[Fault] = []

    def mix(self, data: object) -> RequestMix | None:
        entries = self._object(data, "mix", _MIX_KEYS)
        rows = self._list(entries.get("requests", [{}]), "requests")
        requests = tuple(self._request(row, f"requests[{index}]") for index, row in enumerate(rows))
        success = self._success(entries.get("success", {}))
        known = tuple(request for request in requests if request is not None)
        if self.faults or success is None:
            return None
        self.faults += faults_in_mix(known, success)
        return None if self.faults else RequestMix(known, success)

    def _request(self, data: object, at: str) -> RequestTemplate | None:
        entries = self._object(data, at, _REQUEST_KEYS)
        before = len(self.faults)
        default = RequestTemplate()
        method = self._text(entries, "method", at, default.method)
        path = self._text(entries, "path", at, default.path)
        name = self._text(entries, "name", at, default.name)
        headers = self._headers(entries.get("headers", []), f"{at}.headers")
        body = self._body(entries, at)
        weight = entries.get("weight", default.weight)
        if isinstance(weight, bool) or not isinstance(weight, int | float):
            self._note(f"{at}.weight", "must be a number", weight)
            weight = default.weight
        for fault in faults_in_request(method, path, headers, body, weight):
            self._note(f"{at}.{fault.field}", fault.rule, fault.value)
        if len(self.faults) > before:
            return None
        return RequestTemplate(method, path, headers, body, float(weight), name)

    def _success(self, data: object) -> Success | None:
        entries = self._object(data, "success", _SUCCESS_KEYS)
        before = len(self.faults)
        statuses = self._spans(entries.get("statuses", Success().statuses))
        body_match = entries.get("body_match")
        if body_match is not None:
            body_match = self._text(entries, "body_match", "success", "")
        for fault in faults_in_success(statuses, body_match) if len(self.faults) == before else ():
            self._note(f"success.{fault.field}", fault.rule, fault.value)
        return None if len(self.faults) > before else Success(statuses, body_match)

    def _spans(self, data: object) -> tuple[tuple[int, int], ...]:
        spans = []
        for row in self._list(data, "success.statuses"):
            if isinstance(row, list | tuple) and len(row) == 2 and all(type(end) is int for end in row):
                spans.append((row[0], row[1]))
            else:
                self._note("success.statuses", "must be pairs of whole numbers", row)
        return tuple(spans)

    def _headers(self, data: object, at: str) -> tuple[tuple[str, str], ...]:
        headers = []
        for row in self._list(data, at):
            if isinstance(row, list | tuple) and len(row) == 2 and all(isinstance(text, str) for text in row):
                headers.append((row[0], row[1]))
            else:
                self._note(at, "must be pairs of texts", None)
        return tuple(headers)

    def _body(self, entries: Mapping[str, Any], at: str) -> bytes:
        if "body_base64" not in entries:
            return self._encoded(self._text(entries, "body", at, ""), f"{at}.body", str.encode)
        if "body" in entries:
            self._note(f"{at}.body", "must not stand beside body_base64", None)
        text = self._text(entries, "body_base64", at, "")
        return self._encoded(text, f"{at}.body_base64", lambda code: base64.b64decode(code, validate=True))

    def _encoded(self, text: str, at: str, encode: Callable[[str], bytes]) -> bytes:
        try:
            return encode(text)
        except (binascii.Error, ValueError):
            rule = "must be base64" if at.endswith("64") else "must be text that UTF-8 can hold"
            self._note(at, rule, None)
            return b""

    def _object(self, data: object, at: str, known: tuple[str, ...]) -> Mapping[str, Any]:
        if not isinstance(data, Mapping):
            self._note(at, "must be a JSON object", None)
            return {}
        for key in data:
            if key not in known:
                self._note(f"{at}.{key}", f"is not one of {', '.join(known)}", None)
        return data

    def _list(self, data: object, at: str) -> list[Any] | tuple[Any, ...]:
        if isinstance(data, list | tuple):
            return data
        self._note(at, "must be a list", None)
        return []

    def _text(self, entries: Mapping[str, Any], key: str, at: str, default: str) -> str:
        value = entries.get(key, default)
        if isinstance(value, str):
            return value
        self._note(f"{at}.{key}", "must be text", None)
        return default

    def _note(self, at: str, rule: str, value: object) -> None:
        self.faults.append(Fault(at, rule, value))
