"""The user class to subclass: it says what one attempt is, and nothing about when."""

from __future__ import annotations

from typing import Any, ClassVar

from locust import User, constant

from domain.attempts import Outcome
from loadgen.request import Job, Request


def _wait_for_the_end(_user: User) -> None:
    """Locust wants a task; the load does not come from here."""


class StormUser(User):  # type: ignore[misc]
    """Subclass this and say what one attempt is.

    Override ``request`` to send something else than ``GET /work``; override ``is_success`` to say which
    statuses are answers; override ``send`` to speak another protocol than HTTP. One instance serves all
    jobs of a worker, so keep per-job state in locals.
    """

    abstract = True
    wait_time = constant(1)
    tasks: ClassVar[list[Any]] = [_wait_for_the_end]
    default_request: ClassVar[Request] = Request()

    def request(self, job: Job) -> Request:  # noqa: ARG002
        """The request of every attempt of this job."""
        return self.default_request

    def is_success(self, status: int) -> bool:
        """Whether an answer with this HTTP status counts: 2xx and 3xx by default."""
        return 200 <= status < 400

    def send(self, job: Job, attempt: int, timeout_s: float) -> tuple[Outcome, int]:
        """Send one attempt yourself; return its outcome and a status. Runs under a hard deadline.

        The default, which this method only stands for, speaks HTTP over pooled raw sockets.
        """
        raise NotImplementedError
