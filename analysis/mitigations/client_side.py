"""What a client can do: wait, ration its retries, stop calling, give up in time, or hedge."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from analysis.mitigations.mitigation import CLIENT, Mitigation
from domain.backoff import ExponentialBackoff, FullJitterBackoff
from domain.breakers.adaptive_throttle import AdaptiveThrottle
from domain.breakers.circuit_breaker import CircuitBreaker
from domain.budgets.aws import AwsTokenBucket
from domain.budgets.envoy import EnvoyBudget
from domain.budgets.finagle import FinagleBudget
from domain.budgets.grpc import GrpcThrottle
from domain.budgets.ratio import RatioBudget
from domain.budgets.window_ratio import WindowRatioBudget
from domain.experiment import Client, Experiment
from domain.hedging import Hedging

CAP_TIMEOUTS = 8.0
DEADLINE_TIMEOUTS = 2.0
HEDGE_TIMEOUTS = 0.5
ENDLESS_COPIES = 4
"""gRPC's example, for a client that has no number of attempts of its own."""


def _client(name: str, sentence: str, settings: Callable[[Client], dict[str, Any]]) -> Mitigation:
    def apply(experiment: Experiment) -> Experiment:
        return replace(experiment, client=replace(experiment.client, **settings(experiment.client)))

    return Mitigation(name, CLIENT, sentence, apply)


def _fixed(name: str, sentence: str, **settings: Any) -> Mitigation:
    return _client(name, sentence, lambda _client: settings)


def _hedging(client: Client) -> dict[str, Any]:
    copies = ENDLESS_COPIES if math.isinf(client.max_attempts) else max(2, int(client.max_attempts))
    return {"hedging": Hedging(copies=copies, delay_s=HEDGE_TIMEOUTS * client.timeout_s)}


CLIENT_SIDE = (
    _client(
        "exponential",
        "Backoff of T, 2T, 4T … up to 8T: those that failed together come back together.",
        lambda c: {"backoff": ExponentialBackoff(c.timeout_s, CAP_TIMEOUTS * c.timeout_s)},
    ),
    _client(
        "full-jitter",
        "Backoff between 0 and 2T, 4T … up to 8T at random (AWS).",
        lambda c: {"backoff": FullJitterBackoff(c.timeout_s, CAP_TIMEOUTS * c.timeout_s)},
    ),
    _fixed("budget-ratio", "Each first attempt earns a tenth of a retry; at most ten are saved up.",
           budget=RatioBudget(ratio=0.1)),
    _fixed("budget-window", "Retries at most 10% of all requests in the last 10 s (Google SRE).",
           budget=WindowRatioBudget(ratio=0.1, window_s=10.0)),
    _fixed("budget-aws", "500 tokens; a retry costs 10 after a timeout, else 5; a first success gives 1 "
           "(AWS SDKs, standard mode).", budget=AwsTokenBucket()),
    _fixed("budget-aws-2026", "The same with 14 for a retry, 5 if throttled (AWS SDKs from 2026).",
           budget=AwsTokenBucket(timeout_cost=14.0, error_cost=14.0, throttle_cost=5.0)),
    _fixed("budget-grpc", "Ten tokens: a failure takes 1, a success gives 0.1; retries above five (gRPC).",
           budget=GrpcThrottle()),
    _fixed("budget-finagle", "Each request earns 0.2 retries for 10 s, and 10 a second are free (Finagle, "
           "Linkerd).", budget=FinagleBudget()),
    _fixed("budget-envoy", "Retries under way at most 20% of attempts under way, or three (Envoy).",
           budget=EnvoyBudget()),
    _fixed("adaptive-throttle", "Calls are refused at random, the more the fewer succeed (Google SRE, K = 2, "
           "2 min).", breaker=AdaptiveThrottle()),
    _fixed("breaker", "Opens for 60 s once half of 100 calls failed; ten probes (resilience4j).",
           breaker=CircuitBreaker.resilience4j()),
    _fixed("breaker-polly", "Opens for 5 s once a tenth of at least 100 calls in 30 s failed; one probe "
           "(Polly).", breaker=CircuitBreaker.polly()),
    _client(
        "deadline",
        "A job has 2T in all, told to the service.",
        lambda c: {"deadline_s": DEADLINE_TIMEOUTS * c.timeout_s},
    ),
    _client("hedging", "Instead of retries: another copy every T/2 until one is answered.", _hedging),
)  # fmt: skip
"""One at a time, on a bare client."""
