"""What the generator knows of itself: how late it was, how busy, what the machine refused."""

from __future__ import annotations

import json
import os
import resource
import time
from pathlib import Path
from typing import Any

from domain.lag import LagHistogram
from loadgen.reasons import Reasons


class Health:
    """Counters of one worker, and the file they are written to."""

    def __init__(self, worker: int, workers: int, path: Path | None) -> None:
        self.worker = worker
        self.workers = workers
        self._path = path
        self.lag = LagHistogram()
        self.planned = 0
        self.sent = 0
        self.first_refused = 0
        self.attempts = 0
        self.refused_sockets = 0
        self.error_reasons = Reasons()
        """Why attempts of any kind ended as errors."""
        self.recorder_fault: str | None = None
        self.stopped_by: str | None = None
        self._started = (time.monotonic(), time.process_time())
        self._last = self._started
        self.cpu_ratio_peak = 0.0

    def begin(self) -> None:
        """The load starts now: CPU is counted from here."""
        self._started = self._last = (time.monotonic(), time.process_time())

    def sample_cpu(self) -> None:
        """Note the CPU use since the last sample; meant to be called about once a second."""
        now = (time.monotonic(), time.process_time())
        elapsed = now[0] - self._last[0]
        if elapsed >= 0.5:
            self.cpu_ratio_peak = max(self.cpu_ratio_peak, (now[1] - self._last[1]) / elapsed)
            self._last = now

    def as_json(self, finished: bool) -> dict[str, Any]:
        """The file's content; see docs/run-directory.md."""
        elapsed = max(time.monotonic() - self._started[0], 1e-9)
        return {
            "worker": self.worker,
            "workers": self.workers,
            "pid": os.getpid(),
            "finished": finished,
            "planned": self.planned,
            "sent": self.sent,
            "first_refused": self.first_refused,
            "attempts": self.attempts,
            "lag_p50_s": self.lag.quantile_s(0.50),
            "lag_p99_s": self.lag.quantile_s(0.99),
            "lag_max_s": self.lag.max_s,
            "cpu_ratio": (time.process_time() - self._started[1]) / elapsed,
            "cpu_ratio_peak": self.cpu_ratio_peak,
            "refused_sockets": self.refused_sockets,
            "error_reasons": dict(self.error_reasons),
            "recorder_fault": self.recorder_fault,
            "stopped_by": self.stopped_by,
            "elapsed_s": elapsed,
            "peak_rss_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        }

    def write(self, finished: bool = False) -> None:
        """Replace the file in one step; a disk that is full is noted as a recorder fault."""
        if self._path is None:
            return
        temporary = self._path.with_suffix(".partial")
        try:
            temporary.write_text(json.dumps(self.as_json(finished), indent=1))
            temporary.replace(self._path)
        except OSError as error:
            self.recorder_fault = self.recorder_fault or f"{self._path.name} could not be written: {error}"
