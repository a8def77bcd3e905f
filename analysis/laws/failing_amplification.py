"""Amplification under a client's own budget, breaker and deadline: attempts sent per job in the long run.

Each law balances what a budget earns against what it spends, per job of one client, and takes the smaller of
that and of the retries a client wants. What a budget has saved up at the start is left out: it is spent once.
The saved-up part matters for a while only; ``clients`` clients have it each.

Retries R per job that each budget pays for; p is the chance that an attempt fails, λ the jobs/s of a client:

- **ratio** β: every job earns β and a retry costs 1, so β.
- **window ratio** β: R ≤ β(1 + R), so β/(1 − β); a little less if the window holds few, as retries are whole.
- **AWS**, cost c: a job whose first attempt succeeds earns 1, with chance 1 − p. A retry takes c and gives it
  back if it succeeds, so it costs c·p. The bucket neither fills nor goes below 0 when it is drained, so
  c·p·R = 1 − p and R = (1 − p)/(c·p), however the refusals fall; at p = 1 nothing. Below the drain point of
  ``aws_drain_point`` that is more than is wanted, and at it the two are equal.
- **gRPC**, ratio r: an attempt changes the tokens by r(1 − p) − p, first or retry alike. If that is negative
  they end near 0, not near the half at which retries stop, so none are sent; if not, they stay near full and
  all are. For a bucket that is not tiny: chance blurs the drain point.
- **Finagle**: deposits and withdrawals of one ttl balance the reserve: percent + min/λ.
- **Envoy**: a job that was let through holds one place without a break until it ends, since its own place is
  free when it asks again. Places taken by jobs that come at random and are lost when all are taken are
  Erlang's loss system, whatever the holding times: with a = λ · P(first attempt fails) · mean holding time,
  a(1 − E_B(min, a)) places are taken. Each retry holds one for its backoff and its attempt, so that number
  over λ · (mean time of a retry) is R. With a share of the attempts in flight, N = λT(1 + R), instead:
  λR(T + backoff) = percent · N, so R = percent·T/(T + backoff − percent·T), up to a place, as they are whole.
  The larger of the two. Jobs that come again after a refusal get a little more; copies of hedging overlap.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from analysis.laws.amplification import retry_amplification
from analysis.laws.bisection import sign_change
from analysis.laws.checks import check
from analysis.laws.drain_points import grpc_drain_point
from domain.attempts import Outcome
from domain.breakers.adaptive_throttle import BINS as THROTTLE_BINS
from domain.breakers.adaptive_throttle import AdaptiveThrottle
from domain.breakers.circuit_breaker import CircuitBreaker
from domain.budgets.aws import AwsTokenBucket
from domain.budgets.envoy import EnvoyBudget
from domain.budgets.finagle import FinagleBudget
from domain.budgets.grpc import GrpcThrottle
from domain.budgets.ratio import RatioBudget
from domain.budgets.window_ratio import WindowRatioBudget
from domain.retry import RetryAfter, RetryPolicy

if TYPE_CHECKING:  # it takes NumPy, which a law must not load
    from domain.experiment import Client
    from domain.hedging import Hedging

_COURSES, _FEWER_COURSES = 4096, 512
"""Jobs over which a random backoff is averaged, if their number of attempts depends on it, and if only a mean
does; their draws are the same each time, and evenly spread."""
_MOST_RETRIES, _MOST_RANDOM_RETRIES = 1000, 50
"""Retries of a job that are looked at one by one; no backoff changes much after that."""


def failing_amplification(client: Client, arrival_rate_per_s: float) -> float:
    """Attempts sent per job in the long run when every attempt times out.

    Without budget and breaker: the attempts that ``max_attempts``, or the copies of hedging, and the deadline
    leave room for, each taking its timeout T and then its backoff; ∞ for an endless client. A budget pays for
    some of them: see the module. Of what is left a breaker lets through:

    - **adaptive throttling**: nothing is accepted, so with n requests in its window W it sends 1/(n + 1) of
      them whatever K is. With a asks per job n is Poisson with mean aλW, so A = (1 − e^(−aλW))/(λW): about
      one attempt a window and client, and none per job as λW grows. (Jobs that clients take in turn, or that
      come again, are not quite Poisson: that moves A by a share of about 1/(λW).)
    - **circuit breaker**: it never closes again. Every cycle of open time, wait for the first call, and the
      time until enough probes have timed out (or ``half_open_s``) sends its probes: A = probes/(λ · cycle).
      At few calls per timeout the retries of probes are probes, too. Means stand for chances here, which
      matters if ``half_open_s`` cuts the probes short; and a window of time that holds fewer calls than the
      minimum on average is taken never to open. A breaker that is open for less than a timeout may be
      half-open when a probe of an earlier cycle comes back, and count it: cycles then overlap, for good, and
      up to 1 + ⌊timeout/open time⌋ times as much is sent. Chance decides that as it first opens; this is A
      without.

    ``arrival_rate_per_s`` is that of all ``client.clients`` together, 0 the limit of small rates. Raises
    ``ValueError`` for a rate that is negative or not finite. Source: derived here, from the rules.
    """
    check(arrival_rate_per_s=arrival_rate_per_s)
    rate_per_s = arrival_rate_per_s / client.clients
    course = _course(client, client.timeout_s)
    attempts = 1.0 + _granted_retries(client, rate_per_s, course, 1.0)
    if isinstance(client.breaker, AdaptiveThrottle):
        return _throttled(client, client.breaker, rate_per_s, attempts)
    if isinstance(client.breaker, CircuitBreaker):
        return _broken(client, client.breaker, rate_per_s, attempts, course)
    return attempts


def amplification_at(client: Client, arrival_rate_per_s: float, failure_probability: float) -> float:
    """Attempts sent per job in the long run when each fails at once, by an error, with probability p.

    Without a budget (1 − p^m)/(1 − p), m the attempts that the client's number of them (or of copies) and its
    deadline leave room for; with one 1 + R as in the module, where no time passes in flight. The breaker is
    left out: what it does at p < 1 depends on chance. Raises ``ValueError`` for p outside [0, 1] or a rate
    that is negative or not finite. Source: derived here, for the rules of ``domain``.
    """
    check(arrival_rate_per_s=arrival_rate_per_s, failure_probability=failure_probability)
    rate_per_s = arrival_rate_per_s / client.clients
    return 1.0 + _granted_retries(client, rate_per_s, _course(client, 0.0), failure_probability)


@dataclass(frozen=True, slots=True)
class _Course:
    """Jobs that are never answered and never refused: by the kth retry, ``chance`` that there is one and
    ``mean_s``, its backoff and time in flight if so. What comes after the last entry is like it, ``beyond``
    retries more."""

    chance: Sequence[float]
    mean_s: Sequence[float]
    beyond: float
    attempt_s: float

    def retries(self, failure_probability: float) -> float:
        """Retries wanted per job, each asked for if all attempts before it failed."""
        p, total, weight = failure_probability, 0.0, 1.0
        for chance in self.chance:
            weight *= p
            total += weight * chance
        if self.beyond > 0.0 and weight > 0.0:
            total += weight * p * self.chance[-1] * retry_amplification(self.beyond, p)
        return total

    def retry_s(self, failure_probability: float) -> float:
        """Mean time that a retry takes, backoff included; 0 without retries."""
        weights = [failure_probability**k * chance for k, chance in enumerate(self.chance)]
        whole = sum(weights)
        if math.isinf(self.beyond) and failure_probability == 1.0:
            return self.mean_s[-1]
        return sum(w * s for w, s in zip(weights, self.mean_s, strict=True)) / whole if whole > 0.0 else 0.0


def _course(client: Client, attempt_s: float) -> _Course:
    if client.hedging is not None:
        copies = _hedged(client.hedging, attempt_s, client.deadline_s)
        return _Course([1.0] * (copies - 1), [attempt_s] * (copies - 1), 0.0, attempt_s)
    jobs = 1
    if client.backoff.is_random and math.isfinite(client.deadline_s):
        jobs = _COURSES
    elif client.backoff.is_random and isinstance(client.budget, EnvoyBudget):
        jobs = _FEWER_COURSES
    policy, shuffled = client.policy, random.Random(0)
    ends_s, before_s = [min(attempt_s, client.deadline_s)] * jobs, [0.0] * jobs
    chance: list[float] = []
    mean_s: list[float] = []
    while len(chance) < (_MOST_RETRIES if jobs == 1 else _MOST_RANDOM_RETRIES):
        draws = [(at + 0.5) / len(ends_s) for at in range(len(ends_s))]
        shuffled.shuffle(draws)
        took = _next(policy, len(chance) + 1, ends_s, before_s, draws, client.deadline_s, attempt_s)
        if not took:
            return _Course(chance, mean_s, 0.0, attempt_s)
        chance.append(len(took) / jobs)
        mean_s.append(sum(end - begun for begun, end, _ in took) / len(took))
        ends_s, before_s = [end for _, end, _ in took], [delay for _, _, delay in took]
    left_s = client.deadline_s - sum(ends_s) / len(ends_s)
    fit = left_s / mean_s[-1] if mean_s[-1] > 0.0 else math.inf
    return _Course(chance, mean_s, min(fit, max(0.0, client.max_attempts - 1.0 - len(chance))), attempt_s)


def _next(
    policy: RetryPolicy,
    attempt: int,
    ends_s: list[float],
    before_s: list[float],
    draws: list[float],
    until_s: float,
    attempt_s: float,
) -> list[tuple[float, float, float]]:
    """Of jobs whose attempt has failed, those that try again: when it did, the next does, the backoff."""
    found = []
    for now_s, previous_s, u in zip(ends_s, before_s, draws, strict=True):
        decision = policy.decide(
            attempt, Outcome.TIMEOUT, now_s, u, None, previous_s=previous_s, until_s=until_s
        )
        if isinstance(decision, RetryAfter):
            end_s = min(now_s + decision.delay_s + attempt_s, until_s)
            found.append((now_s, end_s, decision.delay_s))
    return found


def _hedged(hedging: Hedging, attempt_s: float, deadline_s: float) -> int:
    """Copies sent before the deadline: each a delay after the last, or when one that is out fails."""
    sent_s, failures = [0.0], 0
    while len(sent_s) < hedging.copies:
        fails_s = sent_s[failures] + attempt_s if failures < len(sent_s) else math.inf
        due_s = sent_s[-1] + hedging.delay_s
        failures += fails_s <= due_s
        if min(fails_s, due_s) >= deadline_s:
            break
        sent_s.append(min(fails_s, due_s))
    return len(sent_s)


def _granted_retries(client: Client, rate_per_s: float, course: _Course, p: float) -> float:
    wanted = course.retries(p)
    if wanted == 0.0:
        return 0.0
    granted = math.inf
    match client.budget:
        case RatioBudget(ratio=ratio, reserve=reserve):
            granted = min(ratio, reserve)
        case WindowRatioBudget(ratio=ratio):
            granted = _over(ratio, 1.0 - ratio)
        case AwsTokenBucket() as bucket:
            cost = bucket.timeout_cost if course.attempt_s > 0.0 else bucket.error_cost
            granted = _over(1.0 - p, cost * p) if cost <= bucket.capacity else 0.0
        case GrpcThrottle(token_ratio=ratio):
            granted = math.inf if p <= grpc_drain_point(ratio) else 0.0
        case FinagleBudget(percent=percent, min_retries_per_s=least_per_s):
            granted = percent + (_over(least_per_s, rate_per_s) if least_per_s > 0.0 else 0.0)
        case EnvoyBudget() as budget:
            granted = _concurrent(budget, rate_per_s, course, p)
    return min(wanted, granted)


def _over(value: float, by: float) -> float:
    return value / by if by > 0.0 else math.inf


def _concurrent(budget: EnvoyBudget, rate_per_s: float, course: _Course, p: float) -> float:
    """Retries per job that Envoy's places allow: see the module."""
    retry_s, flight_s = course.retry_s(p), course.attempt_s
    held = rate_per_s * course.retries(p) * retry_s
    if retry_s == 0.0 or rate_per_s == 0.0:
        return math.inf if budget.min_concurrent > 0 else 0.0
    taken = _erlang_carried(int(budget.min_concurrent), held)
    share = budget.percent * flight_s
    return max(taken / (rate_per_s * retry_s), _over(share, retry_s - share))


