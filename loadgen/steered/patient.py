"""Requests outside the jobs: each waits long, is sent once, and is in no trace; they can all be dropped."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol

from domain.attempts import Outcome
from loadgen.request import Job
from loadgen.wire import Sender

Answer = tuple[Outcome, int, str]
"""How it ended, the HTTP status (0 without one), the answer's ``Server`` header."""


class PatientSender(Protocol):
    """Sends one request and waits up to ``timeout_s`` for its answer."""

    def exchange_patiently(self, job: Job, timeout_s: float) -> Answer:
        """Raises nothing: what goes wrong is an outcome."""


class OnceSender:
    """Sends patient requests as the first attempts of jobs are sent, over the connections that those use."""

    def __init__(self, send: Sender) -> None:
        self._send = send

    def exchange_patiently(self, job: Job, timeout_s: float) -> Answer:
        """See ``PatientSender``; it does not know the ``Server`` header."""
        outcome, status, _ = self._send(job, 1, timeout_s)
        return outcome, status, ""


class PatientLine:
    """Where the patient requests of one kind go through.

    ``first_id`` is where the numbers of their jobs begin, apart from all others, so that no two requests have
    the same id. ``before_sending`` is told the time of every one, and may raise ``GreenletExit``.
    """

    def __init__(
        self,
        sender: PatientSender,
        before_sending: Callable[[float], None],
        start_monotonic_s: float,
        patience_s: float,
        first_id: int,
    ) -> None:
        self._sender = sender
        self._before_sending = before_sending
        self._start_monotonic_s = start_monotonic_s
        self._patience_s = patience_s
        self._first_id = first_id
        self._open: set[int] = set()
        self.sent = 0
        self.turned_away = 0
        """Those that ended as rejected or with an error."""

    @property
    def now_s(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self._start_monotonic_s

    @property
    def open(self) -> int:
        """Requests that wait for their answer."""
        return len(self._open)

    def exchange(self) -> Answer | None:
        """One request from beginning to end, in the calling greenlet; None if it was dropped meanwhile."""
        now_s = self.now_s
        self._before_sending(now_s)
        number, self.sent = self.sent, self.sent + 1
        self._open.add(number)
        answer = self._sender.exchange_patiently(Job(self._first_id + number, now_s, 0), self._patience_s)
        if number not in self._open:
            return None
        self._open.discard(number)
        if answer[0] in (Outcome.REJECTED, Outcome.ERROR):
            self.turned_away += 1
        return answer

    def drop(self) -> None:
        """None of them counts any more; whoever waits in ``exchange`` gets None, or is ended."""
        self._open.clear()
