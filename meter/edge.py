"""Counting at the edge: whose first attempt a request is, told from its headers or from its id."""

from __future__ import annotations

from collections.abc import Mapping

from domain.recognition import Recognition
from domain.sightings import Sightings
from meter.counting import AttemptCounts

UNRECOGNISED = "none"
"""The convention's name when neither a header nor an id says anything: counted as a first attempt."""

OK, REJECTED = "ok", "rejected"

MOST_ROUTES = 100
OTHER_ROUTES = "other"


def outcome_of(status: int) -> str:
    """What an answer with this status counts as: 429 and 5xx say no to anybody, all else is one."""
    return REJECTED if status >= 500 or status == 429 else OK


class EdgeCounter:
    """Recognises attempts and counts them, for the proxy and for access logs alike.

    ``recognised`` has attempts by the convention that told, ``routes`` [first, retries] by route when
    ``by_route``. At most ``MOST_ROUTES`` are kept apart, and all beyond are ``other``.
    """

    def __init__(
        self,
        recognition: Recognition,
        sightings: Sightings,
        counts: AttemptCounts,
        by_route: bool = False,
    ) -> None:
        self.recognition = recognition
        self.sightings = sightings
        self.counts = counts
        self.by_route = by_route
        self.recognised: dict[str, int] = {}
        self.routes: dict[str, list[int]] = {}

    def started(self, headers: Mapping[str, str], route: str, now_s: float) -> int:
        """Count an attempt with these headers (names in lower case) and return its number: 1, or 2 for any
        retry. Every retry is told to the counts as attempt 2.

        An id is one job's within a ``route`` (see ``route_of``): an id that a request hands on to what it
        asks of several places makes none of them a retry of the other.
        """
        said = self.recognition.recognised(headers)
        first = said.first
        if first is None and said.job_id is not None:
            first = self.sightings.first_sight(f"{route}\n{said.job_id}", now_s)
        attempt = 2 if first is False else 1
        convention = said.convention or UNRECOGNISED
        self.recognised[convention] = self.recognised.get(convention, 0) + 1
        if self.by_route:
            self._count_route(route, attempt)
        self.counts.started(attempt)
        return attempt

    def ended(self, attempt: int, outcome: str, duration_s: float) -> None:
        """The attempt that ``started`` numbered has ended."""
        self.counts.ended(attempt, outcome, duration_s)

    def _count_route(self, route: str, attempt: int) -> None:
        row = self.routes.get(route)
        if row is None:
            if len(self.routes) >= MOST_ROUTES:
                route = OTHER_ROUTES
            row = self.routes.setdefault(route, [0, 0])
        row[attempt - 1] += 1


def route_of(target: str) -> str:
    """The route of a request target: its path's first segment, ``/orders/7?x=1`` → ``/orders``."""
    path = target.partition("?")[0]
    return "/" + path[1:].partition("/")[0] if path.startswith("/") else path
