"""Instant queries to a Prometheus: a reason to stop, or what the service says it has received.

The server is resolved once and connected to by that address; it needs no entry in the allow-list, since it
is asked twice a second at most. A bearer token is read from ``TIPOVER_PROMETHEUS_TOKEN`` and stands in no
record, no message and no ``repr``.
"""

from __future__ import annotations

import json
import math
import os
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode, urlsplit

from domain.errors import ConfigurationError, Fault
from tipover.trigger.guards.bounded_http import Answer, default_tls, get
from tipover.trigger.guards.resolution import Lookup, resolve_watched

TOKEN_VARIABLE = "TIPOVER_PROMETHEUS_TOKEN"
TIMEOUT_S = 1.0


@dataclass(frozen=True, slots=True)
class Reading:
    """What a query gave: one number (NaN and infinities included), or None for the reason in ``error``."""

    value: float | None
    error: str = ""


class PrometheusClient:
    """Asks one Prometheus (``url``: its base, with a path prefix if it has one; no query).

    Raises ``ConfigurationError`` for a URL with credentials or a query, a name that does not resolve, a
    token that is no header value, and a token that would travel in the clear to another machine.
    """

    def __init__(
        self,
        url: str,
        *,
        environment: Mapping[str, str] | None = None,
        ca_file: str | None = None,
        within_s: float = TIMEOUT_S,
        lookup: Lookup | None = None,
    ) -> None:
        self.place = resolve_watched(url, "prometheus", lookup=lookup)
        self._within_s = within_s
        parts = urlsplit(url)
        faults = []
        if parts.query or parts.fragment:
            faults.append(Fault("prometheus", "must be a base URL; the query is given apart", None))
        token = (os.environ if environment is None else environment).get(TOKEN_VARIABLE, "").strip()
        if token and not (token.isascii() and token.isprintable()):
            faults.append(Fault(TOKEN_VARIABLE, "must be printable ASCII", "…"))
        if token and parts.scheme == "http" and not self.place.is_loopback:
            rule = f"needs https: {TOKEN_VARIABLE} would be sent in the clear"
            faults.append(Fault("prometheus", rule, self.place.host))
        if faults:
            raise ConfigurationError("prometheus is not usable; nothing was sent", faults)
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._base = f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"
        self._tls: ssl.SSLContext | None = default_tls(ca_file) if parts.scheme == "https" else None

    def __repr__(self) -> str:
        return f"PrometheusClient({self._base!r})"

    def instant(self, query: str) -> float | None:
        """The finite number that a query gives now; None if it gives none (``read`` says why)."""
        value = self.read(query).value
        return value if value is not None and math.isfinite(value) else None

    def read(self, query: str) -> Reading:
        """What a query gives now: of a scalar, or of a vector with one sample. Never raises for an answer."""
        url = f"{self._base}/api/v1/query?{urlencode({'query': query})}"
        answer = get(url, self.place, self._within_s, headers=self._headers, tls=self._tls)
        return reading_of(answer)


def reading_of(answer: Answer) -> Reading:
    """What an answer of ``/api/v1/query`` says."""
    if answer.status is None:
        return Reading(None, answer.error)
    try:
        said = json.loads(answer.body)
    except (ValueError, RecursionError):
        said = None
    if not isinstance(said, dict) or said.get("status") != "success" or answer.status != 200:
        why = said.get("error") if isinstance(said, dict) else None
        words = f": {_short(why)}" if why else ""
        return Reading(None, f"status {answer.status}{words or ', not an answer of Prometheus'}")
    try:
        return _number(said["data"]["resultType"], said["data"]["result"])
    except (KeyError, TypeError, ValueError, IndexError):
        return Reading(None, "not an answer of Prometheus")


def _number(kind: str, result: Any) -> Reading:
    if kind == "scalar":
        return Reading(float(result[1]))
    if kind != "vector":
        return Reading(None, f"a {_short(kind)} where a scalar or a vector was expected")
    if not result:
        return Reading(None, "an empty vector")
    if len(result) > 1:
        return Reading(None, f"{len(result)} samples where one was expected; aggregate them (sum, max)")
    return Reading(float(result[0]["value"][1]))


def _short(text: object) -> str:
    return "".join(letter if letter.isprintable() else " " for letter in str(text))[:200]
