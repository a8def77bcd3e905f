"""Which attempts the fluid model must tell apart, when each returns, and how fine its grid can be."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from analysis.result import Floats
from domain.backoff import Backoff
from domain.experiment import Client
from domain.queue_cap import QueueCap

STEPS_PER_TIMEOUT = 100
LEAST_USUAL_STEPS = 40
USUAL_STEPS = 400_000
"""Steps in all from which on a run is content with fewer a timeout, down to the number above."""
MAX_STEPS_PER_TIMEOUT = 4000
MIN_STEPS_PER_TIMEOUT = 8
MAX_CELLS = 6_000_000
"""Steps times attempt numbers worked through."""


@dataclass(frozen=True, slots=True)
class Layers:
    """Attempts by number. ``backoffs_s`` are the (least, most) seconds from the failure to the retry.

    ``endless``: the last layer feeds itself, as the attempts of an endless client do once its backoff
    has stopped growing.
    """

    backoffs_s: tuple[tuple[float, float], ...]
    endless: bool

    @classmethod
    def of(cls, client: Client, horizon_s: float, cap: QueueCap | None) -> Layers:
        """As many as can matter: when the run is too short to use all the attempts, the last ones stand
        for all that follow. Raises ``ValueError`` for an endless client that retries rejections in no
        time at all."""
        feasible: float = math.ceil(horizon_s / client.timeout_s) + 1
        if cap is not None and cap.on_rejection == "retry":
            if math.isinf(client.max_attempts) and client.backoff.bounds_s(1)[1] == 0.0:
                raise ValueError(
                    "max_attempts: must be finite when rejected attempts are sent again at once without "
                    f"backoff (got {client.max_attempts!r})"
                )
            feasible = math.inf if math.isinf(client.max_attempts) else client.max_attempts
        return cls(*_bounds(client.backoff, client.max_attempts, feasible))

    @property
    def kinds(self) -> int:
        """Attempt numbers told apart."""
        return max(1, len(self.backoffs_s) + (0 if self.endless else 1))

    def delays(self, after_s: float, step_s: float, *, least: float, most: float) -> Floats:
        """Steps from an attempt to its retry when it fails ``after_s`` after it is sent: shape (n, 2).

        At least ``least``, which the order of events demands, and at most ``most``, the run's length.
        """

        def in_steps(backoff_s: float) -> float:
            delay = (after_s + backoff_s) / step_s
            whole = round(delay)
            return min(max(float(whole) if abs(delay - whole) < 1e-6 else delay, least), most)

        pairs = [(in_steps(low), in_steps(high)) for low, high in self.backoffs_s]
        return np.array(pairs, dtype=np.float64).reshape(len(pairs), 2)

    def steps_per_timeout(self, shortest_s: float, horizon_s: float, timeout_s: float) -> int:
        """Steps in a timeout: ten in what is shortest, if as many can be afforded."""
        usual = min(STEPS_PER_TIMEOUT, max(LEAST_USUAL_STEPS, USUAL_STEPS * timeout_s / horizon_s))
        wanted = min(max(usual, 10 * timeout_s / shortest_s), MAX_STEPS_PER_TIMEOUT)
        affordable = MAX_CELLS / (len(self.backoffs_s) + 1) * timeout_s / horizon_s
        return max(MIN_STEPS_PER_TIMEOUT, int(min(wanted, affordable)))


def _bounds(
    backoff: Backoff, max_attempts: float, feasible: float
) -> tuple[tuple[tuple[float, float], ...], bool]:
    endless = max_attempts - 1 >= feasible
    bounds: list[tuple[float, float]] = []
    failed = 0
    while failed < min(max_attempts - 1, feasible):
        failed += 1
        bounds.append(backoff.bounds_s(failed))
        if endless and backoff.bounds_s(failed + 1) == bounds[-1]:
            break
    return tuple(bounds), endless and bool(bounds)
