"""How a bare client is driven: one greenlet per attempt at its planned time, or a closed loop."""

from __future__ import annotations

import json
import random
import resource
import time
from collections.abc import Callable

import gevent

from tests.bench.load import Load
from tests.bench.window import lag_quantiles, measure

Attempt = Callable[[], str]
_SPAWNS_BEFORE_A_TURN = 50
"""A pacer that is late must let the loop read answers, as ``loadgen.storm`` does, or it never recovers."""


class Driver:
    """Runs ``attempt`` as the load says and prints what it cost. ``attempt`` returns its outcome."""

    def __init__(self, load: Load, attempt: Attempt) -> None:
        self._load = load
        self._attempt = attempt
        self._outcomes: dict[str, int] = {}
        self._lags_s: list[float] = []

    def run(self) -> None:
        load = self._load
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        for _ in range(load.greenlets):
            gevent.spawn(self._loop)
        if not load.greenlets:
            gevent.spawn(self._pace)
        found = measure(load, lambda: self._outcomes, gevent.sleep, self._lags_s.clear)
        print(json.dumps({**found, **lag_quantiles(self._lags_s)}), flush=True)

    def _loop(self) -> None:
        while True:
            self._count(self._attempt())

    def _pace(self) -> None:
        rate_per_s, due_s, in_a_row = self._load.rate_per_s, time.monotonic(), 0
        while True:
            wait_s = due_s - time.monotonic()
            if wait_s > 0 or in_a_row >= _SPAWNS_BEFORE_A_TURN:
                gevent.sleep(max(wait_s, 0))
                in_a_row = 0
                continue
            gevent.spawn(self._planned, due_s)
            in_a_row += 1
            due_s += random.expovariate(rate_per_s)

    def _planned(self, due_s: float) -> None:
        self._lags_s.append(time.monotonic() - due_s)
        self._count(self._attempt())

    def _count(self, outcome: str) -> None:
        self._outcomes[outcome] = self._outcomes.get(outcome, 0) + 1
