"""Seed 002, "Demand Is Not Debt": its propositions, its three signals and its falsification criteria.

``trigger`` has Definition 8 and Propositions 6 and 8, ``recovery`` Proposition 7, ``heavy_tails`` a question
it leaves open, ``signals`` the autoscalers and ``criteria`` F2 to F4. ``specimen`` is the service they are
about, ``scaled`` the same under an autoscaler.
"""

from __future__ import annotations

from analysis.studies.claims import Progress, StudyResult
from analysis.studies.demand_debt import (
    criteria,
    heavy_tails,
    recovery,
    recovery_figure,
    signals,
    signals_figures,
    specimen,
    trigger,
)

TITLE = "Demand is not debt: traps, triggers, recovery and autoscalers"
SOURCE = 'Y. Polyulya, "Demand Is Not Debt", 18 October 2026 (002)'

SYMBOLS = (
    "ρ is the utilization by first attempts, A how many attempts a job makes while all fail, Aρ the load they"
    " come to; a spike multiplies demand by k for Δ; T is the timeout, β a retry budget, u* the target of an"
    " autoscaler"
)


def run(effort: float, progress: Progress) -> StudyResult:
    """Work everything out; below effort 1 pods are slower and runs shorter, above it seeds are more."""
    back = recovery.work_out(effort, lambda share: progress("recovery after spikes", 0.3 * share))
    calm = trigger.work_out(effort, lambda share: progress("no trigger, no failure", 0.3 + 0.15 * share))
    tails = heavy_tails.work_out(effort, lambda share: progress("heavy tails", 0.45 + 0.3 * share))
    scalers = signals.work_out(effort, lambda share: progress("three signals", 0.75 + 0.15 * share))
    tests = criteria.work_out(effort, lambda share: progress("falsification criteria", 0.9 + 0.1 * share))
    return StudyResult(
        name="demand-debt",
        title=TITLE,
        claims=(
            *trigger.claims(calm),
            *recovery.claims(back),
            *signals.claims(scalers),
            *criteria.claims(tests, back),
            *heavy_tails.claims(tails),
        ),
        figures=(
            recovery_figure.figure(back),
            criteria.figure(tests),
            *signals_figures.figures(scalers),
            heavy_tails.figure(tails),
        ),
        data={
            "trigger": trigger.data(calm),
            "recovery": recovery.data(back),
            "signals": signals.data(scalers),
            "criteria": criteria.data(tests),
            "heavy_tails": heavy_tails.data(tails),
        },
        settings={
            "effort": effort,
            "source": SOURCE,
            "symbols": SYMBOLS,
            "pods": f"{specimen.PODS} (kit {specimen.KIT_PODS}) of {specimen.RATE_PER_POD:g}/s",
            "simulated_pods": f"{specimen.scaled_rate(effort):g}/s",
            "timeout_s": specimen.TIMEOUT_S,
            "attempts": specimen.ATTEMPTS,
            "seeds": f"{len(specimen.seeds(effort, recovery.SEEDS, recovery.SEEDS))} per recovery time",
            "counted_as_recovered": "the backlog is back to zero and nothing is late any more",
        },
    )
