"""What the failing attempts have in common: did the service work before the trigger, and is it a queue?

A queue that outlasts the timeout shows as timeouts and late answers. Rejections and broken connections
have another cause: a wrong path, missing credentials, a crashed process, admission control.
"""

from __future__ import annotations

import numpy as np

from analysis.estimators import Findings
from analysis.trace import OUTCOMES, Attempts, Mask
from domain.attempts import Outcome

WORKED_RATIO = 0.9
"""Share of the jobs before the trigger that a service must answer in time to count as working then."""
OTHER_CAUSE_SHARE = 0.9
"""Share of failures that are errors or rejections, above which the mechanism is not a queue."""
NO_QUEUE = (Outcome.ERROR, Outcome.REJECTED)


def not_working_before(attempts: Attempts, findings: Findings) -> str | None:
    """One sentence if the service was failing before its trigger; None if it worked or nothing tells.

    Judged are the jobs due up to a timeout before the trigger (half-way to it, if that is later): what is
    sent right before a capacity cut is hit by it.
    """
    trigger = findings.live.trigger
    if trigger is None or trigger[0] <= 0:
        return None
    until = max(trigger[0] - findings.live.client.timeout_s, trigger[0] / 2)
    jobs = attempts.job_planned_s <= until
    if not jobs.any():
        return "Nothing was seen of the service before the trigger, so whether it worked then is not known."
    answered, due = int((jobs & attempts.job_answered).sum()), int(jobs.sum())
    failing_early = any(episode.start_s <= until for episode in findings.episodes)
    if not failing_early and answered >= WORKED_RATIO * due:
        return None
    sent = attempts.sent & (attempts.sent_s <= until)
    return (
        f"The service did not work before the trigger: {answered:,} of {due:,} jobs were answered in time"
        f"{_ended(attempts, sent)}. What the trigger did cannot be told."
    )


def other_cause(attempts: Attempts, start_s: float, end_s: float) -> str | None:
    """One sentence if more than 90% of the failures in the window are errors, rejections or jobs whose first
    attempt the client itself refused."""
    inside = (attempts.sent_s >= start_s) & (attempts.sent_s <= end_s)
    failed, refused = inside & attempts.failing, inside & attempts.first & ~attempts.sent
    other = failed & np.isin(attempts.outcome, [OUTCOMES.index(outcome.value) for outcome in NO_QUEUE])
    unsent, failures = int(refused.sum()), int(failed.sum() + refused.sum())
    if int(other.sum()) + unsent <= OTHER_CAUSE_SHARE * failures:
        return None
    if unsent > int(other.sum()):
        return (
            f"{unsent / failures:.0%} of the failures are jobs that the client's own breaker refused. What "
            "was not sent says nothing of the service."
        )
    return (
        f"{other.sum() / failed.sum():.0%} of the failures are no timeouts{_ended(attempts, failed)}. "
        "That is another mechanism than a queue that outlasts the timeout."
    )


def _ended(attempts: Attempts, chosen: Mask) -> str:
    """How most of the failures among the chosen attempts ended: "; every attempt …", or nothing."""
    failed = chosen & attempts.failing
    if not failed.any():
        return ""
    pairs = np.stack([attempts.outcome[failed], attempts.status[failed]], axis=1)
    kinds, counts = np.unique(pairs, axis=0, return_counts=True)
    code, status = kinds[counts.argmax()]
    share = float(counts.max()) / float(chosen.sum())
    if share == 1.0:
        return f"; every attempt {_how(OUTCOMES[code], int(status), 'was')}"
    return f"; {share:.1%} of the attempts {_how(OUTCOMES[code], int(status), 'were')}"


def _how(outcome: str, status: int, was: str) -> str:
    with_status = f" with status {status}" if status else ""
    return {
        Outcome.REJECTED.value: f"{was} rejected{with_status}",
        Outcome.ERROR.value: f"ended in a connection error{with_status}",
        Outcome.LATE.value: f"{was} answered late{with_status}",
    }.get(outcome, "timed out")
