"""The matrix: rows out of runs, what agrees with them live, and how all that reads."""

from __future__ import annotations

import io
import json
import math
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image

from analysis.mitigations.catalogue import CATALOGUE, Choice
from analysis.mitigations.columns import COLUMNS, NONE_NEEDED, cells, outcome_text, share_text, time_text
from analysis.mitigations.documents import markdown, matrix_json, write_matrix
from analysis.mitigations.matrix import LiveRun, Matrix, Row, runs_needed, simulable, simulate_matrix
from analysis.mitigations.score import Score, Stretch
from analysis.mitigations.trials import trials
from analysis.plots.tradeoffs import draw_tradeoffs, most_answered, tradeoffs_title
from domain.experiment import Client, Demand, Experiment, Phase, RunSettings, Service

SMALL = Experiment(
    name="small",
    title="A small storm <b>",
    client=Client(timeout_s=10.0, max_attempts=3),
    demand=Demand(36.0, (Phase("before", 30.0), Phase("spike", 40.0, 5.0), Phase("watch", 150.0))),
    service=Service(2, 40.0),
    run=RunSettings(10.0, 1),
)
QUIET = Stretch(100, 1.0, 0.0, 0.0, 0.0, 1.0, 10.0)


def seen(outcome: str, recovery_s: float | None = None) -> Score:
    """A live score of which only the storm matters."""
    return Score(outcome, recovery_s, 1.0, None, 0.2, 0.1, 0.5, QUIET, QUIET, QUIET)  # type: ignore[arg-type]


def row(
    outcomes: dict[str, int], *, band: tuple[float, float] | None = None, live: Score | None = None
) -> Row:
    """A row with or without a live run."""
    run = None if live is None else LiveRun("runs/x", True, (), live)
    values = {"trapped": outcomes.get("trapped", 0) / sum(outcomes.values()), "recovery_s": 20.0}
    return Row(CATALOGUE["lifo"], CATALOGUE["lifo"].apply(SMALL), outcomes, values, band, run)


@pytest.mark.parametrize(
    ("simulated", "band", "live", "agrees"),
    [
        ({"trapped": 20}, None, seen("trapped"), True),
        ({"trapped": 20}, None, seen("recovered", 20.0), False),
        ({"recovered": 20}, (10.0, 30.0), seen("recovered", 20.0), True),
        ({"recovered": 20}, (10.0, 30.0), seen("recovered", 34.0), True),
        ({"recovered": 20}, (10.0, 30.0), seen("recovered", 35.0), False),
        ({"recovered": 20}, (10.0, 30.0), seen("recovered", 5.0), False),
        ({"recovered": 19, "trapped": 1}, (10.0, 30.0), seen("trapped"), True),
        ({"recovered": 39, "trapped": 1}, (10.0, 30.0), seen("trapped"), False),
    ],
)
def test_a_live_run_agrees_with_what_seeds_do(
    simulated: dict[str, int], band: tuple[float, float] | None, live: Score, agrees: bool
) -> None:
    """Its outcome is that of one seed in twenty at least, its recovery within their band, give or take."""
    assert row(simulated, band=band, live=live).agrees is agrees


def test_an_invalid_run_neither_agrees_nor_disagrees() -> None:
    """It says nothing of the service."""
    valid = row({"trapped": 20}, live=seen("recovered", 9.0))
    assert valid.live is not None
    assert replace(valid, live=replace(valid.live, valid=False)).agrees is None
    assert row({"trapped": 20}).agrees is None


def test_outcomes_shares_and_times_as_texts() -> None:
    """The most frequent first; small shares keep a decimal; short times are in milliseconds."""
    assert outcome_text({"trapped": 20}) == "trapped"
    assert outcome_text({"trapped": 2, "recovered": 18}) == "recovered 18, trapped 2"
    assert [share_text(x) for x in (0.0, 0.0001, 0.05, 0.0996, 0.5, 1.0)] == [
        "0%", "<0.1%", "5.0%", "10%", "50%", "100%",
    ]  # fmt: skip
    assert [time_text(x) for x in (0.0, 0.0123, -0.05, 12.345)] == ["0", "12 ms", "−50 ms", "12.3 s"]


