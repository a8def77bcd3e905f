"""How many attempts one request brings to the last service while every attempt times out: A_D.

The callers are followed as they are: each goes on until its own deadline, whether or not anybody still waits
for it. What is left after a spike is decided by A_D: the last service stays failed iff A_D · ρ ≥ 1, because a
wait longer than the timeout makes every attempt fail, and so keeps itself up (seed 002, Proposition 6).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from analysis.studies.hop_retries.kernel import ATTEMPT, LEAST_S, REQUEST
from analysis.studies.hop_retries.queued import LoadedChain


@dataclass(frozen=True, slots=True)
class Amplification:
    """Attempts per request while all time out: how many ``arrive``, and how many are ``served``.

    Served are all that arrive, or, of services that drop what is late, those whose deadline is not over after
    a wait of just the last timeout.
    """

    arrive: int
    served: int


def amplification(chain: LoadedChain) -> Amplification:
    """A_D of a chain of services whose queue is only at the last one."""
    walk = _Walk(chain)
    walk.call(1, 0.0, chain.deadline.deadline_s)
    return Amplification(walk.arrive, walk.served)


@dataclass(slots=True)
class _Walk:
    chain: LoadedChain
    arrive: int = 0
    served: int = 0

    def call(self, hop: int, now_s: float, until_s: float) -> float:
        """The attempts of the caller of service ``hop`` from ``now_s`` on; returns when it has made them."""
        for _ in range(self.chain.max_attempts):
            if until_s - now_s <= LEAST_S:
                break
            over_s = min(now_s + self.chain.timeouts_s[hop - 1], until_s)
            tells = self.chain.deadline.tells[hop - 1]
            told_s = until_s if tells == REQUEST else over_s if tells == ATTEMPT else math.inf
            if hop < self.chain.hops:
                over_s = min(over_s, self.call(hop + 1, now_s, told_s))
            else:
                self.arrive += 1
                late = now_s + self.chain.timeouts_s[-1] + self.chain.deadline.least_s >= told_s - LEAST_S
                self.served += not (self.chain.deadline.drops and late)
            now_s = over_s
        return now_s


def least_trap_if_attempts_are_dropped(served: int, pods: int, kept: float = 0.0) -> float:
    """The least ρ at which a service that drops abandoned attempts stays failed; ``served`` attempts a job.

    Overloaded by a factor x > 1, it starts 1/x of the attempts, and each has little of its timeout left:
    ``kept`` mean works, below which it is dropped, and an exponential time of mean 1/((x − 1)C) more, for the
    wait has the density e^((x−1)C·w) up to its longest. A work of mean pods/C outlasts that with
    v = e^(−kept)·(x − 1)·pods/(1 + (x − 1)·pods), so an attempt succeeds with p = (1 − v)/x, and the overload
    keeps itself up iff ρ·(1 − (1 − p)^served)/p ≥ x.
    """
    x = np.concatenate([1.0 + np.geomspace(1e-6, 1.0, 4000), np.linspace(2.0, 50.0, 2000)])
    outlasts = math.exp(-kept) * (x - 1.0) * pods / (1.0 + (x - 1.0) * pods)
    p = (1.0 - outlasts) / x
    return float((x * p / (1.0 - (1.0 - p) ** served)).min())
