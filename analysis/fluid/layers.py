"""Which attempts the fluid model must tell apart, when each returns, and how fine its grid can be."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from analysis.result import Floats
from domain.backoff import Backoff
from domain.errors import ConfigurationError, Fault
from domain.experiment import Client
from domain.queue_cap import QueueCap

STEPS_PER_TIMEOUT = 100
LEAST_USUAL_STEPS = 40
USUAL_STEPS = 400_000
"""Steps in all from which on a run is content with fewer a timeout, down to the number above."""
MAX_STEPS_PER_TIMEOUT = 4000
MIN_STEPS_PER_TIMEOUT = 8
MAX_CELLS = 6_000_000
"""Steps times attempt numbers worked through, if that leaves enough steps a timeout."""
MOST_STEPS = 2_500_000
"""Never more steps than this: some 270 bytes each."""
MOST_CELLS = 20_000_000
"""Never more steps times ``Layers.work`` than this: a second of it."""
MOST_REMEMBERED = 40_000_000
"""Never more counts remembered for retries than this: eight bytes each."""


@dataclass(frozen=True, slots=True)
class Layers:
    """Attempts by number. ``backoffs_s`` are the (least, most) seconds from the failure to the retry, the
    last of them for all that follow, and ``retrying`` how many attempts are told apart and retried.

    ``endless``: the last layer feeds itself, as the attempts of an endless client do once its backoff
    has stopped growing. ``at_once``: rejected attempts are sent again under their backoff alone.
    """

    backoffs_s: tuple[tuple[float, float], ...]
    retrying: int
    endless: bool
    at_once: bool

    @classmethod
    def of(cls, client: Client, matters_s: float, cap: QueueCap | None) -> Layers:
        """As many as can matter: a client that cannot use up its attempts in ``matters_s`` is endless.

        Raises ``ValueError`` for an endless client that retries rejections in no time at all.
        """
        at_once = cap is not None and cap.on_rejection == "retry"
        if at_once and math.isinf(client.max_attempts) and client.backoff.bounds_s(1)[1] == 0.0:
            raise ValueError(
                "max_attempts: must be finite when rejected attempts are sent again at once without "
                f"backoff (got {client.max_attempts!r})"
            )
        retries = client.max_attempts - 1
        backoffs = _until_constant(client.backoff, retries)
        failing_s = 0.0 if at_once else client.timeout_s
        sent_s = 0.0
        for told_apart, (low, _) in enumerate(backoffs, start=1):
            sent_s += failing_s + low
            if sent_s >= matters_s:
                return cls(backoffs[:told_apart], told_apart, True, at_once)
        if not backoffs:
            return cls((), 0, False, at_once)
        never_s = sent_s + (client.max_attempts - len(backoffs)) * (failing_s + backoffs[-1][0])
        if math.isinf(retries) or never_s >= matters_s:
            return cls(backoffs, len(backoffs), True, at_once)
        return cls(backoffs, int(retries), False, at_once)

    @property
    def kinds(self) -> int:
        """Attempt numbers told apart."""
        return max(1, self.retrying + (0 if self.endless else 1))

    @property
    def work(self) -> int:
        """What a step costs, in attempts with a fixed backoff: a spread one is looked up twice as often."""
        return 1 + self.retrying * self._work_per_retry

    @property
    def _work_per_retry(self) -> int:
        spread = any(high > low for low, high in self.backoffs_s)
        return (2 if spread else 1) * (2 if self.at_once else 1)

    def delays(self, after_s: float, step_s: float, *, least: float, never: float) -> Floats:
        """Steps from an attempt to its retry when it fails ``after_s`` after it is sent: shape (n, 2).

        At least ``least``, which the order of events demands. What takes ``never`` or more does not
        come back within the run: a range may reach beyond, and is not cut short.
        """

        def in_steps(backoff_s: float) -> float:
            delay = (after_s + backoff_s) / step_s
            if delay >= never:
                return delay
            whole = round(delay)
            return max(float(whole) if abs(delay - whole) < 1e-6 else delay, least)

        pairs = [(min(in_steps(low), never), in_steps(high)) for low, high in self.backoffs_s]
        pairs += pairs[-1:] * (self.retrying - len(pairs))
        return np.array(pairs, dtype=np.float64).reshape(len(pairs), 2)

    def steps_per_timeout(self, shortest_s: float, horizon_s: float, client: Client) -> int:
        """Steps in a timeout: ten in what is shortest, if as many can be afforded.

        Raises ``ConfigurationError`` if not even the fewest can.
        """
        timeout_s = client.timeout_s
        timeouts = horizon_s / timeout_s + 1.0
        if not MIN_STEPS_PER_TIMEOUT * timeouts <= MOST_STEPS:
            raise _refusal(_timeout_fault(timeout_s, horizon_s))
        cells = MOST_CELLS / timeouts
        counts = MOST_REMEMBERED / self._timeouts_remembered(timeout_s, timeouts)
        most = min(MOST_STEPS / timeouts, cells / self.work, counts / (self.retrying + 1))
        if most < MIN_STEPS_PER_TIMEOUT:
            by_work = (cells / MIN_STEPS_PER_TIMEOUT - 1.0) / self._work_per_retry
            most_retries = int(min(by_work, counts / MIN_STEPS_PER_TIMEOUT - 1.0))
            raise _refusal(self._fault(client, most_retries, horizon_s / timeout_s))
        usual = min(STEPS_PER_TIMEOUT, max(LEAST_USUAL_STEPS, USUAL_STEPS * timeout_s / horizon_s))
        wanted = min(max(usual, 10 * timeout_s / shortest_s), MAX_STEPS_PER_TIMEOUT)
        affordable = MAX_CELLS / (self.retrying + 1) * timeout_s / horizon_s
        return int(min(wanted, max(float(MIN_STEPS_PER_TIMEOUT), affordable), most))

    def _timeouts_remembered(self, timeout_s: float, run: float) -> float:
        """For how many timeouts each layer's failures are remembered at most, until all have returned."""
        longest = max((high for _, high in self.backoffs_s), default=0.0) / timeout_s
        return 2.0 + min(longest, run) * (2.0 if self.at_once else 1.0)

    def _fault(self, client: Client, most_retries: int, timeouts: float) -> Fault:
        rule = f"for the fluid model, which tells attempts apart, of a run of {timeouts:,.0f} timeouts"
        steady = len(self.backoffs_s) <= most_retries
        if math.isinf(client.max_attempts):
            grows = f"must stop growing within {most_retries:,} retries {rule}"
            return Fault("client.backoff", grows, client.backoff.kind)
        most = f"must be at most {most_retries + 1:,}{', or inf,' if steady else ''} {rule}"
        return Fault("client.max_attempts", most, client.max_attempts)


def _until_constant(backoff: Backoff, retries: float) -> tuple[tuple[float, float], ...]:
    bounds: list[tuple[float, float]] = []
    while len(bounds) < retries:
        bounds.append(backoff.bounds_s(len(bounds) + 1))
        if backoff.bounds_s(len(bounds) + 1) == bounds[-1]:
            break
    return tuple(bounds)


def _timeout_fault(timeout_s: float, horizon_s: float) -> Fault:
    most = MOST_STEPS // MIN_STEPS_PER_TIMEOUT - 1
    rule = f"must be at least 1/{most:,} of the run's {horizon_s:g} s for the fluid model, which steps in it"
    return Fault("client.timeout_s", rule, timeout_s)


def _refusal(fault: Fault) -> ConfigurationError:
    return ConfigurationError("the scenario is too large for the fluid model", [fault])
