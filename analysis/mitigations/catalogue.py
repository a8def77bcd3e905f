"""The mitigations by name: each turns an experiment into the same one with that defence, and no other.

What they are put on is the bare scenario: a client with its timeout and attempts and nothing else, before a
service that queues first in, first out, and serves everything. Budgets and breakers have the settings their
systems are deployed with, in scenario seconds; what must fit the service or the timeout is sized by it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from functools import reduce
from typing import Any

from analysis.mitigations.client_side import CLIENT_SIDE
from analysis.mitigations.mitigation import CLIENT, COMBINATION, NONE, PRESET, SERVICE, Mitigation
from analysis.mitigations.service_side import SERVICE_SIDE
from domain.admission import Admission
from domain.backoff import NoBackoff
from domain.breakers.none import NoBreaker
from domain.budgets.none import NoBudget
from domain.errors import ConfigurationError, Fault
from domain.experiment import Client, Experiment
from domain.presets import PRESETS

GROUPS = (CLIENT, SERVICE, COMBINATION, PRESET)
"""Words that stand for all mitigations of a group."""
USUAL = (CLIENT, SERVICE, COMBINATION)
"""The groups that are tried unless others are asked for."""


def bare(experiment: Experiment) -> Experiment:
    """The scenario with every defence taken away; how fast it degrades and errs is left to the service.

    Its client tells the service each attempt's end, or a service that drops what is late could not.
    """
    client: Client = replace(
        experiment.client,
        backoff=NoBackoff(),
        budget=NoBudget(),
        breaker=NoBreaker(),
        deadline_s=float("inf"),
        hedging=None,
        propagate="x-deadline" if experiment.client.propagate == "none" else experiment.client.propagate,
        preset=None,
    )
    service = experiment.service
    if service is not None:
        old = service.admission
        admission = Admission(
            degradation=old.degradation, retry_after_s=old.retry_after_s, error_rate=old.error_rate
        )
        service = replace(service, admission=admission)
    return _without_expectation(experiment, replace(experiment, client=client, service=service))


WITHOUT = Mitigation("none", NONE, "Nothing: what all others are measured against.", bare)
OWN = Mitigation("own", NONE, "The scenario's own client and service, as they are.", lambda e: e)
_COMBINED = (
    ("budget+jitter", "A window budget and full-jitter backoff.", ("budget-window", "full-jitter")),
    ("budget+drop-expired", "A window budget; the service drops what is past its deadline.",
     ("budget-window", "drop-expired")),
    ("cap+budget", "A queue within the timeout, and a window budget.", ("queue-cap", "budget-window")),
    ("deadline+drop-expired", "A deadline for the whole job, which the service heeds.",
     ("deadline", "drop-expired")),
    ("adaptive-lifo+codel", "Facebook's pair: newest first while a queue stands, and CoDel.",
     ("adaptive-lifo", "codel")),
    ("budget+deadline+limit", "A window budget, a deadline that the service heeds, an adaptive limit "
     "(Gradient2).", ("budget-window", "deadline", "drop-nearly-expired", "limit-gradient2")),
)  # fmt: skip


def _catalogue() -> dict[str, Mitigation]:
    single = [_on_bare(mitigation) for mitigation in (*CLIENT_SIDE, *SERVICE_SIDE)]
    found = {mitigation.name: mitigation for mitigation in (WITHOUT, *single)}
    for name, sentence, parts in _COMBINED:
        steps = [part for part in (*CLIENT_SIDE, *SERVICE_SIDE) if part.name in parts]
        found[name] = Mitigation(name, COMBINATION, sentence, _after(bare, *(part.apply for part in steps)))
    for preset in PRESETS.values():
        found[preset.name] = _on_bare(
            Mitigation(
                preset.name, PRESET, f"A client as deployed: {preset.source}.", _with_client(preset.settings)
            )
        )
    return found


def _on_bare(mitigation: Mitigation) -> Mitigation:
    return replace(mitigation, apply=_after(bare, mitigation.apply))


def _after(*steps: Callable[[Experiment], Experiment]) -> Callable[[Experiment], Experiment]:
    def apply(experiment: Experiment) -> Experiment:
        return _without_expectation(experiment, reduce(lambda made, step: step(made), steps, experiment))

    return apply


def _without_expectation(before: Experiment, after: Experiment) -> Experiment:
    """What a scenario expects is expected of the scenario alone, so it goes with whatever is changed."""
    return after if after == before else replace(after, expect=None)


def _with_client(settings: Mapping[str, Any]) -> Callable[[Experiment], Experiment]:
    return lambda experiment: replace(experiment, client=replace(experiment.client, **settings))


CATALOGUE = _catalogue()

_LEAVE_ONE = "must leave at least one mitigation of those chosen"


def _closest_first(name: str) -> list[str]:
    return sorted((*CATALOGUE, *GROUPS), key=lambda known: -SequenceMatcher(None, name, known).ratio())


@dataclass(frozen=True, slots=True)
class Choice:
    """What was asked for: names of mitigations or of groups; empty ``only`` is the usual groups."""

    only: Sequence[str] = ()
    skip: Sequence[str] = ()

    def faults(self) -> list[Fault]:
        """Every name that is none; where all are some, that nothing is left."""
        unknown = [
            Fault(option, f"must be one of these, closest first: {', '.join(_closest_first(name))}", name)
            for option, names in (("--only", self.only), ("--skip", self.skip))
            for name in names
            if name not in CATALOGUE and name not in GROUPS
        ]
        return unknown or ([] if self._leaves_any() else [Fault("--skip", _LEAVE_ONE, ",".join(self.skip))])

    def mitigations(self, experiment: Experiment) -> list[Mitigation]:
        """Those chosen, in the catalogue's order, after what all are compared with.

        First comes ``none``; then ``own``, the scenario as it is, if that is not the same. Raises
        ``ConfigurationError`` for a name that is not known, or when nothing is left.
        """
        faults = self.faults()
        if faults:
            raise ConfigurationError("no such choice of mitigations", faults)
        wanted = [m for m in CATALOGUE.values() if self._takes(m)]
        own = [OWN] if experiment != bare(experiment) else []
        return [WITHOUT, *own, *wanted]

    def _leaves_any(self) -> bool:
        alone = WITHOUT.name in self.only and WITHOUT.name not in self.skip
        return alone or any(self._takes(mitigation) for mitigation in CATALOGUE.values())

    def _takes(self, mitigation: Mitigation) -> bool:
        words = (mitigation.name, mitigation.group)
        chosen = any(word in (self.only or USUAL) for word in words)
        return chosen and mitigation.name != WITHOUT.name and not any(word in self.skip for word in words)
