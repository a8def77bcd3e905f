"""The pictures draw what was counted, mark what was left out, and say in their titles what is to be seen."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from analysis.trigger import wait_picture
from analysis.trigger.observations import Floats, Observations
from analysis.trigger.result import Interval, Method, PhaseDone, Shot
from analysis.trigger.sheet import new_trigger_sheet
from analysis.trigger.story_picture import draw_story, rates
from analysis.trigger.wait_picture import Fit, draw_wait, fitted, marks
from tests.analysis.trigger.made_up import (
    EVERY_KIND,
    QUIET,
    RECOVERS,
    SPIKE_END_S,
    TIMEOUT_S,
    TRAPPED,
    WATCH_END_S,
    observations,
    plan,
)


@pytest.mark.parametrize("kind", EVERY_KIND)
def test_every_kind_is_drawn_with_and_without_lines(kind: str) -> None:
    """A picture, a title without a missing number, words for those who do not see it."""
    result = EVERY_KIND[kind]
    seen = observations()
    for draw in (draw_story, draw_wait):
        plot = draw(plan(), result, seen)
        assert plot.png.startswith(b"\x89PNG")
        assert "None" not in plot.title
        assert plot.title in plot.alt


def test_nothing_recorded_is_a_picture_that_says_so() -> None:
    """No tick and no probe, or a single one, is no reason to fail."""
    one = Observations()
    one.take(QUIET)
    for seen in (Observations(), one):
        assert rates(seen, TIMEOUT_S) is None
        assert draw_story(plan(), TRAPPED, seen).png
        assert draw_wait(plan(), TRAPPED, seen).png


def test_rates_hold_every_count() -> None:
    """Rate times width over all buckets is what the last tick counted."""
    seen = observations()
    found = rates(seen, TIMEOUT_S)
    assert found is not None
    width = np.diff(found.edges_s)
    last = seen.ticks[-1]
    assert (found.attempts * width).sum() == pytest.approx(last.first + last.retries)
    assert (found.goodput * width).sum() == pytest.approx(last.answered)
    assert (found.patient * width).sum() == pytest.approx(last.saturated)
    assert len(found.first) + 1 == len(found.edges_s)


def test_marks_are_told_apart_by_what_came_of_the_probe() -> None:
    """Each probe is one mark; one that was hung up on is open."""
    seen = observations()
    probes = [replace(seen.probes[0], outcome="rejected", status=503), *seen.probes[1:]]
    found = marks(probes, 0.0, 100.0)
    counts = [len(pairs) for pairs in (found.answered, found.open, found.turned_away)]
    assert sum(counts) == len(probes)
    assert counts[2] == 1
    assert counts[1] == sum(probe.outcome == "aborted" for probe in probes) > 0
    assert found.longest_s == max(probe.done_s - probe.sent_s for probe in probes)
    assert len(marks(probes, 200.0, 300.0).answered) == 0


def test_the_fitted_line_goes_through_the_marks_it_is_drawn_over() -> None:
    """The marks of a straight line give that line, whatever Aρ is said to be."""
    found = marks(observations().probes, 0.0, 100.0)
    rising = found.answered[found.answered[:, 0] >= SPIKE_END_S + 1.0]
    found = replace(found, answered=np.column_stack((rising[:, 0], 3.0 + 0.21 * rising[:, 0])))
    line = fitted(TRAPPED.shots[0], found.answered, SPIKE_END_S + 1.0, WATCH_END_S)
    assert line is not None
    slope = (line.end_wait_s - line.start_wait_s) / (line.end_s - line.start_s)
    assert slope == pytest.approx(0.21)
    inside = found.answered[found.answered[:, 0] >= SPIKE_END_S + 1.0]
    middle, wait = inside.mean(axis=0)
    assert line.start_wait_s + slope * (middle - line.start_s) == pytest.approx(wait)
    assert line.start_s >= SPIKE_END_S + 1.0


def test_no_line_where_probes_did_not_measure() -> None:
    """Another method, nothing measured, or no mark in the time."""
    found = marks(observations().probes, 0.0, 100.0)
    shot = TRAPPED.shots[0]
    assert fitted(replace(shot, method="threshold"), found.answered, 0.0, 100.0) is None
    assert fitted(replace(shot, amplified_utilization=None), found.answered, 0.0, 100.0) is None
    assert fitted(shot, found.answered, 200.0, 300.0) is None
    assert fitted(shot, found.answered[:3], 0.0, 100.0) is None
    assert fitted(shot, found.answered[:4], 0.0, 100.0) is not None


@pytest.mark.parametrize(
    ("load", "words"),
    [
        (Interval(1.2, 1.1, 1.3), "The backlog grows 0.2 s a second"),
        (Interval(0.8, 0.7, 0.9), "The backlog drains 0.2 s a second"),
        (Interval(1.0, 0.9, 1.1), "within the error"),
    ],
)
def test_the_title_goes_by_the_interval(load: Interval, words: str) -> None:
    """Grows and drains are said of what is shown to be so."""
    shot = replace(TRAPPED.shots[0], amplified_utilization=load)
    assert words in draw_wait(plan(), replace(TRAPPED, shots=(shot,)), Observations()).title


def test_the_pushes_of_a_bisection_are_named_instead_of_their_phases() -> None:
    """A span for each, from its baseline to that of the next, that says how it ended."""
    later = replace(TRAPPED.shots[0], utilization=0.3, verdict="recovers", spike_end_s=19.5, decided_s=2.0)
    phases = (*TRAPPED.phases, PhaseDone("baseline", 18.0, 19.0, 50.0), PhaseDone("spike", 19.0, 19.5, 300.0))
    result = replace(TRAPPED, shots=(TRAPPED.shots[0], later), phases=phases)
    sheet = new_trigger_sheet(result, "title", "y", 0.0, 24.0)
    said = [text.get_text() for axes in sheet.figure.axes for text in axes.texts]
    assert {"40%: trapped", "30%: recovers"} <= set(said)
    assert "capacity" not in said
    one = new_trigger_sheet(TRAPPED, "title", "y", 0.0, 24.0)
    assert "capacity" in {text.get_text() for axes in one.figure.axes for text in axes.texts}


@pytest.mark.parametrize("method", ["probes", "direct probes"])
@pytest.mark.parametrize("decided_s", [4.0, None])
def test_the_line_ends_with_the_verdict_or_the_watch(
    method: Method, decided_s: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not with the rescue's probes; and it says where the probes went."""
    drawn: list[tuple[float, float]] = []

    def spied(shot: Shot, answered: Floats, from_s: float, to_s: float) -> Fit | None:
        drawn.append((from_s, to_s))
        return fitted(shot, answered, from_s, to_s)

    monkeypatch.setattr(wait_picture, "fitted", spied)
    shot = replace(TRAPPED.shots[0], method=method, decided_s=decided_s)
    assert draw_wait(plan(), replace(TRAPPED, shots=(shot,)), observations()).png
    retries_gone_s = SPIKE_END_S + 2.0 * TIMEOUT_S
    hidden_ones_gone_s = retries_gone_s + (TIMEOUT_S if method == "direct probes" else 0.0)
    assert drawn == [(hidden_ones_gone_s, WATCH_END_S if decided_s is None else SPIKE_END_S + decided_s)]


