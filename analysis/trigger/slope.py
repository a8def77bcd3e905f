"""Aρ from patient probes: how much work came in between two of them, over how many attempts were sent.

While a first-in first-out service is behind, a probe sent at s comes back at r(s), when all that was sent
before it has been done. So of two probes, the later one sent before the earlier one is back,

    r(s₂) − r(s₁) = the work of the attempts sent from s₁ to s₂ = N·b,

N of them with b seconds of the service each, whenever retries come: only the service's own randomness is left
as noise. b holds what a hidden layer adds (several works per attempt) or a shedding service saves. What the
client offers while every attempt fails is known, so Aρ = b · offered, without knowing the capacity.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from analysis.trigger.result import Interval
from analysis.trigger.sequence import Floats, Mean, mean_so_far
from domain.trigger.messages import ProbeLine

ANSWERED = ("ok", "late")
MOST_OVERTAKEN = 0.2
"""Share of probes overtaken by a later one from which on the service is not first in, first out."""
OVERTAKING = 0.25
"""Of the timeout: so much out of order, neighbours may come back from parallel workers behind one queue."""
LEAST_PROBES = 6
QUEUED = 0.5
"""A probe has queued if it waited for this share of a timeout."""
TUNED_TIMEOUTS = 6.0
"""The interval is tightest after the attempts of so many timeouts."""


@dataclass(frozen=True, slots=True)
class Slope:
    """What probes say of a failing queue.

    ``amplified_utilization``: Aρ of the client's own attempts; its interval holds at all times at once.
    ``with_probes``: the same and the probes' own work, which is what makes the present queue grow or drain.
    ``work_s``: seconds of the service per attempt sent. ``plain``: 1 + dW/ds by regression of the wait on the
    sending time, a cross-check; None below ``LEAST_PROBES``. ``attempts`` were sent between the ``probes``.
    """

    amplified_utilization: Interval
    with_probes: float
    work_s: Interval
    plain: float | None
    probes: int
    attempts: int
    last_sent_s: float
    last_wait_s: float

    def wait_s(self, now_s: float) -> float:
        """The wait of a probe sent now, if the queue goes on as it did; at least 0."""
        return max(0.0, self.last_wait_s + (self.with_probes - 1.0) * (now_s - self.last_sent_s))


def amplified_utilization(
    probes: Sequence[ProbeLine],
    offered_per_s: float,
    *,
    from_s: float,
    timeout_s: float,
    confidence: float,
    own_per_s: float = 0.0,
    probe_work_s: float | None = None,
    rejected_count: bool = False,
    plain_from_s: float | None = None,
) -> Slope | None:
    """Aρ from the ended probes that were sent from ``from_s`` on and queued; None if too few did, or if the
    service is not first in, first out (``out_of_order`` says so).

    ``offered_per_s``: attempts/s of the client while every one fails; ``own_per_s``: probes/s.
    ``probe_work_s``: work of a probe, if it is not an attempt's (it goes past a gateway that retries
    attempts). ``rejected_count``: whether a rejected attempt costs the service work (a gateway gave up on
    it); else it was turned away. A service that turns attempts away is still offered all of them.
    ``plain_from_s``: where the regression begins, after the spike's retries have gone.
    """
    sent = sorted((p for p in probes if p.sent_s >= from_s), key=lambda probe: probe.sent_s)
    known = [probe for probe in sent if returned(probe, timeout_s)]
    if out_of_order(sent, timeout_s) is not None:
        return None
    works, attempts = _increments(known, timeout_s, probe_work_s, rejected_count)
    offered = offered_per_s + own_per_s
    tuned_attempts = TUNED_TIMEOUTS * timeout_s * offered
    mean = mean_so_far(works, attempts, 1.0 - confidence, tuned_attempts) if offered > 0 else None
    if mean is None:
        return None
    work = _interval(mean)
    own = own_per_s * (mean.value if probe_work_s is None else probe_work_s)
    last = known[-1]
    begin = from_s if plain_from_s is None else plain_from_s
    return Slope(
        work.times(offered_per_s),
        mean.value * offered_per_s + own,
        work,
        plain_slope([probe for probe in known if probe.sent_s >= begin]),
        works.size + 1,
        int(mean.weight),
        last.sent_s,
        last.done_s - last.sent_s,
    )


def out_of_order(probes: Sequence[ProbeLine], timeout_s: float) -> str | None:
    """Why these ended probes are not those of a first-in first-out service; None if they may be.

    A probe is overtaken if the next one came back long before it, or if its number is missing: it is still
    out.
    """
    known = sorted((p for p in probes if returned(p, timeout_s)), key=lambda probe: probe.sent_s)
    if len(known) < LEAST_PROBES:
        return None
    done = np.array([probe.done_s for probe in known])
    ended = {probe.number for probe in probes}
    span = range(known[0].number, max(probe.number for probe in known))
    missing = sum(number not in ended for number in span)
    overtaken = int((np.diff(done) < -OVERTAKING * timeout_s).sum()) + missing
    share = overtaken / (len(known) - 1 + missing)
    if share <= MOST_OVERTAKEN:
        return None
    return (
        f"{share:.0%} of the patient probes were overtaken by later ones: the service is not first in, first "
        "out, so their waits do not measure its queue."
    )


def returned(probe: ProbeLine, timeout_s: float) -> bool:
    """Whether its end tells when its turn had come: an answer of the service, or a no after a real wait."""
    if probe.outcome in ANSWERED:
        return True
    return probe.outcome == "rejected" and probe.status < 500 and probe.done_s - probe.sent_s > timeout_s


def plain_slope(probes: Sequence[ProbeLine]) -> float | None:
    """1 + dW/ds, by least squares of the wait on the sending time; None below ``LEAST_PROBES``."""
    if len(probes) < LEAST_PROBES:
        return None
    sent = np.array([probe.sent_s for probe in probes])
    wait = np.array([probe.done_s for probe in probes]) - sent
    spread = sent - sent.mean()
    squares = float((spread * spread).sum())
    return 1.0 + float((spread * wait).sum()) / squares if squares > 0 else None


def _increments(
    known: Sequence[ProbeLine], timeout_s: float, probe_work_s: float | None, rejected_count: bool
) -> tuple[Floats, Floats]:
    """Work and number of attempts between probes next to each other, the service being busy all the while."""
    if len(known) < 2:
        return np.zeros(0), np.zeros(0)
    sent = np.array([probe.sent_s for probe in known])
    done = np.array([probe.done_s for probe in known])
    rejected = np.array([0 if rejected_count else probe.rejected_before for probe in known])
    attempts = np.diff(np.array([probe.attempts_before for probe in known]) - rejected).astype(np.float64)
    works = np.diff(done)
    if probe_work_s is not None:
        own = np.diff(np.array([probe.number for probe in known]))
        attempts, works = attempts - own, works - own * probe_work_s
    # The earlier probe alone decides, so that what is summed does not depend on what it is.
    queued = (done[:-1] - sent[:-1] >= QUEUED * timeout_s) & (sent[1:] < done[:-1]) & (attempts > 0)
    return works[queued], attempts[queued]


def _interval(mean: Mean) -> Interval:
    return Interval(mean.value, max(0.0, mean.low), mean.high)