def test_badness_lies_between_the_ends_of_the_colours() -> None:
    """Goodput is better the more, times are measured in timeouts, attempts are neither good nor bad."""
    by_key = {column.key: column for column in COLUMNS}
    assert by_key["end_goodput"].badness(0.25, 10.0) == 0.75
    assert by_key["added_p99_s"].badness(0.5, 10.0) == pytest.approx(0.5)
    assert by_key["added_p99_s"].badness(-0.5, 10.0) == 0.0
    assert by_key["recovery_s"].badness(1e9, 10.0) == 1.0
    assert by_key["amplification"].badness(3.0, 10.0) is None
    assert by_key["wasted"].badness(None, 10.0) is None


def test_a_recovery_that_no_seed_needs_is_good() -> None:
    """Unlike one that no seed makes, which is no number."""
    recovery = next(column for column in COLUMNS if column.key == "recovery_s")
    texts = {}
    for outcomes, badness in (
        ({"healthy": 2}, 0.0),
        ({"trapped": 2}, None),
        ({"healthy": 1, "trapped": 1}, None),
    ):
        assert recovery.badness(None, 10.0, outcomes) == badness
        texts[",".join(outcomes)] = cells({}, outcomes)[COLUMNS.index(recovery)]
    assert texts == {"healthy": NONE_NEEDED, "trapped": "–", "healthy,trapped": "–"}
    assert recovery.badness(5.0, 10.0, {"healthy": 1, "recovered": 1}) == pytest.approx(1 / 60)


@pytest.fixture(scope="module")
def matrix() -> Matrix:
    """Three mitigations over two seeds."""
    told: list[int] = []
    chosen = Choice(only=("full-jitter", "queue-cap", "budget+jitter")).mitigations(SMALL)
    made = simulate_matrix(SMALL, chosen, 2, on_done=told.append)
    assert told == list(range(1, runs_needed(SMALL, chosen, 2) + 1))
    return made


def test_every_row_has_its_seeds_and_every_column(matrix: Matrix) -> None:
    """A queue within the timeout is no trap; the bare service is one; the reference adds no latency."""
    assert [r.mitigation.name for r in matrix.rows] == ["none", "full-jitter", "queue-cap", "budget+jitter"]
    assert all(sum(r.outcomes.values()) == 2 for r in matrix.rows)
    assert all(column.key in r.values for r in matrix.rows for column in COLUMNS)
    none, _, cap, _ = matrix.rows
    assert none.outcomes == {"trapped": 2}
    assert none.values["added_p50_s"] == none.values["added_p99_s"] == 0.0
    assert cap.outcomes.get("trapped", 0) == 0
    lost, kept = none.values["storm_answered"], cap.values["storm_answered"]
    assert lost is not None
    assert kept is not None
    assert lost < 0.2
    assert kept > 0.5
    assert none.values["predicted_amplification"] == 3.0
    assert none.values["amplification"] == pytest.approx(3.0, rel=0.05)


def test_the_same_seeds_give_the_same_matrix(matrix: Matrix) -> None:
    """However many cores work on it."""
    again = simulate_matrix(SMALL, [r.mitigation for r in matrix.rows], 2, cores=1)
    assert [(r.outcomes, r.values) for r in again.rows] == [(r.outcomes, r.values) for r in matrix.rows]


def test_a_matrix_needs_seeds_mitigations_and_a_service() -> None:
    """Nothing is simulated otherwise."""
    chosen = Choice(only=("lifo",)).mitigations(SMALL)
    for experiment, mitigations, seeds in (
        (SMALL, chosen, 0),
        (SMALL, [], 1),
        (replace(SMALL, service=None), chosen[:1], 1),
    ):
        with pytest.raises(ValueError, match="a matrix needs"):
            simulate_matrix(experiment, mitigations, seeds)


def test_what_would_never_end_is_left_out_and_said() -> None:
    """Clients without end or backoff before a service that rejects at once."""
    endless = replace(SMALL, client=replace(SMALL.client, max_attempts=math.inf))
    chosen = Choice(only=("full-jitter", "queue-cap", "lifo")).mitigations(endless)
    able, notes = simulable(endless, chosen)
    assert [mitigation.name for mitigation in able] == ["none", "full-jitter", "lifo"]
    assert len(notes) == 1
    assert notes[0].startswith("queue-cap is left out: ")
    assert simulable(SMALL, chosen) == (chosen, ())


