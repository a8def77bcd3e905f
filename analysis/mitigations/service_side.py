"""What a service can do: let less in, serve another order, throw away what nobody waits for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from analysis.mitigations.mitigation import SERVICE, Mitigation
from domain.codel import CoDel
from domain.experiment import Experiment
from domain.limits.aimd import AimdLimit
from domain.limits.envoy_gradient import EnvoyGradientLimit
from domain.limits.gradient2 import Gradient2Limit
from domain.limits.vegas import VegasLimit

CAP_TIMEOUTS = 0.5
"""A queue that holds so much of a timeout's work leaves the rest of it for retries and for chance."""
LEAST_TIMEOUTS = 0.1
CODEL_TARGET, CODEL_INTERVAL = 0.05, 1.0
"""In timeouts: the deployed 5 ms and 100 ms for a timeout of 100 ms."""


def places(experiment: Experiment) -> int:
    """Places of a queue that holds half a timeout's work: T·C/2 in seconds of the wall clock, at least 1.

    Counts are not scaled by the speed-up, so neither is this.
    """
    live = experiment.live()
    assert live.service is not None
    return max(1, int(CAP_TIMEOUTS * live.client.timeout_s * live.service.capacity_per_s))


def _service(name: str, sentence: str, settings: Callable[[Experiment], dict[str, Any]]) -> Mitigation:
    def apply(experiment: Experiment) -> Experiment:
        service = experiment.service
        if service is None:
            raise ValueError(f"{name}: needs a service (the experiment has none)")
        admission = replace(service.admission, **settings(experiment))
        return replace(experiment, service=replace(service, admission=admission))

    return Mitigation(name, SERVICE, sentence, apply)


def _fixed(name: str, sentence: str, **settings: Any) -> Mitigation:
    return _service(name, sentence, lambda _experiment: settings)


def _codel(experiment: Experiment) -> dict[str, Any]:
    timeout_s = experiment.client.timeout_s
    return {"codel": CoDel(CODEL_TARGET * timeout_s, CODEL_INTERVAL * timeout_s)}


SERVICE_SIDE = (
    _service("queue-cap", "At most as many wait as are served in T/2; others are rejected at once.",
             lambda e: {"queue_cap": places(e)}),
    _fixed("drop-expired", "What is past its deadline when its turn comes is dropped.", drop_expired=True),
    _service("drop-nearly-expired", "What has less than T/10 left when its turn comes is dropped.",
             lambda e: {"drop_expired": True, "least_s": LEAST_TIMEOUTS * e.client.timeout_s}),
    _fixed("cancel-on-disconnect", "What waits is dropped when its client hangs up.",
           cancel_on_disconnect=True),
    _fixed("lifo", "Newest first, always.", discipline="lifo"),
    _fixed("adaptive-lifo", "Newest first while more wait than there are pods (Facebook).",
           discipline="adaptive-lifo"),
    _service("codel", "While even the shortest wait of an interval of T exceeds T/20, what waited twice that "
             "is dropped (Facebook's CoDel, sized to T).", _codel),
    _service("cap+first-before-retry", "The capped queue; when it is full, a first attempt takes the place "
             "of the newest retry.", lambda e: {"queue_cap": places(e), "first_before_retry": True}),
    _service("limit-aimd", "At most L in the system: a tenth less when one takes over T/2, else one more "
             "(Netflix).", lambda e: {"limit": AimdLimit(timeout_s=CAP_TIMEOUTS * e.client.timeout_s)}),
    _fixed("limit-vegas", "L by the queue that the shortest sojourn lets suspect (Netflix).",
           limit=VegasLimit()),
    _fixed("limit-gradient2", "L by the long-run mean sojourn over the latest (Netflix).",
           limit=Gradient2Limit()),
    _fixed("limit-envoy", "L by the least sojourn over the median, measured anew every minute (Envoy).",
           limit=EnvoyGradientLimit()),
)  # fmt: skip
"""One at a time, on a bare service."""
