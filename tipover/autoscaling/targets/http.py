"""``GET /scale`` and ``PUT /scale``: the scale of our own target."""

from __future__ import annotations

import json
import math
from collections.abc import Collection
from typing import Any
from urllib.parse import urlsplit

from domain.errors import ConfigurationError, Fault
from loadgen.destination import Destination, without_credentials
from tipover.autoscaling.targets.scale import Scale, ScaleError
from tipover.trigger.guards.bounded_http import Answer, ask
from tipover.trigger.guards.resolution import Resolved

_MOST_PODS = 1_000_000
"""A ``/scale`` that tells of more is none; whole numbers of JSON may be beyond any float."""


class HttpScale:
    """A URL that tells and takes a scale (path ``/scale`` if it has none).

    Only loopback addresses are scaled, and hosts in ``allowed_hosts``; the address is judged again at every
    question, since containers move. Raises ``ConfigurationError`` for a URL that is not usable or not
    allowed; a name that does not resolve yet may later.
    """

    def __init__(self, url: str, within_s: float, allowed_hosts: Collection[str] = ()) -> None:
        self.name = without_credentials(url)
        self._within_s = within_s
        self._allowed = tuple(allowed_hosts)
        try:
            parts = urlsplit(url)
        except ValueError as error:
            faults = [Fault("--scale", f"is not a URL: {error}", self.name)]
            raise ConfigurationError("the autoscaler cannot be started", faults) from None
        if parts.query or parts.fragment:
            faults = [Fault("--scale", "must be a URL without a query", self.name)]
            raise ConfigurationError("the autoscaler cannot be started", faults)
        self._base, self._scheme = f"{parts.scheme}://{parts.netloc}", parts.scheme
        self._url = f"{self._base}{parts.path if parts.path not in {'', '/'} else '/scale'}"
        try:
            self._place()
        except ConfigurationError as error:
            if error.faults:
                faults = [Fault("--scale", fault.rule, fault.value) for fault in error.faults]
                raise ConfigurationError("the autoscaler cannot be started", faults) from None

    def look(self) -> Scale:
        """``GET``."""
        return self._asked("GET", None)

    def order(self, replicas: int) -> Scale:
        """``PUT``."""
        return self._asked("PUT", json.dumps({"replicas": replicas}).encode())

    def stop(self) -> None:
        """Nothing: a request is over by its deadline, or with the process."""

    def _asked(self, method: str, body: bytes | None) -> Scale:
        try:
            place = self._place()
        except ConfigurationError as error:
            raise ScaleError(str(error)) from error
        headers = {"Content-Type": "application/json"} if body else {}
        return _scale(ask(method, self._url, place, self._within_s, body=body, headers=headers))

    def _place(self) -> Resolved:
        found = Destination(self._base, self._allowed)
        return Resolved(found.hostname, found.ip, found.port, None, self._scheme)


def _scale(answer: Answer) -> Scale:
    if answer.status is None:
        raise ScaleError(answer.error)
    try:
        said = json.loads(answer.body)
    except (ValueError, RecursionError):
        said = None
    if answer.status != 200:
        raise ScaleError(f"status {answer.status}{_faults(said)}")
    try:
        starting = tuple((_count(group["pods"]), _seconds(group["ready_in_s"])) for group in said["starting"])
        return Scale(_count(said["replicas"]), _count(said["ready"]), starting)
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise ScaleError("status 200, but not a scale") from error


def _faults(said: Any) -> str:
    """What the target says is wrong, in one short line."""
    try:
        rules = [f"{fault['field']} {fault['rule']}" for fault in said["faults"]]
    except (KeyError, TypeError):
        return ""
    return ": " + "".join(c if c.isprintable() else " " for c in "; ".join(rules))[:200]


def _count(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= _MOST_PODS:
        raise ValueError(value)
    return value


def _seconds(value: Any) -> float:
    if not 0.0 <= float(value) < math.inf:
        raise ValueError(value)
    return float(value)
