"""The settings of a client, of a service's defences and of its autoscaler in words, for the report."""

from __future__ import annotations

import math
from collections.abc import Mapping

from analysis.wording import number, percent
from domain.admission import Admission
from domain.autoscaler import Doubling, Policies, ScaleUpLimit, Unlimited
from domain.experiment import Client
from domain.experiment_json import admission_to_json, rule_to_json
from domain.fleet import Fleet

Row = tuple[str, str]

_DEFENCELESS = admission_to_json(Admission())
_DEFENCES = {
    "standing": ("queue is standing above", "waiting"),
    "queue_cap": ("queue cap", "waiting"),
    "drop_expired": ("drops what is past its deadline", ""),
    "least_s": ("drops what has less than this left", "s"),
    "cancel_on_disconnect": ("drops what its client has left", ""),
    "first_before_retry": ("first attempts take the place of retries", ""),
    "codel": ("CoDel", ""),
    "limit": ("concurrency limit", ""),
    "degradation": ("degradation", ""),
    "retry_after_s": ("Retry-After of a rejection", "s"),
    "error_rate": ("share of answers that are errors", ""),
}
"""The settings of a service's admission in words, with their units; its discipline is said elsewhere."""


def client_rows(client: Client) -> list[Row]:
    """How the client retries, and what holds it back; what it does not do has no row."""
    attempts = "without end" if math.isinf(client.max_attempts) else number(client.max_attempts)
    rows: list[Row] = [("preset", client.preset)] if client.preset else []
    if client.hedging is None:
        rows += [
            ("attempts per job, the first included", attempts),
            ("backoff", _rule_text(rule_to_json(client.backoff))),
        ]
    else:
        hedging = client.hedging
        rows.append(
            (
                "hedging",
                f"{number(hedging.copies)} copies, one every {number(hedging.delay_s)} s until answered",
            )
        )
    guarded = [
        (name, _rule_text(rule_to_json(rule)))
        for name, rule in (("retry budget", client.budget), ("breaker", client.breaker))
        if rule.kind != "none"
    ]
    rows += guarded
    if guarded:
        rows.append(("what a job does that they refuse", client.on_refusal))
    if client.clients > 1:
        rows.append(("clients, each with its own budget and breaker", number(client.clients)))
    if math.isfinite(client.deadline_s):
        rows.append(("deadline of a job, retries included", f"{number(client.deadline_s)} s"))
    rows.append(("deadline is told as", client.propagate))
    rows.append(("what a rejected attempt does", client.on_rejection))
    if client.honours_retry_after:
        rows.append(("Retry-After", "honoured"))
    return rows


def admission_rows(admission: Admission) -> list[Row]:
    """The defences of the service; what it does not do has no row."""
    data, rows = admission_to_json(admission), []
    for key, (words, unit) in _DEFENCES.items():
        value, usual = data[key], _DEFENCELESS[key]
        if value == usual:
            continue
        text = _rule_text(value) if isinstance(value, dict) else _text(value)
        rows.append((words, f"{text} {unit}".rstrip()))
    return rows


def fleet_rows(fleet: Fleet) -> list[Row]:
    """The autoscaler: what it reads, how late and how often, what it aims at and what bounds it."""
    scaler = fleet.autoscaler
    ceiling = "no ceiling" if math.isinf(scaler.max_pods) else f"{number(scaler.max_pods)}"
    windows = [f"{signal}: mean over {number(fleet.window_s(signal))} s" for signal in fleet.signals]
    if fleet.metric_lag_s:
        windows.append(f"{number(fleet.metric_lag_s)} s late")
    rows = [
        ("autoscaler reads", "; ".join(windows)),
        ("target utilization u*", percent(fleet.target_utilization)),
        ("tolerance about the target", percent(fleet.tolerance)),
        ("decides every", f"{number(fleet.sync_period_s)} s"),
        ("dead time, from order to service", f"{number(fleet.dead_time_s)} s"),
        ("least and most pods", f"{scaler.min_pods} to {ceiling}"),
        ("limit of a scale-up", _scale_up_text(scaler.scale_up)),
        ("scale-down waits for", f"{number(scaler.stabilization_s)} s"),
    ]
    if "cpu" in fleet.signals and fleet.limit_over_request != 1:
        rows.append(("CPU limit over request", number(fleet.limit_over_request)))
    return rows


def _scale_up_text(limit: ScaleUpLimit) -> str:
    if isinstance(limit, Unlimited):
        return "none"
    if isinstance(limit, Doubling):
        return f"{number(limit.factor)} times the pods, or {limit.minimum} if that is more"
    if not isinstance(limit, Policies):
        return limit.kind
    if limit.select == "disabled":
        return "no scale-up"
    policies = [
        f"{number(p.value)}{'%' if p.kind == 'percent' else ' pods'} in {number(p.period_s)} s"
        for p in limit.policies
    ]
    return f"{limit.select} of {', '.join(policies)}"


def _rule_text(settings: Mapping[str, object]) -> str:
    """A rule in words: its kind, if it has one, and its settings."""
    details = ", ".join(f"{key} {_text(value)}" for key, value in settings.items() if key != "kind")
    kind = str(settings.get("kind", ""))
    return f"{kind} ({details})" if kind and details else kind or details


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return number(value) if isinstance(value, int | float) else str(value)
