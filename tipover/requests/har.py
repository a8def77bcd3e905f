"""Requests from a HAR file (HTTP Archive 1.2), such as browsers and proxies record."""

from __future__ import annotations

import base64
import binascii
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from domain.errors import ConfigurationError, Fault
from domain.placeholders import literal
from domain.request_mix import MAX_BODY_BYTES, MAX_REQUESTS, RequestTemplate, faults_in_request
from tipover.requests.imported import NOT_CARRIED, Imported, merged, origin, path_of, read_bytes, value_of
from tipover.requests.secrets import Secrets, basic, credentials_in_url, kept_body, kept_header, kept_path

MAX_HAR_BYTES = 100_000_000
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
"""Methods that change nothing (RFC 9110 §9.2.1), but for TRACE, which many servers refuse."""
_FORM = "application/x-www-form-urlencoded"
_MOST_FAULTS = 10


def from_har(path: Path, secrets: Secrets, url: str | None = None, unsafe: bool = False) -> Imported:
    """Every request of a HAR file that went to the origin of ``url`` (None: where most of them went).

    Equal requests become one, weighted by their number. Credentials go into ``secrets``. ``unsafe`` lets
    requests pass that may change something. Raises ``ConfigurationError`` with every fault.
    """
    recorded = list(_recorded(path))
    origins = Counter(found for found in (origin(_url(entry)) for entry in recorded) if found)
    if not origins:
        raise _refused([Fault("har", "must hold a request to an http or https URL", str(path))])
    wanted = origin(url) if url else origins.most_common(1)[0][0]
    entries = [(index, entry) for index, entry in enumerate(recorded) if origin(_url(entry)) == wanted]
    if not entries:
        known = ", ".join(name for name, _ in origins.most_common(5))
        raise _refused([Fault("har", f"has no request to {wanted}; it has some to {known}", str(path))])
    reader = _Reader(secrets)
    counted = Counter(reader.requests(entries))
    faults = [*reader.faults[:_MOST_FAULTS], *_writes(counted, unsafe)]
    if len(counted) > MAX_REQUESTS:
        rule = f"must have at most {MAX_REQUESTS} requests that differ"
        faults.append(Fault("har", rule, len(counted)))
    if faults:
        raise _refused(faults)
    elsewhere = len(recorded) - len(entries)
    left_out = f"{elsewhere} of the HAR file's {len(recorded)} requests went elsewhere and are left out"
    return Imported(
        wanted,
        tuple(replace(request, weight=float(number)) for request, number in counted.items()),
        (left_out,) if elsewhere else (),
    )


def _refused(faults: list[Fault]) -> ConfigurationError:
    return ConfigurationError("the HAR file cannot be used", faults)


def _recorded(path: Path) -> Iterator[Mapping[str, Any]]:
    """The ``request`` object of every entry."""
    try:
        data = json.loads(read_bytes(path, "har", MAX_HAR_BYTES).decode("utf-8-sig"))
    except json.JSONDecodeError as error:
        rule = f"must be JSON: {error.msg} in line {error.lineno}, column {error.colno}"
        raise _refused([Fault("har", rule, str(path))]) from None
    except (ValueError, RecursionError):
        raise _refused([Fault("har", "must be JSON in UTF-8, not too deeply nested", str(path))]) from None
    log = data.get("log") if isinstance(data, dict) else None
    entries = log.get("entries") if isinstance(log, dict) else None
    if not isinstance(entries, list):
        raise _refused([Fault("har", "must have a list of entries at log.entries", str(path))])
    for index, entry in enumerate(entries):
        request = entry.get("request") if isinstance(entry, dict) else None
        if not isinstance(request, dict) or not isinstance(request.get("url"), str):
            raise _refused([Fault(f"har.entries[{index}]", "must have a request with a url", None)])
        yield request


def _url(request: Mapping[str, Any]) -> str:
    return str(request["url"])


def _writes(requests: Mapping[RequestTemplate, int], unsafe: bool) -> Iterator[Fault]:
    methods: Counter[str] = Counter()
    for request, number in requests.items():
        if request.method not in SAFE_METHODS:
            methods[request.method] += number
    if methods and not unsafe:
        found = ", ".join(f"{method} ×{number}" for method, number in methods.most_common())
        rule = "holds requests that may change something; say --allow-writes to send them, many times over"
        yield Fault("har", rule, found)


