"""From a job to bytes, and from what happens on the wire to an outcome."""

from __future__ import annotations

import secrets
from collections.abc import Callable

from domain.attempts import Outcome
from domain.experiment import Client
from loadgen.connection import BrokenConnectionError, ConnectionPool, DeadlineError, NoSocketError
from loadgen.destination import Destination
from loadgen.health import Health
from loadgen.request import Job, Request, RequestEncoder


class HttpSender:
    """Sends each attempt as the request that ``make_request`` gives for its job.

    ``client`` says how attempts tell their deadline, and whether to look for ``Retry-After``.
    """

    def __init__(
        self,
        destination: Destination,
        make_request: Callable[[Job], Request],
        is_success: Callable[[int], bool],
        health: Health,
        client: Client,
    ) -> None:
        self._pool = ConnectionPool(
            destination.family, destination.address, patient=client.honours_retry_after
        )
        self._encoder = RequestEncoder(destination.host_header, secrets.token_hex(4), client.propagate)
        self._make_request = make_request
        self._is_success = is_success
        self._health = health

    def __call__(self, job: Job, attempt: int, timeout_s: float) -> tuple[Outcome, int, float]:
        """One attempt under one deadline; see ``wire.Sender``."""
        request = self._make_request(job)
        payload = self._encoder.encode(request, job.job_id, attempt, timeout_s)
        try:
            status, away_s = self._pool.exchange(payload, timeout_s, request.method == "HEAD")
        except DeadlineError:
            return Outcome.TIMEOUT, 0, 0.0
        except NoSocketError:
            self._health.refused_sockets += 1
            return Outcome.ERROR, 0, 0.0
        except BrokenConnectionError:
            return Outcome.ERROR, 0, 0.0
        return (Outcome.OK if self._is_success(status) else Outcome.REJECTED), status, away_s

    def close(self) -> None:
        """Close idle connections."""
        self._pool.close()
