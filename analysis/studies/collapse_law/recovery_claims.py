"""What the source says of recovery: §4.3, §4.4, §6.3 and §6.7."""

from __future__ import annotations

from collections.abc import Sequence

from analysis import laws
from analysis.studies.agreement import Agreement, all_hold, close, interval_within, not_comparable
from analysis.studies.claims import Claim
from analysis.studies.collapse_law.judgement import ORDER, above, claim, descending, difference, single_run
from analysis.studies.collapse_law.recovery import COLLAPSE_LOAD, COLLAPSE_S, HOLD_S
from analysis.studies.collapse_law.rows import Row, pick, sample
from analysis.studies.counting import counted
from analysis.wording import number

THRESHOLDS = {4: 0.196, 6: 0.101, 10: 0.022}
DRAINS_S = {0.05: 2474.0, 0.10: 4496.0}
TRAP_END = 48_785
COLLAPSE = f"the {COLLAPSE_S:g}/μ at {COLLAPSE_LOAD}μ before shedding, chosen to leave the source's depths"
DWELL = f"the {HOLD_S:,.0f}/μ within which it must drain"
STORM = 1750.0
"""The depth from which the source says that both drained."""


def threshold_claims(rows: Sequence[Row]) -> list[Claim]:
    """§6.3: recovery within a dwell that the source does not give."""
    lines = []
    for m, claimed in THRESHOLDS.items():
        row = pick(rows, max_attempts=m)
        dwell_s = row["depth"] / (1 - m * claimed)
        lines.append(
            claim(
                f"Recovery threshold within the dwell, m = {m} (law without a dwell: {number(row['law'])}μ)",
                "§6.3",
                f"{claimed}μ (2 seeds)",
                f"{sample(row).words('μ')} within {number(HOLD_S)}/μ; law for that dwell and our depth of "
                f"{number(row['depth'])}: {number(row['law_within_hold'])}μ",
                not_comparable(
                    "neither dwell nor depth is given; by D/(μ − λm) the source's figure is that of a dwell "
                    f"of {number(dwell_s, 2)}/μ at our depth"
                ),
            )
        )
    found = [sample(pick(rows, max_attempts=m)) for m in THRESHOLDS]
    below = [
        interval_within(ours.mean - ours.half_width, ours.mean + ours.half_width, -1.0, row["law"])
        for row in rows
        for ours in (sample(row),)
    ]
    falls = descending(found)
    lines.append(
        claim(
            "Recovery thresholds fall as m rises, and lie below μ/m because the drain slows down there",
            "§6.3",
            "0.196, 0.101, 0.022μ below 0.25, 0.167, 0.10μ",
            f"{', '.join(number(ours.mean) for ours in found)}μ",
            Agreement(
                all_hold([falls, *below]),
                f"{ORDER[falls]}; below its law with the whole interval: {below.count(True)} of {len(below)}",
                chance=True,
            ),
        )
    )
    return lines


def drain_claims(rows: Sequence[Row]) -> list[Claim]:
    """§4.3 and §6.3: drain times against D/(μ − λm)."""
    lines = []
    for row in rows:
        load, policy = row["load"], row["policy"]
        theirs = DRAINS_S[load] / laws.drain_time_s(
            depth=STORM, capacity_per_s=1.0, arrival_rate_per_s=load, amplification=6
        )
        ratio = sample(row, "over_law")
        lines.append(
            claim(
                f"Time to drain at λ = {load}μ, m = 6, over D/(μ − λm); {policy}",
                "§4.3, §6.3",
                f"{number(DRAINS_S[load])}/μ from about {number(STORM)} attempts: {theirs:.2f} of the law "
                "(the policy is not said)",
                f"{sample(row, 'times_s').words('/μ')} from {number(sample(row, 'depths').mean)} attempts: "
                f"{number(ratio.mean)} ± {number(ratio.half_width, 2)} of the law",
                single_run(ratio, theirs).because(
                    "The law counts what is queued, not the retries that are still in backoff"
                ),
            )
        )
    predicted = laws.drain_time_s(depth=1800, capacity_per_s=1.0, arrival_rate_per_s=0.05, amplification=6)
    return [
        claim(
            "A storm of 1,800 attempts at λ = 0.05μ, m = 6, drains by the law in about",
            "§4.3",
            "≈ 2,600/μ",
            f"{number(predicted, 4)}/μ",
            close(predicted, 2600, 0.02),
        ),
        *lines,
    ]


def trap_claims(rows: Sequence[Row]) -> list[Claim]:
    """§4.4 and §6.3: the unlimited-retry trap."""
    endless, bounded = pick(rows, max_attempts="inf"), pick(rows, max_attempts=6.0)
    growth, ends = sample(endless, "growth"), sample(endless, "ends")
    emptied, of = bounded["emptied"], len(bounded["depths"])
    return [
        claim(
            "m = ∞: depth when it is shed from 0.9μ to 0.05μ",
            "§6.3",
            "about 2,900 attempts (one run)",
            sample(endless, "depths").words(" attempts"),
            single_run(sample(endless, "depths"), 2850, 2950).fitted_to(COLLAPSE),
        ),
        claim(
            "m = ∞: held at 0.05μ for 3,000/μ, the queue grows",
            "§4.4, §6.3",
            "17-fold, to 48,785 attempts (one run)",
            f"{growth.words('-fold')}, to {number(ends.mean)} attempts",
            single_run(growth, TRAP_END / 2950, TRAP_END / 2850).fitted_to(COLLAPSE),
        ),
        claim(
            "m = ∞: depth after that hold",
            "§4.4, §6.3",
            f"{number(TRAP_END)} attempts (one run)",
            ends.words(" attempts"),
            single_run(ends, TRAP_END).fitted_to(COLLAPSE),
        ),
        claim(
            "m = 6: depth at the same moment",
            "§6.3",
            "about 1,400 attempts (one run)",
            sample(bounded, "depths").words(" attempts"),
            single_run(sample(bounded, "depths"), 1350, 1450).fitted_to(COLLAPSE),
        ),
        claim(
            "m = 6: the same hold drains it to an empty queue",
            "§6.3",
            "drained",
            f"drained in {emptied} of {counted(of, 'seed')}",
            Agreement(emptied == of, "every seed must drain"),
        ),
    ]


def band_claims(band: Row) -> list[Claim]:
    """§6.7: the empty band at θ = 2, m = 2."""
    degrades, recovers = sample(band, "degrades"), sample(band["recovers"])
    apart = above(gap := difference(recovers, degrades))
    return [
        claim(
            "θ = 2, m = 2: goodput falls below 80% from",
            "§6.7",
            "0.38μ",
            f"{degrades.words('μ')}; spread between seeds {number(degrades.sd, 2)}",
            single_run(degrades, 0.38),
        ),
        claim(
            "θ = 2, m = 2: a collapsed system recovers below",
            "§6.7",
            "0.47μ",
            f"{recovers.words('μ')} within {number(HOLD_S)}/μ; law {number(band['boundary'])}μ",
            single_run(recovers, 0.47).because("The source's dwell is not given").fitted_to(DWELL),
        ),
        claim(
            "θ = 2, m = 2: it recovers above the load at which it degrades, so there is no cliff between",
            "§6.7",
            "0.47μ above 0.38μ",
            f"{number(recovers.mean)}μ and {number(degrades.mean)}μ",
            Agreement(
                apart,
                f"the 95% interval of the difference, {number(gap[0], 2)} to {number(gap[1], 2)}μ",
                chance=True,
            ).fitted_to(DWELL),
        ),
    ]
