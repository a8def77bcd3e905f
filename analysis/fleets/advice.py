"""What the laws say of an autoscaler's signal, target and ceiling, in sentences with the service's numbers.

Source: seed 002, Proposition 6 and Corollaries 4 and 5.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from analysis import laws
from analysis.fleets.figures import pods_needed
from analysis.trap import failing_amplification
from analysis.wording import number, percent
from domain.experiment import Experiment
from domain.fleet import Fleet

SIGNAL_WORDS = {
    "first": "first attempts",
    "ingress": "ingress (every attempt)",
    "cpu": "CPU",
}


@dataclass(frozen=True, slots=True)
class Stakes:
    """A, λ at the end of the watch, μ of a pod, and what the fleet's rules make of them."""

    fleet: Fleet
    amplification: float
    demand_per_s: float
    rate_per_pod: float
    needed: int
    """N*."""
    passing: bool = False
    """Whether what sets it off passes, so that demand alone did not size the fleet at first."""

    @classmethod
    def of(cls, experiment: Experiment) -> Stakes | None:
        """None without a fleet, a known service, or demand."""
        fleet, service = experiment.fleet, experiment.service
        if fleet is None or service is None or experiment.watched_rate_per_s <= 0:
            return None
        rate = experiment.watched_rate_per_s
        amplification = max(1.0, failing_amplification(experiment))
        passing = experiment.step_s is None and experiment.trigger is not None
        return cls(fleet, amplification, rate, service.rate_per_pod, pods_needed(experiment), passing)

    @property
    def ceiling(self) -> float:
        """The most pods there may be."""
        return self.fleet.autoscaler.max_pods

    @property
    def failing_per_s(self) -> float:
        """Aλ."""
        return self.amplification * self.demand_per_s

    @property
    def draining_pods(self) -> float:
        """Aλ/μ: only with more pods than this a backlog drains while all fails."""
        return self.failing_per_s / self.rate_per_pod

    @property
    def asked_by_ingress(self) -> float:
        """Aλ/(u*μ): what a scaler of ingress asks for while all fails. Source: seed 002 Cor. 5."""
        return self.draining_pods / self.fleet.target_utilization

    @property
    def first_is_trapped(self) -> bool:
        """Whether the pods that first attempts ask for leave Aρ ≥ 1: u* ≥ 1/A. Source: seed 002 Cor. 4."""
        return laws.is_trap(self.amplification, self.fleet.target_utilization)

    @property
    def least(self) -> int:
        """The fewest pods that first attempts leave the fleet with: N*, or the floor if that is higher."""
        return max(self.needed, self.fleet.autoscaler.min_pods)

    @property
    def rounding_drains(self) -> bool:
        """Whether whole pods, or the floor, are more than Aλ/μ though the target alone would trap."""
        load = self.demand_per_s / (self.least * self.rate_per_pod)
        return not laws.is_trap(self.amplification, load) and self.ceiling_drains

    @property
    def growth(self) -> float:
        """ℓ/(r·u*): by how much CPU multiplies a saturated fleet at most."""
        return self.fleet.limit_over_request / self.fleet.target_utilization

    @property
    def ceiling_drains(self) -> bool:
        """Whether the fleet may have more than Aλ/μ pods."""
        return self.ceiling > self.draining_pods


def advice(experiment: Experiment) -> list[str]:
    """What the fleet's signals do once everything fails, and what would be better."""
    stakes = Stakes.of(experiment)
    if stakes is None:
        return []
    if math.isinf(stakes.amplification):
        return [
            "Clients never give up (A = ∞): while attempts fail ingress grows without bound, and no fleet is "
            "large enough for certain; bound the attempts first."
        ]
    needs = (
        f"{number(stakes.demand_per_s)} jobs/s need N* = λ/(u*·μ) = {_pods(stakes.needed)} at the target of "
        f"{percent(stakes.fleet.target_utilization)}; while everything fails only more than "
        f"Aλ/μ = {number(stakes.draining_pods)} pods drain the backlog."
    )
    if stakes.fleet.signals == ("first",):
        return [needs, _first(stakes)]
    return [needs, _retries_seen(stakes)]


