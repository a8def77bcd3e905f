"""The outcome of a run, with the sentences that bear it out.

``healthy``: no episode of failure, and at least 90% answered in time at the end. ``recovered``: the last
episode ended, and stayed ended, within the watch. ``trapped``: still failing at the end of the watch, and
its drift (``analysis.drift``) is positive at 95% confidence. A foreign service shows no backlog: there,
failing for the whole of a watch of at least 10 timeouts, by timeouts. ``undecided``: anything else: a
failure that drains, one whose drift cannot be told from 0, a service that failed before its trigger.
"""

from __future__ import annotations

from typing import Literal

import pandas as pd

from analysis.causes import not_working_before, other_cause
from analysis.drift import SLOPE_TIMEOUTS, drift_of
from analysis.episodes import Window, last_failure_s
from analysis.estimators import Findings
from analysis.fleets.rest import at_rest
from analysis.result import Measurement, Outcome
from analysis.trace import Attempts
from domain.experiment import Experiment

AfterShed = Literal["recovered", "trapped", "undecided"]
FOREIGN_TIMEOUTS = 10.0
WATCHED_TIMEOUTS = 2.0
WELL_GOODPUT = 0.9
"""A service that never fails for good, but answers fewer jobs than this in time, is not healthy either."""


def judge(
    attempts: Attempts, server: pd.DataFrame, experiment: Experiment, findings: Findings
) -> Measurement:
    """The measured outcome, its evidence, and what shedding did."""
    scale = experiment.run.speedup
    broken = not_working_before(attempts, findings)
    if broken is not None:
        # Nothing that comes later can be laid to the trigger, nor to the shedding.
        after: AfterShed | None = None if findings.live.shed is None else "undecided"
        evidence = [*_cut_short(findings, scale), broken]
        return Measurement("undecided", findings.values, tuple(evidence), after)
    outcome, evidence = _outcome(attempts, server, findings, scale)
    after_shed, said = _after_shed(attempts, server, findings, scale)
    return Measurement(outcome, findings.values, (*evidence, *said), after_shed)


def _outcome(
    attempts: Attempts, server: pd.DataFrame, findings: Findings, scale: float
) -> tuple[Outcome, list[str]]:
    watch, episodes = findings.watch, findings.episodes
    evidence = _cut_short(findings, scale)
    if watch.end_s - watch.start_s < WATCHED_TIMEOUTS * watch.timeout_s:
        return "undecided", [*evidence, "Less than two timeouts of the watch were seen: nothing to judge."]
    if not episodes:
        well = (findings.values["goodput_ratio"] or 0.0) >= WELL_GOODPUT
        return ("healthy" if well else "undecided"), [*evidence, _never_failed(attempts)]
    for episode in episodes:
        until = f"to {episode.end_s * scale:,.0f} s"
        ended = until if episode.recovered else f"{until}, where what can be judged of the watch ends"
        evidence.append(f"Failing from {episode.start_s * scale:,.0f} s {ended}.")
    if not findings.failing_at_end:
        took = findings.values["recovery_s"] or 0.0
        since = "the trigger ended" if findings.live.step_s is None else "demand stepped up"
        evidence.append(f"The last failing attempt was sent {took:,.0f} s after {since}.")
        return "recovered", evidence
    outcome, said = _still_failing(attempts, server, findings, scale)
    return outcome, [*evidence, *said]


def _still_failing(
    attempts: Attempts, server: pd.DataFrame, findings: Findings, scale: float
) -> tuple[Outcome, list[str]]:
    """Trapped only on evidence: a backlog that grows, or for a foreign service a long row of timeouts."""
    begin, end = max(findings.watch.start_s, findings.episodes[-1].start_s), findings.watch.end_s
    cause = other_cause(attempts, begin, end)
    causes = [] if cause is None else [cause]
    rest = at_rest(server, findings.live, begin, end)
    pods = [] if rest is None else [rest.sentence(scale)]
    if rest is not None and rest.grows:
        return "undecided", [*pods, *causes]
    drift = drift_of(attempts, server, findings, begin, end)
    if drift.known:
        outcome: Outcome = "trapped" if drift.direction == "grows" else "undecided"
        return outcome, [*pods, *drift.sentences(scale), *causes]
    outcome, why = _foreign(findings, scale)
    return ("undecided" if causes else outcome), [*pods, why, *causes]


