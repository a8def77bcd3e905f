"""What is measured: which variant, under which condition, with which load."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

TIPOVER, UNRECORDED = "Tipover", "Tipover, recording off"
LOCUST, CLIENT = "Locust FastHttpUser", "geventhttpclient"
BARE, RESOLVING = "bare gevent sockets", "bare, create_connection"
HEALTHY, STORM, FLOOD, CLOSED = "healthy", "storm", "flood", "closed"

RATE_PER_S = 1000.0
FLOOD_PER_S = 40_000.0
TIMEOUT_S = 1.0
CLOSED_GREENLETS = 50
PACED_USERS = 100
STORM_USERS = int(2 * RATE_PER_S * TIMEOUT_S)
"""Twice as many as wait at any time: users without a pause fall into step, and then all are late together."""

_MODULES = {
    TIPOVER: "tipover_session",
    UNRECORDED: "tipover_session",
    LOCUST: "locust_user",
    CLIENT: "http_client",
    BARE: "bare_sockets",
    RESOLVING: "bare_sockets",
}


@dataclass(frozen=True)
class Settings:
    """How long and how often; ``quick`` is for looking whether it works, not for numbers to keep.

    ``window_s`` is a whole number of the periods of the storm's paced users (2 s): they come in waves.
    """

    quick: bool
    rounds: int
    warmup_s: float
    window_s: float
    memory_attempts: int
    memory_rate_per_s: float
    memory_storm_attempts: int
    memory_storm_rate_per_s: float
    steady_s: float


FULL = Settings(False, 3, 1.0, 4.0, 1_000_000, 6000.0, 180_000, 3000.0, 60.0)
QUICK = Settings(True, 1, 0.5, 2.0, 100_000, 6000.0, 9_000, 3000.0, 10.0)


@dataclass(frozen=True)
class Case:
    """One variant under one condition."""

    condition: str
    variant: str
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def module(self) -> str:
        return _MODULES[self.variant]

    @property
    def server(self) -> str:
        return "silent" if self.condition == STORM else "answer"

    def load_options(self, settings: Settings) -> dict[str, Any]:
        """The fields of its ``Load`` that do not name the server."""
        storm = self.condition == STORM
        return {
            "rate_per_s": FLOOD_PER_S if self.condition == FLOOD else RATE_PER_S,
            "greenlets": CLOSED_GREENLETS if self.condition == CLOSED else 0,
            "timeout_s": TIMEOUT_S,
            # In a storm nothing ends before the first timeout, and closed loops need a second one to settle.
            "warmup_s": settings.warmup_s + (2 * TIMEOUT_S if storm else 0),
            "window_s": settings.window_s,
            "expected": "timeout" if storm else "ok",
            "record": self.variant != UNRECORDED,
            "resolve": self.variant == RESOLVING,
            **self.options,
        }


CASES = (
    Case(HEALTHY, TIPOVER),
    Case(HEALTHY, UNRECORDED),
    Case(HEALTHY, LOCUST, {"greenlets": PACED_USERS, "users_paced": True}),
    Case(HEALTHY, CLIENT),
    Case(HEALTHY, BARE),
    Case(STORM, TIPOVER),
    Case(STORM, UNRECORDED),
    Case(STORM, LOCUST, {"greenlets": STORM_USERS, "users_paced": True}),
    Case(STORM, CLIENT),
    Case(STORM, BARE),
    Case(STORM, RESOLVING),
    Case(FLOOD, TIPOVER),
    Case(FLOOD, UNRECORDED),
    Case(FLOOD, CLIENT),
    Case(FLOOD, BARE),
    Case(CLOSED, LOCUST),
    Case(CLOSED, CLIENT),
    Case(CLOSED, BARE),
)
