"""The loaded chain in simpy, written apart from the compiled one: processes instead of tables and events.

Only rules and order of draws are shared: a work is drawn when it is begun.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import simpy

from analysis.studies.hop_retries.kernel import ATTEMPT, REQUEST
from analysis.studies.hop_retries.queued import LoadedChain
from domain.streams import stream

Process = Generator[Any, Any, Any]


@dataclass
class Oracle:
    """Runs jobs through the chain; ``answered_s`` and ``reached`` by job, ``started`` at the last service."""

    chain: LoadedChain
    seed: int
    answered_s: list[float] = field(default_factory=list)
    reached: list[int] = field(default_factory=list)
    started: int = 0
    dropped: int = 0
    rejected: int = 0

    def run(self, arrivals_s: np.ndarray[Any, Any], end_s: float) -> Oracle:
        """Simulate until ``end_s``."""
        self.env = simpy.Environment()
        self.works = stream(self.seed, "service")
        rules = self.chain.rules(end_s, 1.0)
        self.pools = [simpy.Resource(self.env, capacity=max(1, int(pods))) for pods in rules.pods]
        self.mean_s = rules.mean_s
        self.answered_s = [math.inf] * len(arrivals_s)
        self.reached = [0] * len(arrivals_s)
        for job, at_s in enumerate(arrivals_s):
            self.env.process(self._user(job, float(at_s)))
        self.env.run(until=end_s)
        return self

    def _user(self, job: int, at_s: float) -> Process:
        yield self.env.timeout(at_s)
        if (yield from self._call_on(1, job, at_s + self.chain.deadline.deadline_s)):
            self.answered_s[job] = self.env.now

    def _call_on(self, hop: int, job: int, until_s: float) -> Process:
        """A caller's attempts at service ``hop``; whether one was answered in time."""
        for _ in range(self.chain.max_attempts):
            left_s = until_s - self.env.now
            if left_s <= 1e-9:
                return False
            timeout_s = min(self.chain.timeouts_s[hop - 1], left_s)
            tells = self.chain.deadline.tells[hop - 1]
            own_s = self.env.now + timeout_s
            told_s = {REQUEST: until_s, ATTEMPT: own_s}.get(tells, math.inf)
            over = self.env.timeout(timeout_s)
            answer = self.env.event()
            self.env.process(self._serve(hop, job, told_s, answer.succeed))
            yield answer | over
            if answer.triggered and answer.value:
                return True
        return False

    def _serve(self, hop: int, job: int, told_s: float, answer: Callable[[bool], Any]) -> Process:
        pool, last = self.pools[hop], hop == self.chain.hops
        self.reached[job] += last
        if last and pool.count == pool.capacity and len(pool.queue) >= self.chain.places:
            self.rejected += 1
            answer(False)
            return
        turn = pool.request()
        yield turn
        deadline = self.chain.deadline
        if deadline.drops and told_s - self.env.now <= deadline.least_s:
            self.dropped += last
            pool.release(turn)
            answer(False)
            return
        self.started += last
        yield self.env.timeout(self.mean_s[hop] * self.works.standard_exponential())
        if last:
            yield from self._hand_over(pool, turn)
            faulty = self.chain.fault_s[0] <= self.env.now < self.chain.fault_s[1]
            answer(not faulty)
            return
        if not self.chain.held:
            yield from self._hand_over(pool, turn)
        ok = yield from self._call_on(hop + 1, job, told_s)
        if self.chain.held:
            yield from self._hand_over(pool, turn)
        answer(ok)

    def _hand_over(self, pool: simpy.Resource, turn: Any) -> Process:
        """Release a worker; whoever takes it, past those that are dropped, draws a work before all else."""
        waiting = len(pool.queue)
        pool.release(turn)
        for _ in range(waiting + 1):
            yield self.env.timeout(0)
