"""What a study says: one claim of a source beside our own figure, and whether they agree.

A study is a module of this package with ``TITLE`` and ``run(effort, progress) -> StudyResult``. It is
plain analysis: it writes nothing; ``analysis.studies.results`` writes table, figures and data.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Progress = Callable[[str, float], None]
"""Told what is being done and which share of the study (0 to 1) is over."""


@dataclass(frozen=True)
class Claim:
    """One line of the table.

    ``claimed`` and ``ours`` are the figures in words with their units, ours with its interval and the
    number of seeds; ``agrees`` is None where the source's figure cannot be compared; ``why`` says by
    which rule it agrees, or what explains the difference. ``fitted`` names what the source leaves open
    and we chose so that its figure comes out, or could have: agreement then shows that the figure is
    possible, not that it is right. ``recomputed`` marks a figure that is not the source's but from an
    earlier simulation of ours, so that the line is a check of the simulator. ``chance`` marks a verdict
    that rests on a 95% interval over seeds: one in twenty of them differs though the source is right.
    """

    statement: str
    source: str
    claimed: str
    ours: str
    agrees: bool | None
    why: str
    fitted: str = ""
    recomputed: bool = False
    chance: bool = False


@dataclass(frozen=True)
class Figure:
    """A picture: ``draw(path)`` writes a PNG."""

    name: str
    caption: str
    draw: Callable[[Path], None]


@dataclass(frozen=True)
class StudyResult:
    """``data`` holds every number behind claims and figures, as plain JSON values.

    ``settings`` has the effort; its ``source`` is the work by name, with the number that the lines have it
    by, and its ``symbols`` says what the letters are.
    """

    name: str
    title: str
    claims: tuple[Claim, ...]
    figures: tuple[Figure, ...]
    data: Mapping[str, Any]
    settings: Mapping[str, Any]
