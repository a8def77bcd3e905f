"""What a simulated run is counted into: windows of time, one row per seed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Counts:
    """Counts per seed and window; every array has shape (seeds, windows) unless it says otherwise.

    Times are seconds of the wall clock (scenario time over the speed-up). An attempt is sent when it
    leaves the client, rejected ones included, and late when its sojourn exceeds the timeout. Attempts
    that are still open at the last edge are followed to their end, but nothing is sent after it.
    """

    seeds: tuple[int, ...]
    edges_s: Floats
    """Shape (windows + 1,)."""
    jobs: Ints
    """First attempts sent in the window."""
    attempts: Ints
    """All attempts sent in the window."""
    late: Ints
    """Attempts sent in the window that were accepted and came back after their timeout."""
    rejected: Ints
    """Attempts sent in the window that the queue cap turned away."""
    refused: Ints
    """Retries that fell due in the window and that the retry budget refused."""
    answered: Ints
    """Jobs answered in time, counted at the moment of the answer."""
    busy_s: Floats
    """Server-seconds of work done in the window, abandoned work included."""
    depth: Ints
    """Attempts waiting or in service at the end of the window."""
    backlog_s: Floats
    """Unfinished work over the capacity of a full fleet at the end of the window, in seconds."""

    @property
    def length_s(self) -> Floats:
        """Length of each window, shape (windows,)."""
        return np.diff(self.edges_s)

    @property
    def goodput_ratio(self) -> Floats:
        """Jobs answered over jobs sent, per window; NaN where no job was sent."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(self.jobs > 0, self.answered / self.jobs, np.nan)

    @property
    def late_ratio(self) -> Floats:
        """q: late attempts over attempts accepted, per window; NaN where none was."""
        accepted = self.attempts - self.rejected
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(accepted > 0, self.late / accepted, np.nan)


@dataclass(frozen=True)
class DefendedCounts(Counts):
    """What the event-driven simulation counts besides.

    ``rejected`` are here all attempts that were answered with a refusal before they were served, at once or
    out of the queue; ``late`` all that timed out, however the service went on with them; ``refused`` all but
    first attempts that budget or breaker refused.
    """

    wasted_s: Floats
    """Server-seconds of the work done in the window for attempts whose client had gone by its end."""
    dropped: Ints
    """Attempts thrown away in the window out of the queue: shed, expired or cancelled."""
    refused_first: Ints
    """Jobs due in the window whose first attempt the client itself refused; they are not in ``jobs``."""
    errors: Ints
    """Attempts sent in the window that were served and answered in time with an error."""
    cancelled: Ints
    """Copies sent in the window that another copy's answer ended."""

    @property
    def goodput_ratio(self) -> Floats:
        """Jobs answered over jobs due, per window; NaN where no job was due."""
        due = self.jobs + self.refused_first
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(due > 0, self.answered / due, np.nan)
