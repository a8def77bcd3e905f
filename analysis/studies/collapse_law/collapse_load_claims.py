"""What the source says of collapse loads: §6.2, §6.4, §6.5 and §6.7."""

from __future__ import annotations

import math
from collections.abc import Sequence

from analysis.studies.agreement import Agreement, all_hold, interval_within, wide
from analysis.studies.claims import Claim
from analysis.studies.collapse_law.judgement import ORDER, above, claim, descending, difference, mean_over
from analysis.studies.collapse_law.protocol import POLICIES
from analysis.studies.collapse_law.rows import Row, pick, sample
from analysis.studies.sample import Sample
from analysis.wording import number, percent

MARGINS: dict[float, dict[str, tuple[float, float | None]]] = {
    2.0: {"none": (0.49, None), "fixed": (0.61, None), "exponential": (0.63, None), "jitter": (0.61, 0.05)},
    5.0: {"none": (0.70, 0.177), "fixed": (0.67, 0.072), "exponential": (0.80, None), "jitter": (0.83, 0.16)},
    20.0: {"none": (0.95, None), "fixed": (1.02, None), "exponential": (1.02, None), "jitter": (0.98, 0.06)},
}
"""Collapse load over the ceiling, with the spread between seeds where the source gives one (§6.4; for
none and fixed at θ = 5 it is that of the loads in §6.2, over the ceiling)."""
LOADS = {
    (2.0, "none"): 0.161,
    (2.0, "fixed"): 0.20,
    (2.0, "exponential"): 0.20,
    (2.0, "jitter"): 0.20,
    (5.0, "jitter"): 0.449,
    (5.0, "exponential"): 0.435,
    (5.0, "none"): 0.382,
    (5.0, "fixed"): 0.364,
}
GRID_SEEDS = {2.0: 5, 5.0: 8, 20.0: 5}
"""The source says 5 to 8 a cell, 8 for none and fixed at θ = 5."""
GAIN = 0.25
TIMEOUTS = {1.0: -0.11, 2.0: -0.39, 5.0: -0.25, 10.0: 0.0, 20.0: -0.05}
ATTEMPTS = {2: (0.267, 0.054), 4: (0.234, 0.058), 8: (0.200, 0.040)}
HORIZONS = {30.0: (0.502, 0.033), 60.0: (0.424, 0.077), 120.0: (0.386, 0.112), 240.0: (0.384, 0.025)}


def margins(row: Row) -> Sample:
    """Collapse loads over the ceiling of an endless client, the source's own unit."""
    return Sample.of(load / row["ceiling_endless"] for load in row["values"])


def policy_claims(rows: Sequence[Row]) -> list[Claim]:
    """§6.2: the collapse loads that the text quotes."""
    return [
        claim(
            f"Collapse load at θ = {theta:g}, {policy}, m = 6",
            "§6.2",
            f"{claimed}μ ({GRID_SEEDS[theta]} seeds)",
            f"{(ours := sample(pick(rows, theta=theta, policy=policy))).words('μ')}",
            mean_over(ours, claimed, GRID_SEEDS[theta], _spread(theta, policy)),
        )
        for (theta, policy), claimed in LOADS.items()
    ]


def _spread(theta: float, policy: str) -> float | None:
    return {(5.0, "none"): 0.096, (5.0, "fixed"): 0.039}.get((theta, policy))


def margin_claims(rows: Sequence[Row]) -> list[Claim]:
    """§6.4: the grid over the ceiling, and what the source finds robust in it."""
    lines = []
    for theta, figures in MARGINS.items():
        for policy, (claimed, sd) in figures.items():
            ours = margins(pick(rows, theta=theta, policy=policy))
            lines.append(
                claim(
                    f"Collapse load over the ceiling at θ = {theta:g}, {policy}",
                    "§6.4",
                    f"{claimed}" + ("" if sd is None else f" ± {sd}"),
                    f"{ours.words()}; spread between seeds {number(ours.sd, 2)}",
                    mean_over(ours, claimed, GRID_SEEDS[theta], sd),
                )
            )
    return [*lines, _never_best(rows), *_any_backoff(rows), _choice(rows), _converge(rows), _resonance(rows)]


