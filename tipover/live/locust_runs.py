"""Run directories of a generator that plain Locust started."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from domain.experiment import Experiment
from tipover.live.kernel import ListenCounters, read_listen_counters
from tipover.live.record import RunRecord

if TYPE_CHECKING:  # what it is imports Locust
    from loadgen.locust_events import Generator

log = logging.getLogger("tipover.loadgen")


class GivenDirectory:
    """The one directory that ``tipover run`` has made and keeps the record of; or none at all."""

    def __init__(self, directory: Path | None) -> None:
        self._directory = directory

    def open(self, workers: int, url: str) -> Path | None:  # noqa: ARG002
        """That directory."""
        return self._directory

    def begun(self, start_monotonic_s: float, generators: Sequence[Generator]) -> None:
        """Others keep the record."""

    def close(self, stopped_by: str | None) -> None:
        """Others keep the record."""


class NewRuns:
    """A directory of its own for every start: DIR, then DIR-2, DIR-3 …, which ``tipover report`` reads."""

    def __init__(self, directory: Path, experiment: Experiment) -> None:
        self._directory = directory
        self._experiment = experiment
        self._record: RunRecord | None = None
        self._listen: ListenCounters | None = None

    def open(self, workers: int, url: str) -> Path:
        """Begin a run's record in the first of those directories that is free."""
        number, directory = 1, self._directory
        while directory.exists() and any(directory.iterdir()):
            number += 1
            directory = self._directory.with_name(f"{self._directory.name}-{number}")
        self._record = RunRecord(directory, self._experiment, workers=workers, replace=False)
        self._record.facts["target"] = {"url": url, "own": False}
        self._record.write()
        self._listen = read_listen_counters()
        log.info("the trace goes to %s; afterwards: tipover report %s", directory, directory)
        return directory

    def begun(self, start_monotonic_s: float, generators: Sequence[Generator]) -> None:
        """Note when time zero is and who makes the load."""
        if self._record is not None:
            self._record.facts["start_monotonic_s"] = start_monotonic_s
            self._record.facts["generators"] = [asdict(one) for one in generators]
            self._record.write()

    def close(self, stopped_by: str | None) -> None:
        """Finish the record."""
        record, self._record = self._record, None
        if record is None:
            return
        after = read_listen_counters()
        if self._listen and after:
            record.facts["kernel"] = after.since(self._listen)
        if stopped_by:
            record.facts["interrupted_by"] = stopped_by
        record.finish("interrupted" if stopped_by else "finished")
