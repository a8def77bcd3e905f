"""How long a spike's retries go on, per client."""

from __future__ import annotations

import math

import pytest

from analysis.trigger.settling import settling_s
from domain.backoff import ExponentialBackoff, FixedBackoff, FullJitterBackoff
from domain.experiment import Client
from domain.hedging import Hedging


@pytest.mark.parametrize(
    ("client", "seconds"),
    [
        (Client(0.5, 1), 0.0),
        (Client(0.5, 3), 1.0),
        (Client(0.5, 3, FixedBackoff(0.2)), 1.4),
        (Client(0.5, 4, ExponentialBackoff(0.1, 0.3)), 3 * 0.5 + 0.1 + 0.2 + 0.3),
        (Client(0.5, 3, FullJitterBackoff(0.1, 10.0)), 2 * 0.5 + 0.2 + 0.4),
        (Client(0.5, 5, deadline_s=1.2), 1.2),
        (Client(0.5, math.inf), 2.5),
        (Client(0.5, 1, hedging=Hedging(3, 0.1)), 0.2),
    ],
)
def test_last_retry_of_the_spikes_last_job(client: Client, seconds: float) -> None:
    assert settling_s(client) == pytest.approx(seconds)
