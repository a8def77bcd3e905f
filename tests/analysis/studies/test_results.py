"""What is written of a study, and what is not written over."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from analysis.studies.chart import new_chart
from analysis.studies.claims import Claim, Figure, StudyResult
from analysis.studies.counting import counted, does
from analysis.studies.page import by_chance
from analysis.studies.registry import STUDIES
from analysis.studies.results import Provenance, check_directory, counts, plain, write_index, write_result
from domain.errors import ConfigurationError

MADE = Provenance("tipover validate made-up", "2026-11-30")


def draw(path: Path) -> None:
    """A small chart."""
    chart = new_chart("A line", "x", ["y"])
    chart.axes.plot([0, 1], [0, 1], label="a line")
    chart.save(path)


def made_up(*, refuted: bool = True, name: str = "made-up", effort: float = 0.5) -> StudyResult:
    """A study with one claim of each kind."""
    claims = [
        Claim("A | B", "src 1", "1", "1", True, "the same", chance=True),
        Claim("D", "src 4", "5", "5", True, "close", fitted="the window"),
        Claim("E", "recomputed", "7", "7", True, "the same", recomputed=True),
        Claim("F", "recomputed", "7", "8", False, "not the same", recomputed=True),
        Claim("Never compared", "src 2", "–", "2", None, "no figure given", chance=True),
    ]
    if refuted:
        claims.insert(1, Claim("C is large", "src 3", "above 9", "3", False, "it is small\nindeed"))
    return StudyResult(
        name=name,
        title="A made-up study",
        claims=tuple(claims),
        figures=(Figure("line", "A line from [0] to *1*.", draw),),
        data={"numbers": np.array([1.0, math.nan, math.inf]), "seeds": (np.int64(1), 2)},
        settings={
            "effort": effort,
            "source": "A made-up work (src)",
            "symbols": "x is a number",
            "seeds": [1, 2],
            "requests": 13_056,
            "dwell_s": 0.5,
        },
    )


def test_the_page_has_table_findings_and_figures(tmp_path: Path) -> None:
    """Every claim is a row of one line; what is refuted is said again in words; figures have captions."""
    text = write_result(made_up(), tmp_path, MADE).read_text(encoding="utf-8")
    assert "`tipover validate made-up` on 2026-11-30" in text
    assert "**4 claims of the source: 1 agrees, 1 agrees with a parameter of ours fitted" in text
    assert "fitted to the source, 1 disagrees, 1 cannot be compared.**" in text
    assert "not against the source: 1 holds, 1 fails, 0 cannot be compared." in text
    assert "Source: A made-up work (src). The lines below call it by the number in brackets." in text
    assert "Symbols: x is a number." in text
    assert "Settings: effort: 0.5; seeds: 1, 2; requests: 13,056; dwell: 0.5 s." in text
    assert "*ours* is what this program finds" in text
    assert "| D | src 4 | 5 | 5 | yes (fitted) | close. Fitted or open: the window |" in text
    assert "| F | recomputed | 7 | 8 | **NO** (own check) | not the same |" in text
    assert "- the window: 1 claim\n" in text[text.index("## Fitted") : text.index("## Own checks")]
    assert "- **F**: 7 before, 8 now. Not the same." in text[text.index("## Own checks") :]
    assert "| A \\| B | src 1 | 1 | 1 | yes | the same |" in text
    assert "| C is large | src 3 | above 9 | 3 | **NO** | it is small indeed |" in text
    findings = text[text.index("## Findings") : text.index("## Fitted")]
    assert "**F**" not in findings
    assert "- **C is large** (src 3). Source: above 9. Ours: 3. It is small" in findings
    assert "A | B" not in findings
    assert text.index("![A line from (0) to *1*.](made-up/line.png)") > text.index("## Figures")
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert {row.replace("\\|", "").count("|") for row in rows} == {7}
    assert (tmp_path / "made-up" / "line.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(("effort", "warned"), [(0.05, True), (0.999, True), (1.0, False), (2.0, False)])
def test_the_page_warns_at_a_low_effort(tmp_path: Path, effort: float, warned: bool) -> None:
    """Below effort 1 a warning comes first; how many verdicts rest on chance is said at any effort."""
    text = write_result(made_up(effort=effort), tmp_path, MADE).read_text(encoding="utf-8")
    assert (f"> **Warning.** Effort {effort:g} has fewer seeds" in text) == warned
    assert "1 verdict here rests on a 95% interval over seeds: of so many less than one would be" in text


@pytest.mark.parametrize(
    ("count", "words"),
    [
        (0, "No verdict here rests on a 95% interval"),
        (1, "1 verdict here rests"),
        (14, "of so many less than one would"),
        (20, "20 verdicts here rest on a 95% interval over seeds: of so many about 1 would"),
        (88, "of so many about 4 would be a disagreement by chance alone"),
    ],
)
def test_one_verdict_in_twenty_is_chance(count: int, words: str) -> None:
    """An interval that holds the truth with 95% leaves it out one time in twenty."""
    assert words in by_chance(count, 1.0)
    warning = "Effort 0.1 has fewer seeds or shorter runs than effort 1. "
    assert by_chance(count, 0.1).startswith(warning) == (count > 0)


@pytest.mark.parametrize(
    ("count", "words"), [(0, "0 groups"), (1, "1 group"), (2, "2 groups"), (13_056, "13,056 groups")]
)
def test_counts_in_words(count: int, words: str) -> None:
    """One is singular, all else plural, and thousands are set apart."""
    assert counted(count, "group") == words
    assert (does(count, "agree") == f"{count:,} agrees") == (count == 1)


def test_the_numbers_are_plain_json(tmp_path: Path) -> None:
    """NaN is null, infinity a word, arrays are lists; nothing else than JSON's own values."""
    write_result(made_up(), tmp_path, MADE)
    record = json.loads((tmp_path / "made-up.json").read_text(encoding="utf-8"))
    assert record["data"] == {"numbers": [1.0, None, "inf"], "seeds": [1, 2]}
    expected = {
        "agree": 1,
        "agree_fitted": 1,
        "disagree": 1,
        "not_compared": 1,
        "checks_hold": 1,
        "checks_fail": 1,
        "checks_not_compared": 0,
        "by_interval": 1,
    }
    assert record["counts"] == expected == counts(made_up())
    assert record["claims"][1]["agrees"] is False
    assert [claim["fitted"] for claim in record["claims"]] == ["", "", "the window", "", "", ""]
    assert [claim["recomputed"] for claim in record["claims"]] == [False, False, False, True, True, False]
    assert record["figures"] == [
        {"name": "line", "caption": "A line from [0] to *1*.", "file": "made-up/line.png"}
    ]


