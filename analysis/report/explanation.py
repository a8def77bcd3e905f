"""What happened and what would change it, in plain words with the run's own numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from analysis.chance import meaning, seeds_text
from analysis.fleets.advice import advice
from analysis.fleets.words import asked, what_the_fleet_did
from analysis.result import RunResult, Values
from analysis.trap import BEYOND_THE_LAW, decided_by_law, failing_amplification
from analysis.wording import (
    number,
    percent,
    predicted_else_measured,
    since_trigger,
    trigger_name,
)
from domain.experiment import Experiment

MATRIX = (
    "What each client and server defence would do to this scenario, and at what price: `tipover matrix` with "
    "its name or file."
)
"""Where to go from a trap, for a service that can be simulated."""


@dataclass(frozen=True)
class Load:
    """The three numbers everything turns on: λ, C and A."""

    demand_per_s: float
    capacity_per_s: float
    amplification: float

    @property
    def utilization(self) -> float:
        """ρ = λ/C."""
        return self.demand_per_s / self.capacity_per_s

    @property
    def amplified(self) -> float:
        """Aρ."""
        return self.amplification * self.utilization

    @property
    def failing_per_s(self) -> float:
        """Aλ: attempts/s while every attempt fails."""
        return self.amplification * self.demand_per_s

    @property
    def limit_per_s(self) -> float:
        """C/A: the demand from which on the trap closes."""
        return self.capacity_per_s / self.amplification if self.amplification > 0 else math.inf

    @property
    def closes(self) -> bool:
        """Whether the trap closes: Aρ ≥ 1."""
        return self.amplified >= 1


def load_of(result: RunResult) -> Load | None:
    """λ, C and A of the run; None when the capacity is not known."""
    experiment = result.experiment
    demand = experiment.demand.arrival_rate_per_s
    capacity = predicted_else_measured(result, "capacity_per_s")
    if capacity is None and experiment.service is not None:
        capacity = experiment.service.capacity_per_s
    if not capacity or not demand:
        return None
    return Load(demand, capacity, failing_amplification(experiment))


def explain(result: RunResult) -> list[str]:
    """One paragraph, as sentences."""
    if result.experiment.fleet is not None:
        return [asked(result), *_what_happened(result), *what_the_fleet_did(result)]
    load = load_of(result)
    sentences = [_asked(result, load), *_what_happened(result)]
    if load is not None and decided_by_law(result.experiment):
        sentences += [_arithmetic(load), _meaning(result, load)]
    elif load is not None:
        sentences += [_arithmetic(load), BEYOND_THE_LAW]
    else:
        sentences.append(
            "The capacity of this service is not known, so nothing can be said of how close it was to the "
            "trap; give the scenario a [service] table to have it predicted."
        )
    return sentences


def chance(result: RunResult) -> list[str]:
    """What chance does to runs of this scenario, as sentences; none where nothing was simulated."""
    bands = result.prediction.bands
    if bands is None:
        return []
    since = f"the {trigger_name(result)} ends" if result.experiment.trigger else "the run begins"
    if result.experiment.step_s is not None:
        since = f"the {trigger_name(result)} begins"
    return [
        f"The band is what chance makes of this scenario at this speed: the same rates and phases, simulated "
        f"request by request over {len(bands.seeds)} seeds ({seeds_text(bands)}) and measured like this run; "
        "nine runs of ten lie in it.",
        *meaning(bands, since),
    ]


def remedies(result: RunResult) -> list[str]:
    """What would open the trap, or how far off it is, with the numbers of this service.

    No numbers when the capacity is not known and where the service's own defences decide; empty for an
    invalid run, which nobody should act on.
    """
    if not result.valid:
        return []
    if result.experiment.fleet is not None:
        return advice(result.experiment)
    matrix = [MATRIX] if result.outcome == "trapped" and result.experiment.service is not None else []
    return _by_law(result) + matrix


def _by_law(result: RunResult) -> list[str]:
    load = load_of(result)
    if load is None or not decided_by_law(result.experiment):
        return []
    ceiling = 1 / load.utilization
    if not load.closes:
        if result.experiment.client.amplification > load.amplification:
            return [_held_open(result.experiment, load)]
        return [
            f"The trap would close from {number(ceiling)} attempts per job on (now "
            f"{number(load.amplification)}), from {number(load.limit_per_s)} jobs/s of demand on (now "
            f"{number(load.demand_per_s)}), or with capacity down to {number(load.failing_per_s)} attempts/s "
            f"(now {number(load.capacity_per_s)})."
        ]
    fixes = []
    allowed = math.ceil(round(ceiling, 9)) - 1
    if allowed >= 1:
        fixes.append(
            f"Fewer attempts: fewer than 1/ρ = {number(ceiling)} per job, so at most {allowed} (the first "
            f"included), or a retry budget below {percent(ceiling - 1)} of first attempts."
        )
    else:
        fixes.append("Fewer attempts cannot help: first attempts alone fill the service.")
    if math.isinf(load.amplification):
        fixes.append(
            "Clients that never give up: neither capacity nor shedding frees a service for certain while "
            "they go on; bound the attempts first."
        )
        return fixes
    now_capacity, now_demand = number(load.capacity_per_s), number(load.demand_per_s)
    fixes.append(f"More capacity: above Aλ = {number(load.failing_per_s)} attempts/s (now {now_capacity}).")
    fixes.append(
        f"Shed load: demand below C/A = {number(load.limit_per_s)} jobs/s (now {now_demand}) until the "
        "backlog is gone; afterwards the full demand may come back."
    )
    return fixes


def _held_open(experiment: Experiment, load: Load) -> str:
    """What the client's own restraint is worth: without it there would be m attempts."""
    unbounded = replace(load, amplification=experiment.client.amplification)
    if unbounded.closes:
        return (
            f"The client's own restraint is what prevents the trap: a failing job makes "
            f"{number(load.amplification)} attempts, Aρ = {number(load.amplified)}; without it "
            f"{number(unbounded.amplification)}, Aρ = {number(unbounded.amplified)}."
        )
    return (
        f"Even without its own restraint the client would make {number(unbounded.amplification)} attempts of "
        f"a failing job: Aρ = {number(unbounded.amplified)}, below 1."
    )