def test_runs_needed_counts_the_storm_and_every_trial() -> None:
    """Four seeds: four storms, and each trial at its own number of seeds."""
    chosen = Choice(only=("lifo",)).mitigations(SMALL)
    assert runs_needed(SMALL, chosen, 4) == 2 * (4 + sum(trial.seeds(4) for trial in trials()))


def test_the_files_hold_the_same_numbers(matrix: Matrix, tmp_path: Path) -> None:
    """JSON is plain, Markdown and the page name every row, markup in a title is harmless."""
    live = LiveRun("runs/x", False, ("The generator lagged.",), seen("trapped"))
    shown = replace(matrix, rows=(replace(matrix.rows[0], live=live), *matrix.rows[1:]))
    files = write_matrix(shown, tmp_path / "new" / "folder")
    assert [file.name for file in files] == ["matrix.json", "matrix.md", "matrix.html", "matrix.png"]
    data = json.loads(files[0].read_text())
    assert data == matrix_json(shown)
    assert [entry["name"] for entry in data["rows"]] == [r.mitigation.name for r in matrix.rows]
    assert data["rows"][0]["agrees"] is None
    assert data["rows"][2]["admission"]["queue_cap"] == 40
    page = files[2].read_text()
    assert "invalid run" in page
    assert "The generator lagged." in page
    assert "A small storm &lt;b&gt;" in page
    assert "<b>" not in page
    assert data["rows"][1]["values"]["storm_answered"] == matrix.rows[1].values["storm_answered"]
    assert most_answered(shown) in page
    assert most_answered(shown) in markdown(shown)
    for r in matrix.rows:
        assert r.mitigation.name in page
        assert f"| {r.mitigation.name} |" in markdown(shown)


def test_the_picture_is_wide_enough_and_grows_with_its_rows(matrix: Matrix) -> None:
    """At least 1,200 pixels."""
    small, large = (
        Image.open(io.BytesIO(draw_tradeoffs(replace(matrix, rows=matrix.rows[:n])).png)).size for n in (1, 4)
    )
    assert small[0] == large[0]
    assert small[0] >= 1200
    assert large[1] > small[1]


@pytest.mark.parametrize(
    ("answered", "said"),
    [
        ((0.5, 0.7), "in time with codel: 70%; 25% without any mitigation."),
        ((0.9001, 0.9004), "in time with lifo: 90%; 25% without any mitigation. 2 share the first place."),
        ((None, 0.7), "in time with codel: 70%; 25% without any mitigation."),
        ((None, None), ""),
    ],
)
def test_who_answered_most_is_named(answered: tuple[float | None, ...], said: str) -> None:
    """The first of those that read the same; the bare scenario does not compete."""
    none, *rows = (
        replace(row({"recovered": 2}), mitigation=CATALOGUE[name], values={"storm_answered": value})
        for name, value in zip(("none", "lifo", "codel"), (0.25, *answered), strict=True)
    )
    sentence = most_answered(Matrix(SMALL, (1, 2), (none, *rows)))
    assert sentence.endswith(said)
    assert bool(sentence) == bool(said)
    assert most_answered(Matrix(SMALL, (1, 2), (none,))) == ""


def test_the_title_counts_those_that_get_up_in_every_seed() -> None:
    """``none`` is not counted; a scenario that gets up by itself says so."""
    bad, good = row({"trapped": 1, "recovered": 1}), row({"recovered": 2})
    none = replace(bad, mitigation=CATALOGUE["none"], outcomes={"trapped": 2})
    assert tradeoffs_title(Matrix(SMALL, (1, 2), (none, bad, good, good))).startswith(
        "2 of 3 mitigations get"
    )
    calm = replace(none, outcomes={"recovered": 2})
    assert "gets up without" in tradeoffs_title(Matrix(SMALL, (1, 2), (calm, good)))
    assert tradeoffs_title(Matrix(SMALL, (1, 2), (none,))) == "small without any mitigation"
