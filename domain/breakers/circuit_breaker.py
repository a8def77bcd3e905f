"""The circuit breaker: after too many failures nothing is sent for a while, then a few probes decide.

Sources: resilience4j ``CircuitBreakerStateMachine.java``, ``CircuitBreakerMetrics.java`` and
``CircuitBreakerConfig.java``; Polly ``CircuitStateController.cs``, ``RollingHealthMetrics.cs`` and
``CircuitBreakerConstants.cs``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from domain.breakers.codes import CIRCUIT_BREAKER
from domain.breakers.window import add, advance, clear, first, second, size
from domain.rule import Numbers, State, padded

CLOSED, OPEN, HALF_OPEN = 0.0, 1.0, 2.0
BINS = 10
"""Of a window of time, as Polly has it."""
MOST_CALLS = 100_000
"""A window of calls keeps one number each."""
_FAILURE_RATIO, _WINDOW_CALLS, _WINDOW_S, _MIN_CALLS, _OPEN_S, _PROBES, _HALF_OPEN_S = range(7)
_PHASE, _UNTIL_S, _GIVEN, _CALLS, _FAILURES, _NEXT, _WINDOW = range(7)
"""State: the phase and when it is over; probes let through; outcomes counted and failures among them (of the
probes, or in a window of calls); the next place in the ring of outcomes, and from ``_WINDOW`` that ring, or
a window of time."""


@dataclass(frozen=True, slots=True)
class CircuitBreaker:
    """Closed, open, half-open.

    Closed: everything is let through, and outcomes are kept of the last ``window_calls`` calls, or, with a
    ``window_s`` above 0, of the last ``window_s`` seconds (in ``BINS`` bins, so of .9 to 1 times that). It
    opens when a call ends with at least ``min_calls`` in the window (or as many as fit) and failures/calls ≥
    ``failure_ratio``. Open: nothing is let through for ``open_s`` seconds, and what still comes back is
    ignored. Then it is half-open: the next ``probes`` calls are let through and no more. When so many (or
    ``min_calls``, if that is less) have ended, it opens again if failures/calls ≥ ``failure_ratio`` among
    them, and else closes with an empty window. As in resilience4j and Polly, any call that comes back while
    it is half-open counts, also one let through before.

    Every call that is let through must be reported as ended, one way or the other, a cancelled one too; then
    it cannot stay half-open for ever. For who cannot promise it, with ``half_open_s`` above 0 it opens again
    when the probes have not decided within so many seconds: resilience4j's
    ``maxWaitDurationInHalfOpenState``, whose default of 0 waits as long as it takes.

    The defaults are resilience4j's; ``polly`` gives Polly's. Polly tests the ratio at failures only, so after
    successes have filled the minimum it opens one failure later than this.
    """

    failure_ratio: float = 0.5
    window_calls: int = 100
    window_s: float = 0.0
    min_calls: int = 100
    open_s: float = 60.0
    probes: int = 10
    half_open_s: float = 0.0
    kind = "circuit-breaker"
    code = CIRCUIT_BREAKER

    def __post_init__(self) -> None:
        if not 0.0 < self.failure_ratio <= 1.0:
            raise ValueError(f"failure_ratio: must be above 0 and at most 1 (got {self.failure_ratio!r})")
        if not 1 <= self.window_calls <= MOST_CALLS:
            raise ValueError(f"window_calls: must be from 1 to {MOST_CALLS} (got {self.window_calls!r})")
        if not self.min_calls >= 1:
            raise ValueError(f"min_calls: must be at least 1 (got {self.min_calls!r})")
        if not self.probes >= 1:
            raise ValueError(f"probes: must be at least 1 (got {self.probes!r})")
        if not 0.0 < self.open_s < math.inf:
            raise ValueError(f"open_s: must be positive and finite (got {self.open_s!r})")
        for name, value in (("window_s", self.window_s), ("half_open_s", self.half_open_s)):
            if not 0.0 <= value < math.inf:
                raise ValueError(f"{name}: must be at least 0 and finite (got {value!r})")

    @classmethod
    def resilience4j(cls) -> CircuitBreaker:
        """As resilience4j has it by default: half of 100 calls, open for a minute, ten probes."""
        return cls()

    @classmethod
    def polly(cls) -> CircuitBreaker:
        """As Polly has it by default: a tenth of at least 100 calls in 30 s, open for 5 s, one probe."""
        return cls(failure_ratio=0.1, window_s=30.0, min_calls=100, open_s=5.0, probes=1)

    @property
    def parameters(self) -> tuple[float, ...]:
        """As the plain functions take them."""
        return padded(
            self.failure_ratio,
            self.window_calls,
            self.window_s,
            self.min_calls,
            self.open_s,
            self.probes,
            self.half_open_s,
        )

    @property
    def state_size(self) -> int:
        """The phase, and the ring of outcomes or the window of time."""
        return _WINDOW + (size(BINS) if self.window_s > 0.0 else self.window_calls)

    def scaled(self, factor: float) -> CircuitBreaker:
        """The same rule in another unit of time."""
        return CircuitBreaker(
            self.failure_ratio,
            self.window_calls,
            self.window_s * factor,
            self.min_calls,
            self.open_s * factor,
            self.probes,
            self.half_open_s * factor,
        )


def begin(p: Numbers, s: State) -> None:
    """Closed, with an empty window."""
    _close(p, s)


def lets_through(p: Numbers, s: State, now_s: float) -> bool:
    """Whether a call may be sent now; the first after ``open_s`` makes it half-open."""
    _give_up_on_probes(p, s, now_s)
    if s[_PHASE] == CLOSED:
        return True
    if s[_PHASE] == OPEN:
        if now_s < s[_UNTIL_S]:
            return False
        _half_open(p, s, now_s)
    if s[_GIVEN] >= p[_PROBES]:
        return False
    s[_GIVEN] += 1.0
    return True


def note_ended(p: Numbers, s: State, now_s: float, succeeded: bool) -> None:
    """A call that was let through has ended; it may open or close the breaker."""
    _give_up_on_probes(p, s, now_s)
    failed = 0.0 if succeeded else 1.0
    if s[_PHASE] == CLOSED:
        if p[_WINDOW_S] > 0.0:
            _count_in_time(p, s, now_s, failed)
        else:
            _count_in_calls(p, s, failed)
        if s[_CALLS] >= _least_calls(p) and s[_FAILURES] / s[_CALLS] >= p[_FAILURE_RATIO]:
            _open(p, s, now_s)
    elif s[_PHASE] == HALF_OPEN:
        s[_CALLS] += 1.0
        s[_FAILURES] += failed
        if s[_CALLS] < min(p[_PROBES], p[_MIN_CALLS]):
            return
        if s[_FAILURES] / s[_CALLS] >= p[_FAILURE_RATIO]:
            _open(p, s, now_s)
        else:
            _close(p, s)


def _least_calls(p: Numbers) -> float:
    return p[_MIN_CALLS] if p[_WINDOW_S] > 0.0 else min(p[_MIN_CALLS], p[_WINDOW_CALLS])


def _count_in_time(p: Numbers, s: State, now_s: float, failed: float) -> None:
    advance(s, _WINDOW, BINS, p[_WINDOW_S], now_s)
    add(s, _WINDOW, BINS, 1.0, failed)
    s[_CALLS] = first(s, _WINDOW)
    s[_FAILURES] = second(s, _WINDOW)


def _count_in_calls(p: Numbers, s: State, failed: float) -> None:
    place = _WINDOW + int(s[_NEXT])
    if s[_CALLS] < p[_WINDOW_CALLS]:
        s[_CALLS] += 1.0
    else:
        s[_FAILURES] -= s[place]
    s[place] = failed
    s[_FAILURES] += failed
    s[_NEXT] = (s[_NEXT] + 1.0) % p[_WINDOW_CALLS]


def _close(p: Numbers, s: State) -> None:
    s[_PHASE] = CLOSED
    s[_UNTIL_S] = 0.0
    s[_GIVEN] = 0.0
    s[_CALLS] = 0.0
    s[_FAILURES] = 0.0
    s[_NEXT] = 0.0
    if p[_WINDOW_S] > 0.0:
        clear(s, _WINDOW)


def _open(p: Numbers, s: State, now_s: float) -> None:
    s[_PHASE] = OPEN
    s[_UNTIL_S] = now_s + p[_OPEN_S]


def _half_open(p: Numbers, s: State, now_s: float) -> None:
    s[_PHASE] = HALF_OPEN
    s[_UNTIL_S] = now_s + p[_HALF_OPEN_S] if p[_HALF_OPEN_S] > 0.0 else math.inf
    s[_GIVEN] = 0.0
    s[_CALLS] = 0.0
    s[_FAILURES] = 0.0


def _give_up_on_probes(p: Numbers, s: State, now_s: float) -> None:
    if s[_PHASE] == HALF_OPEN and now_s >= s[_UNTIL_S]:
        _open(p, s, s[_UNTIL_S])
