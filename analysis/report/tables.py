"""The report's tables, as rows of text."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import NamedTuple

from analysis.fleets.region import RegionPoint, measured_point, region_of
from analysis.leeway import is_expected
from analysis.report.settings import Row, admission_rows, client_rows, fleet_rows
from analysis.result import QUANTITIES, Check, GeneratorHealth, RunResult
from analysis.wording import ABSENT, number, percent, seconds
from domain.experiment_json import to_json

_MEANT = {"refused": "refused: attempts the client did not send, retries included"}
"""Totals whose name alone does not say what is counted."""


class QuantityRow(NamedTuple):
    """One line of predicted against measured."""

    key: str
    meaning: str
    unit: str
    predicted: str
    band: str
    measured: str
    ratio: str


class CheckRow(NamedTuple):
    """One line of the checks."""

    name: str
    predicted: str
    band: str
    measured: str
    tolerance: str
    passed: bool
    why: str


def quantity_rows(result: RunResult) -> list[QuantityRow]:
    """Every quantity of which something was predicted or measured."""
    rows, bands = [], result.prediction.bands
    for key, (unit, meaning) in QUANTITIES.items():
        predicted, measured = (
            _known(source.values.get(key)) for source in (result.prediction, result.measurement)
        )
        if predicted is None and measured is None:
            continue
        band = bands.values.get(key) if bands else None
        text, spread = number(predicted, 4), result.prediction.recovery_sd_s
        if key == "recovery_s" and band is None and predicted is not None and spread is not None:
            text += f" ± {number(spread, 2)}"
        rows.append(
            QuantityRow(
                key,
                meaning,
                "" if unit == "1" else unit,
                text,
                interval(band.low, band.high) if band else ABSENT,
                number(measured, 4),
                _ratio(predicted, measured),
            )
        )
    return rows


def check_rows(result: RunResult) -> list[CheckRow]:
    """Every check, with its tolerance in words, and what is the scenario's word marked as expected."""
    return [
        CheckRow(
            check.name,
            value_text(check.predicted) + (" (expected)" if is_expected(check, result.experiment) else ""),
            interval(check.low, check.high),
            value_text(check.measured),
            tolerance_text(check),
            check.passed,
            check.why,
        )
        for check in result.checks
    ]


def interval(low: float | None, high: float | None) -> str:
    """A band as two numbers, the same number once."""
    ends = list(dict.fromkeys((number(low, 4), number(high, 4))))
    return " to ".join(ends)


def value_text(value: float | str | None) -> str:
    """A checked value: words stay words."""
    return value if isinstance(value, str) else number(value, 4)


def tolerance_text(check: Check) -> str:
    """The tolerance with its kind: ±15% of the prediction, or ± an amount."""
    if check.tolerance is None:
        return "must be equal" if isinstance(check.predicted, str) else ABSENT
    return f"± {number(check.tolerance)}" if check.absolute else f"± {percent(check.tolerance)}"


def phase_rows(result: RunResult) -> list[tuple[str, ...]]:
    """Phases: name, role, start, duration, demand, capacity."""
    experiment = result.experiment
    rate = experiment.demand.arrival_rate_per_s
    capacity = experiment.service.capacity_per_s if experiment.service else None
    rows: list[tuple[str, ...]] = []
    for placed in experiment.placed_phases:
        phase = placed.phase
        left = f"×{number(phase.capacity_factor)}"
        if experiment.fleet is not None:
            left = "what its pods give" if phase.capacity_factor == 1 else f"{left} of what its pods give"
        elif capacity is not None:
            left = f"{number(capacity * phase.capacity_factor)} ({left})"
        rows.append(
            (
                phase.name,
                phase.role,
                number(placed.start_s),
                number(phase.duration_s),
                f"{number(rate * phase.factor)} (×{number(phase.factor)})",
                left,
            )
        )
    return rows


def setting_rows(result: RunResult) -> list[Row]:
    """Client, service and run settings in words."""
    experiment = result.experiment
    client, service, run = experiment.client, experiment.service, experiment.run
    target = _mapping(result.run.get("target")).get("url")
    rows = [
        ("timeout T, per attempt", f"{number(client.timeout_s)} s"),
        *client_rows(client),
        ("arrivals", experiment.demand.arrivals),
        ("service", _service_text(result)),
        *(admission_rows(service.admission) if service else ()),
        *(fleet_rows(experiment.fleet) if experiment.fleet else ()),
        ("target", _shown(target)),
        ("speed-up", f"{number(run.speedup)} (durations are divided by it, rates are not)"),
        ("seed", str(run.seed)),
    ]
    if experiment.timeout_slack is not None:
        live = experiment.live().timeout_slack
        rows.insert(1, ("timeout slack as run, θ · pods", f"{number(live)} mean services of the whole fleet"))
    return rows if service or target else [row for row in rows if row[0] != "target"]


def scenario_json(result: RunResult) -> str:
    """The exact scenario."""
    return json.dumps(to_json(result.experiment), indent=2, ensure_ascii=False)


