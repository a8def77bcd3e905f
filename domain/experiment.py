"""The experiment: one frozen value that configures client, target, prediction and report alike."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Literal

from domain.admission import Admission
from domain.arrivals import ArrivalKind, ArrivalPlan, segments
from domain.backoff import Backoff, NoBackoff
from domain.breakers import codes as breaker_codes
from domain.breakers.decide import Breaker
from domain.breakers.none import NoBreaker
from domain.budgets import codes as budget_codes
from domain.budgets.decide import RetryBudget
from domain.budgets.none import NoBudget
from domain.deadlines import Propagation
from domain.fleet import Fleet
from domain.hedging import Hedging
from domain.queue_cap import OnRejection
from domain.retry import OnRefusal, RetryPolicy
from domain.routing import Routing
from domain.service_time import ServiceTime

ExpectedOutcome = Literal["healthy", "recovers", "trapped"]
MAX_PODS = 10_000
"""More servers than one process can keep on its clock."""
MAX_CLIENTS = 10_000
"""More clients, each with a state of its own, than a simulation of many seeds can keep."""


@dataclass(frozen=True, slots=True)
class Service:
    """What is tipped over: ``pods`` servers of ``rate_per_pod`` attempts/s each, behind one queue or, with
    any ``routing`` but ``shared``, each with a queue of its own."""

    pods: int
    rate_per_pod: float
    service_time: ServiceTime = field(default_factory=ServiceTime)
    admission: Admission = field(default_factory=Admission)
    routing: Routing = "shared"

    @property
    def capacity_per_s(self) -> float:
        """C = pods · μ, attempts/s."""
        return self.pods * self.rate_per_pod

    def scaled(self, factor: float) -> Service:
        """The same service with the times of its defences in another unit; its rates stay."""
        return replace(self, admission=self.admission.scaled(factor))


@dataclass(frozen=True, slots=True)
class Client:
    """How a client behaves: per-attempt deadline ``timeout_s``, ``max_attempts`` in all, backoff.

    ``clients`` independent clients take the jobs in turn, each with a budget and a breaker of its own; 1 is
    one for a whole process. ``deadline_s`` is the time a job has in all, from when it was due.
    """

    timeout_s: float
    max_attempts: float = 3
    backoff: Backoff = field(default_factory=NoBackoff)
    budget: RetryBudget = field(default_factory=NoBudget)
    breaker: Breaker = field(default_factory=NoBreaker)
    clients: int = 1
    deadline_s: float = math.inf
    propagate: Propagation = "x-deadline"
    hedging: Hedging | None = None
    on_rejection: OnRejection = "retry"
    on_refusal: OnRefusal = "give-up"
    honours_retry_after: bool = False
    preset: str | None = None
    """The name of the preset these came from, for showing only."""

    @property
    def policy(self) -> RetryPolicy:
        """The retry rule these settings make; of hedging, that its copies are the attempts."""
        return RetryPolicy(
            self.max_attempts if self.hedging is None else self.hedging.copies,
            self.backoff,
            self.on_rejection,
            self.honours_retry_after,
            self.on_refusal,
        )

    @property
    def amplification(self) -> float:
        """A: attempts per job when every attempt fails and no budget binds."""
        return self.policy.amplification

    @property
    def may_refuse(self) -> bool:
        """Whether it has a budget or a breaker that may say no."""
        return self.budget.code != budget_codes.NONE or self.breaker.code != breaker_codes.NONE

    def scaled(self, factor: float) -> Client:
        """The same client in another unit of time."""
        return replace(
            self,
            timeout_s=self.timeout_s * factor,
            backoff=self.backoff.scaled(factor),
            budget=self.budget.scaled(factor),
            breaker=self.breaker.scaled(factor),
            deadline_s=self.deadline_s * factor,
            hedging=None if self.hedging is None else self.hedging.scaled(factor),
        )


@dataclass(frozen=True, slots=True)
class Phase:
    """A stretch of the run: demand times ``factor``, capacity times ``capacity_factor``."""

    name: str
    duration_s: float
    factor: float = 1.0
    capacity_factor: float = 1.0

    @property
    def role(self) -> Literal["trigger", "normal", "shed"]:
        """``trigger`` overloads or cuts capacity, ``shed`` lowers demand, ``normal`` is neither."""
        if self.factor > 1.0 or self.capacity_factor < 1.0:
            return "trigger"
        return "shed" if self.factor < 1.0 else "normal"


@dataclass(frozen=True, slots=True)
class Demand:
    """First attempts: ``arrival_rate_per_s`` jobs/s at factor 1."""

    arrival_rate_per_s: float
    phases: tuple[Phase, ...]
    arrivals: ArrivalKind = "poisson"


@dataclass(frozen=True, slots=True)
class RunSettings:
    """Durations are divided by ``speedup`` when run live, rates are not."""

    speedup: float = 1.0
    seed: int = 1

    def __post_init__(self) -> None:
        if not 0.0 < self.speedup < math.inf:
            raise ValueError(f"speedup: must be positive and finite (got {self.speedup!r})")
        if self.seed < 0:
            raise ValueError(f"seed: must be at least 0 (got {self.seed!r})")


@dataclass(frozen=True, slots=True)
class Expectation:
    """What the scenario says will happen, with its source.

    ``tolerance`` is relative and applies to ``recover_s`` and the predicted recovery time.
    ``after_shed`` is what the phases that lower demand are expected to do to a trapped service.
    """

    outcome: ExpectedOutcome
    recover_s: float | None = None
    tolerance: float = 0.15
    after_shed: Literal["recovers", "trapped"] | None = None
    ingress_per_s: float | None = None
    source: str = ""


@dataclass(frozen=True, slots=True)
class PlacedPhase:
    """A phase with its place on the time axis."""

    phase: Phase
    start_s: float
    end_s: float


@dataclass(frozen=True, slots=True)
class Experiment:
    """A whole experiment in scenario time. ``service`` is None when the target is somebody else's; ``fleet``
    is None when its pods stay as many as they are."""

    name: str
    title: str
    client: Client
    demand: Demand
    service: Service | None = None
    run: RunSettings = field(default_factory=RunSettings)
    expect: Expectation | None = None
    fleet: Fleet | None = None

    @property
    def duration_s(self) -> float:
        """Length of all phases."""
        # By the same additions as the phases are placed, so that the last one ends exactly here.
        return self.placed_phases[-1].end_s if self.demand.phases else 0.0

    @property
    def utilization(self) -> float | None:
        """ρ = λ/C, first attempts over capacity; None when the capacity is not known."""
        return self.demand.arrival_rate_per_s / self.service.capacity_per_s if self.service else None

    @property
    def amplified_utilization(self) -> float | None:
        """Aρ; None when the capacity is not known."""
        rho = self.utilization
        return None if rho is None else self.client.amplification * rho

    @property
    def timeout_slack(self) -> float | None:
        """θ · pods = C·T at the speed of this experiment: timeouts in mean services of the fleet."""
        return self.service.capacity_per_s * self.client.timeout_s if self.service else None

    @property
    def is_defended(self) -> bool:
        """Whether client or service has more to it than attempts, a timeout, a backoff and a FIFO queue.

        The laws and the fluid model know nothing of budgets, breakers, deadlines and what a service drops. A
        client that gives up on a rejection is bare as well before a service of ours that rejects nothing.
        """
        bare = Client(
            self.client.timeout_s,
            self.client.max_attempts,
            self.client.backoff,
            propagate=self.client.propagate,
        )
        client = replace(self.client, preset=None)
        if self.service is not None:
            client = replace(client, on_rejection=bare.on_rejection)
        return client != bare or (self.service is not None and self.service.admission != Admission())

    @property
    def placed_phases(self) -> tuple[PlacedPhase, ...]:
        """The phases on the time axis."""
        placed = []
        start = 0.0
        for phase in self.demand.phases:
            placed.append(PlacedPhase(phase, start, start + phase.duration_s))
            start += phase.duration_s
        return tuple(placed)

    @property
    def arrival_plan(self) -> ArrivalPlan:
        """When jobs arrive."""
        phases = self.demand.phases
        return ArrivalPlan(
            segments(
                [p.duration_s for p in phases], [p.factor for p in phases], self.demand.arrival_rate_per_s
            ),
            self.demand.arrivals,
        )

    @property
    def step_s(self) -> float | None:
        """When demand steps up for good: the start of the trigger phases a fleet's run ends with. None when
        the last phase triggers nothing, and of a service without a fleet, which has no answer to a step."""
        start = None
        for placed in reversed(self.placed_phases if self.fleet is not None else ()):
            if placed.phase.role != "trigger":
                break
            start = placed.start_s
        return start

    @property
    def watched_rate_per_s(self) -> float:
        """First attempts/s at the end of the watch: the step's, if demand steps up for good."""
        phases = self.demand.phases
        factor = phases[-1].factor if self.step_s is not None else 1.0
        return self.demand.arrival_rate_per_s * factor

    @property
    def trigger(self) -> tuple[float, float] | None:
        """Start of the first and end of the last trigger phase; None if nothing is triggered.

        A step of demand that stays triggers at once: both are its start.
        """
        step_s = self.step_s
        if step_s is not None:
            return step_s, step_s
        triggers = [p for p in self.placed_phases if p.phase.role == "trigger"]
        return (triggers[0].start_s, triggers[-1].end_s) if triggers else None

    @property
    def watch(self) -> tuple[float, float]:
        """The window that is judged: normal phases after the last trigger, up to the first shed phase; from
        the step on, if demand steps up for good."""
        if self.step_s is not None:
            return self.step_s, self.duration_s
        trigger = self.trigger
        after = trigger[1] if trigger else 0.0
        end = after
        for placed in self.placed_phases:
            if placed.start_s < after:
                continue
            if placed.phase.role != "normal":
                break
            end = placed.end_s
        return after, end

    @property
    def shed(self) -> tuple[float, float] | None:
        """From the end of the watch to the end of the run, if demand is shed after it."""
        end = self.watch[1]
        return (end, self.duration_s) if end < self.duration_s else None

    def live(self) -> Experiment:
        """The experiment in seconds of the wall clock: durations divided by the speed-up, which is now 1."""
        factor = 1.0 / self.run.speedup
        return replace(
            self,
            client=self.client.scaled(factor),
            service=None if self.service is None else self.service.scaled(factor),
            fleet=None if self.fleet is None else self.fleet.scaled(factor),
            demand=replace(
                self.demand,
                phases=tuple(replace(p, duration_s=p.duration_s * factor) for p in self.demand.phases),
            ),
            run=replace(self.run, speedup=1.0),
        )

    def with_run(self, *, speedup: float | None = None, seed: int | None = None) -> Experiment:
        """A copy with another speed-up or seed."""
        return replace(
            self,
            run=RunSettings(
                speedup=self.run.speedup if speedup is None else speedup,
                seed=self.run.seed if seed is None else seed,
            ),
        )
