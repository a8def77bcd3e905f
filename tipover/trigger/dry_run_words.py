"""A dry run as data, and as lines for people."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from analysis.wording import number, percent, seconds
from domain.attempts import ATTEMPT_HEADER, REQUEST_ID_HEADER
from domain.deadlines import DEADLINE_HEADER, GRPC_TIMEOUT_HEADER
from domain.request_mix import RequestMix
from domain.trigger.guards_plan import Guards
from domain.trigger.plan import TriggerPlan
from domain.trigger.spike import attempts_at_most, probe_rate_per_s
from domain.value_json import encoded
from tipover.trigger.dry_run import DryRun
from tipover.trigger.forecast import TLS_ATTEMPTS_PER_S, tls_note


def dry_run_json(dry: DryRun) -> dict[str, Any]:
    """Everything as data; secrets are names."""
    plan = dry.plan
    return {
        "name": plan.name,
        "target": asdict(plan.target),
        "requests": [] if plan.locustfile is not None else _requests_json(plan.mix),
        "added_headers": list(added_headers(plan)),
        "success": {"statuses": plan.mix.success.statuses, "body_match": plan.mix.success.body_match},
        "client": encoded(plan.client),
        "utilization": plan.utilization,
        "capacity_per_s": dry.capacity_per_s,
        "rates_in": "C" if dry.capacity_per_s is None else "1/s",
        "spike": asdict(dry.spike),
        "phases": [asdict(phase) for phase in dry.phases],
        "probes_per_s": None if dry.capacity_per_s is None else probe_rate_per_s(plan, dry.capacity_per_s),
        "worst": {**asdict(dry.worst), **asdict(dry.sockets)},
        "machine": asdict(dry.limits),
        "ceilings": asdict(plan.ceiling),
        "fits_up_to_capacity_per_s": dry.fits_up_to_per_s,
        "predicted": asdict(dry.forecast),
        "guards": asdict(plan.guards),
        "assertions": asdict(plan.assertions),
        "find_threshold": plan.find_threshold,
        "warnings": list(dry.warnings),
        "sent": 0,
    }


def added_headers(plan: TriggerPlan) -> tuple[str, ...]:
    """The headers that the generator adds to every attempt, besides those that frame a message."""
    told = {"x-deadline": (DEADLINE_HEADER,), "grpc-timeout": (GRPC_TIMEOUT_HEADER,), "none": ()}
    return (REQUEST_ID_HEADER, ATTEMPT_HEADER, *told[plan.client.propagate])


def _requests_json(mix: RequestMix) -> list[dict[str, Any]]:
    total = sum(request.weight for request in mix.requests)
    return [
        {
            "name": request.name,
            "method": request.method,
            "path": request.path,
            "headers": [list(header) for header in request.headers],
            "body_bytes": len(request.body),
            "share": request.weight / total,
        }
        for request in mix.requests
    ]


def dry_run_text(dry: DryRun) -> str:
    """The same in lines for people: what, how much, how far it may go, what is expected, what stops it."""
    return "\n\n".join(
        [
            sent_text(dry),
            "\n".join(_forecast_lines(dry)),
            "\n".join(_guard_lines(dry.plan.guards, dry.plan)),
            *(f"warning: {warning}" for warning in dry.warnings),
        ]
    )


def sent_text(dry: DryRun) -> str:
    """What is sent, where, and how much of it at worst, for whoever has to confirm it."""
    blocks = (_target_lines(dry.plan), _request_lines(dry.plan), _phase_lines(dry), _worst_lines(dry))
    return "\n\n".join("\n".join(lines) for lines in blocks)


def _target_lines(plan: TriggerPlan) -> list[str]:
    target, client = plan.target, plan.client
    lines = [f"Target    {target.url} → {target.address}"]
    if target.probe_url is not None:
        lines.append(f"Probes    {target.probe_url} → {target.probe_address}")
    lines.append(f"Client    {_client_words(plan)}")
    capacity = "to be found" if plan.capacity_per_s is None else f"{number(plan.capacity_per_s)} attempts/s"
    lines.append(f"Capacity  C = {capacity}; asked for: utilization {percent(plan.utilization)}")
    if client.preset is not None:
        lines[-2] += f" (preset {client.preset})"
    return lines


def _client_words(plan: TriggerPlan) -> str:
    client = plan.client
    if client.hedging is not None:
        words = [f"{seconds(client.timeout_s)} timeout", f"{client.hedging.copies} copies (hedging)"]
    else:
        attempts = "without end" if client.amplification == float("inf") else number(client.max_attempts)
        words = [f"{seconds(client.timeout_s)} timeout", f"attempts: {attempts}"]
    for name, rule in (("backoff", client.backoff), ("budget", client.budget), ("breaker", client.breaker)):
        settings = encoded(rule)
        kind = settings.pop("kind")
        if kind != "none":
            words.append(f"{name} {kind} {json.dumps(settings)}" if settings else f"{name} {kind}")
    if plan.locustfile is not None:
        words.append(f"what is sent is that of {plan.locustfile}")
    return ", ".join(words)


_MOST_SHOWN = 20


def _request_lines(plan: TriggerPlan) -> list[str]:
    mix, lines = plan.mix, ["Requests"]
    if plan.locustfile is not None:
        lines.append(f"  those that the user class of {plan.locustfile} makes")
    else:
        lines += _template_lines(mix)
    lines.append(f"  added to each: {', '.join(added_headers(plan))}")
    statuses = ", ".join(f"{low}" if low == high else f"{low}–{high}" for low, high in mix.success.statuses)
    match = f" and a body with /{mix.success.body_match}/" if mix.success.body_match else ""
    return [*lines, f"  success: status {statuses}{match}"]


def _template_lines(mix: RequestMix) -> list[str]:
    lines = []
    for request in _requests_json(mix)[:_MOST_SHOWN]:
        body = f", body of {request['body_bytes']:,} bytes" if request["body_bytes"] else ""
        lines.append(f"  {percent(request['share']):>6}  {request['method']} {request['path']}{body}")
        lines += [f"          {name}: {value}" for name, value in request["headers"]]
    if len(mix.requests) > _MOST_SHOWN:
        lines.append(f"          and {len(mix.requests) - _MOST_SHOWN} more")
    return lines


def _phase_lines(dry: DryRun) -> list[str]:
    unit = "C" if dry.capacity_per_s is None else "/s"
    lines = [f"{'Phases':<10} {'lasts':>8} {'first attempts':>15} {'all, at worst':>15}"]
    for phase in dry.phases:
        lasts = "" if phase.duration_s is None else seconds(phase.duration_s)
        rates = [
            "" if r is None else f"{number(r)} {unit}" for r in (phase.first_per_s, phase.attempts_per_s)
        ]
        lines.append(f"  {phase.name:<8} {lasts:>8} {rates[0]:>15} {rates[1]:>15}  {phase.said}")
    if dry.plan.find_threshold:
        lines.append(
            "  and the same again at other utilizations, to find the threshold, while the ceilings allow"
        )
    return lines


def _worst_lines(dry: DryRun) -> list[str]:
    plan, worst, ceiling = dry.plan, dry.worst, dry.plan.ceiling
    unknown = dry.capacity_per_s is None
    each, per_s = (" · C", " C") if unknown else ("", "/s")
    search = " and the search of the capacity" if unknown else ""
    return [
        f"At worst (every attempt fails, {number(attempts_at_most(plan))} attempts a job)",
        f"  in one second  {number(worst.peak_per_s)}{per_s} attempts; ceiling "
        f"{number(ceiling.rate_per_s)}/s",
        f"  in all         {number(worst.attempts)}{each} attempts; ceiling {number(ceiling.attempts)}",
        f"  duration       {seconds(worst.duration_s)}{search}; ceiling {seconds(ceiling.duration_s)}",
        f"  sockets        {number(dry.sockets.open_at_once)}{each} open at once of "
        f"{dry.limits.descriptors:,}, {number(dry.sockets.ports)}{each} ports of {dry.limits.ports:,}",
        f"  this fits up to a capacity of {number(dry.fits_up_to_per_s)} attempts/s",
        *_tls_lines(dry),
    ]


def _tls_lines(dry: DryRun) -> list[str]:
    note = tls_note(dry.plan)
    if note is None:
        return []
    if dry.capacity_per_s is None:
        capacity = number(TLS_ATTEMPTS_PER_S / dry.worst.peak_per_s)
        note += f", which is the peak of this test at a capacity of {capacity} attempts/s"
    return [f"  {note}"]


def _forecast_lines(dry: DryRun) -> list[str]:
    told, rho = dry.forecast, dry.plan.utilization
    lines = ["Predicted, of a service that serves everything, first come, first served"]
    if told.amplification is not None:
        lines.append(
            f"  the client alone: A = {number(told.amplification)}, so trapped from a utilization of 1/A = "
            f"{percent(told.threshold)}; hidden retries add to that"
            if told.amplification > 1
            else f"  the client alone: A = {number(told.amplification)}: it traps nothing; hidden retries may"
        )
        end = "never recovers by itself" if told.outcome == "trapped" else "recovers by itself"
        if told.recovery_s is not None:
            end += f", {seconds(told.recovery_s)} after the spike"
        lines.append(f"  at ρ = {percent(rho)}: Aρ = {number(told.amplified_utilization)}, it {end}")
    return lines + [f"  {note}" for note in told.notes]


def _guard_lines(guards: Guards, plan: TriggerPlan) -> list[str]:
    lines = [
        "Guards",
        f"  no more than {percent(guards.most_error_ratio)} of attempts may fail before the spike",
        f"  Ctrl-C, SIGTERM, a file {guards.stop_file} here or STOP in the run directory: the load ends "
        "within a second",
    ]
    if guards.health_url is not None:
        lines.append(f"  {guards.health_url} must not fail for {seconds(guards.health_for_s)}")
    if guards.stop_query is not None:
        lines.append(
            f"  stops when {guards.stop_query} at {guards.prometheus} is above 0, or nothing, for "
            f"{seconds(guards.stop_for_s)}"
        )
    if guards.received_query is not None:
        lines.append(f"  what the service received: {guards.received_query} at {guards.prometheus}")
    lines.append(
        f"  rescue: at most {seconds(plan.rescue_s)}, until it answers well again; then it is checked"
    )
    return lines
