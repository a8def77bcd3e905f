"""``client.backoff``: how long a client waits before a retry."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from domain.backoff import (
    DecorrelatedJitterBackoff,
    EnvoyBackoff,
    EqualJitterBackoff,
    ExponentialBackoff,
    FinagleJitterBackoff,
    FixedBackoff,
    FullJitterBackoff,
    GrpcBackoff,
    NoBackoff,
)
from tipover.scenario_tables.base import NotNegative, Positive, Table, stated

CAP_IN_TIMEOUTS = 8.0
"""Default ``cap_s`` of a growing backoff, in timeouts (seed 000 §3.2)."""


class _BackoffTable(Table):
    """A backoff, some of whose defaults are in timeouts of the client."""

    makes: ClassVar[type]

    def value(self, timeout_s: float) -> Any:  # noqa: ARG002
        """The rule for a client with this timeout."""
        return self.makes(**self.settings)


class NoBackoffTable(_BackoffTable):
    """Retry at once."""

    makes = NoBackoff
    kind: Literal["none"]


class FixedBackoffTable(_BackoffTable):
    """Wait ``fixed_s`` before each retry."""

    makes = FixedBackoff
    kind: Literal["fixed"]
    fixed_s: NotNegative | None = Field(default=None, description="seconds; default timeout_s / 2")

    def value(self, timeout_s: float) -> Any:
        """The rule; half a timeout by default."""
        return self.makes(timeout_s / 2 if self.fixed_s is None else self.fixed_s)


class GrowingBackoffTable(_BackoffTable):
    """What the growing backoffs share: where they start, and where they stop."""

    base_s: Positive | None = Field(default=None, description="seconds; default timeout_s")
    cap_s: Positive | None = Field(default=None, description="seconds; default 8 · timeout_s")

    def value(self, timeout_s: float) -> Any:
        """The rule; from a timeout to eight of them by default."""
        return self.makes(
            timeout_s if self.base_s is None else self.base_s,
            CAP_IN_TIMEOUTS * timeout_s if self.cap_s is None else self.cap_s,
        )


class ExponentialBackoffTable(GrowingBackoffTable):
    """Wait min(base_s · 2^(n−1), cap_s) after n failed attempts."""

    makes = ExponentialBackoff
    kind: Literal["exponential"]


class FullJitterBackoffTable(GrowingBackoffTable):
    """Wait U(0, min(base_s · 2^n, cap_s)) after n failed attempts."""

    makes = FullJitterBackoff
    kind: Literal["full-jitter"]


class EqualJitterBackoffTable(GrowingBackoffTable):
    """Wait half of min(base_s · 2^n, cap_s), and a random part of the other half."""

    makes = EqualJitterBackoff
    kind: Literal["equal-jitter"]


class DecorrelatedJitterBackoffTable(_BackoffTable):
    """Wait min(cap_s, U(base_s, 3 · the wait before))."""

    makes = DecorrelatedJitterBackoff
    kind: Literal["decorrelated-jitter"]
    base_s: Positive = stated(DecorrelatedJitterBackoff, "base_s", "seconds")
    cap_s: Positive = stated(DecorrelatedJitterBackoff, "cap_s", "seconds")


class FinagleJitterBackoffTable(GrowingBackoffTable):
    """Wait min(cap_s, U(the wait before, 3 · the wait before)), base_s at first."""

    makes = FinagleJitterBackoff
    kind: Literal["finagle-jitter"]


class GrpcBackoffTable(_BackoffTable):
    """Wait min(base_s · multiplier^(n−1), cap_s) · U(0.8, 1.2) after n failed attempts."""

    makes = GrpcBackoff
    kind: Literal["grpc"]
    base_s: Positive = Field(description="seconds (initialBackoff); gRPC has no default")
    cap_s: Positive = Field(description="seconds (maxBackoff); gRPC has no default")
    multiplier: Positive = Field(description="backoffMultiplier; gRPC has no default")


class EnvoyBackoffTable(_BackoffTable):
    """Wait min(cap_s, U(0, (2^n − 1) · base_s)) after n failed attempts."""

    makes = EnvoyBackoff
    kind: Literal["envoy"]
    base_s: Positive = stated(EnvoyBackoff, "base_s", "seconds (base_interval)")
    cap_s: Positive = stated(EnvoyBackoff, "cap_s", "seconds (max_interval)")


BackoffTable = Annotated[
    NoBackoffTable
    | FixedBackoffTable
    | ExponentialBackoffTable
    | FullJitterBackoffTable
    | EqualJitterBackoffTable
    | DecorrelatedJitterBackoffTable
    | FinagleJitterBackoffTable
    | GrpcBackoffTable
    | EnvoyBackoffTable,
    Field(discriminator="kind"),
]
