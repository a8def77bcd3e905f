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
from analysis.studies.collapse_law.captions import CAPTIONS
from analysis.wording import percent

NAME = "collapse-law"
TITLE = "The collapse law: ceiling, hysteresis and recovery threshold of timeouts with retries"
SOURCE = (
    '"The Collapse Law: Ceilings, Hysteresis, and the Recovery Threshold for Timeout-Retry Systems", without'
    " author or date (000)"
)
SYMBOLS = (
    "μ is the capacity of the server in attempts per unit of time, λ the demand in jobs (first attempts), T"
    " the timeout of a client and θ = μT the same in mean services; m is how many attempts a job may make, ∞"
    " for endless retries; the ceiling is the highest load for which the law has a good state; a run tips"
    " when it goes over into the failed one. Backoff policies: none retries at once; fixed after T/2;"
    " exponential after T, 2T, 4T, 8T; jitter at random within 2T, 4T, 8T"
)

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
    drawn: dict[str, Callable[..., None]] = {
        "f1-kernel-and-curve": pictures.draw_curve,
        "f2-onset": pictures.draw_onset,
        "f3-hysteresis": pictures.draw_hysteresis,
        "f4-margins": pictures.draw_margins,
        "f5-interventions": pictures.draw_interventions,
        "f6-prediction": pictures.draw_scatter,
        "f7-unified-curve": pictures.draw_unified,
    }
    return tuple(Figure(name, CAPTIONS[name](data), partial(draw, data)) for name, draw in drawn.items())


def _settings(effort: float) -> dict[str, Any]:
    return {
        "effort": effort,
        "source": SOURCE,
        "symbols": SYMBOLS,
        "service": "one pod, μ = 1, exponential service times, first in first out; T = θ",
        "horizon": "90(θ + 1) + 150",
        "final_window": f"the last {percent(1 - protocol.WARM_UP)} of a run",
        "counted_as_collapsed": "goodput below 80% of demand or the server busy for 95%, in the final window",
        "bisection_steps": 9,
        "collapse_before_shedding": f"{recovery.COLLAPSE_S:g}/μ at {recovery.COLLAPSE_LOAD}μ",
        "hold_after_shedding": f"{recovery.HOLD_S:,.0f}/μ",
        "ramp_dwell": f"{ramp.DWELL_S:g}/μ",
    }
