"""Which simulation an experiment needs: the fast kernel knows first in, first out, and little else."""

from __future__ import annotations

import math

from domain.backoff import DECORRELATED_JITTER, FINAGLE_JITTER
from domain.breakers import codes as breakers
from domain.budgets import codes as budgets
from domain.budgets.ratio import RATIO_RESERVE, RatioBudget
from domain.experiment import Client, Experiment
from domain.queue_cap import QueueCap

REMEMBERING = (DECORRELATED_JITTER, FINAGLE_JITTER)
"""Backoffs that need the delay before."""


def needs_events(experiment: Experiment) -> bool:
    """Whether the experiment has anything in it that only the event-driven simulation can do."""
    service, client = experiment.service, experiment.client
    if service is not None and not service.admission.is_plain:
        return True
    return (
        _has_own_budget(client)
        or client.breaker.code != breakers.NONE
        or math.isfinite(client.deadline_s)
        or client.hedging is not None
        or client.backoff.numbers[0] in REMEMBERING
    )


def _has_own_budget(client: Client) -> bool:
    """Whether it has a budget, but for one ratio of all clients together: that the fast kernel has, too."""
    if client.budget.code == budgets.NONE:
        return False
    return client.clients > 1 or client.on_refusal != "give-up" or ratio_of(client) is None


def ratio_of(client: Client) -> float | None:
    """β of a ratio budget with the usual reserve; None for any other, and for none."""
    budget = client.budget
    return budget.ratio if isinstance(budget, RatioBudget) and budget.reserve == RATIO_RESERVE else None


def queue_cap_of(experiment: Experiment) -> QueueCap | None:
    """The cap of the service, and what its clients do when they are turned away; None without a cap."""
    service = experiment.service
    if service is None or service.admission.queue_cap is None:
        return None
    return QueueCap(service.admission.queue_cap, experiment.client.on_rejection)
