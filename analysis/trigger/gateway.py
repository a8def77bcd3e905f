"""Are the probes' waits those of the service, or those of a gateway that answers in its stead?

A gateway that gives up on the service after a timeout of its own answers every probe after the same wait,
whatever the queue behind it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from analysis.trigger.slope import ANSWERED
from analysis.wording import seconds
from domain.trigger.messages import ProbeLine

LOOKED_AT = 9
"""So many of the last probes are looked at."""
LEAST_FAILED = 6
WIDEST = 0.1
"""Widest robust spread of waits that are one value, as a share of their median."""
LEAST_WAIT = 0.2
"""Of the timeout: what fails sooner than that was turned away at once, which hides no queue."""
GATEWAY_STATUSES = {
    502: "Bad Gateway",
    503: "Service Unavailable",
    504: "Gateway Timeout",
    408: "Request Timeout",
}


def hides_the_queue(probes: Sequence[ProbeLine], timeout_s: float) -> str | None:
    """Who answered the last of these ended probes instead of the service, in a sentence; None if nobody did.

    For a service that is failing. Probes that are answered, however late, are the service's.
    """
    last = sorted(probes, key=lambda probe: probe.done_s)[-LOOKED_AT:]
    failed = [probe for probe in last if probe.outcome not in ANSWERED]
    if len(failed) < LEAST_FAILED:
        return None
    waits = np.array([probe.done_s - probe.sent_s for probe in failed])
    quarter, median, three_quarters = np.quantile(waits, [0.25, 0.5, 0.75])
    if median < LEAST_WAIT * timeout_s or three_quarters - quarter > WIDEST * median:
        return None
    wait = seconds(float(median))
    outcome, status, server = Counter((p.outcome, p.status, p.server) for p in failed).most_common(1)[0][0]
    if outcome == "timeout":
        return (
            f"{len(failed)} of the last {len(last)} patient probes got no answer in all their patience of "
            f"{wait}, so the queue is at least that long and its growth is not seen."
        )
    ended = f"with status {status}" if status else "by an error of the connection"
    known = f" ({GATEWAY_STATUSES[status]})" if status in GATEWAY_STATUSES else ""
    by = f", Server: {server}" if server else ""
    return (
        f"{len(failed)} of the last {len(last)} patient probes ended {ended}{known}{by}, all after about "
        f"{wait}: that is a gateway's own timeout, which hides the queue behind it."
    )
