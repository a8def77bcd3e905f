"""The requests of a mix as they are sent: placeholders filled once, one chosen for each job by its weight."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping
from functools import partial
from itertools import accumulate
from urllib.parse import quote

from domain.errors import ConfigurationError, Fault
from domain.placeholders import LITERAL_PREFIX, filled
from domain.request_mix import RequestMix, RequestTemplate
from domain.streams import stream
from loadgen.request import Job, Request

_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_NOT_IN_PATH = re.compile(r"[^\x21-\x7e]|#")
_MASK = 2**64 - 1
_GOLDEN = 0x9E3779B97F4A7C15


class MixedRequests:
    """Which request a job sends, and which answers are successes.

    ``environ`` holds the placeholders' values. Raises ``ConfigurationError`` that names every variable that
    is missing or cannot stand where it is wanted, and never a value.
    """

    __slots__ = ("_key", "_requests", "_shares", "_successes", "body_match")

    def __init__(self, mix: RequestMix, environ: Mapping[str, str], seed: int) -> None:
        filler = _Filler(environ)
        requests = [filler.request(template, index) for index, template in enumerate(mix.requests)]
        if filler.faults:
            raise ConfigurationError("the requests cannot be sent", list(dict.fromkeys(filler.faults)))
        self._requests = [request for request in requests if request is not None]
        total = sum(template.weight for template in mix.requests)
        self._shares = [end / total for end in accumulate(template.weight for template in mix.requests)]
        self._key = int(stream(seed, "requests").integers(_MASK, endpoint=True, dtype="uint64"))
        self._successes = bytearray(1000)
        for first, last in mix.success.statuses:
            self._successes[first : last + 1] = b"\1" * (last + 1 - first)
        self.body_match: re.Pattern[bytes] | None = mix.success.body_pattern

    def request(self, job: Job) -> Request:
        """The request of a job: the same for all its attempts, and in every run with this seed.

        The job's number is hashed with a key from the stream of requests (the output function of SplitMix64:
        Steele, Lea and Flood, OOPSLA 2014), so that no state ties a job to those before it.
        """
        requests = self._requests
        if len(requests) == 1:
            return requests[0]
        mixed = (self._key + job.job_id * _GOLDEN) & _MASK
        mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & _MASK
        chosen = bisect_right(self._shares, (mixed ^ (mixed >> 31)) / 2.0**64)
        return requests[min(chosen, len(requests) - 1)]  # rounding may leave the last share below 1

    def is_success(self, status: int) -> bool:
        """Whether an answer of this status is one, as far as the status says."""
        return 0 <= status < 1000 and self._successes[status] == 1


class _Filler:
    """Fills templates and notes which variables stand in the way."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self.faults: list[Fault] = []

    def request(self, template: RequestTemplate, index: int) -> Request | None:
        at, before = f"request[{index}]", len(self.faults)
        path = filled(template.path, partial(self._in_path, at=f"{at}.path"))
        headers = {
            name: filled(_on_wire(text), partial(self._in_header, at=f"{at}.headers.{name}"))
            for name, text in template.headers
        }
        body = filled(template.body.decode("latin-1"), partial(self._value, at=f"{at}.body"))
        if len(self.faults) > before:
            return None
        return Request(template.method, path, headers, body.encode("latin-1"))

    def _value(self, name: str, at: str) -> str:
        value = self._environ.get(name, "")
        if not value:
            state = "is empty" if name in self._environ else "is not set"
            self._fault(at, f"needs the environment variable {name}, which {state}")
        return _on_wire(value)

    def _in_header(self, name: str, at: str) -> str:
        value = self._value(name, at)
        if _CONTROL.search(value):
            self._fault(at, f"the environment variable {name} holds a line break or control character")
        return value

    def _in_path(self, name: str, at: str) -> str:
        value = self._in_header(name, at)
        if not name.startswith(LITERAL_PREFIX):
            return quote(value, safe="", encoding="latin-1")
        if _NOT_IN_PATH.search(value):
            self._fault(at, f"the environment variable {name} holds what must be percent-encoded in a path")
        return value

    def _fault(self, at: str, rule: str) -> None:
        self.faults.append(Fault(at, rule, None))


def _on_wire(text: str) -> str:
    """Text whose Latin-1 bytes are the UTF-8 of ``text``: heads are written as Latin-1."""
    return text.encode("utf-8", "surrogateescape").decode("latin-1")
