"""Runs side by side: the settings in which they differ, and what was measured of each."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from analysis.fleets.region import measured_point, region_of
from analysis.mitigations.columns import share_text, time_text
from analysis.mitigations.runs import ScoredRun
from analysis.mitigations.score import Stretch
from analysis.result import QUANTITIES
from analysis.web_page import picture_uri, rendered
from analysis.wording import ABSENT, number
from domain.experiment_json import to_json

if TYPE_CHECKING:
    from analysis.plots.canvas import Plot

SCHEMA_VERSION = 1
NOT_SETTINGS = ("name", "title", "expect", "client.preset")
"""Words about a scenario, which change nothing of what runs."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the table: a text for each run."""

    name: str
    meaning: str
    texts: tuple[str, ...]


def settings(run: ScoredRun) -> dict[str, object]:
    """Every setting of a run by its dotted name."""
    found = dict(_flat(to_json(run.result.experiment), ""))
    return {key: value for key, value in found.items() if not _is_wording(key)}


def differing(runs: Sequence[ScoredRun]) -> list[Line]:
    """The settings that are not the same in all runs."""
    each = [settings(run) for run in runs]
    keys = list(dict.fromkeys(key for own in each for key in own))
    lines = []
    for key in keys:
        values = [own.get(key) for own in each]
        if any(value != values[0] for value in values):
            lines.append(Line(key, "", tuple(_setting_text(value) for value in values)))
    return lines


def results(runs: Sequence[ScoredRun]) -> list[Line]:
    """What was measured of each run; lines that no run has anything to say of are left out."""
    lines = [
        Line("outcome", "what became of the service", tuple(run.score.outcome for run in runs)),
        Line("valid", "whether the run is about the service", tuple(_validity(run) for run in runs)),
    ]
    for key, (unit, meaning) in QUANTITIES.items():
        values = [run.result.measurement.values.get(key) for run in runs]
        shown = [number(value, 4) for value in values]
        lines.append(Line(key, meaning if unit == "1" else f"{meaning} ({unit})", tuple(shown)))
    for name, meaning, texts in _scores(runs):
        lines.append(Line(name, meaning, texts))
    return [line for line in lines if any(text != ABSENT for text in line.texts)]


def notes(runs: Sequence[ScoredRun]) -> list[str]:
    """What a reader must know before the numbers: other scenarios, invalid runs."""
    said = []
    names = list(dict.fromkeys(run.result.experiment.name for run in runs))
    if len(names) > 1:
        said.append(f"These are runs of different scenarios: {', '.join(names)}.")
    for run in runs:
        if not run.result.valid:
            reasons = " ".join(run.result.invalid_reasons)
            said.append(f"{run.name} is INVALID, do not read it as the service's behaviour: {reasons}")
    return said


def comparison_json(runs: Sequence[ScoredRun]) -> dict[str, Any]:
    """Plain JSON values; null for what is not known."""
    each = [settings(run) for run in runs]
    plain = _plain(
        {
            "schema_version": SCHEMA_VERSION,
            "notes": notes(runs),
            "differing": {line.name: [own.get(line.name) for own in each] for line in differing(runs)},
            "runs": [
                {
                    "name": run.name,
                    "directory": run.result.directory,
                    "scenario": run.result.experiment.name,
                    "valid": run.result.valid,
                    "invalid_reasons": list(run.result.invalid_reasons),
                    "outcome": run.score.outcome,
                    "measured": dict(run.result.measurement.values),
                    "score": asdict(run.score),
                }
                for run in runs
            ],
        }
    )
    assert isinstance(plain, dict)
    return plain