def _erlang_carried(places: int, offered: float) -> float:
    """Places taken of a loss system, by Erlang's recursion for the chance that all are; all of them at ∞."""
    if math.isinf(offered):
        return float(places)
    lost = 1.0
    for place in range(1, places + 1):
        lost = offered * lost / (place + offered * lost)
    return offered * (1.0 - lost)


def _throttled(client: Client, throttle: AdaptiveThrottle, rate_per_s: float, attempts: float) -> float:
    window_s = throttle.window_s * (1.0 - 0.5 / THROTTLE_BINS)
    calls = rate_per_s * window_s
    if calls == 0.0:
        return attempts
    if client.on_refusal == "retry":
        return -math.expm1(-attempts * calls) / calls
    asked = attempts if math.isfinite(attempts) else 1.0
    for _ in range(200):
        sent = -math.expm1(-asked * calls) / (asked * calls)
        asked = retry_amplification(attempts, sent)
    return asked * sent


def _broken(
    client: Client, breaker: CircuitBreaker, rate_per_s: float, attempts: float, course: _Course
) -> float:
    calls = rate_per_s * attempts * breaker.window_s
    if rate_per_s == 0.0 or (breaker.window_s > 0.0 and calls < breaker.min_calls):
        return attempts
    deciding = min(breaker.probes, breaker.min_calls) - 1.0
    first = partial(_probes_by, per_s=rate_per_s, retries=attempts - 1.0, course=course)
    half_open_s = min(client.timeout_s, client.deadline_s)
    if deciding > 0.0:
        half_open_s += sign_change(lambda passed_s: first(passed_s) < deciding, 0.0, deciding / rate_per_s)
    if breaker.half_open_s > 0.0:
        half_open_s = min(half_open_s, breaker.half_open_s)
    probes = min(float(breaker.probes), 1.0 + first(half_open_s))
    return min(attempts, probes / (1.0 + rate_per_s * (breaker.open_s + half_open_s)))


def _probes_by(passed_s: float, per_s: float, retries: float, course: _Course) -> float:
    """Probes asked for after the first one, by first attempts and by the retries of those let through."""
    asked, since_s, left = per_s * passed_s, 0.0, retries
    for step_s in course.mean_s:
        since_s += step_s
        if left <= 0.0 or since_s >= passed_s:
            break
        asked += per_s * min(1.0, left) * (passed_s - since_s)
        left -= 1.0
    return asked
