"""What chance decides in the service: how much work an attempt is, whether its answer is an error,
and which pod it is sent to."""

from __future__ import annotations

from collections.abc import Iterator

from domain.service_time import ServiceTime
from domain.streams import stream


def demands(seed: int, service_time: ServiceTime | None = None) -> Iterator[float]:
    """Service demands of mean 1, exponential unless told, one per admission in order, endlessly."""
    rng = stream(seed, "service")
    service_time = service_time or ServiceTime()
    while True:
        yield service_time.draw(rng)


def error_draws(seed: int) -> Iterator[float]:
    """Uniform draws, one per admission in order, endlessly: below the error rate, the answer is an error."""
    rng = stream(seed, "errors")
    while True:
        yield rng.random()


def routing_draws(seed: int) -> Iterator[float]:
    """Uniform draws, one per arrival that chance sends to a pod, in order, endlessly."""
    rng = stream(seed, "routing")
    while True:
        yield rng.random()
