"""The rules that are measured, set so that every attempt meets them alike."""

from __future__ import annotations

from domain.breakers.adaptive_throttle import AdaptiveThrottle
from domain.breakers.circuit_breaker import MOST_CALLS, CircuitBreaker
from domain.budgets.aws import AwsTokenBucket
from domain.budgets.envoy import EnvoyBudget
from domain.budgets.finagle import FinagleBudget
from domain.budgets.grpc import GrpcThrottle
from domain.budgets.ratio import RatioBudget
from domain.budgets.window_ratio import WindowRatioBudget
from domain.experiment import Client

NONE = "none"
_DEPLOYED: dict[str, dict[str, object]] = {
    NONE: {},
    "ratio": {"budget": RatioBudget()},
    "window-ratio": {"budget": WindowRatioBudget()},
    "AWS": {"budget": AwsTokenBucket()},
    "gRPC": {"budget": GrpcThrottle()},
    "Finagle": {"budget": FinagleBudget()},
    "Envoy": {"budget": EnvoyBudget()},
    "circuit breaker": {"breaker": CircuitBreaker.polly()},
    "adaptive throttle": {"breaker": AdaptiveThrottle(k=1e9)},
}
"""Adaptive throttling would refuse calls here, since at the ceiling so many wait for their answer; what it
would save is not to be measured, so its multiplier is one that lets all pass."""
_REFUSING: dict[str, dict[str, object]] = {
    "ratio": {"budget": RatioBudget(ratio=0.0, reserve=1.0)},
    "window-ratio": {"budget": WindowRatioBudget(ratio=0.0)},
    "AWS": {"budget": AwsTokenBucket(capacity=0.0)},
    "gRPC": {"budget": GrpcThrottle()},
    "Finagle": {"budget": FinagleBudget(percent=0.0, min_retries_per_s=0.0)},
    "Envoy": {"budget": EnvoyBudget(percent=0.0, min_concurrent=0)},
}
"""Budgets that refuse every retry, or all but the first (gRPC's: once five attempts have failed)."""
_NEVER_OPENING = CircuitBreaker(failure_ratio=1.0, window_calls=MOST_CALLS, min_calls=MOST_CALLS)
"""It counts every failure, and has too few of them."""

HEALTHY_RULES = tuple(name for name in _DEPLOYED if name != NONE)
STORM_RULES = (*_REFUSING, "circuit breaker")
"""Without adaptive throttling, which would send next to nothing."""


def client(rule: str, timeout_s: float, storm: bool) -> Client:
    """A client with one of the rules. In a storm a budget is asked after every attempt, and says no."""
    if not storm:
        return Client(timeout_s, 1, **_DEPLOYED[rule])  # type: ignore[arg-type]
    if rule in _REFUSING:
        return Client(timeout_s, 2, **_REFUSING[rule])  # type: ignore[arg-type]
    if rule == NONE:
        return Client(timeout_s, 1)
    return Client(timeout_s, 1, breaker=_NEVER_OPENING)