def _never_best(rows: Sequence[Row]) -> Claim:
    """Instant retry is worst or tied: nowhere is another policy below it by more than chance."""
    gaps = {
        (theta, policy): _gap(rows, theta, policy, "none")
        for theta in MARGINS
        for policy in POLICIES
        if policy != "none"
    }
    worse = [f"{policy} at θ = {theta:g}" for (theta, policy), gap in gaps.items() if above(gap) is False]
    return claim(
        "Instant retry is never best: worst or tied at every θ",
        "§6.4",
        "worst or tied",
        "worst or tied at every θ" if not worse else "below instant retry: " + ", ".join(worse),
        _untold(not worse, rows, [(theta, "none", gap) for (theta, _), gap in gaps.items()]),
    )


def _untold(
    agrees: bool, rows: Sequence[Row], gaps: Sequence[tuple[float, str, tuple[float, float]]]
) -> Agreement:
    """A claim that there is no difference: (θ, policy to compare with, interval of a difference from it).

    Not seeing one says something only if the intervals are narrow.
    """
    widths = [(high - low) / sample(pick(rows, theta=t, policy=p)).mean for t, p, (low, high) in gaps]
    words = f"95% intervals of the differences of the means, at most {percent(max(widths))} of the mean wide"
    if agrees and wide(max(widths), 1.0):
        return Agreement(None, f"{words}, which is too wide to tell")
    return Agreement(agrees, words, chance=True)


def backoff_gains(rows: Sequence[Row]) -> tuple[str, bool | None]:
    """By how much each backoff is above none at θ = 2, in words, and whether all of them are for certain."""
    none = sample(pick(rows, theta=2.0, policy="none")).mean
    gaps = {policy: _gap(rows, 2.0, policy, "none") for policy in POLICIES if policy != "none"}
    gains = ", ".join(
        f"{policy} {_signed((low + high) / 2 / none)} ± {percent((high - low) / 2 / none)}"
        for policy, (low, high) in gaps.items()
    )
    return gains, all_hold(above(gap) for gap in gaps.values())


def _any_backoff(rows: Sequence[Row]) -> list[Claim]:
    """Whether every backoff beats none at θ = 2, and by as much as the source says."""
    none = sample(pick(rows, theta=2.0, policy="none")).mean
    gaps = {policy: _gap(rows, 2.0, policy, "none") for policy in POLICIES if policy != "none"}
    gains, beats = backoff_gains(rows)
    off = [policy for policy, (low, high) in gaps.items() if not low <= GAIN * none <= high]
    too_wide = wide(max((high - low) / none for low, high in gaps.values()), GAIN)
    held = f"all hold it, but {too_wide}" if too_wide else "all hold it"
    return [
        claim(
            "At θ = 2 any backoff beats none",
            "§6.4",
            "any",
            gains,
            Agreement(
                beats,
                "judged as: each is above, with 95% confidence"
                + (", which is not so of all, nor is any below" if beats is None else ""),
                chance=True,
            ),
        ),
        claim(
            "At θ = 2 any backoff raises the collapse load by a quarter",
            "§6.4",
            _signed(GAIN),
            gains,
            Agreement(
                False if off else (None if too_wide else True),
                "95% intervals of the differences of the means, which "
                + (f"leave it out for {', '.join(off)}" if off else held),
                chance=True,
            ),
        ),
    ]


