"""A whole trigger test in virtual time: the protocol on one side, the simulated generator on the other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from analysis.trigger.observations import Observations
from analysis.trigger.protocol import UNLIMITED, Protocol
from analysis.trigger.result import TriggerResult
from analysis.trigger.shot import Judge
from domain.experiment import Client
from domain.sockets import SocketLimits
from domain.trigger.messages import Command, Line, Tick
from domain.trigger.plan import Target, TriggerPlan
from tests.analysis.trigger.simulated_judge import plain_judge
from tests.analysis.trigger.simulated_service import Fifo, SimulatedTest

TIMEOUT_S, ATTEMPTS = 0.5, 3


@dataclass
class Run:
    """What came of it."""

    result: TriggerResult
    lines: list[Line]
    test: SimulatedTest
    finished: bool
    phases: list[str] = field(default_factory=list)

    def commands(self, kind: type[Command]) -> list[tuple[float, Command]]:
        """The commands of one kind that were given, each with its time."""
        return [(t_s, command) for t_s, command in self.test.commands if isinstance(command, kind)]


def plan_for(utilization: float = 0.4, **changes: object) -> TriggerPlan:
    """A plan for the client that the simulated generator imitates."""
    client = Client(TIMEOUT_S, ATTEMPTS)
    return TriggerPlan(
        "simulated", Target("http://127.0.0.1:8080"), client, utilization=utilization, **changes
    )


def run(
    plan: TriggerPlan,
    service: Fifo,
    *,
    judge: Judge = plain_judge,
    stop_when: Callable[[Protocol], bool] = lambda protocol: False,
    ceiling_per_s: float = float("inf"),
    limits: SocketLimits = UNLIMITED,
    limit_s: float = 900.0,
) -> Run:
    """Run the test to its end, or stop it as soon as ``stop_when`` says so."""
    test = SimulatedTest(service, timeout_s=TIMEOUT_S, max_attempts=ATTEMPTS, ceiling_per_s=ceiling_per_s)
    seen, protocol, lines, phases = Observations(), Protocol(plan, judge, limits), [], []
    while not protocol.finished and test.now_s < limit_s:
        for line in test.lines():
            seen.take(line)
            lines.append(line)
            if isinstance(line, Tick) or seen.stopped is not None:
                stop = "told to" if stop_when(protocol) else None
                test.give(protocol.next(seen, seen.now_s, stop=stop))
                if protocol.phase and phases[-1:] != [protocol.phase]:
                    phases.append(protocol.phase)
    return Run(protocol.result(seen), lines, test, protocol.finished, phases)
