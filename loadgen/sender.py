"""From a job to bytes, and from what happens on the wire to an outcome."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable

from domain.attempts import Outcome
from domain.experiment import Client
from loadgen.connection import AttemptError, DeadlineError, NoSocketError
from loadgen.destination import Destination
from loadgen.health import Health
from loadgen.pool import ConnectionPool
from loadgen.request import Job, Request, RequestEncoder
from loadgen.response import MAX_ANSWER_BYTES, AnswerOptions
from loadgen.tls import TlsClient


class HttpSender:
    """Sends each attempt as the request that ``make_request`` gives for its job.

    ``client`` says how attempts tell their deadline, and whether to look for ``Retry-After``. An answer is a
    success by its status and, if there is a ``body_match``, by its body (see ``AnswerOptions``). Redirects
    are answers like any other: they are never followed. ``ca_file``: whom an https destination's certificate
    may be by, if not by the system's authorities.

    ``health`` is told why attempts ended as errors.
    """

    def __init__(
        self,
        destination: Destination,
        make_request: Callable[[Job], Request],
        is_success: Callable[[int], bool],
        health: Health,
        client: Client,
        *,
        body_match: re.Pattern[bytes] | None = None,
        ca_file: str | None = None,
        max_answer_bytes: int = MAX_ANSWER_BYTES,
    ) -> None:
        tls = TlsClient(destination.hostname, ca_file) if destination.tls else None
        self._pool = ConnectionPool(
            destination.family,
            destination.address,
            options=AnswerOptions(client.honours_retry_after, body_match, False, max_answer_bytes),
            tls=tls,
        )
        self._probe_pool = ConnectionPool(
            destination.family,
            destination.address,
            idle_limit=0,
            options=AnswerOptions(False, body_match, True, max_answer_bytes),
            tls=tls,
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
            status, heard = self._pool.exchange(payload, timeout_s, request.method == "HEAD")
        except DeadlineError:
            return Outcome.TIMEOUT, 0, 0.0
        except AttemptError as error:
            self._note(error)
            return Outcome.ERROR, 0, 0.0
        good = self._is_success(status) and heard.matches
        return (Outcome.OK if good else Outcome.REJECTED), status, heard.away_s

    def exchange_patiently(self, job: Job, timeout_s: float) -> tuple[Outcome, int, str]:
        """Outcome, status and ``Server`` header of one such request on a connection of its own, as a client's
        that has just come and queues behind all others; for probes."""
        request = self._make_request(job)
        payload = self._encoder.encode(request, job.job_id, 1, timeout_s)
        try:
            status, heard = self._probe_pool.exchange(payload, timeout_s, request.method == "HEAD")
        except DeadlineError:
            return Outcome.TIMEOUT, 0, ""
        except AttemptError as error:
            self._note(error)
            return Outcome.ERROR, 0, ""
        good = self._is_success(status) and heard.matches
        return (Outcome.OK if good else Outcome.REJECTED), status, heard.server

    def close(self) -> None:
        """Close idle connections."""
        self._pool.close()

    def _note(self, error: AttemptError) -> None:
        if isinstance(error, NoSocketError):
            self._health.refused_sockets += 1
        self._health.error_reasons.note(str(error))
