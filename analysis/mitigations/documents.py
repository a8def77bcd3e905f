"""The matrix as files: JSON for programs, Markdown and one page of HTML for people, and the picture."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from analysis.mitigations.columns import COLUMNS, GROUPS, cells, outcome_text, share_text, time_text
from analysis.mitigations.matrix import Matrix, Row
from analysis.web_page import picture_uri, rendered
from analysis.wording import ABSENT
from domain.experiment_json import to_json

if TYPE_CHECKING:
    from analysis.plots.canvas import Plot

SCHEMA_VERSION = 1
LIVE_HEADINGS = ("live outcome", "recovery", "answered", "end goodput", "wasted", "agrees")


def write_matrix(matrix: Matrix, directory: Path) -> tuple[Path, ...]:
    """Write ``matrix.json``, ``.md``, ``.html`` and ``.png`` into the directory, which is made."""
    from analysis.plots.tradeoffs import draw_tradeoffs

    directory.mkdir(parents=True, exist_ok=True)
    plot = draw_tradeoffs(matrix)
    text = json.dumps(matrix_json(matrix), indent=2, ensure_ascii=False, allow_nan=False)
    contents = {
        "matrix.json": (text + "\n").encode(),
        "matrix.md": markdown(matrix).encode(errors="replace"),
        "matrix.html": page(matrix, plot).encode(errors="xmlcharrefreplace"),
        "matrix.png": plot.png,
    }
    for name, content in contents.items():
        (directory / name).write_bytes(content)
    return tuple(directory / name for name in contents)


def matrix_json(matrix: Matrix) -> dict[str, Any]:
    """Plain JSON values; null for what is not known, "inf" for what has no end."""
    columns = [
        {"key": c.key, "group": c.group, "heading": c.heading, "unit": c.unit, "meaning": c.meaning}
        for c in COLUMNS
    ]
    plain = _plain(
        {
            "schema_version": SCHEMA_VERSION,
            "scenario": to_json(matrix.experiment),
            "seeds": list(matrix.seeds),
            "columns": columns,
            "rows": [_row_json(row) for row in matrix.rows],
            "notes": list(matrix.notes),
        }
    )
    assert isinstance(plain, dict)
    return plain


def _row_json(row: Row) -> dict[str, Any]:
    experiment = to_json(row.experiment)
    return {
        "name": row.mitigation.name,
        "group": row.mitigation.group,
        "does": row.mitigation.sentence,
        "client": experiment["client"],
        "admission": experiment["service"]["admission"],
        "outcomes": dict(row.outcomes),
        "values": dict(row.values),
        "recovery_band_s": None if row.recovery_band_s is None else list(row.recovery_band_s),
        "live": None if row.live is None else asdict(row.live),
        "agrees": row.agrees,
    }


def _plain(value: object) -> object:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return "inf" if value > 0 else None
    return value


def markdown(matrix: Matrix) -> str:
    """One table of the storm and the overload, one of the costs, and what each row does."""
    from analysis.plots.tradeoffs import foot_notes, most_answered, tradeoffs_title

    notes = [note for note in (most_answered(matrix), *foot_notes(matrix)[:2]) if note]
    parts = [f"# {tradeoffs_title(matrix)}", "", *(f"{note}  " for note in notes), ""]
    for groups in (GROUPS[:2], GROUPS[2:]):
        shown = [index for index, column in enumerate(COLUMNS) if column.group in groups]
        headings = [COLUMNS[i].words for i in shown]
        rows = [
            [row.mitigation.name, *(cells(row.values, row.outcomes)[i] for i in shown)] for row in matrix.rows
        ]
        parts += [*table(["mitigation", *headings], rows), ""]
    live = [[entry["name"], entry["simulated"], *entry["cells"]] for entry in live_rows(matrix)]
    if live:
        parts += ["On real sockets:", "", *table(["mitigation", "simulated", *LIVE_HEADINGS], live), ""]
    parts += [f"- **{row.mitigation.name}**: {row.mitigation.sentence}" for row in matrix.rows]
    return "\n".join(parts) + "\n"


def table(headings: list[str], rows: list[list[str]]) -> list[str]:
    """The lines of a table in Markdown."""
    lines = [headings, ["---"] * len(headings), *rows]
    return ["| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines]


def live_rows(matrix: Matrix) -> list[dict[str, Any]]:
    """What was seen live beside what was simulated, for rows that have a live run."""
    return [_live_row(row) for row in matrix.rows if row.live is not None]


def _live_row(row: Row) -> dict[str, Any]:
    live = row.live
    assert live is not None
    seen = live.score
    recovery = ABSENT if seen.recovery_s is None else time_text(seen.recovery_s)
    shares = (seen.storm_answered, seen.goodput_ratio, seen.wasted)
    answered, goodput, wasted = (ABSENT if share is None else share_text(share) for share in shares)
    verdict = {None: "invalid run", True: "yes", False: "NO"}[row.agrees]
    band = row.recovery_band_s
    simulated = outcome_text(row.outcomes)
    if band is not None:
        simulated += f" in {time_text(band[0])} to {time_text(band[1])}"
    return {
        "name": row.mitigation.name,
        "simulated": simulated,
        "cells": [seen.outcome, recovery, answered, goodput, wasted, verdict],
        "directory": live.directory,
        "reasons": " ".join(live.reasons),
    }


def page(matrix: Matrix, plot: Plot) -> str:
    """The page as text; it needs no other file."""
    from analysis.plots.tradeoffs import foot_notes, most_answered

    return rendered(
        "matrix.html.j2",
        matrix=matrix,
        plot=plot,
        uri=picture_uri(plot.png),
        most_answered=most_answered(matrix),
        notes=[*foot_notes(matrix), *matrix.notes],
        groups=[(name, sum(column.group == name for column in COLUMNS)) for name in GROUPS],
        columns=COLUMNS,
        rows=list(_page_rows(matrix)),
        live=live_rows(matrix),
        live_headings=LIVE_HEADINGS,
    )


def _page_rows(matrix: Matrix) -> Iterator[dict[str, Any]]:
    from matplotlib.colors import to_hex

    from analysis.plots.tradeoffs import COLOURS

    timeout_s, group = matrix.experiment.client.timeout_s, ""
    for row in matrix.rows:
        badness = [column.badness(row.values.get(column.key), timeout_s, row.outcomes) for column in COLUMNS]
        colours = [None if share is None else to_hex(COLOURS(share)) for share in badness]
        texts = cells(row.values, row.outcomes)
        yield {
            "name": row.mitigation.name,
            "sentence": row.mitigation.sentence,
            "first": row.mitigation.group != group,
            "cells": list(zip(texts, colours, strict=True)),
        }
        group = row.mitigation.group
