"""Whether a service answers at all, one patient request at a time; and its warm-up."""

from __future__ import annotations

from collections import Counter

from analysis.trigger.course import Course, Halted, Journal, obeyed
from analysis.trigger.troubles import reasons_text
from analysis.wording import number, percent, seconds
from domain.trigger.messages import Probe, Saturate
from domain.trigger.plan import TriggerPlan

REACH_WITHIN_S = 5.0
WARM_UP_S, WARM_UP_ANSWERS, WARM_UP_AT_MOST_S = 1.0, 20, 10.0
REACH_PROBES_PER_S = 2.0
"""Probes say with which status they ended."""


def reached(journal: Journal, plan: TriggerPlan) -> Course[None]:
    """The course that finds out whether the service answers at all, and warms it up."""
    start_s = yield from obeyed(journal, Probe(REACH_PROBES_PER_S), Saturate(1, "reach"))
    journal.enter("reach", start_s)
    while True:
        lasted_s = journal.now_s - start_s
        answered = journal.seen.counted("saturated", start_s, journal.now_s)
        failed = journal.seen.counted("saturated_failed", start_s, journal.now_s)
        if answered == 0 and lasted_s >= REACH_WITHIN_S:
            answers = any(probe.status for probe in journal.seen.probes)
            what = "does not answer as it should" if answers else "cannot be reached, or does not answer"
            raise Halted(
                safety_stop=f"{plan.target.url} {what}: no request was answered as it should be in "
                f"{seconds(REACH_WITHIN_S)} ({_ends(journal)})"
            )
        warm = lasted_s >= WARM_UP_S and answered >= WARM_UP_ANSWERS
        if warm or lasted_s >= WARM_UP_AT_MOST_S:
            break
        yield ()
    if failed > plan.guards.most_error_ratio * (answered + failed):
        raise Halted(
            safety_stop=f"{plan.target.url} does not answer as it should: of {answered + failed:,} requests, "
            f"one at a time, {percent(failed / (answered + failed))} failed ({_ends(journal)})"
        )
    journal.said = f"{answered:,} answers in {seconds(journal.now_s - start_s)}"
    yield from obeyed(journal, Probe(0.0), Saturate(0, "reach"))


def _ends(journal: Journal) -> str:
    """How patient probes ended, and why what ended as an error did: "3 × status 404, 1 × error; errors:
    7 × connection refused"."""
    errors = reasons_text(journal.seen.error_reasons)
    said = f"{_statuses(journal)}; errors: {errors}" if errors else _statuses(journal)
    limited = any(probe.status == 429 for probe in journal.seen.probes)
    return f"{said}; 429 is a limit on the rate, from which the test needs an exemption" if limited else said


def _statuses(journal: Journal) -> str:
    ends = Counter(f"status {p.status}" if p.status else p.outcome for p in journal.seen.probes)
    if not ends:
        return "no probe came back"
    return ", ".join(f"{number(count)} × {end}" for end, count in ends.most_common())
