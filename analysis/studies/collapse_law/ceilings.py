"""What the source works out from the curve alone: ceilings, their limits, the fold."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from analysis import laws
from analysis.studies.agreement import Agreement, as_printed, same
from analysis.studies.claims import Claim
from analysis.studies.collapse_law.judgement import claim
from analysis.studies.collapse_law.rows import Row, plain_attempts
from analysis.wording import number, percent

CEILINGS = {
    5.0: {1: "1.000", 2: "0.585", 4: "0.545", 6: "0.544", 10: "0.544", math.inf: "0.544"},
    2.0: {1: "1.000", 2: "0.500", 4: "0.349", 6: "0.334", 10: "0.331", math.inf: "0.330"},
}
LIMITS = ((0.5, 0.015, "tight"), (1.0, 0.059, "tight"), (20.0, 0.01, "patient"), (100.0, 0.0005, "patient"))
INDEPENDENT = {2.0: (7, 0.0041), 5.0: (4, 0.0026), 20.0: (2, 0.0034)}
EXCESS = {(2.0, 4): 0.055, (2.0, 2): 0.51}
CLOSED_FORM_THETAS = (0.25, 0.5, 1.0, 2.0, 5.0, 20.0, 100.0, 200.0)
SCAN_THETAS = [0.25 * i for i in range(1, 25)]
SCAN_ATTEMPTS = list(range(1, 13))
SCAN_POINTS = 500


def measure() -> dict[str, Any]:
    """Every number behind the claims of §4, and the scan of the lattice for a fold."""
    return {
        "ceilings": [
            {
                "theta": theta,
                "max_attempts": plain_attempts(m),
                "claimed": text,
                "ours": laws.collapse_ceiling(theta, m),
            }
            for theta, row in CEILINGS.items()
            for m, text in row.items()
        ],
        "scan": [
            {"theta": theta, "max_attempts": m, "folds": _folds(theta, m), "rule": laws.is_bistable(theta, m)}
            for theta in SCAN_THETAS
            for m in SCAN_ATTEMPTS
        ],
    }


def _folds(theta: float, max_attempts: int) -> bool:
    """Whether the curve is anywhere above its end 1/m, on a grid that is finest near the end."""
    x = 1.0 - np.geomspace(1e-6, 1.0, SCAN_POINTS)
    curve = np.asarray(laws.steady_utilization(x, theta, float(max_attempts)))
    return bool(curve.max() > (1.0 + 1e-12) / max_attempts)


def claims(data: Row) -> list[Claim]:
    """What §4 and §6.7 say that needs no simulation."""
    return [
        *_ceilings(data),
        _closed_form(),
        *_limits(),
        *_independence(),
        *_examples(),
        _scan(data["scan"]),
    ]


def _ceilings(data: Row) -> list[Claim]:
    lines = []
    for theta in CEILINGS:
        rows = [row for row in data["ceilings"] if row["theta"] == theta]
        lines.append(
            claim(
                f"Ceiling at θ = {theta:g} for m = 1, 2, 4, 6, 10, ∞",
                "§4.4",
                ", ".join(row["claimed"] for row in rows),
                ", ".join(f"{row['ours']:.4f}" for row in rows),
                Agreement(
                    all(as_printed(row["ours"], row["claimed"]).agrees for row in rows),
                    "equal in every printed digit"
                    + (" (the source prints five figures for the six)" if theta == 5 else ""),
                ),
            )
        )
    return lines


def _closed_form() -> Claim:
    """The closed form against the curve itself: the best of a grid, then of a finer one around it."""
    errors = []
    for theta in CLOSED_FORM_THETAS:
        best, reach = 0.5, 0.5
        for _ in range(3):
            x = np.linspace(best - reach, best + reach, SCAN_POINTS)
            curve = np.asarray(laws.steady_utilization(x, theta))
            best, reach = float(x[curve.argmax()]), reach / 100
        errors.append(abs(float(curve.max()) / laws.collapse_ceiling(theta) - 1))
    return claim(
        "The closed form of the ceiling is the maximum of the curve, θ from 0.25 to 200",
        "§4.2",
        "to 1e−12",
        f"to {max(errors):.0e} at {len(errors)} values of θ".replace("-", "−"),
        Agreement(max(errors) < 1e-9, "judged to 1e−9, what such a grid can tell"),
    )


def _limits() -> list[Claim]:
    lines = []
    for theta, claimed, kind in LIMITS:
        limit = laws.tight_ceiling(theta) if kind == "tight" else laws.patient_ceiling(theta)
        off = abs(limit / laws.collapse_ceiling(theta) - 1)
        lines.append(
            claim(
                f"The limit for {kind} timeouts is off the ceiling at θ = {theta:g} by at most",
                "§4.2",
                percent(claimed),
                percent(off),
                Agreement(off <= claimed * 1.05, "judged with 5% for the rounding of the source's figure"),
            )
        )
    return lines


def _independence() -> list[Claim]:
    lines = []
    for theta, (least, claimed) in INDEPENDENT.items():
        rule = math.ceil(laws.independence_rule(theta))
        off = laws.collapse_ceiling(theta, least) / laws.collapse_ceiling(theta) - 1
        lines.append(
            claim(
                f"From m = {least} on the ceiling at θ = {theta:g} is that of m = ∞ within 1%",
                "§4.4",
                f"m ≥ {least}, off by {percent(claimed)}",
                f"rule m ≥ {rule}, off by {percent(off)}; exactly from "
                f"m = {laws.independent_attempts(theta):g} on",
                Agreement(
                    rule == least and abs(off - claimed) <= 0.0001, "the rule's m, and its error within 0.01%"
                ),
            )
        )
    for (theta, m), claimed in EXCESS.items():
        off = laws.collapse_ceiling(theta, m) / laws.collapse_ceiling(theta) - 1
        lines.append(
            claim(
                f"With m = {m} the ceiling at θ = {theta:g} is higher than that of m = ∞ by",
                "§4.4",
                percent(claimed),
                percent(off),
                Agreement(abs(off - claimed) <= 0.005, "within half a percentage point"),
            )
        )
    return lines


def _examples() -> list[Claim]:
    ceiling, busy = laws.collapse_ceiling(4.0), laws.ceiling_offered_utilization(4.0)
    width = laws.hysteresis_width(5.0, 6)
    return [
        claim(
            "Ceiling at θ = 4, and how busy the server is there",
            "§4.2",
            "0.49μ, 67% busy",
            f"{ceiling:.4f}μ, {percent(busy)} busy",
            Agreement(bool(as_printed(ceiling, "0.49").agrees) and round(busy, 2) == 0.67, "both as printed"),
        ),
        claim(
            "Width of the hysteresis loop at θ = 5, m = 6",
            "§4.3",
            "0.377μ",
            f"{width:.4f}μ",
            as_printed(width, "0.377"),
        ),
        claim(
            "At θ = 1 there is no loop up to m = 3",
            "§4.4",
            "none",
            f"a loop from m = {next(m for m in SCAN_ATTEMPTS if laws.is_bistable(1.0, m))} on",
            Agreement(not laws.is_bistable(1.0, 3), "(m − 1)θ = 2 is not above 2"),
        ),
        claim(
            "Band of two states at θ = 5, m = 2",
            "§4.4",
            "0.5 to 0.585μ",
            f"{laws.recovery_threshold(2):.4f} to {(top := laws.collapse_ceiling(5.0, 2)):.4f}μ",
            as_printed(top, "0.585"),
        ),
    ]


def _scan(rows: list[Row]) -> Claim:
    agree = sum(row["folds"] == row["rule"] for row in rows)
    return claim(
        "The curve folds exactly where (m − 1)θ > 2, on a lattice of θ ≤ 6 and m ≤ 12",
        "§4.4, §6.7",
        "288 of 288 points",
        f"{number(agree)} of {number(len(rows))} points, by the curve on {number(SCAN_POINTS)} points each",
        same(agree, 288),
    )
