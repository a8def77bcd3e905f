"""Which breaker is meant, as a number: what ``decide`` branches on and every rule's ``code`` says."""

from __future__ import annotations

NONE, ADAPTIVE_THROTTLE, CIRCUIT_BREAKER = range(3)
