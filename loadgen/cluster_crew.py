"""The workers of one run as their master knows them."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass, field

from loadgen.cluster_words import Answer

WORKER_LOST_AFTER_S = 0.8
"""A worker says every tenth of a second that it lives; after this silence the others are stopped, so that
nothing is sent a second after a loss."""
FIRST_WORD_WITHIN_S = 10.0


@dataclass
class ClusterCrew:
    """The workers of one run, by Locust's name of them: their shares, answers, and when they were heard."""

    run: str
    shares: dict[str, int]
    answers: dict[str, Answer] = field(default_factory=dict)
    heard_s: dict[str, float] = field(default_factory=dict)
    spoken: set[str] = field(default_factory=set)
    done: set[str] = field(default_factory=set)

    def silent(self, now_s: float, present: Set[str]) -> int | None:
        """The share of a worker with work to do that is not among the ``present`` or was not heard for too
        long; None if there is none."""
        for client, share in self.shares.items():
            patience_s = WORKER_LOST_AFTER_S if client in self.spoken else FIRST_WORD_WITHIN_S
            if client not in self.done and (
                client not in present or now_s - self.heard_s[client] > patience_s
            ):
                return share
        return None
