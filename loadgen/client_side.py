"""What all jobs of a worker share: the client's rules, its random draws, the wire, the greenlets."""

from __future__ import annotations

from collections.abc import Iterator

from domain.breakers.account import BreakerAccount
from domain.experiment import Experiment
from domain.streams import Purpose, stream
from loadgen.crew import Crew
from loadgen.gates import Gates
from loadgen.request import Job
from loadgen.wire import Wire

_ENDLESS_PACE_S = 0.01
"""A client without an attempt limit makes at most one attempt in this time per job, sent or refused: against
a service that refuses at once its load would have no bound but the CPU."""
_AS_GOOD_AS_ENDLESS = 1000
"""An attempt limit above this is none, for that."""


class ClientSide:
    """``sending`` turns False when nothing may be sent any more, ``end_s`` after the start at the latest."""

    __slots__ = (
        "_chance",
        "client",
        "crew",
        "deadline_s",
        "end_s",
        "gives_up",
        "jitter",
        "pace_s",
        "policy",
        "sending",
        "timeout_s",
        "waits_out",
        "wire",
    )

    def __init__(self, experiment: Experiment, worker: int, wire: Wire, crew: Crew) -> None:
        self.client = experiment.client
        self.policy = self.client.policy
        self.wire = wire
        self.crew = crew
        self.sending = True
        self.end_s = experiment.duration_s
        self.waits_out = self.client.on_rejection == "after-timeout"
        self.gives_up = self.client.on_refusal == "give-up"
        self.pace_s = _ENDLESS_PACE_S if self.client.max_attempts > _AS_GOOD_AS_ENDLESS else 0.0
        self.jitter = _uniforms(experiment.run.seed, "jitter", worker)
        self._chance = _uniforms(experiment.run.seed, "breaker", worker)
        self.timeout_s = self.client.timeout_s
        self.deadline_s = self.client.deadline_s

    def lets_through(self, breaker: BreakerAccount, now_s: float) -> bool:
        """Ask a breaker, with a draw of its own stream."""
        return breaker.lets_through(now_s, next(self._chance))

    def give_back(self, gates: Gates, attempt: int, price: float) -> None:
        """Attempt number ``attempt`` is not sent after all: what a budget was paid for it comes back."""
        if attempt > 1 and gates.budget is not None:
            gates.budget.withdrawn(price)

    def refused(self, job: Job, attempt: int, due_s: float, now_s: float, reason: str) -> None:
        """The client itself says no to an attempt that was due at ``due_s``."""
        self.wire.refuse(job, attempt, due_s, now_s, reason, self.gives_up)


def _uniforms(seed: int, purpose: Purpose, worker: int) -> Iterator[float]:
    rng = stream(seed, purpose, worker)
    while True:
        yield from rng.random(1024).tolist()
