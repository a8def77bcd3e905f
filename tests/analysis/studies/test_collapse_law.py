"""The study of the collapse law as a whole, at a small effort: nothing is missing and all of it is drawn."""

from __future__ import annotations

import io
import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from matplotlib.image import imread

from analysis.studies.claims import StudyResult
from analysis.studies.collapse_law import TITLE, bisection, captions, run
from analysis.studies.collapse_law.protocol import POLICIES
from analysis.studies.collapse_law.study import PARTS
from tests.analysis.studies.checks import LARGEST_PNG, check_words

EFFORT = 0.02
CLAIMS = {
    "000 §3.2, §6.4": 4,
    "000 §4.1, §6.1": 1,
    "000 §4.2": 6,
    "000 §4.3": 2,
    "000 §4.3, §6.3": 4,
    "000 §4.4": 10,
    "000 §4.4, §6.3": 2,
    "000 §4.4, §6.7": 1,
    "000 §6.1": 6,
    "000 §6.2": 22,
    "000 §6.2, §8": 1,
    "recomputed (2,000 seeds)": 7,
    "000 §6.3": 12,
    "000 §6.4": 17,
    "000 §6.5": 21,
    "000 §6.6": 1,
    "000 §6.7": 18,
}
FIGURES = [
    "f1-kernel-and-curve",
    "f2-onset",
    "f3-hysteresis",
    "f4-margins",
    "f5-interventions",
    "f6-prediction",
    "f7-unified-curve",
]


@pytest.fixture(scope="module")
def told() -> list[tuple[str, float]]:
    """What the study said of its progress."""
    return []


@pytest.fixture(scope="module")
def result(told: list[tuple[str, float]]) -> StudyResult:
    """The study, run once."""
    return run(EFFORT, lambda words, share: told.append((words, share)))


def test_every_claim_is_there(result: StudyResult) -> None:
    """So many lines for each section of the source, no two of them the same."""
    assert Counter(claim.source for claim in result.claims) == CLAIMS
    assert len({(claim.statement, claim.source) for claim in result.claims}) == sum(CLAIMS.values())


def test_every_claim_is_in_words(result: StudyResult) -> None:
    """Each says what was claimed, what was found, and why they agree or not; nothing is a placeholder."""
    for claim in result.claims:
        words = (claim.statement, claim.claimed, claim.ours, claim.why)
        assert all(words), claim
        assert not {"nan", "inf", "None"} & set(" ".join(words).replace(",", " ").split()), claim


def test_recomputed_figures_are_marked(result: StudyResult) -> None:
    """They check the simulator, and nothing else does."""
    for claim in result.claims:
        assert claim.recomputed == claim.source.startswith("recomputed"), claim
        assert not (claim.recomputed and claim.fitted)


def test_what_rests_on_a_choice_of_ours_is_fitted(result: StudyResult) -> None:
    """The time before shedding, the dwell of the ramp and of the drain, what a rejected attempt does."""
    for words in (
        "m = ∞: depth",
        "On the way up the ramp",
        "L = 2, ",
        "L = 5 (",
        "a collapsed system recovers",
    ):
        rows = [claim for claim in result.claims if words in claim.statement]
        assert rows
        assert all(claim.fitted for claim in rows), words
    assert not any(claim.fitted for claim in result.claims if claim.statement.startswith("No cap"))


def test_what_needs_no_seeds_agrees(result: StudyResult) -> None:
    """The source's arithmetic on the curve is right, whatever the effort."""
    theory = [
        c for c in result.claims if c.source.startswith(("000 §4.2", "000 §4.4")) and "∞:" not in c.statement
    ]
    assert [c.statement for c in theory if c.agrees is False] == []


def test_the_data_are_plain_json(result: StudyResult) -> None:
    """Every part has its data, and JSON keeps it as it is."""
    assert list(result.data) == [key for key, *_ in PARTS]
    assert json.loads(json.dumps(result.data, allow_nan=False)) == result.data
    json.dumps(result.settings, allow_nan=False)


