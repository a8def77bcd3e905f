"""What must hold of every study's result."""

from __future__ import annotations

import json
from pathlib import Path

from analysis.studies.claims import StudyResult
from analysis.studies.results import plain

LARGEST_PNG = 150_000


def silent(_what: str, _share: float) -> None:
    """Progress that nobody watches."""


def check_result(result: StudyResult, folder: Path) -> None:
    """Claims are complete, the data is plain JSON, and every figure is a PNG of a reasonable size."""
    for claim in result.claims:
        assert claim.statement
        assert claim.source
        assert claim.claimed
        assert claim.ours
        assert claim.why, claim.statement
        assert claim.agrees in (True, False, None)
        assert type(claim.agrees) in (bool, type(None)), claim.statement
        assert "nan" not in claim.ours, claim
    statements = [(claim.statement, claim.source) for claim in result.claims]
    assert len(set(statements)) == len(statements)
    json.dumps(plain(result.data), allow_nan=False)
    json.dumps(plain(result.settings), allow_nan=False)
    for figure in result.figures:
        path = folder / f"{figure.name}.png"
        figure.draw(path)
        assert path.read_bytes().startswith(b"\x89PNG\r\n")
        assert path.stat().st_size < LARGEST_PNG, figure.name
        assert len(figure.caption) > 30


def verdicts(result: StudyResult) -> dict[str, bool | None]:
    """Verdict by statement."""
    return {claim.statement: claim.agrees for claim in result.claims}
