"""The report says the verdict and the numbers, stands alone, and escapes what others wrote."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from analysis.report import headline, write_report
from analysis.report.explanation import MATRIX, remedies
from analysis.result import Check, RunResult
from analysis.wording import number, percent, seconds
from domain.admission import Admission
from domain.budgets.ratio import RatioBudget
from tests.analysis.made_up_results import (
    EVERY_KIND,
    empty,
    foreign,
    healthy,
    invalid,
    recovered,
    trapped,
    with_bands,
)

VOID = {"meta", "img", "br", "link", "hr", "input"}


class Page(HTMLParser):
    """Text and tags of a page; fails on tags that do not match."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note the tag and that it is open."""
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        """Close the tag that was opened last."""
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        """Keep what a reader sees."""
        if not {"style", "pre"} & set(self.open):
            self.words.append(data)

    @property
    def text(self) -> str:
        """Everything a reader sees but the exact scenario, with single spaces."""
        return " ".join(" ".join(self.words).split())


def page(result: RunResult) -> Page:
    """The report of a result, without drawing anything."""
    return Page(write_report(result, plots=()).read_text(encoding="utf-8"))


@pytest.mark.parametrize("kind", EVERY_KIND)
def test_no_report_shows_a_missing_number_as_code(kind: str, tmp_path: Path) -> None:
    """Nobody is shown nan, None or inf, and every tag is closed."""
    text = page(EVERY_KIND[kind](tmp_path)).text
    assert re.search(r"\b(nan|None|inf|NaN|null|True|False)\b", text) is None
    assert re.search(r"\d\.\d{6,}|\de[+-]\d", text) is None


@pytest.mark.parametrize("kind", ["trapped", "empty"])
def test_the_report_stands_alone(kind: str, tmp_path: Path) -> None:
    """Pictures are inside, and nothing is loaded from anywhere."""
    html = write_report(EVERY_KIND[kind](tmp_path)).read_text(encoding="utf-8")
    tags = Page(html).tags
    pictures = [attrs for tag, attrs in tags if tag == "img"]
    assert len(pictures) == 4
    for attrs in pictures:
        assert (attrs["src"] or "").startswith("data:image/png;base64,")
        assert attrs["alt"]
    assert not {"script", "link", "iframe", "object"} & {tag for tag, _ in tags}
    assert all("http" not in str(attrs.get(key)) for _, attrs in tags for key in ("src", "href", "srcset"))
    assert "@import" not in html
    assert "url(" not in html


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("trapped", "TRAPPED: it stayed down after the spike was gone"),
        ("recovered", "RECOVERED after 9,777 s"),
        ("healthy", "HEALTHY: nothing tipped it over"),
        ("cut", "UNDECIDED: this run does not settle whether it comes back"),
        ("invalid", "INVALID RUN: do not read this as the service’s behaviour"),
    ],
)
def test_the_verdict_is_in_words(kind: str, words: str, tmp_path: Path) -> None:
    """The outcome is a line of text, not a colour."""
    assert words in page(EVERY_KIND[kind](tmp_path)).text


def test_the_trap_is_explained_with_its_numbers(tmp_path: Path) -> None:
    """Demand, capacity, attempts, Aρ, and the three ways out."""
    text = page(trapped(tmp_path)).text
    for words in (
        "users asked for 64 jobs/s of a service that completes 160 attempts/s (ρ = 0.4)",
        "each job makes A = 3 attempts, so the same demand comes to 192 attempts/s: Aρ = 1.2",
        "fewer than 1/ρ = 2.5 per job, so at most 2",
        "above Aλ = 192 attempts/s",
        "demand below C/A = 53.3 jobs/s",
        "Shedding demand brought it back: 2,197 s after shedding began.",
        "The spike tipped it over: attempts began to fail 12 s after its start.",
        "the last fifth of the watch had a goodput ratio of 0.00",
        "CONFIRMED ✓",
    ):
        assert words in text