def test_progress_rises_to_one(result: StudyResult, told: list[tuple[str, float]]) -> None:
    """It is told before every part, and at the end."""
    shares = [share for _, share in told]
    assert len(shares) == len(PARTS) + 1
    assert shares == sorted(shares)
    assert (shares[0], shares[-1]) == (0.0, 1.0)


def test_every_figure_is_a_picture(result: StudyResult, tmp_path: Path) -> None:
    """Seven, each with a caption, each drawn to a PNG with something on it."""
    assert [figure.name for figure in result.figures] == FIGURES
    for figure in result.figures:
        path = tmp_path / f"{figure.name}.png"
        figure.draw(path)
        picture = np.asarray(imread(io.BytesIO(path.read_bytes()), format="png"))
        assert min(picture.shape[:2]) > 500
        assert path.stat().st_size < LARGEST_PNG
        assert picture[..., :3].std() > 0.05
        assert len(figure.caption) > 80
    check_words(result)


def test_captions_say_what_the_numbers_say(result: StudyResult) -> None:
    """What a caption of F3 and F4 says of the runs is what the table says of them."""
    captions = {figure.name: figure.caption for figure in result.figures}
    claims = {claim.statement: claim for claim in result.claims}
    beats = claims["At θ = 2 any backoff beats none"]
    words = {True: "each above it", False: "at least one below it", None: "not each to be told from it"}
    assert beats.ours in captions["f4-margins"]
    assert words[beats.agrees] in captions["f4-margins"]
    assert claims["At θ = 20 all policies collapse at the ceiling"].ours in captions["f4-margins"]
    drained = claims["m = 6: the same hold drains it to an empty queue"].ours.removeprefix("drained in ")
    assert drained.split(" of ")[0] in captions["f3-hysteresis"]


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ((0.1, 0.2, 0.2, 0.2), "each above it with 95% confidence"),
        ((0.2, 0.1, 0.3, 0.3), "at least one below it with 95% confidence"),
        ((0.2, 0.2, 0.3, 0.3), "not each to be told from it with 95% confidence"),
    ],
)
def test_a_caption_follows_the_verdict(values: tuple[float, ...], words: str) -> None:
    """F4 says that every backoff helps only if each does, by the numbers it is given."""
    rows = [
        {
            "theta": theta,
            "policy": policy,
            "ceiling_endless": 0.4,
            "values": [value - 0.001, value, value + 0.001],
        }
        for theta in (2.0, 5.0, 20.0)
        for policy, value in zip(POLICIES, values, strict=True)
    ]
    assert words in captions.margins({"policies": rows})


def test_the_source_is_named(result: StudyResult) -> None:
    """The lines say 000, and the page says what that is."""
    assert result.settings["source"].endswith("(000)")
    assert "Collapse Law" in result.settings["source"]
    assert "ceiling" in result.settings["symbols"]


def test_verdicts_over_seeds_are_marked(result: StudyResult) -> None:
    """A share of seeds and a mean over seeds are judged by intervals; the arithmetic of the law is not."""
    for claim in result.claims:
        if claim.source.startswith(("000 §4.2", "000 §4.4")) and "∞:" not in claim.statement:
            assert not claim.chance, claim
        elif "95%" in claim.why and claim.agrees is not None:
            assert claim.chance, claim


def test_figures_can_be_drawn_from_stored_data(result: StudyResult, tmp_path: Path) -> None:
    """A picture needs the data alone: drawn again it has the same bytes."""
    figure = result.figures[3]
    figure.draw(tmp_path / "once.png")
    figure.draw(tmp_path / "twice.png")
    assert (tmp_path / "once.png").read_bytes() == (tmp_path / "twice.png").read_bytes()


def test_the_number_of_cores_changes_nothing(result: StudyResult, monkeypatch: pytest.MonkeyPatch) -> None:
    """One thread finds the same numbers as many."""
    monkeypatch.setattr(bisection, "available_cores", lambda: 1)
    measure = {key: measure for key, _, _, measure in PARTS}
    for key in ("policies", "delays"):
        assert measure[key](EFFORT, {}) == result.data[key]


def test_the_title_names_the_subject() -> None:
    """The title is what the index shows."""
    assert TITLE.startswith("The collapse law")
