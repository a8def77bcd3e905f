"""What a source of requests gives, and what all sources leave out of a request."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, urlsplit

from domain.errors import ConfigurationError, Fault
from domain.request_mix import SET_BY_THE_HARNESS, RequestTemplate

NOT_CARRIED = SET_BY_THE_HARNESS | {"accept-encoding"}
"""Headers, in lower case, that belong to the client that was recorded."""
_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Imported:
    """Requests, where they went (an origin; None if the source does not say), and what to say of it."""

    base_url: str | None
    requests: tuple[RequestTemplate, ...]
    warnings: tuple[str, ...] = ()


def origin(url: str) -> str | None:
    """``scheme://host:port`` of an http or https URL, without a default port; None for anything else."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return None
    if parts.scheme not in _PORTS or not parts.hostname:
        return None
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{parts.scheme}://{host}" + ("" if port in (None, _PORTS[parts.scheme]) else f":{port}")


def path_of(url: str) -> str:
    """Path and query of a URL as they are sent: what is no visible ASCII is percent-encoded."""
    parts = urlsplit(url)
    query = f"?{percent_encoded(parts.query)}" if parts.query else ""
    return (percent_encoded(parts.path) or "/") + query


def percent_encoded(text: str | bytes) -> str:
    """The text with everything percent-encoded that is no visible ASCII, or ends a URL."""
    return quote(text, safe="!\"$%&'()*+,-./:;<=>?@[\\]^_`{|}~")


def merged(headers: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """Headers of one name in one, as RFC 9110 §5.3 allows; cookies as RFC 6265 has them."""
    values: dict[str, tuple[str, str]] = {}
    for name, value in headers:
        key = name.lower()
        if key in values:
            first, before = values[key]
            values[key] = first, before + ("; " if key == "cookie" else ", ") + value
        else:
            values[key] = name, value
    return tuple(values.values())


def value_of(headers: Iterable[tuple[str, str]], wanted: str) -> str:
    """The value of the header of that name in lower case, or nothing."""
    return next((value for name, value in headers if name.lower() == wanted), "")


def read_bytes(path: Path, field: str, most: int) -> bytes:
    """A file's content; raises ``ConfigurationError`` if it cannot be read or has over ``most`` bytes."""
    try:
        with path.open("rb") as stream:
            content = stream.read(most + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise _unreadable(field, f"cannot be read: {reason}", path) from None
    if len(content) > most:
        raise _unreadable(field, f"must be at most {most} bytes long", path)
    return content


def _unreadable(field: str, rule: str, path: Path) -> ConfigurationError:
    return ConfigurationError("a file of the requests cannot be used", [Fault(field, rule, str(path))])
