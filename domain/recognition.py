"""Which requests are first attempts and which are retries, by what their headers say.

Conventions are read in one order, that of ``CONVENTIONS``. A request that any of them calls a retry is one,
since retries are made in layers: the client's first attempt may well be a gateway's second. If none does, the
first that says anything says "first attempt". A value that makes no sense says nothing. When no header says,
an id decides, by whether it was seen before (``domain/sightings.py``); without an id it is a first attempt.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from domain.errors import ConfigurationError, Fault

Convention = Literal["any", "ours", "aws", "envoy", "grpc", "stainless", "id"]
"""Which headers are believed: ``any``: all of them; ``id``: none but the ids."""

BY_ID = "id"
"""The convention's name when an id decided."""

DEFAULT_ID_HEADERS = ("idempotency-key", "x-request-id")

_NUMBER = re.compile(r"[0-9]{1,6}")
_AWS_ATTEMPT = re.compile(r"(?:^|;)[ \t]*attempt=([0-9]{1,6})[ \t]*(?:;|$)")
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")

Headers = Mapping[str, str]
"""Values by lower-cased name; those of a name that came more than once are joined by a comma."""


@dataclass(frozen=True, slots=True)
class Recognised:
    """What a request's headers say: ``first`` is None when they do not, and then the id's memory decides."""

    first: bool | None
    job_id: str | None
    convention: str | None


@dataclass(frozen=True, slots=True)
class Recognition:
    """Reads headers by one convention or by any, and ids from ``id_headers`` in that order.

    Raises ConfigurationError for a convention that is not one, or a header's name that cannot be one.
    """

    convention: Convention = "any"
    id_headers: tuple[str, ...] = DEFAULT_ID_HEADERS

    def __post_init__(self) -> None:
        faults = []
        if self.convention not in get_args(Convention):
            rule = f"must be one of {', '.join(get_args(Convention))}"
            faults.append(Fault("convention", rule, self.convention))
        faults += [
            Fault("id header", "must be the name of a header", name)
            for name in self.id_headers
            if not _TOKEN.fullmatch(name)
        ]
        if faults:
            raise ConfigurationError("attempts cannot be recognised this way", faults)
        object.__setattr__(self, "id_headers", tuple(name.lower() for name in self.id_headers))

    def recognised(self, headers: Headers) -> Recognised:
        """What ``headers`` (names in lower case) say."""
        said: str | None = None
        for name in CONVENTIONS if self.convention == "any" else (self.convention,):
            retries = _RETRIES[name](headers, self.convention == "any")
            if retries is None:
                continue
            if retries > 0:
                return Recognised(False, self._job_id(headers, name), name)
            said = said or name
        if said is not None:
            return Recognised(True, self._job_id(headers, said), said)
        job_id = self._job_id(headers, "aws" if self.convention == "any" else self.convention)
        return Recognised(None, job_id, None if job_id is None else BY_ID)

    @property
    def headers_read(self) -> frozenset[str]:
        """Every header that is looked at, in lower case: whoever collects headers needs no others."""
        return _HEADERS_READ | set(self.id_headers)

    def _job_id(self, headers: Headers, convention: str) -> str | None:
        """The convention's own id, or the first of the configured ones that is there and not empty."""
        own = _OWN_ID.get(convention)
        if own is not None and (found := headers.get(own)):
            return found
        return next((value for name in self.id_headers if (value := headers.get(name))), None)


def _number(headers: Headers, name: str) -> int | None:
    text = headers.get(name)
    return int(text) if text is not None and _NUMBER.fullmatch(text) else None


def _retries_of_attempt(headers: Headers, name: str) -> int | None:
    """From a number that is 1 for the first attempt; 0 makes no sense."""
    number = _number(headers, name)
    return number - 1 if number else None


def _ours(headers: Headers, _among_others: bool) -> int | None:
    return _retries_of_attempt(headers, "x-attempt")


def _aws(headers: Headers, _among_others: bool) -> int | None:
    """``attempt=2; max=3``, in any order, with other members such as ``ttl`` (AWS SDKs, retry behaviour)."""
    text = headers.get("amz-sdk-request")
    found = None if text is None else _AWS_ATTEMPT.search(text)
    return int(found[1]) - 1 if found is not None and int(found[1]) else None


def _envoy(headers: Headers, _among_others: bool) -> int | None:
    return _retries_of_attempt(headers, "x-envoy-attempt-count")


def _grpc(headers: Headers, among_others: bool) -> int | None:
    """gRPC sends its number of earlier attempts, and on a first attempt nothing at all (proposal A6).

    Among other conventions nothing means "first" only for a request that is one of gRPC's.
    """
    if "grpc-previous-rpc-attempts" in headers:
        return _number(headers, "grpc-previous-rpc-attempts")
    if not among_others or headers.get("content-type", "").startswith("application/grpc"):
        return 0
    return None


def _stainless(headers: Headers, _among_others: bool) -> int | None:
    return _number(headers, "x-stainless-retry-count")


def _says_nothing(_headers: Headers, _among_others: bool) -> int | None:
    return None


_RETRIES: dict[str, Callable[[Headers, bool], int | None]] = {
    "ours": _ours,
    "aws": _aws,
    "envoy": _envoy,
    "grpc": _grpc,
    "stainless": _stainless,
    "id": _says_nothing,
}
"""Retries before this attempt by each convention, or None where its headers are absent or make no sense."""

CONVENTIONS = ("ours", "aws", "envoy", "grpc", "stainless")
"""The order in which they are read when any is believed."""

_OWN_ID = {"ours": "x-request-id", "aws": "amz-sdk-invocation-id", "envoy": "x-request-id"}

_HEADERS_READ = frozenset(
    {
        "x-attempt", "amz-sdk-request", "amz-sdk-invocation-id", "x-envoy-attempt-count",
        "grpc-previous-rpc-attempts", "content-type", "x-stainless-retry-count", "x-request-id",
    }
)  # fmt: skip
