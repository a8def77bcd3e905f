"""One decision, as it is written down and shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from domain.fleet import Signal

Result = Literal["up", "down", "same", "error"]
RESULTS: tuple[Result, ...] = ("up", "down", "same", "error")


@dataclass(frozen=True, slots=True)
class Decision:
    """Due at ``t_s`` seconds since the epoch, made ``late_s`` later at ``at`` (UTC, ISO 8601), ``missed``
    ones before it having been passed over.

    ``replicas`` and ``ready`` are the pods there were, None when that has never been known. ``wanted`` is
    what the signals want, before the rules; None when they decide nothing. ``error``: why nothing could be
    decided or ordered.
    """

    t_s: float
    at: str
    replicas: int | None
    ready: int | None
    readings: Mapping[Signal, float | None]
    proposals: Mapping[Signal, int | None]
    wanted: int | None
    ordered: int | None
    why: str
    error: str | None = None
    late_s: float = 0.0
    missed: int = 0

    @property
    def result(self) -> Result:
        """What came of it."""
        if self.error is not None or self.ordered is None or self.replicas is None:
            return "error"
        if self.ordered == self.replicas:
            return "same"
        return "up" if self.ordered > self.replicas else "down"

    def to_json(self) -> dict[str, Any]:
        """A line of the log, for ``json.dumps``."""
        return {**asdict(self), "t_s": round(self.t_s, 6), "late_s": round(self.late_s, 3)}

    def words(self) -> str:
        """A line for people."""
        step = {"up": "▲", "down": "▼", "same": "=", "error": "!"}[self.result]
        have = "?" if self.replicas is None else f"{self.replicas}"
        ready = "" if self.ready in (None, self.replicas) else f" ({self.ready} ready)"
        change = "" if self.ordered in (None, self.replicas) else f" → {self.ordered}"
        trouble = f" [{self.error}]" if self.error is not None and self.error != self.why else ""
        return f"{self.t_s:8.1f} s {step} {have}{ready}{change}: {self.why}{trouble}"