def _choice(rows: Sequence[Row]) -> Claim:
    """The source cannot tell the backoffs from one another; can we?"""
    pairs = (("exponential", "jitter"), ("jitter", "fixed"), ("exponential", "fixed"))
    gaps = {(t, a, b): _gap(rows, t, a, b) for t in MARGINS for a, b in pairs}
    found = [
        f"{better} {'above' if low > 0 else 'below'} {worse} by {number(min(abs(low), abs(high)), 2)} to "
        f"{number(max(abs(low), abs(high)), 2)}μ at θ = {theta:g}"
        for (theta, better, worse), (low, high) in gaps.items()
        if above((low, high)) is not None
    ]
    return claim(
        "Which backoff it is makes no difference that can be resolved",
        "§6.2, §8",
        "backoff against none is the only separation at θ = 2",
        "; ".join(found) if found else "no difference with 95% confidence",
        _untold(not found, rows, [(t, b, gap) for (t, _, b), gap in gaps.items()]),
    )


def _signed(ratio: float) -> str:
    return f"{ratio:+.0%}".replace("-", "−")


def converged(rows: Sequence[Row]) -> str:
    """The collapse loads at θ = 20 over the ceiling, in words."""
    found = [margins(pick(rows, theta=20.0, policy=policy)) for policy in POLICIES]
    means = [ours.mean for ours in found]
    widest = max(ours.half_width for ours in found)
    return f"{number(min(means))} to {number(max(means))} of it, ± {number(widest, 2)} at most"


def _converge(rows: Sequence[Row]) -> Claim:
    found = [margins(pick(rows, theta=20.0, policy=policy)) for policy in POLICIES]
    agrees = all_hold(
        interval_within(ours.mean - ours.half_width, ours.mean + ours.half_width, 0.93, 1.04)
        for ours in found
    )
    return claim(
        "At θ = 20 all policies collapse at the ceiling",
        "§6.4",
        "0.95 to 1.02 of it",
        converged(rows),
        Agreement(
            agrees,
            "judged as: the 95% interval of every mean within 0.02 of the source's range"
            + (", which some straddle" if agrees is None else ""),
            chance=True,
        ),
    )


def _resonance(rows: Sequence[Row]) -> Claim:
    low, high = _gap(rows, 5.0, "fixed", "none")
    fixed, none = (sample(pick(rows, theta=5.0, policy=policy)).mean for policy in ("fixed", "none"))
    tied = low <= 0 <= high
    return claim(
        "At θ = 5 fixed backoff and none cannot be told apart",
        "§6.4",
        "0.364 ± 0.039 against 0.382 ± 0.096",
        f"{number(fixed)} against {number(none)}; difference {number(low, 2)} to {number(high, 2)} (95%)",
        _untold(True, rows, [(5.0, "none", (low, high))])
        if tied
        else Agreement(
            False,
            "our seeds tell them apart: fixed backoff is "
            f"{'better' if low > 0 else 'worse'} by {percent(abs(fixed / none - 1))}"
            + (", so that there is no resonance penalty, as the source concludes" if low > 0 else ""),
            chance=True,
        ),
    )


def _gap(rows: Sequence[Row], theta: float, policy: str, other: str) -> tuple[float, float]:
    """The 95% interval of one policy's mean collapse load minus another's."""
    a, b = (sample(pick(rows, theta=theta, policy=name)) for name in (policy, other))
    return difference(a, b)


def timeout_claims(rows: Sequence[Row]) -> list[Claim]:
    """§6.5: how far jitter collapses from the closed form, by timeout."""
    return [
        claim(
            f"Collapse load with jitter against the closed form, θ = {theta:g}",
            "§6.5",
            f"{_signed(claimed)} (3 seeds)",
            f"{percent((off := Sample.of(m - 1 for m in margins(pick(rows, theta=theta)).values)).mean)} "
            f"± {percent(off.half_width)} ({len(off.values)} seeds)",
            mean_over(off, claimed, 3, scale=1 + claimed),
        )
        for theta, claimed in TIMEOUTS.items()
    ]


