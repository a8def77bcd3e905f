"""F6: prediction against measurement."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from analysis.plots.canvas import GREEN, GREY, ORANGE
from analysis.studies.collapse_law.pictures.sheet import (
    LEGEND,
    POLICY_COLOURS,
    POLICY_WORDS,
    dress,
    new_sheet,
    points,
)
from analysis.studies.collapse_law.rows import sample


def draw_scatter(data: dict[str, Any], path: Path) -> None:
    """Left measured over predicted utilization, right its relative error."""
    sheet = new_sheet("Measured utilization beside the good root of the curve", 1, 2)
    left, right = sheet.panels
    for name, rows, colour, marker in _groups(data):
        samples = [sample(row) for row in rows]
        predicted = [row["predicted"] for row in rows]
        points(left, predicted, samples, colour, name, marker)
        errors = [
            type(s).of(value / root - 1 for value in s.values)
            for s, root in zip(samples, predicted, strict=True)
        ]
        points(right, predicted, errors, colour, name, marker)
    left.plot([0.1, 0.6], [0.1, 0.6], color=GREY, lw=1.3, label="as predicted")
    right.axhline(0, color=GREY, lw=1.3)
    for height in (-0.06, 0.06):
        right.axhline(
            height,
            color=GREY,
            lw=1.0,
            ls=(0, (1, 1.5)),
            label="±6%, the source's median" if height > 0 else "_",
        )
    dress(
        left, "Runs that have not tipped", "predicted utilization: good root of $g_m$", "measured utilization"
    )
    dress(
        right,
        "The same, relative",
        "predicted utilization: good root of $g_m$",
        "measured over predicted − 1",
    )
    left.legend(loc="upper left", **LEGEND)
    right.legend(loc="lower left", **LEGEND)
    sheet.save(path)


def _groups(data: dict[str, Any]) -> list[tuple[str, list[dict[str, Any]], str, str]]:
    curve = [
        (
            f"θ = 5, m = 6, {POLICY_WORDS[policy]}",
            [r for r in data["curve"] if r["policy"] == policy],
            colour,
            "o",
        )
        for policy, colour in POLICY_COLOURS.items()
        if policy in ("none", "jitter")
    ]
    shift = [row for row in data["shift"] if len(row["values"]) > 1]
    return [
        *curve,
        ("θ = 2, λ = 0.28μ, at once", [r for r in shift if r["policy"] == "none"], ORANGE, "s"),
        ("θ = 2, λ = 0.28μ, full jitter", [r for r in shift if r["policy"] == "jitter"], GREEN, "s"),
    ]