def write_comparison(runs: Sequence[ScoredRun], directory: Path) -> tuple[Path, ...]:
    """Write ``compare.json``, ``.html`` and ``.png`` into the directory, which is made."""
    from analysis.plots.side_by_side import draw_side_by_side

    directory.mkdir(parents=True, exist_ok=True)
    plots = [draw_side_by_side(runs), *_fleet_plots(runs)]
    text = json.dumps(comparison_json(runs), indent=2, ensure_ascii=False, allow_nan=False)
    contents = {
        "compare.json": (text + "\n").encode(),
        "compare.html": _page(runs, plots).encode(errors="xmlcharrefreplace"),
        **{f"{plot.name}.png": plot.png for plot in plots},
    }
    for name, content in contents.items():
        (directory / name).write_bytes(content)
    return tuple(directory / name for name in contents)


def _fleet_plots(runs: Sequence[ScoredRun]) -> list[Plot]:
    """Definition 9's region with all the runs in it, if each of them has its place there."""
    from analysis.plots.region import draw_region

    points = [measured_point(run.result, run.name) for run in runs]
    # The picture is of one service and one demand: those of the first run.
    region = region_of(runs[0].result.experiment) if all(points) and _differ_in_signals_only(runs) else None
    return [] if region is None else [draw_region(region, [point for point in points if point is not None])]


def _differ_in_signals_only(runs: Sequence[ScoredRun]) -> bool:
    """Whether seed, speed and length apart the runs are of one service, one client and one demand."""
    free = ("fleet.signals", "run.", "demand.phases")
    return all(line.name.startswith(free) and not line.name.endswith("factor") for line in differing(runs))


def _page(runs: Sequence[ScoredRun], plots: Sequence[Plot]) -> str:
    return rendered(
        "compare.html.j2",
        plots=[(plot, picture_uri(plot.png)) for plot in plots],
        names=[run.name for run in runs],
        notes=notes(runs),
        tables=[("Settings that differ", differing(runs)), ("Results", results(runs))],
    )


def _flat(value: object, at: str) -> Iterator[tuple[str, object]]:
    if isinstance(value, dict) and value:
        for key, entry in value.items():
            yield from _flat(entry, f"{at}.{key}" if at else str(key))
    elif isinstance(value, list | tuple) and value:
        for index, entry in enumerate(value):
            yield from _flat(entry, f"{at}[{index}]")
    else:
        yield at, value


def _is_wording(key: str) -> bool:
    return any(key == word or key.startswith(f"{word}.") for word in NOT_SETTINGS)


def _setting_text(value: object) -> str:
    if value is None:
        return ABSENT
    if isinstance(value, bool):
        return "yes" if value else "no"
    return number(float(value), 6) if isinstance(value, int | float) else str(value)


def _validity(run: ScoredRun) -> str:
    return "yes" if run.result.valid else "INVALID"


def _scores(runs: Sequence[ScoredRun]) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    scores = [run.score for run in runs]

    def times(key: str) -> tuple[str, ...]:
        values = [getattr(score, key) for score in scores]
        return tuple(ABSENT if value is None else time_text(value) for value in values)

    yield (
        "wasted",
        "busy time given to attempts nobody waited for, in trigger and watch",
        _shares([score.wasted for score in scores]),
    )
    yield (
        "latency_p50_s",
        "of answered jobs before the trigger, from when they were due",
        times("latency_p50_s"),
    )
    yield "latency_p99_s", "the same, 99th percentile", times("latency_p99_s")
    for name in ("before", "trigger", "watch"):
        stretches: list[Stretch | None] = [getattr(score, name) for score in scores]
        for key, meaning in (
            ("answered", "jobs answered in time"),
            ("refused", "first attempts refused by the client itself"),
            ("rejected", "attempts that the service turned away"),
        ):
            texts = _shares([None if s is None else getattr(s, key) for s in stretches])
            where = "before the trigger" if name == "before" else f"in the {name}"
            yield f"{name}.{key}", f"{meaning}, {where}", texts


def _shares(values: Sequence[float | None]) -> tuple[str, ...]:
    return tuple(ABSENT if value is None else share_text(value) for value in values)


def _plain(value: object) -> object:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return "inf" if value > 0 else None
    return value