def attempt_claims(rows: Sequence[Row]) -> list[Claim]:
    """§6.7: collapse loads over the attempts a job may make."""
    lines = []
    for m, (claimed, sd) in ATTEMPTS.items():
        row = pick(rows, theta=2.0, max_attempts=m)
        ours = sample(row)
        lines.append(
            claim(
                f"Collapse load at θ = 2, jitter, m = {m} (ceiling {number(row['ceiling'])}μ)",
                "§6.7",
                f"{claimed} ± {sd}μ",
                f"{ours.words('μ')}; spread between seeds {number(ours.sd, 2)}",
                _contradicted(m, mean_over(ours, claimed, 5, sd)),
            )
        )
    return [*lines, *_onset(rows)]


def _contradicted(max_attempts: int, judged: Agreement) -> Agreement:
    remark = "The source's own empty band has the same system fall below 80% at 0.38μ"
    return judged.because(remark) if max_attempts == 2 else judged


def _onset(rows: Sequence[Row]) -> list[Claim]:
    """How the onset moves with m, and whether by more than the ceiling does."""
    few, many = (pick(rows, theta=2.0, max_attempts=m) for m in (2, 8))
    found = [sample(pick(rows, theta=2.0, max_attempts=m)) for m in ATTEMPTS]
    means = [ours.mean for ours in found]
    falls = descending(found)
    onset, ceiling = means[0] / means[-1], few["ceiling"] / many["ceiling"]
    relative = [sample(row).half_width / sample(row).mean for row in (few, many)]
    reach = onset * math.hypot(*relative)
    return [
        claim(
            "Collapse loads at θ = 2 rise as m falls from 8 to 4 to 2",
            "§6.7",
            "0.200, 0.234, 0.267μ",
            ", ".join(f"{number(mean)}" for mean in reversed(means)) + "μ",
            Agreement(falls, ORDER[falls], chance=True),
        ),
        claim(
            "From m = 8 to m = 2 the collapse load at θ = 2 moves more strongly than the ceiling",
            "§6.7",
            f"×1.34 by its figures, the ceiling ×{number(ceiling)}",
            f"×{number(onset)} ± {number(reach, 2)}, the ceiling ×{number(ceiling)}",
            Agreement(
                None if abs(onset - ceiling) <= reach else onset > ceiling,
                ("not to be told apart" if abs(onset - ceiling) <= reach else "beyond the 95% interval")
                + "; by the source's own figures it moves less, not more",
                chance=True,
            ),
        ),
    ]


def horizon_claims(rows: Sequence[Row]) -> list[Claim]:
    """§6.2: how the collapse load drifts with the length of the run."""
    lines = [
        claim(
            f"Collapse load at θ = 5, jitter, horizon {factor:g}(θ + 1) + 150",
            "§6.2",
            f"{claimed} ± {sd}μ (3 seeds)",
            sample(pick(rows, factor=factor)).words("μ"),
            mean_over(sample(pick(rows, factor=factor)), claimed, 3, sd),
        )
        for factor, (claimed, sd) in HORIZONS.items()
    ]
    found = [sample(pick(rows, factor=factor)) for factor in HORIZONS]
    means = [ours.mean for ours in found]
    ceiling = rows[0]["ceiling"]
    agrees = all_hold(
        [
            descending(found),
            *(
                interval_within(ours.mean - ours.half_width, ours.mean + ours.half_width, 0.0, ceiling)
                for ours in found
            ),
        ]
    )
    return [
        *lines,
        claim(
            "Longer windows tip earlier: the means fall with the horizon and none crosses the ceiling",
            "§6.2",
            "0.502 to 0.384μ, ceiling 0.544μ",
            f"{', '.join(number(mean) for mean in means)}μ, ceiling {number(ceiling)}μ",
            Agreement(
                agrees,
                f"{ORDER[descending(found)]}; none may reach the ceiling with its interval",
                chance=True,
            ),
        ),
    ]
