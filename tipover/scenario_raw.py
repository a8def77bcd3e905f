"""The tables of a scenario file as they were read, before anything is known of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeGuard

from tipover.scenario_tables.base import LARGEST

Raw = Mapping[str, Any]


def table(raw: Raw, key: str) -> Raw:
    """The table at ``key``, empty if there is none or it is something else."""
    value = raw.get(key)
    return value if isinstance(value, dict) else {}


def phases(raw: Raw) -> list[tuple[int, Raw]]:
    """The entries of ``demand.phases`` that are tables, each with its place in the list."""
    entries = table(raw, "demand").get("phases")
    listed = entries if isinstance(entries, list) else []
    return [(index, phase) for index, phase in enumerate(listed) if isinstance(phase, dict)]


def is_number(value: object) -> TypeGuard[float]:
    """Whether it is a number that is not at fault already for being too large."""
    return isinstance(value, int | float) and not isinstance(value, bool) and -LARGEST <= value <= LARGEST


def number(raw: Raw, key: str, default: float = 0.0) -> float:
    """The number at ``key``, or ``default`` if it is absent or no number."""
    value = raw.get(key, default)
    return value if is_number(value) else default
