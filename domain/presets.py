"""Clients as they are deployed: the retry settings of SDKs, proxies and libraries under their own names.

A preset sets everything of a client but its timeout: none of these has an attempt timeout that fits all.
Counts are of attempts, the first included, whatever the source counts. What a source retries, and this
harness cannot tell apart, is said in the note.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Any

from domain.backoff import (
    Backoff,
    EnvoyBackoff,
    FinagleJitterBackoff,
    FixedBackoff,
    FullJitterBackoff,
    GrpcBackoff,
    NoBackoff,
)
from domain.breakers.circuit_breaker import CircuitBreaker
from domain.breakers.decide import Breaker
from domain.breakers.none import NoBreaker
from domain.budgets.aws import AwsTokenBucket
from domain.budgets.decide import RetryBudget
from domain.budgets.envoy import EnvoyBudget
from domain.budgets.finagle import FinagleBudget
from domain.budgets.grpc import GrpcThrottle
from domain.budgets.none import NoBudget
from domain.budgets.window_ratio import WindowRatioBudget
from domain.deadlines import Propagation
from domain.retry import OnRefusal


@dataclass(frozen=True, slots=True)
class Preset:
    """What a deployed client does by default; ``source`` is where that stands, ``note`` what to know."""

    name: str
    source: str
    note: str
    max_attempts: float
    backoff: Backoff = field(default_factory=NoBackoff)
    budget: RetryBudget = field(default_factory=NoBudget)
    breaker: Breaker = field(default_factory=NoBreaker)
    propagate: Propagation = "x-deadline"
    on_refusal: OnRefusal = "give-up"

    @property
    def settings(self) -> Mapping[str, Any]:
        """The fields of ``Client`` it sets, its name included."""
        return {
            "preset": self.name,
            "max_attempts": self.max_attempts,
            "backoff": self.backoff,
            "budget": self.budget,
            "breaker": self.breaker,
            "propagate": self.propagate,
            "on_refusal": self.on_refusal,
        }


_ALL = (
    Preset(
        "aws-standard",
        "botocore retries/standard.py and quota.py, standard mode before November 2026",
        "Timeouts, connection errors, 500, 502, 503, 504 and throttling are retried. The budget is one "
        "client's: set clients to as many as there are.",
        max_attempts=3,
        # u · min(2^(n−1), 20) s after n failures: half a second doubled n times.
        backoff=FullJitterBackoff(base_s=0.5, cap_s=20.0),
        budget=AwsTokenBucket(capacity=500, timeout_cost=10, error_cost=5, throttle_cost=5),
    ),
    Preset(
        "aws-2026",
        "botocore retries/standard.py, version 2.1 of the standard mode (AWS_NEW_RETRIES_2026, the default "
        "from November 2026)",
        "Twenty times quicker to retry than before, and a retry costs 14 tokens instead of 5 or 10. Not "
        "modelled: a base of 1 s after throttling, x-amz-retry-after (at most 5 s more), 4 attempts and 25 "
        "ms for DynamoDB.",
        max_attempts=3,
        # u · min(0.05 · 2^(n−1), 20) s after n failures.
        backoff=FullJitterBackoff(base_s=0.025, cap_s=20.0),
        budget=AwsTokenBucket(capacity=500, timeout_cost=14, error_cost=14, throttle_cost=5),
    ),
    Preset(
        "grpc",
        "gRFC A6 client-retries.md: the example policy, and its retryThrottling of 10 tokens and ratio 0.1",
        "gRPC has no default: without a retryPolicy nothing is retried. It knows no timeout of an attempt "
        "either, only the deadline of the call, and what exceeds that is not retried: set deadline_s. "
        "Server pushback is not modelled.",
        max_attempts=4,
        backoff=GrpcBackoff(base_s=0.1, cap_s=1.0, multiplier=2.0),
        budget=GrpcThrottle(max_tokens=10, token_ratio=0.1),
        propagate="grpc-timeout",
    ),
    Preset(
        "finagle",
        "Finagle MethodBuilderRetry.scala (2 retries), RetryPolicy.tries (5 to 200 ms), RetryBudget.scala",
        "MethodBuilder's retries, for which a classifier or idempotent must be set; a plain client requeues "
        "only what was never written, at once. A cold budget holds 100 retries.",
        max_attempts=3,
        backoff=FinagleJitterBackoff(base_s=0.005, cap_s=0.2),
        budget=FinagleBudget(percent=0.2, min_retries_per_s=10, ttl_s=10),
    ),
    Preset(
        "linkerd",
        "linkerd.io, Retries and Timeouts: isRetryable and the default retryBudget of a ServiceProfile",
        "No attempt cap: a failed request is retried at once until the budget or the route's timeout (10 s, "
        "with all retries) is spent: set deadline_s. Annotations (Linkerd 2.16) allow one retry, and no "
        "budget.",
        max_attempts=inf,
        budget=FinagleBudget(percent=0.2, min_retries_per_s=10, ttl_s=10),
    ),
    Preset(
        "envoy",
        "Envoy router_filter.rst (1 retry, 25 ms, at most 250 ms) and circuit_breaker.proto (max_retries 3)",
        "Nothing is retried without retry_on; a timeout counts only with per_try_timeout and 5xx or reset. "
        "max_retries is how many retries may be under way at once: 3 of one proxy's, whatever the traffic. "
        "The route's timeout includes retries: set deadline_s (15 s by default).",
        max_attempts=2,
        backoff=EnvoyBackoff(base_s=0.025, cap_s=0.25),
        budget=EnvoyBudget(percent=0.0, min_concurrent=3),
    ),
    Preset(
        "istio",
        "Istio pilot retry.go (2 retries) and cluster_traffic_policy.go (max_retries without bound)",
        "By default Istio retries connection failures, refused streams and 503, but not timeouts, which "
        "this preset does: it is what a retryOn with 5xx or reset and a perTryTimeout make of it. Envoy's "
        "bound of 3 retries under way is lifted.",
        max_attempts=3,
        backoff=EnvoyBackoff(base_s=0.025, cap_s=0.25),
    ),
    Preset(
        "polly",
        "Polly RetryConstants.cs (3 retries, 2 s, no jitter) and CircuitBreakerConstants.cs",
        "Retry around a circuit breaker, each with its defaults: what the open breaker refuses is retried "
        "too. Timeouts are retried when a timeout strategy is inside.",
        max_attempts=4,
        backoff=FixedBackoff(2.0),
        breaker=CircuitBreaker.polly(),
        on_refusal="retry",
    ),
    Preset(
        "resilience4j",
        "resilience4j RetryConfig.java (3 attempts, 500 ms) and CircuitBreakerConfig.java",
        "Retry around a circuit breaker, as its annotations nest them, each with its defaults: every "
        "exception is retried, also what the open breaker refuses.",
        max_attempts=3,
        backoff=FixedBackoff(0.5),
        breaker=CircuitBreaker.resilience4j(),
        on_refusal="retry",
    ),
    Preset(
        "sre-10-percent",
        "Site Reliability Engineering (Google, 2016), chapter 21: 3 attempts a request, 10% retries a client",
        "The window is not stated; 10 s here. No backoff, so that the budget is all that protects; the book "
        "asks for one.",
        max_attempts=3,
        budget=WindowRatioBudget(ratio=0.1, window_s=10.0),
    ),
    Preset(
        "naive-3",
        "nobody's default: a loop around a call",
        "Three attempts, one after the other, whatever happens: what the others are measured against.",
        max_attempts=3,
    ),
)

PRESETS: Mapping[str, Preset] = {preset.name: preset for preset in _ALL}
"""Every preset by its name."""
