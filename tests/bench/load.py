"""What one measurement is asked to do, handed to a process of its own as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

REQUEST_PATH = "/work"


@dataclass(frozen=True)
class Load:
    """A load on 127.0.0.1. ``greenlets`` > 0 asks for a closed loop of that many, otherwise ``rate_per_s``.

    Tipover has no closed loop: it always offers ``rate_per_s``. Locust has no open one: it always uses
    ``greenlets`` users, and paces them to ``rate_per_s`` together when ``users_paced``. ``rule`` is the retry
    budget or breaker that Tipover's client has.
    """

    port: int
    server_pid: int
    rate_per_s: float
    greenlets: int
    timeout_s: float
    warmup_s: float
    window_s: float
    expected: str
    users_paced: bool = False
    record: bool = True
    resolve: bool = False
    attempts: int = 0
    rule: str = "none"

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def whole_s(self) -> float:
        return self.warmup_s + self.window_s

    def as_argument(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_argument(cls, text: str) -> Load:
        return cls(**json.loads(text))
