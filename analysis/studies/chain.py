"""A user request through a chain of services that each retry the one below: exact and by Monte Carlo.

Three readings of "fails with probability p", which a source must choose between:

- ``each hop alone``: every call makes attempts until one comes back, whatever happened below it. The
  expected load is a plain power, which is seed 001's formula.
- ``only the last``: the last service fails, and a caller that has used up its attempts fails in turn.
- ``every service``: each service loses its answer with p after having called on, and failures travel up.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from typing import Literal

from analysis import laws
from analysis.studies.sample import Sample

Reading = Literal["each hop alone", "only the last", "every service"]
READINGS: tuple[Reading, ...] = ("each hop alone", "only the last", "every service")


@dataclass(frozen=True, slots=True)
class Chain:
    """``services`` in a row, the user in front of the first; each caller makes up to ``max_attempts``."""

    services: int
    max_attempts: int

    def exact(self, failure: float, reading: Reading) -> tuple[float, float]:
        """Attempts at the last service per attempt at the first, and the share of users served.

        The user, too, makes up to ``max_attempts``, which is how seed 001 counts success.
        """
        m = self.max_attempts
        if reading == "each hop alone":
            return (
                laws.call_tree_load(failure, m, self.services),
                laws.call_tree_success(failure, m, self.services),
            )
        fails, load = failure, 1.0
        for _ in range(self.services - 1):
            load *= laws.retry_amplification(m, fails)
            own = failure if reading == "every service" else 0.0
            fails = 1.0 - (1.0 - own) * (1.0 - fails**m)
        return load, 1.0 - fails**m

    def draw(self, failure: float, reading: Reading, requests: int, rng: random.Random) -> Draws:
        """Send the requests of users one by one; each user calls the first service once for the load."""
        loads, served = [], 0
        for _ in range(requests):
            walk = _Walk(self, failure, reading, rng)
            loads.append(walk.attempt(1))
            served += walk.user()
        return Draws(loads, served / requests)


@dataclass(frozen=True, slots=True)
class Draws:
    """``loads``: attempts at the last service, per request; ``served``: share of users with an answer."""

    loads: list[int]
    served: float

    @property
    def load(self) -> Sample:
        """Attempts at the last service per request, as a sample over requests."""
        return Sample.of(self.loads)

    @property
    def served_half_width(self) -> float:
        """Half the 95% interval of the share served."""
        return 1.96 * math.sqrt(self.served * (1.0 - self.served) / len(self.loads))


@dataclass(slots=True)
class _Walk:
    """One request on its way through the chain."""

    chain: Chain
    failure: float
    reading: Reading
    rng: random.Random
    answered: bool = False

    def attempt(self, service: int) -> int:
        """One attempt at a service: how many reach the last one because of it; sets ``answered``."""
        last = self.chain.services
        if service == last:
            self.answered = self.rng.random() >= self.failure
            return 1
        reached = 0
        for _ in range(self.chain.max_attempts):
            reached += self.attempt(service + 1)
            if self.reading == "each hop alone" and service + 1 < last:
                self.answered = self.rng.random() >= self.failure
            if self.answered:
                break
        if self.reading == "every service":
            self.answered = self.answered and self.rng.random() >= self.failure
        return reached

    def user(self) -> bool:
        """Whether a user who makes up to ``max_attempts`` gets an answer."""
        if self.reading == "each hop alone":
            return all(self._comes_back() for _ in range(self.chain.services))
        for _ in range(self.chain.max_attempts):
            self.attempt(1)
            if self.answered:
                return True
        return False

    def _comes_back(self) -> bool:
        return any(self.rng.random() >= self.failure for _ in range(self.chain.max_attempts))
