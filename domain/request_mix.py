"""What is sent and what counts as an answer, as values that may be written down: secrets are names in them.

A text may hold ``${NAME}``: the value is taken from the environment of the process that sends, at its start,
and stands nowhere else. ``$${`` is a literal ``${`` (``domain.placeholders``).
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass

from domain.attempts import ATTEMPT_HEADER, REQUEST_ID_HEADER
from domain.errors import Fault
from domain.placeholders import broken_rule, names_in_text

MAX_BODY_BYTES = 10_000_000
MAX_REQUESTS = 10_000
LARGEST_WEIGHT = 1e9
LONGEST_TEXT = 64_000
"""Characters of a path or of a header; servers take far less."""

SET_BY_THE_HARNESS = frozenset(
    name.lower()
    for name in (
        *("Host", "Content-Length", "Transfer-Encoding", "Connection", "Keep-Alive", "Proxy-Connection"),
        *("TE", "Trailer", "Upgrade", "Expect", REQUEST_ID_HEADER, ATTEMPT_HEADER),
    )
)
"""Headers, in lower case, that say how a message is framed, or whose it is: only its sender knows."""

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VISIBLE = re.compile(r"[\x21-\x7e]+")
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")


def faults_in_request(
    method: str, path: str, headers: tuple[tuple[str, str], ...], body: bytes, weight: float
) -> Iterator[Fault]:
    """What a request must be and is not. The values of headers and bodies are not told."""
    if not _TOKEN.fullmatch(method):
        yield Fault("method", "must be letters, digits or any of !#$%&'*+.^_`|~-, without a space", method)
    yield from _path_faults(path)
    yield from _header_faults(headers)
    if len(body) > MAX_BODY_BYTES:
        yield Fault("body", f"must be at most {MAX_BODY_BYTES} bytes long", len(body))
    broken = broken_rule(body.decode("latin-1"))
    if broken:
        yield Fault("body", broken, None)
    if not (0 < weight <= LARGEST_WEIGHT and math.isfinite(weight)):
        yield Fault("weight", f"must be above 0 and at most {LARGEST_WEIGHT:g}", weight)


def faults_in_success(statuses: tuple[tuple[int, int], ...], body_match: str | None) -> Iterator[Fault]:
    """What a set of successes must be and is not."""
    if not statuses:
        yield Fault("statuses", "must have at least one entry", None)
    for first, last in statuses:
        if not 200 <= first <= last <= 999:
            yield Fault("statuses", "must be HTTP statuses from 200 to 999, the lower first", (first, last))
    if body_match is not None:
        yield from _pattern_faults(body_match)


def faults_in_mix(requests: tuple[RequestTemplate, ...], success: Success) -> Iterator[Fault]:
    """What a mix of requests must be and is not, each request being right by itself."""
    if not 1 <= len(requests) <= MAX_REQUESTS:
        yield Fault("request", f"must have from 1 to {MAX_REQUESTS} entries", len(requests))
    if success.body_match is None:
        return
    for index, request in enumerate(requests):
        if request.method == "HEAD":
            rule = "must not be HEAD beside a body_match: its answer has no body to find anything in"
            yield Fault(f"request[{index}].method", rule, request.method)
        for name, value in request.headers:
            if name.lower() == "accept-encoding" and value.strip().lower() != "identity":
                rule = "must be identity beside a body_match: bodies are not decompressed"
                yield Fault(f"request[{index}].headers.{name}", rule, None)


def _path_faults(path: str) -> Iterator[Fault]:
    # A path may hold a secret in a place nobody would look for one: it is told only where it must be.
    if not path.startswith("/"):
        yield Fault("path", "must start with /", None if "?" in path else path[:80])
    elif not _VISIBLE.fullmatch(path) or "#" in path:
        yield Fault("path", "must be visible ASCII without #: other characters percent-encoded", None)
    if len(path) > LONGEST_TEXT:
        yield Fault("path", f"must be at most {LONGEST_TEXT} characters long", len(path))
    broken = broken_rule(path)
    if broken:
        yield Fault("path", broken, None)


def _header_faults(headers: tuple[tuple[str, str], ...]) -> Iterator[Fault]:
    seen: set[str] = set()
    for name, value in headers:
        if not _TOKEN.fullmatch(name):
            yield Fault("headers", "names must be letters, digits or any of !#$%&'*+.^_`|~-", name[:80])
            continue
        field, lowered = f"headers.{name}", name.lower()
        if lowered in SET_BY_THE_HARNESS:
            yield Fault(field, "must not be set: whoever sends the request sets it", None)
        if lowered in seen:
            yield Fault(field, "must be given once: several values may stand in one, with commas", None)
        seen.add(lowered)
        if _CONTROL.search(value):
            yield Fault(field, "must not hold a line break or another control character", None)
        elif not _encodable(value):
            yield Fault(field, "must be text that UTF-8 can hold", None)
        if len(value) > LONGEST_TEXT:
            yield Fault(field, f"must be at most {LONGEST_TEXT} characters long", len(value))
        broken = broken_rule(value)
        if broken:
            yield Fault(field, broken, None)


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _pattern_faults(text: str) -> Iterator[Fault]:
    try:
        _pattern(text)
    except (re.error, ValueError, OverflowError, RecursionError) as error:
        yield Fault("body_match", f"must be a regular expression for bytes: {error}", text)


def _pattern(text: str) -> re.Pattern[bytes]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of syntax that Python may read otherwise one day
        return re.compile(text.encode())


@dataclass(frozen=True, slots=True)
class RequestTemplate:
    """One kind of request; it is sent in ``weight`` of all cases, relative to the others' weights.

    ``path`` may carry a query. Raises ``ValueError`` with everything that is wrong, and no header's value.
    """

    method: str = "GET"
    path: str = "/"
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    weight: float = 1.0
    name: str = ""

    def __post_init__(self) -> None:
        faults = list(faults_in_request(self.method, self.path, self.headers, self.body, self.weight))
        if faults:
            raise ValueError("; ".join(map(str, faults)))
        object.__setattr__(self, "method", self.method.upper())

    def texts(self) -> Iterator[tuple[str, str]]:
        """Every text that may hold placeholders, with the name of its field; the body as Latin-1."""
        yield "path", self.path
        for name, value in self.headers:
            yield f"headers.{name}", value
        yield "body", self.body.decode("latin-1")


@dataclass(frozen=True, slots=True)
class Success:
    """What counts as an answer: a status in one of the ranges (both ends included), and a body in which the
    regular expression ``body_match`` is found, if there is one. Raises ``ValueError``."""

    statuses: tuple[tuple[int, int], ...] = ((200, 399),)
    body_match: str | None = None

    def __post_init__(self) -> None:
        faults = list(faults_in_success(self.statuses, self.body_match))
        if faults:
            raise ValueError("; ".join(map(str, faults)))

    @property
    def body_pattern(self) -> re.Pattern[bytes] | None:
        """What has to be found in a body's bytes; text in the pattern means its UTF-8."""
        return None if self.body_match is None else _pattern(self.body_match)


@dataclass(frozen=True, slots=True)
class RequestMix:
    """All kinds of requests of a test. Raises ``ValueError``."""

    requests: tuple[RequestTemplate, ...] = (RequestTemplate(),)
    success: Success = Success()

    def __post_init__(self) -> None:
        faults = list(faults_in_mix(self.requests, self.success))
        if faults:
            raise ValueError("; ".join(map(str, faults)))

    def placeholders(self) -> Iterator[tuple[str, str]]:
        """Every field that needs a variable of the environment, such as ``request[0].path``, and which."""
        for index, request in enumerate(self.requests):
            for field, text in request.texts():
                for name in names_in_text(text):
                    yield f"request[{index}].{field}", name