def test_prediction_and_measurement_stand_side_by_side(tmp_path: Path) -> None:
    """Recovery is shown with its spread, its measured value and their ratio."""
    text = page(recovered(tmp_path)).text
    assert "9,648 ± 310 9,777 1.01" in text
    assert "How far it is from the trap" in text


def test_the_band_is_shown_and_explained(tmp_path: Path) -> None:
    """Instead of the standard deviation: the band of each quantity and check, which seeds, what it means."""
    text = page(with_bands(tmp_path)).text
    for words in (
        "9,648 7,718 to 11,578 9,777 1.01",
        "simulated request by request over 40 seeds (seeds 7 to 46)",
        "One run in twenty recovers in less than 7,718 s after the spike ends",
        "outcome the scenario's expectation; simulated: all 40 seeds recover",
        "inside the band of chance, 7,718 to 11,578 s (5–95% of seeds 7 to 46) 9,648 7,718 to 11,578",
    ):
        assert words in text
    assert "±310" not in text.replace(" ", "")
    assert "band, 5–95%" not in page(recovered(tmp_path)).text


def test_an_invalid_run_gives_its_reasons_and_no_advice(tmp_path: Path) -> None:
    """The reasons come before the verdict; the expectation is not judged; nobody is told what to change."""
    result = invalid(tmp_path)
    text = page(result).text
    assert text.index("the generator lagged: 99th percentile 1.9 s") < text.index("TRAPPED")
    assert "No expectation is judged on an invalid run." in text
    assert "45,113 planned jobs were never sent" in text
    assert "1,733" in text
    assert "✗ FAIL" in text
    assert remedies(result) == []


def test_what_the_scenario_expects_is_called_so(tmp_path: Path) -> None:
    """Its word on the outcome and on shedding; figures of the model are not marked, nor is its own word."""
    sound = trapped(tmp_path)
    shed = Check("after_shed", "recovered", "recovered", None, True, why="expected by the scenario")
    result = replace(sound, checks=(*sound.checks, shed))
    text = page(result).text
    assert "outcome the scenario's expectation trapped (expected) trapped must be equal" in text
    assert "after_shed expected by the scenario recovered (expected) recovered must be equal" in text
    assert text.count("(expected)") == 2
    unasked = replace(sound, experiment=replace(sound.experiment, expect=None))
    assert "(expected)" not in page(unasked).text


def test_a_trap_leads_to_the_defences(tmp_path: Path) -> None:
    """Whoever is trapped in a service that can be simulated is told where to look, and nobody else."""
    sound = trapped(tmp_path)
    assert remedies(sound)[-1] == MATRIX
    service = sound.experiment.service
    assert service is not None
    capped = replace(service, admission=Admission(queue_cap=3))
    assert remedies(replace(sound, experiment=replace(sound.experiment, service=capped))) == [MATRIX]
    unknown = replace(sound, experiment=replace(sound.experiment, service=None))
    for result in (recovered(tmp_path), healthy(tmp_path), invalid(tmp_path), unknown):
        assert MATRIX not in remedies(result)


def test_what_a_client_held_back_is_said_of_the_count(tmp_path: Path) -> None:
    """Refused attempts are neither jobs nor first attempts alone."""
    sound = trapped(tmp_path)
    refused = replace(sound, totals={**sound.totals, "refused": 4_711})
    assert "refused: attempts the client did not send, retries included 4,711" in page(refused).text


def test_restraint_that_prevents_a_trap_is_named(tmp_path: Path) -> None:
    """A budget of a tenth leaves 1.1 of 3 attempts at 40%."""
    sound = recovered(tmp_path)
    trap = trapped(tmp_path).experiment
    guarded = replace(trap, client=replace(trap.client, budget=RatioBudget(0.1)))
    (words,) = remedies(replace(sound, experiment=guarded))
    assert words.startswith("The client's own restraint is what prevents the trap: a failing job makes 1.1 ")


def test_a_foreign_service_is_not_predicted(tmp_path: Path) -> None:
    """Kernel counters that could not be read are said to be so; what was measured is still there."""
    text = page(foreign(tmp_path)).text
    assert "could not be read" in text
    assert "somebody else's: its capacity is not known" in text
    assert "The scenario states no expectation." in text


