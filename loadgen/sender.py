"""From a job to bytes, and from what happens on the wire to an outcome."""

from __future__ import annotations

import secrets
import socket
import time
from collections.abc import Callable, Collection
from urllib.parse import urlsplit

from domain.attempts import Outcome
from domain.errors import ConfigurationError, Fault
from domain.guard import fault_in_target
from loadgen.connection import BrokenConnectionError, ConnectionPool, DeadlineError, NoSocketError
from loadgen.health import Health
from loadgen.request import IDEMPOTENT_METHODS, Job, Request, RequestEncoder


class Destination:
    """Where attempts go: resolved once, judged by its address, and connected to by that address."""

    def __init__(self, url: str, allowed_hosts: Collection[str] = ()) -> None:
        """Raise ``ConfigurationError`` if the URL is not usable or its address is not allowed."""
        parts = urlsplit(url if "//" in url else f"//{url}", scheme="http")
        faults = []
        if parts.scheme != "http":
            faults.append(Fault("target", "must be an http:// URL", url))
        if not parts.hostname:
            faults.append(Fault("target", "names no host", url))
        if parts.path not in {"", "/"} or parts.query:
            faults.append(Fault("target", "must be a base URL; the path belongs to the request", url))
        try:
            port = parts.port or 80
        except ValueError:
            faults.append(Fault("target", "has a port that is not a number from 1 to 65535", url))
        if faults:
            raise ConfigurationError("the target cannot be used; nothing was sent", faults)
        host = parts.hostname or ""
        self.host_header = parts.netloc.rpartition("@")[2]
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except OSError as error:
            raise ConfigurationError(f"the target's name does not resolve: {host}: {error}") from error
        family, _, _, _, address = found[0]
        self.family: int = family
        self.address: tuple[object, ...] = tuple(address)
        self.ip = str(address[0])
        fault = fault_in_target(host, self.ip, allowed_hosts)
        if fault:
            raise ConfigurationError("the target is not allowed; nothing was sent", [fault])


class HttpSender:
    """Sends each attempt as the request that ``make_request`` gives for its job."""

    def __init__(
        self,
        destination: Destination,
        make_request: Callable[[Job], Request],
        is_success: Callable[[int], bool],
        health: Health,
    ) -> None:
        self._pool = ConnectionPool(destination.family, destination.address, time.monotonic)
        self._encoder = RequestEncoder(destination.host_header, secrets.token_hex(4))
        self._make_request = make_request
        self._is_success = is_success
        self._health = health

    def __call__(self, job: Job, attempt: int, timeout_s: float) -> tuple[Outcome, int]:
        """One attempt under one deadline; see ``storm.Sender``."""
        request = self._make_request(job)
        payload = self._encoder.encode(request, job.job_id, attempt)
        try:
            status = self._pool.exchange(
                payload, timeout_s, request.method == "HEAD", request.method in IDEMPOTENT_METHODS
            )
        except DeadlineError:
            return Outcome.TIMEOUT, 0
        except NoSocketError:
            self._health.refused_sockets += 1
            return Outcome.ERROR, 0
        except BrokenConnectionError:
            return Outcome.ERROR, 0
        return (Outcome.OK if self._is_success(status) else Outcome.REJECTED), status

    def close(self) -> None:
        """Close idle connections."""
        self._pool.close()