def _cut_short(findings: Findings, scale: float) -> list[str]:
    planned = findings.live.duration_s
    if findings.trace_end_s >= planned - 2 * findings.watch.timeout_s:
        return []
    return [f"The trace ends at {findings.trace_end_s * scale:,.0f} s of {planned * scale:,.0f} s."]


def _never_failed(attempts: Attempts) -> str:
    jobs, answered = attempts.job_answered.size, int(attempts.job_answered.sum())
    failed = int(attempts.job_failed.sum())
    if not failed:
        return f"Not one attempt failed; {answered:,} of {jobs:,} jobs were answered in time."
    return (
        f"At no time did half of the jobs fail for a timeout or longer; {failed:,} attempts failed, "
        f"and {answered:,} of {jobs:,} jobs were answered in time."
    )


def _foreign(findings: Findings, scale: float) -> tuple[Outcome, str]:
    """Without the server's state only the length of the failure speaks."""
    watch, episode = findings.watch, findings.episodes[-1]
    length = watch.end_s - watch.start_s
    whole = episode.start_s <= watch.start_s + watch.timeout_s
    unseen = "whether its backlog drains could not be checked, because its state is not known"
    if whole and length >= FOREIGN_TIMEOUTS * watch.timeout_s * (1 - 1e-9):
        return "trapped", (
            f"The service failed for the whole {length * scale:,.0f} s of the watch "
            f"({length / watch.timeout_s:.0f} timeouts); {unseen}."
        )
    return "undecided", (
        f"The service still failed when the watch ended, but not for all of a watch of "
        f"{FOREIGN_TIMEOUTS:g} timeouts or more; {unseen}."
    )


def _after_shed(
    attempts: Attempts, server: pd.DataFrame, findings: Findings, scale: float
) -> tuple[AfterShed | None, list[str]]:
    """What shedding did to a service that was failing when it began; None if it was not, or none was shed."""
    live = findings.live
    if live.shed is None:
        return None, []
    if not findings.failing_at_end:
        return None, ["The service was not failing when shedding began."]
    window = Window.judged(attempts, *live.shed, live.client.timeout_s)
    if window.end_s - window.start_s < WATCHED_TIMEOUTS * window.timeout_s:
        return "undecided", ["Less than two timeouts of the shedding were seen: nothing to judge."]
    last = last_failure_s(attempts, window)
    if last is not None:
        took = (last - window.start_s) * scale
        return "recovered", [f"After shedding began, the last failing attempt was sent {took:,.0f} s later."]
    return _failing_after_shed(attempts, server, findings, window, scale)


def _failing_after_shed(
    attempts: Attempts, server: pd.DataFrame, findings: Findings, window: Window, scale: float
) -> tuple[AfterShed, list[str]]:
    last_phase = findings.live.placed_phases[-1].start_s
    enough = window.end_s - last_phase >= SLOPE_TIMEOUTS * window.timeout_s
    begin = last_phase if enough else window.start_s
    drift = drift_of(attempts, server, findings, begin, window.end_s)
    said = ["It was failing, still or again, when the shedding phases ended."]
    if drift.known:
        return ("trapped" if drift.direction == "grows" else "undecided"), [*said, *drift.sentences(scale)]
    cause = other_cause(attempts, begin, window.end_s)
    if cause is not None:
        return "undecided", [*said, cause]
    if window.end_s - window.start_s >= FOREIGN_TIMEOUTS * window.timeout_s * (1 - 1e-9):
        return "trapped", [*said, "Its backlog is not known."]
    return "undecided", [*said, "They lasted less than 10 timeouts."]
