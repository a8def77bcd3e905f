"""Writes what studies say: a page, the numbers and the figures of each, and an index over all.

    <directory>/README.md             the index, made again from the JSON files
    <directory>/<name>.md             table of claims, findings, figures
    <directory>/<name>.json           every number, plain JSON without NaN
    <directory>/<name>/<figure>.png

A file is replaced only if it was made here: pages carry a mark, and the JSON names its figures.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from analysis.studies.claims import StudyResult
from analysis.studies.page import MARK, index, page
from domain.errors import ConfigurationError, Fault

MADE_BY = "tipover validate"
INDEX = "README.md"


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where a result comes from: the command and the day it was made."""

    command: str
    date: str


def check_directory(directory: Path, names: Sequence[str]) -> None:
    """Refuse to write over anything that was not made here; ``ConfigurationError`` names all of it."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        fault = Fault("--out", f"must be a directory that can be made: {error.strerror}", str(directory))
        raise ConfigurationError("the results cannot be written", [fault]) from error
    faults = [
        Fault("--out", "must not hold a file of this name that was not made by validate", str(path))
        for path in _foreign_files(directory, names)
    ]
    if faults:
        raise ConfigurationError("the results would overwrite something else", faults)


def _lines(record: Mapping[str, Any]) -> str:
    """JSON that can be read and compared: a line for each entry, but lists of numbers on one."""
    text = json.dumps(record, indent=1, ensure_ascii=False, allow_nan=False)
    return re.sub(r"\[\s+([^][{}\"]*?)\s+\]", lambda found: f"[{' '.join(found[1].split())}]", text) + "\n"


def write_result(result: StudyResult, directory: Path, provenance: Provenance) -> Path:
    """Write one study and the index; returns the study's page. Call ``check_directory`` first."""
    name = result.name
    pictures = directory / name
    for old in _figures_listed(directory / f"{name}.json"):
        (directory / old).unlink(missing_ok=True)
    pictures.mkdir(parents=True, exist_ok=True)
    record = _record(result, provenance)
    (directory / f"{name}.json").write_text(_lines(record), encoding="utf-8")
    for figure in result.figures:
        figure.draw(pictures / f"{figure.name}.png")
    path = directory / f"{name}.md"
    path.write_text(page(record), encoding="utf-8")
    write_index(directory)
    return path


def write_index(directory: Path) -> None:
    """Make the index again from the JSON files that lie there."""
    records = [_read(path) for path in sorted(directory.glob("*.json"))]
    (directory / INDEX).write_text(index([r for r in records if r is not None]), encoding="utf-8")


def counts(result: StudyResult) -> dict[str, int]:
    """How many claims of the source agree by themselves, agree with something of ours fitted to them,
    disagree, and cannot be compared; how many checks against our own recomputation hold or do not; and how
    many verdicts of both kinds rest on a 95% interval over seeds.
    """
    source = [claim for claim in result.claims if not claim.recomputed]
    checks = [claim for claim in result.claims if claim.recomputed]
    return {
        "agree": sum(claim.agrees is True and not claim.fitted for claim in source),
        "agree_fitted": sum(claim.agrees is True and bool(claim.fitted) for claim in source),
        "disagree": sum(claim.agrees is False for claim in source),
        "not_compared": sum(claim.agrees is None for claim in source),
        "checks_hold": sum(claim.agrees is True for claim in checks),
        "checks_fail": sum(claim.agrees is False for claim in checks),
        "checks_not_compared": sum(claim.agrees is None for claim in checks),
        "by_interval": sum(claim.chance and claim.agrees is not None for claim in result.claims),
    }


def plain(value: object) -> Any:
    """A value in JSON's own words: NaN as null, infinity as "inf", arrays as lists."""
    if isinstance(value, Mapping):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else ("inf" if value > 0 else "-inf")
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [plain(entry) for entry in value]
    if value is None or isinstance(value, str | bool | int | float):
        return value
    raise TypeError(f"not a plain value: {value!r}")


def _record(result: StudyResult, provenance: Provenance) -> dict[str, Any]:
    figures = [
        {"name": f.name, "caption": f.caption, "file": f"{result.name}/{f.name}.png"} for f in result.figures
    ]
    made: dict[str, Any] = plain(
        {
            "made_by": MADE_BY,
            "name": result.name,
            "title": result.title,
            "command": provenance.command,
            "date": provenance.date,
            "versions": {name: version(name) for name in ("tipover", "numpy", "scipy", "numba")},
            "settings": result.settings,
            "counts": counts(result),
            "claims": [asdict(claim) for claim in result.claims],
            "figures": figures,
            "data": result.data,
        }
    )
    return made


def _read(path: Path) -> dict[str, Any] | None:
    """A JSON file that was made here, or None."""
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return record if isinstance(record, dict) and record.get("made_by") == MADE_BY else None


def _figures_listed(path: Path) -> list[str]:
    record = _read(path)
    return [] if record is None else [str(figure["file"]) for figure in record["figures"]]


def _foreign_files(directory: Path, names: Sequence[str]) -> list[Path]:
    found = []
    for path in (directory / INDEX, *(directory / f"{name}.md" for name in names)):
        if path.exists() and not (
            path.is_file() and MARK in path.read_text(encoding="utf-8", errors="replace")
        ):
            found.append(path)
    for name in names:
        path = directory / f"{name}.json"
        if path.exists() and _read(path) is None:
            found.append(path)
        pictures = directory / name
        if pictures.exists() and not pictures.is_dir():
            found.append(pictures)
        else:
            ours = {directory / file for file in _figures_listed(path)}
            found.extend(sorted(set(pictures.glob("*")) - ours))
    return found
