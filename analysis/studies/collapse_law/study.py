"""The study as a whole: what is measured in which order, the claims, the figures."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from analysis.studies.claims import Claim, Figure, Progress, StudyResult
from analysis.studies.collapse_law import (
    burst,
    caps,
    ceilings,
    collapse_load_claims,
    collapse_loads,
    delays,
    good_branch,
    kernel,
    pictures,
    protocol,
    ramp,
    recovery,
    recovery_claims,
    tipping,
)

NAME = "collapse-law"
TITLE = "The collapse law: ceiling, hysteresis and recovery threshold of timeouts with retries"

Part = tuple[str, str, float, Callable[[float, dict[str, Any]], Any]]
PARTS: tuple[Part, ...] = (
    ("ceilings", "the laws", 1, lambda _, __: ceilings.measure()),
    ("kernel", "F1: late attempts without retries", 8, lambda e, _: kernel.measure(e)),
    ("curve", "F1: the fixed-point curve", 4, lambda e, _: good_branch.measure_curve(e)),
    ("policies", "F2: collapse loads of the policies", 28, lambda e, _: collapse_loads.measure_policies(e)),
    ("tipping", "F2: probability of tipping", 20, lambda e, _: tipping.measure(e)),
    ("horizons", "F2: drift with the horizon", 5, lambda e, _: collapse_loads.measure_horizons(e)),
    ("burst", "F2: bursts", 9, lambda e, _: burst.measure(e)),
    ("ramp", "F3: up and down the ramp", 2, lambda e, _: ramp.measure(e)),
    ("recovery", "F3: recovery thresholds", 5, lambda e, _: recovery.measure_thresholds(e)),
    ("drains", "F3: drain times", 2, lambda e, _: recovery.measure_drains(e)),
    ("trap", "F3: the unlimited-retry trap", 1, lambda e, _: recovery.measure_trap(e)),
    ("delays", "F4: mean backoffs", 1, lambda e, _: delays.measure(e)),
    ("caps", "F5: queue caps", 14, lambda e, _: caps.measure(e)),
    (
        "timeouts",
        "F5: timeouts",
        2,
        lambda e, data: collapse_loads.measure_timeouts(e, data["policies"]),
    ),
    ("shift", "F7: the shift with m", 1, lambda e, _: good_branch.measure_shift(e)),
    ("attempts", "F7: collapse loads by m", 2, lambda e, _: collapse_loads.measure_attempts(e)),
    ("band", "F7: the empty band", 2, lambda e, _: recovery.measure_band(e)),
)
"""Key of the data, what is being done, its share of the time, how it is measured."""


def run(effort: float, progress: Progress) -> StudyResult:
    """All seven experiments; effort 1 uses at least ten times the source's seeds in each."""
    data: dict[str, Any] = {}
    whole = sum(weight for _, _, weight, _ in PARTS)
    done = 0.0
    for key, words, weight, measure in PARTS:
        progress(words, done / whole)
        data[key] = measure(effort, data)
        done += weight
    progress("done", 1.0)
    return StudyResult(NAME, TITLE, _claims(data), _figures(data), data, _settings(effort))


def _claims(data: dict[str, Any]) -> tuple[Claim, ...]:
    return (
        *ceilings.claims(data["ceilings"]),
        *kernel.claims(data["kernel"]),
        *good_branch.curve_claims(data["curve"]),
        *collapse_load_claims.policy_claims(data["policies"]),
        *tipping.claims(data["tipping"]),
        *collapse_load_claims.horizon_claims(data["horizons"]),
        *burst.claims(data["burst"]),
        *ramp.claims(data["ramp"]),
        *recovery_claims.threshold_claims(data["recovery"]),
        *recovery_claims.drain_claims(data["drains"]),
        *recovery_claims.trap_claims(data["trap"]),
        *collapse_load_claims.margin_claims(data["policies"]),
        *delays.claims(data["delays"]),
        *caps.claims(data["caps"]),
        *collapse_load_claims.timeout_claims(data["timeouts"]),
        *good_branch.shift_claims(data["shift"]),
        *collapse_load_claims.attempt_claims(data["attempts"]),
        *recovery_claims.band_claims(data["band"]),
    )


