"""The studies by name; each module is imported only when it is asked for."""

from __future__ import annotations

from importlib import import_module
from typing import Protocol, cast

from analysis.studies.claims import Progress, StudyResult

STUDIES = {
    "collapse-law": "analysis.studies.collapse_law",
    "retry-storms": "analysis.studies.retry_storms",
    "demand-debt": "analysis.studies.demand_debt",
    "hop-retries": "analysis.studies.hop_retries",
    "fixed-point": "analysis.studies.fixed_point",
}
"""Name to module, in the order of the sources."""


class Study(Protocol):
    """What a module of a study offers."""

    TITLE: str

    def run(self, effort: float, progress: Progress) -> StudyResult:
        """Work it out; ``effort`` scales the seeds and durations that cost time, 1 being the real thing."""


def load(name: str) -> Study:
    """The study of this name. Raises ``KeyError`` for an unknown one."""
    return cast(Study, import_module(STUDIES[name]))
