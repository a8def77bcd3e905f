"""What must never be written down: credentials become names, and their values stay in this process's memory.

A literal credential becomes ``${TIPOVER_SECRET_n}``; its value goes to the generator through the environment
of that process alone.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from urllib.parse import quote, quote_plus, unquote, unquote_plus, urlsplit

from domain.errors import Fault
from domain.placeholders import LITERAL_PREFIX, names_in_text
from domain.request_mix import RequestMix

_NAMES = re.compile(
    r"""token|secret|passw|api[-_]?key|access[-_]?key|private[-_]?key|subscription-key|credential|bearer|jwt
    |cookie|session|signature|csrf|xsrf|authoriz|(?:^|[-_.])(?:auth|sig|pwd|sid|otp)(?:$|[-_.])""",
    re.IGNORECASE | re.VERBOSE,
)
_SCHEMES = re.compile(r"\s*(?:basic|bearer|digest|negotiate|token|apikey)\s+\S", re.IGNORECASE)
_JSON_FIELD = re.compile(
    r"""(?P<before>"(?P<name>(?:[^"\\]|\\.){1,128})"\s*:\s*")(?P<value>(?:[^"\\]|\\.)+)(?=")"""
)
_LONG_KEY = 20
"""A query parameter that is just ``key`` is a credential if it is as long as one."""
REDACTED = "<redacted>"


class Secrets:
    """Values by the names that stand for them. It shows the names; whoever wants values asks for them."""

    __slots__ = ("_also", "_names")

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._also: dict[str, str] = {}

    def keep(self, value: str, also: Sequence[str] = ()) -> str:
        """The placeholder that stands for ``value`` from now on; equal values share one.

        ``also`` are other notations of it, to be removed from a recorded command line.
        """
        name = self._names.setdefault(value, f"{LITERAL_PREFIX}{len(self._names) + 1}")
        self._hide(also, f"${{{name}}}")
        return f"${{{name}}}"

    def hide(self, *texts: str) -> None:
        """Credentials that are not sent, but stand in the command line."""
        self._hide(texts, REDACTED)

    def _hide(self, texts: Sequence[str], shown: str) -> None:
        for text in filter(None, texts):
            self._also.setdefault(text, shown)

    @property
    def names(self) -> tuple[str, ...]:
        """The names, in the order in which they were given."""
        return tuple(self._names.values())

    def environment(self) -> dict[str, str]:
        """Name → value: for the generator's environment, and nowhere else."""
        return {name: value for value, name in self._names.items()}

    def notations(self) -> Iterator[tuple[str, str]]:
        """Every text that gives a value away, with what is shown instead."""
        shown = {text: f"${{{name}}}" for text, name in self._names.items()}
        for text, instead in (*shown.items(), *self._also.items()):
            yield from ((form, instead) for form in notations_of(text))

    def __len__(self) -> int:
        return len(self._names)

    def __repr__(self) -> str:
        return f"Secrets({', '.join(self.names)})"

    def __reduce__(self) -> str:
        raise TypeError("secrets are not written down")


def notations_of(text: str) -> set[str]:
    """The text itself, and as it stands in a URL."""
    return {text, quote(text, safe=""), quote(text), quote_plus(text), unquote_plus(text)}


def is_sensitive(name: str, value: str = "") -> bool:
    """Whether a header, parameter or field of this name (or with such a value) carries a credential."""
    bare_key = name.lower() == "key" and len(value) >= _LONG_KEY
    return bool(_NAMES.search(name) or _SCHEMES.match(value)) or bare_key


def missing_variables(mix: RequestMix, environ: Mapping[str, str]) -> list[Fault]:
    """One fault for each field that needs a variable which ``environ`` has not, or has empty."""
    return [
        Fault(field, f"needs the environment variable {name}, which is not set or is empty", None)
        for field, name in dict.fromkeys(mix.placeholders())
        if not environ.get(name)
    ]


def literal_faults(
    path: str, headers: Sequence[tuple[str, str]], body: bytes, content_type: str
) -> Iterator[Fault]:
    """What stands literally in a file where only a name may stand."""
    rule = "must not stand in a file: put it in the environment and write ${NAME}"
    for name, value in headers:
        if value and is_sensitive(name, value) and not names_in_text(value):
            yield Fault(f"headers.{name}", rule, None)
    found: list[str] = []

    def note(name: str, value: str) -> str:
        found.append(name)
        return value

    _query_with(path.partition("?")[2], note)
    yield from (Fault("path", f"the parameter {name} {rule}", None) for name in found)
    found.clear()
    _body_with(body, content_type, note)
    yield from (Fault("body", f"the field {name} {rule}", None) for name in found)


def kept_header(name: str, value: str, secrets: Secrets) -> str:
    """A header's value as it may be written; what it names by ``${NAME}`` stays."""
    if name.lower() == "referer":
        return kept_path(value, secrets)
    if not value or not is_sensitive(name, value):
        return value
    if not names_in_text(value):
        return secrets.keep(value, _parts(value))
    if name.lower() != "cookie":
        return value
    pairs = (pair.partition("=") for pair in value.split(";"))
    return ";".join(
        key + sign + (text if names_in_text(text) or not text else secrets.keep(text))
        for key, sign, text in pairs
    )


def kept_path(path: str, secrets: Secrets) -> str:
    """A path whose query has its credentials kept."""
    before, mark, query = path.partition("?")
    return before + mark + _query_with(query, lambda _, value: secrets.keep(value))


def kept_body(body: bytes, content_type: str, secrets: Secrets) -> bytes:
    """A body with its credentials kept, as far as it is a form or JSON; anything else as it is."""
    return _body_with(body, content_type, lambda _, value: secrets.keep(value))


_Replace = Callable[[str, str], str]
"""From the name and the value of a credential to what stands in the value's place."""


def _query_with(query: str, replace: _Replace) -> str:
    """A query, or the body of a form, with its literal credentials replaced."""
    pairs = []
    for pair in query.split("&"):
        raw_name, sign, value = pair.partition("=")
        name = unquote_plus(raw_name)
        if value and is_sensitive(name, value) and not names_in_text(value):
            value = replace(name, value)
        pairs.append(raw_name + sign + value)
    return "&".join(pairs)


def _body_with(body: bytes, content_type: str, replace: _Replace) -> bytes:
    try:
        text = body.decode()
    except UnicodeDecodeError:
        return body
    if "json" in content_type.lower() or text.lstrip().startswith(("{", "[")):
        return _JSON_FIELD.sub(lambda found: _json_field_with(found, replace), text).encode()
    if "x-www-form-urlencoded" in content_type.lower():
        return _query_with(text, replace).encode()
    return body


def _json_field_with(found: re.Match[str], replace: _Replace) -> str:
    before, value = found["before"], found["value"]
    try:
        name = str(json.loads(f'"{found["name"]}"', strict=False))
    except ValueError:
        name = found["name"]
    if not is_sensitive(name) or names_in_text(value):
        return found[0]
    return before + replace(name, value)


def _parts(value: str) -> list[str]:
    """The credentials inside a header's value: after its scheme, in a cookie's pairs, inside Basic's code."""
    parts = [pair.partition("=")[2].strip() for pair in value.split(";") if "=" in pair]
    scheme, _, rest = value.strip().partition(" ")
    if rest:
        parts.append(rest.strip())
    if scheme.lower() == "basic":
        parts += _basic_parts(rest.strip())
    return [part for part in parts if part]


def _basic_parts(code: str) -> list[str]:
    try:
        pair = base64.b64decode(code, validate=True).decode()
    except (binascii.Error, ValueError):
        return []
    return [pair, pair.partition(":")[2]]


def basic(user: str, password: str) -> str:
    """The value of an ``Authorization`` header (RFC 7617)."""
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


def credentials_in_url(url: str) -> tuple[str, str] | None:
    """Name and password that a URL carries, decoded."""
    parts = urlsplit(url)
    if parts.username is None and parts.password is None:
        return None
    return unquote(parts.username or ""), unquote(parts.password or "")
