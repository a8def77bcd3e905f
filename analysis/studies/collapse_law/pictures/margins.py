"""F4: how near to the ceiling each policy comes, and what it waits for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from matplotlib.axes import Axes

from analysis.studies.collapse_law.collapse_load_claims import MARGINS, margins
from analysis.studies.collapse_law.delays import CLAIMED
from analysis.studies.collapse_law.pictures.sheet import (
    LEGEND,
    POLICY_COLOURS,
    POLICY_WORDS,
    at_least,
    claimed,
    dress,
    law_line,
    new_sheet,
    points,
)
from analysis.studies.collapse_law.rows import pick


def draw_margins(data: dict[str, Any], path: Path) -> None:
    """Left the collapse loads over the ceiling, right the mean backoffs."""
    sheet = new_sheet("Collapse load over the ceiling, and mean backoff, by policy", 1, 2)
    _margins(sheet.panels[0], data["policies"])
    _delays(sheet.panels[1], data["delays"])
    sheet.save(path)


def _margins(axes: Axes, rows: list[dict[str, Any]]) -> None:
    for i, policy in enumerate(POLICY_COLOURS):
        x = [j + 0.16 * (i - 1.5) for j in range(len(MARGINS))]
        samples = [margins(pick(rows, theta=theta, policy=policy)) for theta in MARGINS]
        points(axes, x, samples, POLICY_COLOURS[policy], POLICY_WORDS[policy])
        claimed(
            axes,
            x,
            [MARGINS[theta][policy][0] for theta in MARGINS],
            "the source's figures" if i == 3 else "_",
        )
    law_line(axes, 1.0, "the ceiling")
    axes.set_xticks(range(len(MARGINS)), [f"θ = {theta:g}" for theta in MARGINS])
    at_least(axes, 0.4, 1.1)
    axes.set_xlim(-0.5, len(MARGINS) - 0.5)
    dress(axes, "Mean collapse load over the ceiling", "timeout, mean services", "collapse load / ceiling")
    axes.legend(loc="lower right", **LEGEND)


def _delays(axes: Axes, rows: list[dict[str, Any]]) -> None:
    names = list(POLICY_COLOURS)
    for i, policy in enumerate(names):
        row = pick(rows, policy=policy)
        axes.errorbar(
            [i],
            [row["pooled"]],
            yerr=[row["half_width_95"]],
            fmt="o",
            ms=4.5,
            capsize=2.5,
            color=POLICY_COLOURS[policy],
            label="ours, runs not tipped" if i == len(names) - 1 else "_",
        )
    claimed(axes, range(len(names)), [CLAIMED[name] for name in names], "the source's figures")
    axes.set_xticks(range(len(names)), [POLICY_WORDS[name] for name in names])
    axes.set_xlim(-0.5, len(names) - 0.5)
    dress(axes, "Mean backoff before a retry, θ = 5, λ = 0.3μ", "policy", "mean backoff, mean services")
    axes.legend(loc="upper left", **LEGEND)
