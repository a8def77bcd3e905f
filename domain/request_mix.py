"""What is sent and what counts as an answer, as values that may be written down: secrets are names in them.

A text may hold ``${NAME}``: the value is taken from the environment of the process that sends, at its start,
and stands nowhere else.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RequestTemplate:
    """One kind of request; it is sent in ``weight`` of all cases, relative to the others' weights."""

    method: str = "GET"
    path: str = "/"
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    weight: float = 1.0
    name: str = ""


@dataclass(frozen=True, slots=True)
class Success:
    """What counts as an answer: a status in one of the ranges (both ends included), and a body in which the
    regular expression ``body_match`` is found, if there is one."""

    statuses: tuple[tuple[int, int], ...] = ((200, 399),)
    body_match: str | None = None


@dataclass(frozen=True, slots=True)
class RequestMix:
    """All kinds of requests of a test."""

    requests: tuple[RequestTemplate, ...] = (RequestTemplate(),)
    success: Success = Success()