def health_rows(result: RunResult) -> list[Row]:
    """How the load generator and the kernel's sockets did."""
    health = result.generator
    rows = _generator_rows(health) if health else [("generator", "left no record of its health")]
    kernel = _mapping(result.run.get("kernel"))
    for key, words in (
        ("listen_overflows", "kernel: full accept queues"),
        ("listen_drops", "kernel: connections dropped at listening sockets"),
    ):
        count = kernel.get(key)
        rows.append((words, number(count) if isinstance(count, int) else "could not be read"))
    return [*rows, *(("harness fault", str(fault)) for fault in _listed(result.run.get("harness_faults")))]


def total_rows(result: RunResult) -> list[Row]:
    """The counts over the whole run, without the outcomes that never happened."""
    return [
        (_MEANT.get(key, key.replace("_", " ")), number(count))
        for key, count in result.totals.items()
        if count or key == "jobs"
    ]


def environment_rows(result: RunResult) -> list[Row]:
    """When, where and with what it was run."""
    return run_rows(result.run)


def run_rows(run: Mapping[str, object]) -> list[Row]:
    """The same, of a ``run.json``."""
    rows: list[Row] = []
    rows += [("started", _instant(run.get("started_at"))), ("ended", _instant(run.get("ended_at")))]
    rows.append(("state", _shown(run.get("state"))))
    command = run.get("command")
    rows.append(("command", " ".join(map(str, command)) if isinstance(command, list) else _shown(command)))
    for key in ("versions", "machine"):
        rows += [
            (f"{key.removesuffix('s')}: {name}", _shown(value))
            for name, value in _mapping(run.get(key)).items()
        ]
    return rows


def _generator_rows(health: GeneratorHealth) -> list[Row]:
    return [
        ("workers", number(health.workers)),
        ("jobs planned", number(health.planned)),
        ("jobs sent", f"{number(health.sent)}{_missed(health)}"),
        ("attempts sent", number(health.attempts)),
        ("lag of first attempts, median (wall clock)", seconds(health.lag_p50_s)),
        ("lag, 99th percentile (wall clock)", seconds(health.lag_p99_s)),
        ("lag, largest (wall clock)", seconds(health.lag_max_s)),
        ("CPU, mean of one core", percent(health.cpu_ratio)),
        ("CPU, busiest second", percent(health.cpu_ratio_peak)),
        ("attempts without a socket to send them", number(health.refused_sockets)),
        ("recorder", health.recorder_fault or "no fault"),
    ]


def _missed(health: GeneratorHealth) -> str:
    missed = health.planned - health.sent
    return f" ({number(missed)} planned jobs were never sent)" if missed > 0 else ""


def _service_text(result: RunResult) -> str:
    service = result.experiment.service
    if service is None:
        return "somebody else's: its capacity is not known"
    return (
        f"{number(service.pods)} pods of {number(service.rate_per_pod)} attempts/s, {service.service_time} "
        f"service times, {service.admission.discipline} {_queues(service.routing)}: "
        f"C = {number(service.capacity_per_s)} attempts/s"
        f"{' at the start' if result.experiment.fleet is not None else ''}"
    )


def _queues(routing: str) -> str:
    return "queue" if routing == "shared" else f"queue for each pod, {routing} routing"


def region_rows(result: RunResult) -> list[tuple[str, ...]]:
    """What the fleet could be scaled on: signals, predicted outcome, recovery, most pods, N/N*, pods at the
    end, work lost, pod-seconds; and the same as measured."""
    region = region_of(result.experiment)
    if region is None:
        return []
    measured = measured_point(result)
    rows = [_region_row(f"{point.name}{', this run' if point.own else ''}", point) for point in region.points]
    return [*rows, _region_row("measured in this run", measured)] if measured else rows


def _region_row(name: str, point: RegionPoint) -> tuple[str, ...]:
    values = point.values
    lost = f"{number(point.lost_s)}{' and rising' if point.is_trapped else ''}"
    keys = ("recovery_s", "peak_pods", "over_provisioning", "settled_pods")
    numbers = [number(values.get(key)) for key in keys]
    return name, point.outcome, *numbers, lost, number(values.get("pod_seconds"))


def _ratio(predicted: float | None, measured: float | None) -> str:
    if not predicted or measured is None or math.isinf(predicted) or math.isinf(measured):
        return ABSENT
    return number(measured / predicted)


def _known(value: float | None) -> float | None:
    return None if value is None or math.isnan(value) else value


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}


def _listed(value: object) -> Iterable[object]:
    return value if isinstance(value, list | tuple) else ()


def _instant(value: object) -> str:
    """A point in time to the second."""
    try:
        return datetime.fromisoformat(str(value)).isoformat(sep=" ", timespec="seconds")
    except ValueError:
        return _shown(value)


def _shown(value: object) -> str:
    if value is None:
        return ABSENT
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return number(value, 4)
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {_shown(part)}" for key, part in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(_shown, value))
    return str(value)