def test_what_json_has_no_word_for_is_a_bug() -> None:
    """An object in the data is refused, not written as its name."""
    with pytest.raises(TypeError, match="not a plain value"):
        plain({"a": object()})


def test_the_index_lists_all_studies_that_are_there(tmp_path: Path) -> None:
    """It is made again from the JSON files, whoever wrote them last; other JSON files are left alone."""
    (tmp_path / "other.json").write_text('{"title": "not ours"}')
    write_result(made_up(), tmp_path, MADE)
    write_result(made_up(refuted=False, name="another"), tmp_path, MADE)
    text = (tmp_path / "README.md").read_text(encoding="utf-8")
    made = " `tipover validate made-up` |"
    assert "| [A made-up study](another.md) | 1 | 1 | 0 | 1 | 1 of 2 hold | 0.5 | 2026-11-30 |" + made in text
    assert "| [A made-up study](made-up.md) | 1 | 1 | 1 | 1 | 1 of 2 hold | 0.5 | 2026-11-30 |" + made in text
    assert "make results" not in text
    assert "not ours" not in text
    before = text
    write_index(tmp_path)
    assert (tmp_path / "README.md").read_text(encoding="utf-8") == before


def test_what_was_made_here_is_replaced(tmp_path: Path) -> None:
    """A second result takes the place of the first, and figures that are no longer made go."""
    write_result(made_up(), tmp_path, MADE)
    check_directory(tmp_path, ["made-up"])
    second = made_up(refuted=False)
    renamed = StudyResult(
        second.name,
        second.title,
        second.claims,
        (Figure("curve", "Another picture with a caption.", draw),),
        second.data,
        second.settings,
    )
    write_result(renamed, tmp_path, MADE)
    assert "No claim that can be compared disagrees." in (tmp_path / "made-up.md").read_text(encoding="utf-8")
    assert [path.name for path in (tmp_path / "made-up").iterdir()] == ["curve.png"]


@pytest.mark.parametrize(
    "foreign", ["README.md", "made-up.md", "made-up.json", "made-up/mine.png", "made-up"]
)
def test_what_was_not_made_here_is_not_written_over(tmp_path: Path, foreign: str) -> None:
    """A file of somebody else's under one of our names is a fault, found before anything is worked out."""
    path = tmp_path / foreign
    path.parent.mkdir(exist_ok=True)
    path.write_text("mine")
    with pytest.raises(ConfigurationError, match="would overwrite something else") as caught:
        check_directory(tmp_path, ["made-up"])
    assert [fault.value for fault in caught.value.faults] == [str(path)]
    assert path.read_text() == "mine"


def test_a_directory_that_cannot_be_made(tmp_path: Path) -> None:
    """A file in the place of the directory is one clear fault."""
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigurationError, match="cannot be written"):
        check_directory(tmp_path / "file" / "results", ["made-up"])


def test_the_registry_names_modules_that_exist() -> None:
    """Every study is a module of the package, found without importing it."""
    folder = Path(__file__).parents[3]
    for module in STUDIES.values():
        path = folder / module.replace(".", "/")
        assert path.with_suffix(".py").exists() or (path / "__init__.py").exists(), module
