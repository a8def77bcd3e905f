"""One line of an access log into one request.

Two forms are read, and told apart by the line itself:

- JSON of the shape that the files in ``examples/access-log`` write, for all three gateways::

    {"gateway": "nginx", "method": "GET", "path": "/work", "status": "200", "duration_s": "0.004",
     "ending": "0.004", "headers": {"x-attempt": "1", …}}

  with ``duration_ms`` instead where the gateway counts in those; whatever stands before the first brace
  (what syslog adds) is passed over, and so are further fields;
- the stock formats that say enough: HAProxy's ``option httplog`` with the request headers of
  ``CAPTURED`` captured in that order, and Envoy's default format, which has the request id alone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from meter.access_log.endings import ending
from meter.access_log.entry import (
    GATEWAYS,
    MISSING,
    LoggedRequest,
    MalformedLineError,
    present,
    seconds,
    status_code,
)

CAPTURED = ("x-attempt", "x-request-id")
"""The headers that HAProxy's stock format must capture, in this order."""

FORMATS = ("auto", "json", "haproxy", "envoy")
"""What ``--format`` may say: whatever the line is, or one form only."""

NOT_A_REQUEST = (*MISSING, "<BADREQ>")
"""What stands where the method should, if what came was no HTTP request."""

Reader = Callable[[str], LoggedRequest | None]
"""A line into its request, or None if it is about something that was none."""


def reader(kind: str) -> Reader:
    """The function that reads lines of this one of ``FORMATS``; it raises MalformedLineError."""
    return {"auto": _any_form, "json": _json_form, "haproxy": _haproxy_form, "envoy": _envoy_form}[kind]


def _any_form(line: str) -> LoggedRequest | None:
    if '{"gateway"' in line or line.lstrip().startswith("{"):
        return _json_form(line)
    for pattern, read in ((_HAPROXY_STOCK, _haproxy_form), (_ENVOY_STOCK, _envoy_form)):
        if pattern.search(line):
            return read(line)
    raise MalformedLineError("it is neither JSON nor a stock format with headers")


def _json_form(line: str) -> LoggedRequest | None:
    start = line.find("{")
    try:
        fields = json.loads(line[start:]) if start >= 0 else None
    except (ValueError, RecursionError):
        fields = None
    if not isinstance(fields, dict):
        raise MalformedLineError("it is no JSON object")
    gateway = fields.get("gateway")
    if gateway not in GATEWAYS:
        raise MalformedLineError(f"its gateway is none of {', '.join(GATEWAYS)}: {gateway!r}")
    if "method" not in fields:
        raise MalformedLineError("it has no method")
    if fields["method"] in NOT_A_REQUEST:
        return None
    headers = fields.get("headers")
    if not isinstance(headers, dict):
        raise MalformedLineError("it has no headers")
    status = status_code(fields.get("status"))
    return LoggedRequest(
        path=_path(fields.get("path")),
        status=status,
        duration_s=_duration_s(fields),
        ending=ending(gateway, str(fields.get("ending") or "-"), status),
        headers=present(headers),
    )


def _path(value: object) -> str:
    if not isinstance(value, str) or not value:
        raise MalformedLineError(f"it has no path: {value!r}")
    return value


def _duration_s(fields: dict[str, Any]) -> float:
    if "duration_s" in fields:
        return seconds(fields["duration_s"])
    return seconds(fields.get("duration_ms"), per_second=1e3)


_HAPROXY_STOCK = re.compile(
    r"\[[\w/:.+-]{1,40}\] \S+ \S+/\S+ (?:-?\d+/){4}\+?(?P<ms>-?\d+) (?P<status>-?\d+) \+?-?\d+ \S+ \S+ "
    r"(?P<state>[\w-]{4}) [\d+/]+ [\d+/]+ (?:\{(?P<captured>[^}]*)\} )?(?:\{[^}]*\} )?\"(?P<request>.*?)\"?$"
)
_ENVOY_STOCK = re.compile(
    r"^\[[\w:.+-]{1,40}\] \"(?P<method>\S+) (?P<path>\S+) \S+\" (?P<status>\d+|-) (?P<flags>[\w,-]+) "
    r"\d+ \d+ (?P<ms>\d+|-) \S+ .*\"(?P<id>[^\"]*)\" \"[^\"]*\" \"[^\"]*\"$"
)
_HAPROXY_ESCAPE = re.compile(r"#([0-9A-F]{2})")


def _haproxy_form(line: str) -> LoggedRequest | None:
    found = _HAPROXY_STOCK.search(line)
    if found is None:
        raise MalformedLineError("it is not HAProxy's httplog")
    method, _, rest = found["request"].partition(" ")
    if method in NOT_A_REQUEST:
        return None
    if found["captured"] is None:
        raise MalformedLineError("it has no captured request headers")
    values = [_HAPROXY_ESCAPE.sub(_character, value) for value in found["captured"].split("|")]
    status = status_code(found["status"])
    return LoggedRequest(
        path=_path(rest.partition(" ")[0]),
        status=status,
        duration_s=seconds(found["ms"], per_second=1e3),
        ending=ending("haproxy", found["state"], status),
        headers=present(dict(zip(CAPTURED, values, strict=False))),
    )


def _character(escape: re.Match[str]) -> str:
    return chr(int(escape[1], 16))


def _envoy_form(line: str) -> LoggedRequest | None:
    found = _ENVOY_STOCK.search(line)
    if found is None:
        raise MalformedLineError("it is not Envoy's default format")
    if found["method"] in NOT_A_REQUEST:
        return None
    status = status_code(found["status"])
    return LoggedRequest(
        path=_path(found["path"]),
        status=status,
        duration_s=seconds("0" if found["ms"] == "-" else found["ms"], per_second=1e3),
        ending=ending("envoy", found["flags"], status),
        headers=present({"x-request-id": found["id"]}),
    )
