"""A whole trigger test: checked, confirmed, put on record, conducted, and turned into a finding."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console

from analysis.trigger.observations import Observations
from analysis.trigger.result import TriggerResult
from analysis.validity import generator_reasons
from domain.errors import InvalidRunError
from domain.trigger.plan import TriggerPlan
from domain.trigger.plan_json import plan_to_json
from loadgen.limits import machine_limits
from tipover.live.record import DirectoryRecord
from tipover.trigger.conductor import Conductor, Surroundings, generator_report
from tipover.trigger.dry_run import check_plan, dry_run, placed
from tipover.trigger.dry_run_words import dry_run_text
from tipover.trigger.guards.audit import Audit, Undertaking, redacted
from tipover.trigger.guards.conditions import Watchman, watchman_for
from tipover.trigger.guards.confirmation import confirm
from tipover.trigger.guards.prometheus import PrometheusClient
from tipover.trigger.guards.resolution import Resolved
from tipover.trigger.guards.stop_file import StopFile
from tipover.trigger.publishing import PLAN_FILE
from tipover.trigger.view import TestView
from tipover.version import VERSION

__all__ = ["run_trigger"]

_GUARDS_FILE = "guards.jsonl"


def run_trigger(
    plan: TriggerPlan, directory: Path, secrets: Mapping[str, str], *, screen: Console, replace: bool = False
) -> TriggerResult:
    """Conduct the test of a plan into a directory; what is found out is returned, what was seen is there.

    ``secrets`` are the values that the plan's requests only name. Raises ``ConfigurationError`` before
    anything is sent if the test must not or cannot be made.
    """
    plan, where = placed(plan)
    if plan.capacity_per_s is not None:
        check_plan(plan, plan.capacity_per_s)
    StopFile(Path(plan.guards.stop_file)).refuse_if_present()
    prometheus = _prometheus(plan)
    watchman = watchman_for(plan.guards, prometheus=prometheus, ca_file=plan.target.ca_file)
    confirmed = confirm(where, dry_run_text(dry_run(plan)), yes=plan.guards.yes)
    record = DirectoryRecord(
        directory,
        plan.name,
        {"workers": 1, "command": redacted(sys.argv, secrets.values())},
        replace=replace,
    )
    record.facts["target"] = {"url": plan.target.url, "address": where.address, "own": False}
    written = plan_to_json(plan)
    record.write_json(directory / PLAN_FILE, written)
    audit = Audit(directory, secrets=secrets.values())
    audit.begin(Undertaking(plan.target.url, where, plan.ceiling, written, confirmed, VERSION))
    conductor: Conductor | None = None
    with _watching(watchman, record):
        received = _received(prometheus, plan)
        with TestView(plan, screen) as view:
            conductor = Conductor(
                plan,
                directory / PLAN_FILE,
                record,
                Surroundings(
                    secrets=secrets,
                    guards=(StopFile(Path(plan.guards.stop_file)), StopFile(directory / "STOP"), watchman),
                    received=received,
                    allowed_hosts=_allowed(plan, where),
                    show=view,
                ),
                limits=machine_limits(where.address),
            )
            try:
                conductor.run()
            except InvalidRunError as error:
                record.fault(str(error))
                record.finish("failed")
            finally:
                _end_audit(audit, conductor)
    return _result(plan, conductor, record, audit.warnings)


@contextmanager
def _watching(watchman: Watchman, record: DirectoryRecord) -> Iterator[None]:
    """The bystanders are well before anything is sent, watched meanwhile, and what was seen is kept."""
    with watchman:
        watchman.refuse_unless_well()
        try:
            yield
        finally:
            lines = "".join(json.dumps(asdict(sample)) + "\n" for sample in watchman.samples)
            if lines:
                (record.directory / _GUARDS_FILE).write_text(lines)


def _prometheus(plan: TriggerPlan) -> PrometheusClient | None:
    if plan.guards.prometheus is None:
        return None
    return PrometheusClient(plan.guards.prometheus, ca_file=plan.target.ca_file)


def _received(client: PrometheusClient | None, plan: TriggerPlan) -> Callable[[], float | None] | None:
    query = plan.guards.received_query
    if client is None or query is None:
        return None
    return lambda: client.instant(query)


def _allowed(plan: TriggerPlan, where: Resolved) -> tuple[str, ...]:
    """What the generator may connect to besides loopback: the very addresses that were judged."""
    found = [] if where.is_loopback else [where.address]
    if plan.target.probe_address is not None:
        found.append(plan.target.probe_address)
    return tuple(found)


def _result(
    plan: TriggerPlan, conductor: Conductor, record: DirectoryRecord, warnings: list[str]
) -> TriggerResult:
    reasons = [*record.facts["harness_faults"]]
    workers = generator_report(record.directory)
    if conductor.seen.started is not None and not workers:
        reasons.append("The generator left no report of its health.")
    for worker in workers:
        reasons += generator_reasons({**worker, "stopped_by": None}, plan.client.timeout_s)
    return conductor.protocol.result(
        conductor.seen, invalid_reasons=reasons, warnings=[*warnings, *_kernel_words(record)]
    )


def _kernel_words(record: DirectoryRecord) -> list[str]:
    kernel: dict[str, Any] = record.facts.get("kernel") or {}
    dropped = int(kernel.get("listen_drops") or 0)
    if not dropped:
        return []
    return [
        f"The kernel dropped {dropped:,} connections of this machine before a program could accept them: if "
        "they were the service's, its listen queue is full, and what waits at the door is not in its backlog."
    ]


def _end_audit(audit: Audit, conductor: Conductor) -> None:
    seen = conductor.seen
    ended = "stopped" if seen.stop_asked is not None else "ended"
    last = seen.ticks[-1] if seen.ticks else None
    sent = 0 if last is None else last.first + last.retries + last.saturated + last.saturated_failed
    audit.end(
        ended if seen.stop_asked is None else f"{ended}: {seen.stop_asked.reason}",
        attempts=sent + (0 if last is None else last.probes_sent),
        peak_rate_per_s=_peak(seen),
    )


def _peak(seen: Observations) -> float:
    """Most attempts of jobs in any second of the test."""
    most, first = 0.0, 0
    for tick in seen.ticks:
        while tick.t_s - seen.ticks[first].t_s > 1.0:
            first += 1
        before = seen.ticks[first]
        most = max(most, tick.first + tick.retries - before.first - before.retries)
    return most