def test_pushes_too_narrow_for_words_have_numbers_that_the_caption_explains() -> None:
    """Not one is left without."""
    shots = tuple(
        replace(TRAPPED.shots[0], utilization=rho, spike_end_s=SPIKE_END_S + at, decided_s=1.0)
        for rho, at in ((0.5, 0.0), (0.4, 4.0), (0.3, 5.0))
    )
    baselines = tuple(PhaseDone("baseline", shot.spike_end_s - 0.5, shot.spike_end_s, 9.0) for shot in shots)
    result = replace(TRAPPED, shots=shots, phases=(*TRAPPED.phases, *baselines))
    sheet = new_trigger_sheet(result, "title", "y", 0.0, 24.0)
    said = {text.get_text() for axes in sheet.figure.axes for text in axes.texts}
    assert {"1", "2", "3"} <= said
    assert "2 at 40%: trapped" in draw_story(plan(), result, observations()).caption


def test_a_recovery_is_shown_to_its_end() -> None:
    """The verdict may come long before the queue is empty."""
    early = replace(RECOVERS, shots=(replace(RECOVERS.shots[0], decided_s=0.5),))
    _, end_s = wait_picture._window(plan(), early, observations())
    assert end_s >= WATCH_END_S
    trapped = replace(TRAPPED, shots=(replace(TRAPPED.shots[0], decided_s=0.5),))
    assert wait_picture._window(plan(), trapped, observations())[1] < WATCH_END_S
