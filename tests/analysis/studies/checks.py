"""What must hold of every study's result."""

from __future__ import annotations

import json
import re
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
    assert re.search(r"\(00\d\)$", result.settings["source"])
    check_words(result)
    for figure in result.figures:
        path = folder / f"{figure.name}.png"
        figure.draw(path)
        assert path.read_bytes().startswith(b"\x89PNG\r\n")
        assert path.stat().st_size < LARGEST_PNG, figure.name
        assert len(figure.caption) > 30


def check_words(result: StudyResult) -> None:
    """No "1 seeds", no number of five digits without separators, no unfinished sentence of a caption."""
    words = [w for c in result.claims for w in (c.statement, c.claimed, c.ours, c.why)]
    captions = [figure.caption for figure in result.figures]
    for text in (*words, *captions):
        assert not re.search(r"(?<![\d.,−])1 (seed|value|group|run|attempt|claim)s\b", text), text
        assert not re.search(r"(?<![\d.,])\d{5,}", text), text
    for caption in captions:
        assert caption.endswith("."), caption
        assert not {"nan", "inf", "None", "–"} & set(re.findall(r"\w+|–", caption)), caption


def verdicts(result: StudyResult) -> dict[str, bool | None]:
    """Verdict by statement."""
    return {claim.statement: claim.agrees for claim in result.claims}
