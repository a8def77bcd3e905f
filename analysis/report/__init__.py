"""The report: one self-contained page for whoever is woken at three in the morning."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from analysis.report.explanation import chance, explain, remedies, remedies_heading
from analysis.report.tables import (
    check_rows,
    environment_rows,
    health_rows,
    phase_rows,
    quantity_rows,
    region_rows,
    scenario_json,
    setting_rows,
    total_rows,
)
from analysis.report.verdict import expectation, headline, subline, tone
from analysis.result import RunResult
from analysis.web_page import picture_uri, rendered
from analysis.wording import number

if TYPE_CHECKING:
    from analysis.plots import Plot

__all__ = ["headline", "write_report"]

FILE_NAME = "report.html"


def write_report(result: RunResult, plots: Sequence[Plot] | None = None) -> Path:
    """Write ``report.html`` into the run directory; plots that are not handed in are drawn first."""
    if plots is None:
        from analysis.plots import draw_plots  # matplotlib is slow to import, and the words need none of it

        plots = draw_plots(result)
    path = Path(result.directory) / FILE_NAME
    # A lone surrogate in somebody's scenario title must not cost the report.
    path.write_bytes(render(result, plots).encode("utf-8", errors="xmlcharrefreplace"))
    return path


def render(result: RunResult, plots: Sequence[Plot]) -> str:
    """The page as text."""
    run = result.experiment.run
    return rendered(
        "report.html.j2",
        result=result,
        experiment=result.experiment,
        tone=tone(result),
        headline=headline(result),
        subline=subline(result),
        expectation=expectation(result),
        explanation=explain(result),
        remedies=remedies(result),
        remedies_heading=remedies_heading(result),
        quantities=quantity_rows(result),
        checks=check_rows(result),
        chance=chance(result),
        plots=[(plot, picture_uri(plot.png)) for plot in plots],
        signals=region_rows(result),
        phases=phase_rows(result),
        settings=setting_rows(result),
        scenario=scenario_json(result),
        health=health_rows(result),
        totals=total_rows(result),
        environment=environment_rows(result),
        speedup=number(run.speedup),
        scaled=run.speedup != 1,
        run_name=Path(result.directory).name,
    )