def remedies_heading(result: RunResult) -> str:
    """What the remedies are about."""
    if result.experiment.fleet is not None:
        return "What would get it out" if result.outcome == "trapped" else "What its signals do"
    load = load_of(result)
    closes = load.closes if load and decided_by_law(result.experiment) else result.outcome == "trapped"
    return "What would remove the trap" if closes else "How far it is from the trap"


def _asked(result: RunResult, load: Load | None) -> str:
    demand = number(result.experiment.demand.arrival_rate_per_s)
    if load is None:
        return f"In normal phases users asked for {demand} jobs/s."
    completes = "completes" if result.experiment.service else "was seen to complete"
    return (
        f"In normal phases users asked for {demand} jobs/s of a service that {completes} "
        f"{number(load.capacity_per_s)} attempts/s (ρ = {number(load.utilization)})."
    )


def _what_happened(result: RunResult) -> list[str]:
    name, values = trigger_name(result), result.measurement.values
    if result.series.empty:
        return ["Nothing was recorded of what came of it."]
    if values.get("failed_after_s") is None:
        return ["No lasting failure was seen."]
    tipped = _tipped(result, values, name)
    ingress = values.get("ingress_per_s")
    match result.outcome:
        case "trapped":
            stayed = f"When the {name} was gone all was normal again except the service"
            if result.experiment.trigger is None or result.experiment.step_s is not None:
                stayed = "It did not come back"
            seen = f": {number(ingress)} attempts/s kept arriving" if ingress else ""
            ratio = values.get("goodput_ratio")
            got = f", and {percent(ratio)} of jobs were answered in time" if ratio is not None else ""
            return [tipped, f"{stayed}{seen}{got}."]
        case "recovered":
            took = values.get("recovery_s")
            return [tipped, f"It came back by itself {number(took)} s {since_trigger(result)}."]
        case _:
            return [tipped]


def _tipped(result: RunResult, values: Values, name: str) -> str:
    failed_after = values["failed_after_s"] or 0.0
    if result.experiment.trigger is None:
        return f"Attempts began to fail {number(failed_after)} s into the run, with nothing to trigger it."
    if failed_after < 0:
        return f"Attempts began to fail {number(-failed_after)} s before the {name}, so it is not the cause."
    return f"The {name} tipped it over: attempts began to fail {number(failed_after)} s after its start."


def _arithmetic(load: Load) -> str:
    if math.isinf(load.amplification):
        return "Clients retry for ever (A = ∞), so while attempts fail the load has no upper bound."
    return (
        f"While every attempt fails, each job makes A = {number(load.amplification)} attempts, so the same "
        f"demand comes to {number(load.failing_per_s)} attempts/s: Aρ = {number(load.amplified)}."
    )


def _meaning(result: RunResult, load: Load) -> str:
    failed = result.outcome in ("trapped", "undecided")
    if load.closes and result.outcome == "trapped":
        return (
            "That is at least 1: failing jobs alone are more than the service can do, so the backlog never "
            "drains. Waiting will not help."
        )
    if load.closes:
        return (
            "That is at least 1: a failed state that sustains itself exists, and a trigger large enough "
            "leads into it."
        )
    if failed:
        return (
            "That is below 1, so by the model the backlog drains in time; the run did not show that it had "
            "by the end of the watch."
        )
    return "That is below 1: even with every job retried to the end the service has capacity left to drain."