class _Reader:
    """Makes templates of recorded requests and notes what is wrong."""

    def __init__(self, secrets: Secrets) -> None:
        self._secrets = secrets
        self.faults: list[Fault] = []

    def requests(self, entries: list[tuple[int, Mapping[str, Any]]]) -> Iterator[RequestTemplate]:
        for index, entry in entries:
            try:
                request = self._request(entry, f"har.entries[{index}]")
            except _BrokenError as error:
                self.faults.append(Fault(f"har.entries[{index}].{error.args[0]}", error.args[1], None))
                continue
            if request is not None:
                yield request

    def _request(self, entry: Mapping[str, Any], at: str) -> RequestTemplate | None:
        url, method = _url(entry), _text(entry, "method")
        headers, body = self._headers(entry, url), _body(entry)
        content_type = value_of(headers, "content-type")
        if body and not content_type:
            posted = entry.get("postData")
            content_type = posted.get("mimeType", "") if isinstance(posted, dict) else ""
            if isinstance(content_type, str) and content_type:
                headers = (*headers, ("Content-Type", content_type))
        path = literal(path_of(url))
        faults = list(faults_in_request(method, path, headers, body, 1.0))
        self.faults += [Fault(f"{at}.{fault.field}", fault.rule, None) for fault in faults]
        if faults:
            return None
        return RequestTemplate(
            method,
            kept_path(path, self._secrets),
            tuple((name, kept_header(name, value, self._secrets)) for name, value in headers),
            kept_body(body, str(content_type), self._secrets),
        )

    def _headers(self, entry: Mapping[str, Any], url: str) -> tuple[tuple[str, str], ...]:
        headers = merged(
            (name, literal(value))
            for name, value in _pairs(entry, "headers")
            if not name.startswith(":") and name.lower() not in NOT_CARRIED
        )
        cookies = "; ".join(f"{name}={value}" for name, value in _pairs(entry, "cookies"))
        if cookies and not value_of(headers, "cookie"):
            headers = (*headers, ("Cookie", literal(cookies)))
        login = credentials_in_url(url)
        if login and not value_of(headers, "authorization"):
            headers = (*headers, ("Authorization", basic(*login)))
        return headers


class _BrokenError(Exception):
    """A field of an entry, and what it must be."""


def _text(entry: Mapping[str, Any], key: str) -> str:
    value = entry.get(key)
    if not isinstance(value, str):
        raise _BrokenError(key, "must be text")
    return value


def _pairs(entry: Mapping[str, Any], key: str) -> Iterator[tuple[str, str]]:
    """Names and values of a list such as ``headers``; none if there is no list."""
    rows = entry.get(key) or []
    if not isinstance(rows, list):
        raise _BrokenError(key, "must be a list")
    for row in rows:
        if not isinstance(row, dict):
            raise _BrokenError(key, "must be a list of objects")
        yield _text(row, "name"), _text(row, "value")


def _body(entry: Mapping[str, Any]) -> bytes:
    posted = entry.get("postData")
    if posted is None:
        return b""
    if not isinstance(posted, dict):
        raise _BrokenError("postData", "must be an object")
    text = posted.get("text")
    if isinstance(text, str) and text:
        content = _decoded(text, posted.get("encoding", posted.get("_encoding")))
    elif not posted.get("params"):
        return b""
    elif str(posted.get("mimeType", "")).startswith(_FORM):
        content = urlencode(list(_pairs(posted, "params"))).encode()
    else:
        raise _BrokenError("postData", f"must have its text: params alone are only enough for {_FORM}")
    if len(content) > MAX_BODY_BYTES:
        raise _BrokenError("postData", f"must be at most {MAX_BODY_BYTES} bytes long")
    return literal(content.decode("latin-1")).encode("latin-1")


def _decoded(text: str, encoding: object) -> bytes:
    try:
        return base64.b64decode(text, validate=True) if encoding == "base64" else text.encode()
    except (binascii.Error, ValueError):
        raise _BrokenError("postData", "must be base64 if it says so, and text that UTF-8 can hold") from None
