"""``client.budget``: whether a retry may be sent; ``client.breaker``: whether any call may."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from domain.breakers.adaptive_throttle import AdaptiveThrottle
from domain.breakers.circuit_breaker import MOST_CALLS, CircuitBreaker
from domain.breakers.none import NoBreaker
from domain.budgets.aws import AwsTokenBucket
from domain.budgets.envoy import EnvoyBudget
from domain.budgets.finagle import FinagleBudget
from domain.budgets.grpc import GrpcThrottle
from domain.budgets.none import NoBudget
from domain.budgets.ratio import RatioBudget
from domain.budgets.window_ratio import WindowRatioBudget
from tipover.scenario_tables.base import (
    AtLeastOne,
    Count,
    NotNegative,
    PartShare,
    Positive,
    RuleTable,
    Several,
    Share,
    stated,
)


class NoBudgetTable(RuleTable):
    """Every retry may go."""

    makes = NoBudget
    kind: Literal["none"]


class RatioBudgetTable(RuleTable):
    """Each first attempt earns ``ratio`` of a retry, up to a reserve."""

    makes = RatioBudget
    kind: Literal["ratio"]
    ratio: Share = stated(RatioBudget, "ratio", "retries earned by a first attempt")
    reserve: AtLeastOne = stated(RatioBudget, "reserve", "retries that can be saved up")


class WindowRatioBudgetTable(RuleTable):
    """Retries are at most ``ratio`` of the requests in a sliding window (Google SRE)."""

    makes = WindowRatioBudget
    kind: Literal["window-ratio"]
    ratio: Share = stated(
        WindowRatioBudget, "ratio", "retries over requests, retries included, in the window"
    )
    window_s: Positive = stated(WindowRatioBudget, "window_s", "seconds")


class AwsTokenBucketTable(RuleTable):
    """A bucket of tokens that retries pay from and successes pay into (AWS SDKs, standard mode)."""

    makes = AwsTokenBucket
    kind: Literal["aws-token-bucket"]
    capacity: AtLeastOne = stated(AwsTokenBucket, "capacity", "tokens, also at the start")
    timeout_cost: NotNegative = stated(AwsTokenBucket, "timeout_cost", "tokens a retry of a timeout costs")
    error_cost: NotNegative = stated(AwsTokenBucket, "error_cost", "tokens a retry of an error costs")
    throttle_cost: NotNegative = stated(
        AwsTokenBucket, "throttle_cost", "tokens a retry of a 429 or 503 costs"
    )


class GrpcThrottleTable(RuleTable):
    """Retries stop while more than half of the tokens are gone (gRPC retryThrottling)."""

    makes = GrpcThrottle
    kind: Literal["grpc-throttle"]
    max_tokens: Annotated[float, Field(gt=0, le=1000)] = stated(
        GrpcThrottle, "max_tokens", "tokens, also at the start (maxTokens)"
    )
    token_ratio: Positive = stated(GrpcThrottle, "token_ratio", "tokens a success brings (tokenRatio)")


class FinagleBudgetTable(RuleTable):
    """Each request pays for ``percent`` of a retry, on top of a steady allowance (Finagle, Linkerd)."""

    makes = FinagleBudget
    kind: Literal["finagle"]
    percent: Share = stated(FinagleBudget, "percent", "retries a request pays for: a fraction, 0.2 for 20%")
    min_retries_per_s: NotNegative = stated(FinagleBudget, "min_retries_per_s", "retries/s that are free")
    ttl_s: Annotated[float, Field(ge=1, le=60)] = stated(
        FinagleBudget, "ttl_s", "seconds a request's payment lasts"
    )


class EnvoyBudgetTable(RuleTable):
    """Retries under way are at most ``percent`` of all requests under way (Envoy retry_budget)."""

    makes = EnvoyBudget
    kind: Literal["envoy"]
    percent: Share = stated(EnvoyBudget, "percent", "retries over requests: a fraction, 0.2 for 20%")
    min_concurrent: Count = stated(EnvoyBudget, "min_concurrent", "retries under way that are always allowed")


BudgetTable = Annotated[
    NoBudgetTable
    | RatioBudgetTable
    | WindowRatioBudgetTable
    | AwsTokenBucketTable
    | GrpcThrottleTable
    | FinagleBudgetTable
    | EnvoyBudgetTable,
    Field(discriminator="kind"),
]


class NoBreakerTable(RuleTable):
    """Every call may go."""

    makes = NoBreaker
    kind: Literal["none"]


class AdaptiveThrottleTable(RuleTable):
    """Calls are refused with chance max(0, (requests − k·accepts)/(requests + 1)) (Google SRE)."""

    makes = AdaptiveThrottle
    kind: Literal["adaptive-throttle"]
    k: AtLeastOne = stated(AdaptiveThrottle, "k", "requests allowed for each that is accepted")
    window_s: Positive = stated(AdaptiveThrottle, "window_s", "seconds that are counted")


class CircuitBreakerTable(RuleTable):
    """Calls are refused for ``open_s`` when too many have failed; then a few probes decide."""

    makes = CircuitBreaker
    kind: Literal["circuit-breaker"]
    failure_ratio: PartShare = stated(CircuitBreaker, "failure_ratio", "failures over calls that open it")
    window_calls: Annotated[int, Field(ge=1, le=MOST_CALLS)] = stated(
        CircuitBreaker, "window_calls", "calls that are counted, when window_s is 0"
    )
    window_s: NotNegative = stated(CircuitBreaker, "window_s", "seconds that are counted; 0: window_calls")
    min_calls: Several = stated(CircuitBreaker, "min_calls", "calls needed before it may open")
    open_s: Positive = stated(CircuitBreaker, "open_s", "seconds it stays open")
    probes: Several = stated(CircuitBreaker, "probes", "calls let through after that, to decide")
    half_open_s: NotNegative = stated(
        CircuitBreaker, "half_open_s", "seconds the probes have to decide; 0: as long as it takes"
    )


BreakerTable = Annotated[
    NoBreakerTable | AdaptiveThrottleTable | CircuitBreakerTable, Field(discriminator="kind")
]
