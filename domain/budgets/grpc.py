"""gRPC's retry throttle: a failed attempt takes a token, a success gives a little; retries need over half.

The failure has been debited before the test, so a full bucket of ten refuses at the fifth failure on end. A
retry itself costs nothing. Tokens are kept in thousandths, as gRPC's own core does: their sums are exact, and
further decimals of the ratio are ignored. Source: gRPC proposal A6; grpc-go ``clientconn.go``, ``stream.go``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

from domain.budgets.codes import GRPC, REFUSED, ROUNDING
from domain.rule import Numbers, State, padded

_UNIT = 1000.0
_MAX, _GAIN = 0, 1
_TOKENS = 0


@dataclass(frozen=True, slots=True)
class GrpcThrottle:
    """Retries go while more than half of ``max_tokens`` are left; a success gives ``token_ratio`` of one."""

    max_tokens: float = 10.0
    token_ratio: float = 0.1
    kind = "grpc-throttle"
    code = GRPC
    state_size = 1

    def __post_init__(self) -> None:
        if not 0.0 < self.max_tokens <= 1000.0:
            raise ValueError(f"max_tokens: must be above 0 and at most 1000 (got {self.max_tokens!r})")
        if not 1.0 / _UNIT <= self.token_ratio < math.inf:
            raise ValueError(f"token_ratio: must be finite and at least 0.001 (got {self.token_ratio!r})")

    @property
    def parameters(self) -> tuple[float, ...]:
        """The most tokens, and those that a success gives, in thousandths."""
        return padded(self.max_tokens * _UNIT, float(math.floor(self.token_ratio * _UNIT + ROUNDING)))

    def scaled(self, factor: float) -> Self:  # noqa: ARG002
        """Itself: it knows no time."""
        return self


def begin(p: Numbers, s: State) -> None:
    """The bucket is full."""
    s[_TOKENS] = p[_MAX]


def price(p: Numbers, s: State) -> float:
    """Nothing, if more than half of the tokens are left."""
    return 0.0 if s[_TOKENS] > p[_MAX] / 2.0 else REFUSED


def note_ended(p: Numbers, s: State, succeeded: bool) -> None:
    """A failure takes a token, a success gives some; the bucket stays between empty and full."""
    if succeeded:
        s[_TOKENS] = min(s[_TOKENS] + p[_GAIN], p[_MAX])
    else:
        s[_TOKENS] = max(s[_TOKENS] - _UNIT, 0.0)
