"""The data of the study are lists of rows with plain values; this finds a row again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from analysis.studies.sample import Sample

Row = Mapping[str, Any]


def pick(rows: Sequence[Row], **wanted: object) -> Row:
    """The first row with these values. Raises ``KeyError`` if there is none."""
    for row in rows:
        if all(row[key] == value for key, value in wanted.items()):
            return row
    raise KeyError(wanted)


def sample(row: Row, key: str = "values") -> Sample:
    """The sample that a row holds under ``key``."""
    return Sample.of(row[key])


def plain_values(values: Iterable[float]) -> list[float]:
    """Figures of many seeds as they are kept: to six digits, which is more than chance leaves of them."""
    return [float(f"{value:.6g}") for value in values]


def plain_attempts(max_attempts: float) -> float | str:
    """m as JSON has it: there is no infinity."""
    return "inf" if max_attempts == float("inf") else max_attempts
