"""A whole trigger test: checked, confirmed, put on record, conducted, and turned into a finding."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from rich.console import Console

from analysis.trigger.observations import Observations
from analysis.trigger.result import TriggerResult
from analysis.validity import generator_reasons
from domain.errors import ConfigurationError, Fault, InvalidRunError
from domain.trigger.plan import TriggerPlan
from domain.trigger.plan_json import plan_to_json
from domain.trigger.spike import worst_case
from loadgen.limits import machine_limits
from tipover.live.record import DirectoryRecord
from tipover.requests.redaction import redacted
from tipover.trigger.conductor import Conductor, Surroundings, generator_report
from tipover.trigger.dry_run import check_plan, dry_run, placed
from tipover.trigger.dry_run_words import dry_run_text
from tipover.trigger.forecast import tls_warning
from tipover.trigger.guards.audit import Audit, Undertaking
from tipover.trigger.guards.conditions import Watchman, watchman_for
from tipover.trigger.guards.confirmation import confirm
from tipover.trigger.guards.counting import Counting
from tipover.trigger.guards.prometheus import PrometheusClient
from tipover.trigger.guards.resolution import Resolved
from tipover.trigger.guards.stop_file import StopFile
from tipover.trigger.publishing import PLAN_FILE
from tipover.trigger.view import TestView
from tipover.version import VERSION

__all__ = ["run_trigger"]

_GUARDS_FILE = "guards.jsonl"
_NO_PLUGIN = "unrecognized arguments: --trigger-plan"
"""What Locust says of a file that does not import the plugin."""
_REFUSAL = re.compile(r"/ERROR/tipover\.loadgen: (.*(?:\n  .*)*)")
"""What the generator says when it will not send, with its faults, in its log."""


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
    stop_files = _stop_files(plan, directory)
    prometheus = _prometheus(plan)
    watchman = watchman_for(plan.guards, prometheus=prometheus, ca_file=plan.target.ca_file)
    confirmed = confirm(where, dry_run_text(dry_run(plan)), yes=plan.guards.yes)
    with watchman:
        # Before --replace removes what the directory holds.
        watchman.refuse_unless_well()
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
        with _received(prometheus, plan) as received, TestView(plan, screen) as view:
            around = Surroundings(
                secrets=secrets,
                guards=(*stop_files, watchman),
                received=received,
                allowed_hosts=_allowed(plan, where),
                show=view,
            )
            limits = machine_limits(where.address)
            conductor = Conductor(plan, directory / PLAN_FILE, record, around, limits=limits)
            try:
                conductor.run()
            except InvalidRunError as error:
                record.fault(str(error))
                record.finish("failed")
            finally:
                _end_audit(audit, conductor)
                _keep_samples(watchman, record)
    _refuse_locustfile(plan, conductor, record)
    return _result(plan, conductor, record, audit.warnings)


def _stop_files(plan: TriggerPlan, directory: Path) -> tuple[StopFile, StopFile]:
    """The two files that end the test; raises ``ConfigurationError`` if one of them is there already."""
    stop, own = StopFile(Path(plan.guards.stop_file)), StopFile(directory / "STOP")
    stop.refuse_if_present()
    if directory.is_dir():  # of an earlier test, which --replace would leave there, since it is not ours
        own.refuse_if_present()
    return stop, own


def _refuse_locustfile(plan: TriggerPlan, conductor: Conductor, record: DirectoryRecord) -> None:
    """Raise ``ConfigurationError`` if a user's own locustfile kept the generator from getting ready."""
    faults = record.facts["harness_faults"]
    stopped = conductor.seen.stop_asked is not None or record.facts.get("interrupted_by")
    if plan.locustfile is None or conductor.seen.started is not None or stopped or not faults:
        return
    log = record.directory / "generator.log"
    refusal = _REFUSAL.search(log.read_text(errors="replace")) if log.exists() else None
    rule = "must be a Locust file whose one user class is a StormUser of tipover.locust_plugin"
    if refusal is not None:
        rule = f"cannot be used: {' '.join(refusal[1].split())}"
    elif _NO_PLUGIN not in faults[0]:
        rule = f"cannot be used: {faults[0]}"
    fault = Fault("test.locustfile", f"{rule} (see {log})", plan.locustfile)
    raise ConfigurationError("the test was not made; nothing was sent", [fault])


def _keep_samples(watchman: Watchman, record: DirectoryRecord) -> None:
    """What was seen of the bystanders; that it cannot be written is a fault of the record."""
    lines = "".join(json.dumps(asdict(sample)) + "\n" for sample in watchman.samples)
    if not lines:
        return
    try:
        (record.directory / _GUARDS_FILE).write_text(lines)
    except OSError as error:
        record.fault(f"{_GUARDS_FILE} could not be written: {error}")


def _prometheus(plan: TriggerPlan) -> PrometheusClient | None:
    if plan.guards.prometheus is None:
        return None
    return PrometheusClient(plan.guards.prometheus, ca_file=plan.target.ca_file)


@contextmanager
def _received(client: PrometheusClient | None, plan: TriggerPlan) -> Iterator[Callable[[], float | None]]:
    """What gives the count of what the service has received, whenever a new one has come."""
    query = plan.guards.received_query
    if client is None or query is None:
        yield lambda: None
        return
    with Counting(lambda: client.instant(query)) as counting:
        yield counting.take


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
    result = conductor.protocol.result(
        conductor.seen, invalid_reasons=reasons, warnings=[*warnings, *_kernel_words(record)]
    )
    return replace(result, warnings=(*result.warnings, *_tls_words(plan, result)))


def _tls_words(plan: TriggerPlan, result: TriggerResult) -> list[str]:
    if result.capacity_per_s is None:
        return []
    said = tls_warning(plan, worst_case(plan, result.capacity_per_s.value).peak_per_s)
    return [] if said is None else [said]


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
    ended = f"verdict: {conductor.protocol.result(seen).verdict}"
    last = seen.ticks[-1] if seen.ticks else None
    sent = 0 if last is None else last.first + last.retries + last.saturated + last.saturated_failed
    audit.end(
        ended if seen.stop_asked is None else f"stopped: {seen.stop_asked.reason}; {ended}",
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
