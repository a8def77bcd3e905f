"""Which limit is meant, as a number: what ``decide`` branches on and every rule's ``code`` says."""

from __future__ import annotations

NONE, AIMD, VEGAS, GRADIENT2, ENVOY_GRADIENT = range(5)
