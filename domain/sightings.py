"""A memory of ids: bounded in number, and each forgotten some time after it was first seen."""

from __future__ import annotations

from collections import deque

from domain.errors import ConfigurationError, Fault

DEFAULT_CAPACITY = 1_000_000
"""About 110 MB when full; at 1,000 jobs/s that is 1,000 s."""
DEFAULT_EXPIRY_S = 300.0
"""Longer than most clients go on trying."""


class Sightings:
    """At most ``capacity`` ids, each for ``expiry_s`` seconds from its first sight; the oldest goes first.

    Only a hash of 64 bits is kept, so that an id may be of any length; among a million ids a new one is
    mistaken for an old one once in 10¹³. Raises ConfigurationError unless both are above zero.
    """

    def __init__(self, capacity: int = DEFAULT_CAPACITY, expiry_s: float = DEFAULT_EXPIRY_S) -> None:
        faults = []
        if capacity < 1:
            faults.append(Fault("id capacity", "must be at least 1", capacity))
        if not expiry_s > 0.0:
            faults.append(Fault("id expiry", "must be above 0 s", expiry_s))
        if faults:
            raise ConfigurationError("ids cannot be remembered this way", faults)
        self.capacity = capacity
        self.expiry_s = expiry_s
        self.evicted = 0
        """Ids forgotten before their time because the memory was full: their retries count as first."""
        self._known: set[int] = set()
        self._order: deque[int] = deque()
        self._seen_s: deque[float] = deque()

    def __len__(self) -> int:
        return len(self._order)

    def first_sight(self, key: str, now_s: float) -> bool:
        """Whether ``key`` is not remembered at ``now_s``; from then on it is.

        A clock that steps back is taken to stand still.
        """
        if self._seen_s and now_s < self._seen_s[-1]:
            now_s = self._seen_s[-1]
        self._expire(now_s)
        name = hash(key)
        if name in self._known:
            return False
        if len(self._order) == self.capacity:
            self._forget_oldest()
            self.evicted += 1
        self._known.add(name)
        self._order.append(name)
        self._seen_s.append(now_s)
        return True

    def _expire(self, now_s: float) -> None:
        while self._seen_s and now_s - self._seen_s[0] >= self.expiry_s:
            self._forget_oldest()

    def _forget_oldest(self) -> None:
        self._seen_s.popleft()
        self._known.discard(self._order.popleft())