def test_an_empty_run_has_a_report(tmp_path: Path) -> None:
    """Nothing recorded is something to say."""
    text = page(empty(tmp_path)).text
    assert "Nothing was recorded of what came of it." in text
    assert "left no record of its health" in text


def test_what_others_wrote_is_text(tmp_path: Path) -> None:
    """Markup in titles, phase names, reasons, checks and machine names stays visible text."""
    evil = "<script>alert(1)</script>\"'&\x00\ud800"
    sound = trapped(tmp_path)
    phases = tuple(replace(phase, name=evil) for phase in sound.experiment.demand.phases)
    result = replace(
        sound,
        experiment=replace(
            sound.experiment, title=evil, name=evil, demand=replace(sound.experiment.demand, phases=phases)
        ),
        valid=False,
        invalid_reasons=(evil,),
        warnings=(evil,),
        checks=(Check(evil, evil, evil, None, False, why=evil),),
        run={**sound.run, "machine": {evil: evil}, "command": evil, "harness_faults": [evil]},
    )
    html = write_report(result).read_text(encoding="utf-8")
    assert "<script" not in html
    assert "&lt;script&gt;alert(1)" in html


def test_a_refuted_expectation_is_loud(tmp_path: Path) -> None:
    """What was expected and did not happen is called refuted."""
    assert "REFUTED ✗" in page(replace(recovered(tmp_path), confirmed=False)).text


def test_a_trap_the_model_denies_is_said_to_be_so(tmp_path: Path) -> None:
    """Trapped with Aρ < 1 is not explained by retries, and the report does not pretend it is."""
    result = replace(recovered(tmp_path), outcome="trapped")
    text = page(result).text
    assert "the run did not show that it had by the end of the watch" in text
    assert headline(result).startswith("TRAPPED")


def test_a_healthy_run_with_a_trap_is_warned_of(tmp_path: Path) -> None:
    """No trigger, but Aρ ≥ 1: the failed state exists all the same."""
    assert "a failed state that sustains itself exists" in page(healthy(tmp_path)).text


def test_a_failure_without_a_trigger_is_not_blamed_on_one(tmp_path: Path) -> None:
    """When nothing was triggered, times count from the start of the run."""
    sound = recovered(tmp_path)
    calm = healthy(tmp_path).experiment
    text = page(replace(sound, experiment=calm)).text
    assert "began to fail 22 s into the run, with nothing to trigger it." in text
    assert "9,777 s after the run began" in text
    assert "went down and stayed down" in headline(replace(sound, experiment=calm, outcome="trapped"))


def test_endless_retries_are_bounded_first(tmp_path: Path) -> None:
    """With m = ∞ neither capacity nor shedding is promised to help."""
    sound = trapped(tmp_path)
    client = replace(sound.experiment.client, max_attempts=float("inf"))
    values = {**sound.prediction.values, "amplification": float("inf")}
    result = replace(
        sound,
        experiment=replace(sound.experiment, client=client),
        prediction=replace(sound.prediction, values=values),
    )
    text = page(result).text
    assert "without end" in text
    assert "bound the attempts first" in text
    assert re.search(r"\binf\b", text) is None


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"), (float("nan"), "–"), (float("inf"), "∞"), (0.0, "0"), (9742.4, "9,742"), (63.68, "63.7"),
        (0.40001, "0.4"), (2.5, "2.5"), (192.0, "192"), (0.00123, "0.00123"), (-1.5, "−1.5"),
        (999.96, "1,000"), (-float("inf"), "−∞"),
    ],
)  # fmt: skip
def test_numbers_as_people_read_them(value: float | None, text: str) -> None:
    """Three significant figures, thousands set apart, nothing that looks like code."""
    assert number(value) == text


def test_durations_and_percentages() -> None:
    """Milliseconds below a second; a ratio of one is a hundred per cent."""
    assert (seconds(0.0038), seconds(0.0), seconds(12.0), seconds(None)) == ("3.8 ms", "0 s", "12 s", "–")
    assert (percent(0.413), percent(None)) == ("41.3%", "–")