def _figures(data: dict[str, Any]) -> tuple[Figure, ...]:
    drawn: tuple[tuple[str, Callable[..., None], str], ...] = (
        (
            "f1-kernel-and-curve",
            pictures.draw_curve,
            "Left: without retries the share of late attempts follows the M/M/1 sojourn tail over two orders "
            "of magnitude, at the highest loads too. Right: with retries the runs that have not tipped "
            "settle on the lower branch of the curve; the percentages below are the runs that had tipped. "
            "Bars are 95% intervals.",
        ),
        (
            "f2-onset",
            pictures.draw_onset,
            "Top left: the probability of collapse rises from far below the ceiling to near one at it. Top "
            "right: mean collapse loads approach the ceiling as timeouts grow. Bottom left: the longer the "
            "run, the lower the load at which it collapses. Bottom right: bursts that arrive together tip a "
            "system at half its ceiling; without backoff a quarter of the runs tip with no burst at all. At "
            "θ = 2 and the lowest load a final window holds so few jobs that one bad answer is a collapse. "
            "Bars are 95% intervals.",
        ),
        (
            "f3-hysteresis",
            pictures.draw_hysteresis,
            "Top left: goodput up a ramp and down again; it does not come back on the way down. Top right: "
            "the highest load at which a collapsed queue runs empty while one watches lies below μ/m, where "
            "the drain takes for ever. Bottom left: after the same shedding the queue of m = 6 empties and "
            "that of m = ∞ grows. Bottom right: single drains against D/(μ − λm).",
        ),
        (
            "f4-margins",
            pictures.draw_margins,
            "Left: mean collapse load over the ceiling; instant retries are the worst or tied, and at θ = 20 "
            "the policies are alike. Right: the mean backoff that each policy asked for in runs that had not "
            "tipped. Bars are 95% intervals.",
        ),
        (
            "f5-interventions",
            pictures.draw_interventions,
            "Left: a cap of two places leaves no crater, one of five a shallow one, one of ten hardly helps. "
            "Middle: what a rejected attempt does next moves the row of L = 2, but no choice goes through "
            "all four of the source's points. Right: collapse loads by timeout under the ceiling. Bars are "
            "95% intervals.",
        ),
        (
            "f6-prediction",
            pictures.draw_scatter,
            "Steady utilization as measured against the good root of the curve, for every cell of F1 and F7. "
            "At θ = 5 the means are within a few per cent. At θ = 2 and m ≥ 4 most runs tip, and those left "
            "over are the lucky ones: they lie below. Bars are 95% intervals.",
        ),
        (
            "f7-unified-curve",
            pictures.draw_unified,
            "Left: the curve for several m at θ = 2 and the utilizations measured at one load. Middle: "
            "collapse loads lie far below the ceiling at this timeout. Right: the curve has a fold, and the "
            "system two stable states, exactly where (m − 1)θ > 2.",
        ),
    )
    return tuple(Figure(name, caption, partial(draw, data)) for name, draw, caption in drawn)


def _settings(effort: float) -> dict[str, Any]:
    return {
        "effort": effort,
        "service": "one pod, μ = 1, exponential service times, first in first out; T = θ",
        "horizon": "90(θ + 1) + 150",
        "final_window": 1 - protocol.WARM_UP,
        "collapsed": "goodput below 80% of demand, or the server at least 95% busy, in the final window",
        "bisection_steps": 9,
        "collapse_before_shedding": f"{recovery.COLLAPSE_S:g}/μ at {recovery.COLLAPSE_LOAD}μ",
        "hold_after_shedding": f"{recovery.HOLD_S:g}/μ",
        "ramp_dwell": f"{ramp.DWELL_S:g}/μ",
    }
