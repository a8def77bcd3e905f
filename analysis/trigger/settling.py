"""How long after a spike its own retries still arrive."""

from __future__ import annotations

import math

from domain.experiment import Client

ENDLESS_TIMEOUTS = 5.0
"""An endless client's retries never go: after so many timeouts their rate is taken as it is."""


def settling_s(client: Client) -> float:
    """Seconds from the end of the spike until the last retry of one of its jobs is sent: (m − 1)(T + longest
    backoff), each backoff by its own bound; hedged copies (c − 1)·delay; never past the job's deadline.

    ``ENDLESS_TIMEOUTS`` timeouts for an endless client. Retry-After of somebody else's service is not known.
    """
    if client.hedging is not None:
        return min((client.hedging.copies - 1) * client.hedging.delay_s, client.deadline_s)
    if math.isinf(client.max_attempts):
        return min(ENDLESS_TIMEOUTS * client.timeout_s, client.deadline_s)
    retries = int(client.max_attempts) - 1
    backoffs = sum(client.backoff.bounds_s(failed)[1] for failed in range(1, retries + 1))
    return min(retries * client.timeout_s + backoffs, client.deadline_s)
