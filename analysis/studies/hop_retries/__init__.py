"""Seed 003: retries at every hop of a call chain multiply; what a deadline does about it.

``single`` follows one request at a time, exactly; ``traps`` and ``failures`` put load on chains with a queue
(``queued``, ``kernel``), set beside the law of what comes through (``law``). ``variants`` says how far a
deadline goes.
"""

from __future__ import annotations

from analysis.studies.claims import Progress, StudyResult
from analysis.studies.hop_retries import failures, goodput_figure, single, trap_claims, traps, variants

TITLE = "Retries at every hop: a product, a predicate, a deadline"
CITATION = (
    '"When does a per-hop retry budget amplify a transient slowdown into a sustained outage?",'
    " 1 November 2026, in excerpts (003)"
)
SYMBOLS = (
    "H is the number of hops, R the retries of each, m = R + 1 its attempts, p the share of attempts that"
    " fail;"
    " slack is how many times its usual load a service can take; T is the timeout of an attempt, D the"
    " deadline"
    " of a user's request, s the time of one failure; ρ is the utilization of the last service by first"
    " attempts"
    " and A_D how many attempts a request makes it serve while all time out"
)


def run(effort: float, progress: Progress) -> StudyResult:
    """Work it out; ``effort`` scales the requests drawn and the seeds of the loaded chains."""
    alone = single.work_out(effort, lambda share: progress("one request at a time", 0.1 * share))
    trapped = traps.measure(effort, lambda share: progress("chains after a spike", 0.1 + 0.5 * share))
    failing = failures.measure(effort, lambda share: progress("failures that are fast", 0.6 + 0.1 * share))
    curves = goodput_figure.measure(
        effort, lambda share: progress("goodput by utilization", 0.7 + 0.3 * share)
    )
    return StudyResult(
        name="hop-retries",
        title=TITLE,
        claims=(*single.claims(alone), *trap_claims.claims(trapped), *failures.claims(failing)),
        figures=(*single.figures(alone), goodput_figure.figure(curves)),
        data={
            **single.data(alone),
            "traps": traps.data(trapped),
            "fast_failures": failures.data(failing),
            "goodput": goodput_figure.data(curves),
        },
        settings={
            "effort": effort,
            "source": CITATION,
            "symbols": SYMBOLS,
            "requests": alone.requests,
            "hops": single.HOPS,
            "attempts_per_hop": single.ATTEMPTS,
            "deadline_s": single.DEADLINE_S,
            "loaded_chains": f"T = {variants.TIMEOUT_S:g} s, D = {variants.DEADLINE_S:g} s unless said,"
            f" {variants.ATTEMPTS} attempts at every hop, at once; last service {variants.PODS} pods of"
            f" {variants.RATE_PER_POD}/s, exponential, the others with all the workers they need; a spike of"
            f" {variants.SPIKE_LOAD:g} times the capacity for {variants.SPIKE_S:g} s; trapped if less than"
            f" half"
            " is answered in the last third of the run",
        },
    )