def _first(stakes: Stakes) -> str:
    target, limit = percent(stakes.fleet.target_utilization), percent(1 / stakes.amplification)
    if not stakes.first_is_trapped:
        held = "" if stakes.ceiling_drains else f", but not under a ceiling of {number(stakes.ceiling)} pods"
        return (
            f"First attempts alone get out: their target u* = {target} is below 1/A = {limit}, so the "
            f"pods they "
            f"ask for have room for every retry (Corollary 4){held}."
        )
    if stakes.rounding_drains:
        return (
            f"First attempts alone get out though their target u* = {target} is at least 1/A = {limit} "
            f"(Corollary 4): the fleet never has fewer than {_pods(stakes.least)}, which is more than Aλ/μ "
            f"({'its floor' if stakes.least > stakes.needed else 'pods are whole'}). With more demand that "
            f"luck ends; a target below {limit} needs none."
        )
    stay = "stay trapped"
    if stakes.passing:
        stay = "would stay trapped if it still fails once the pods of the trigger are given up,"
    return (
        f"First attempts alone {stay} because u* = {target} is at least 1/A = {limit} (Corollary "
        f"4): the "
        f"retries are not in what they count, so about {_pods(stakes.needed)} are all they ask for. Pair "
        f"them with "
        f"ingress, which asks for up to Aλ/(u*·μ) = {number(stakes.asked_by_ingress)} pods while all fails "
        f"(Corollary 5){_ceiling_words(stakes)}; or set the target below {limit}."
    )


def _retries_seen(stakes: Stakes) -> str:
    names = " and ".join(SIGNAL_WORDS[signal] for signal in stakes.fleet.signals)
    if stakes.fleet.signals == ("cpu",) and stakes.growth <= 1.0 + stakes.fleet.tolerance:
        return (
            f"CPU never asks for more pods: of a saturated pod it reads ℓ/r = "
            f"{percent(stakes.fleet.limit_over_request)} of the request, which is not above the target u* = "
            f"{percent(stakes.fleet.target_utilization)} by more than the tolerance of "
            f"{percent(stakes.fleet.tolerance)}. Lower the target."
        )
    if not stakes.ceiling_drains:
        return (
            f"Scaled on {names} it stays trapped all the same: its ceiling of {number(stakes.ceiling)} "
            f"pods is "
            f"not above Aλ/μ = {number(stakes.draining_pods)}; allow more (Corollary 5)."
        )
    if "ingress" in stakes.fleet.signals:
        others = "" if len(stakes.fleet.signals) == 1 else ", and the largest proposal wins"
        return (
            f"The retries are in ingress: while all fails it asks for Aλ/(u*·μ) = "
            f"{number(stakes.asked_by_ingress)} pods (Corollary 5){others}{_ceiling_words(stakes)}. "
            f"Once they are "
            f"gone the fleet is back at about {stakes.needed} after the stabilization window."
        )
    return (
        f"CPU sees that every pod is busy but not how much is waiting: it multiplies the fleet by at most "
        f"ℓ/(r·u*) = {number(stakes.growth)} each time new pods have started, until the ceiling or until the "
        f"backlog is "
        f"gone{_ceiling_words(stakes)}. It gets out, but later than ingress, which asks for Aλ/(u*·μ) = "
        f"{number(stakes.asked_by_ingress)} pods as soon as its window is full."
    )


def _pods(count: int) -> str:
    return f"{count:,} pod" if count == 1 else f"{count:,} pods"


def _ceiling_words(stakes: Stakes) -> str:
    if math.isinf(stakes.ceiling) or stakes.ceiling >= stakes.asked_by_ingress:
        return ""
    if stakes.ceiling_drains:
        return f"; the ceiling of {number(stakes.ceiling)} is enough to drain"
    return f"; the ceiling of {number(stakes.ceiling)} is too low for that"
