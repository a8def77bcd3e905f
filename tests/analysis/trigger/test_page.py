"""The page says the verdict and where each number is from, stands alone, and escapes what others wrote."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from analysis.plots.canvas import Plot
from analysis.trigger.against import compare
from analysis.trigger.assertions import check
from analysis.trigger.observations import Observations
from analysis.trigger.page import bar, draw_plots, render, write_page
from analysis.trigger.result import Interval, TriggerResult
from domain.request_mix import RequestMix, RequestTemplate
from domain.trigger.assertions import Assertions
from domain.trigger.plan import TriggerPlan
from tests.analysis.test_report import Page
from tests.analysis.trigger.made_up import (
    EVERY_KIND,
    INVALID,
    NOT_VULNERABLE,
    STOPPED,
    TRAPPED,
    UNDECIDED,
    observations,
    plan,
)

PICTURE = Plot("trigger-story", "title", "caption", "alt", b"\x89PNG")


def page(result: TriggerResult, test: TriggerPlan | None = None) -> Page:
    """The page without drawing anything."""
    asked = check(result, Assertions(0.5, 2.0, 1.0))
    test = test or plan()
    comparison = compare(test, result, plan(), TRAPPED)
    return Page(render(test, result, [PICTURE], checks=asked, comparison=comparison, run_name="run-1"))


@pytest.mark.parametrize("kind", EVERY_KIND)
def test_no_page_shows_a_missing_number_as_code(kind: str) -> None:
    """Nobody is shown nan, None or inf, and every tag is closed."""
    text = page(EVERY_KIND[kind]).text
    assert re.search(r"\b(nan|None|inf|NaN|null|True|False)\b", text) is None
    assert re.search(r"\d\.\d{6,}|\de[+-]\d", text) is None


def test_the_page_stands_alone() -> None:
    """Pictures are inside, and nothing is loaded from anywhere."""
    for tag, attributes in page(TRAPPED).tags:
        assert tag not in {"script", "link", "iframe"}
        source = attributes.get("src")
        assert source is None or source.startswith("data:image/png;base64,")


def test_verdict_advice_phases_plan_and_files_are_there() -> None:
    """What somebody at three in the morning looks for."""
    text = page(TRAPPED).text
    for said in (
        "TRAPPED: once pushed, it does not come back by itself at 40% utilization",
        "It comes back at utilizations up to 33.1%",
        "a retry budget of 10%",
        "throughput stopped rising at 4 in flight",
        "2 timeouts of work in 0.5 s",
        "patient probes",
        "1.21 (1.16–1.27)",
        "at most, attempts of any kind in a second 5,000",
        "trigger-lines.jsonl",
        "The service was left healthy.",
    ):
        assert said in text, said


def test_what_must_be_loud_is_an_alert() -> None:
    """An invalid test, a service left unhealthy, a safety stop."""
    for result, said in ((INVALID, "INVALID TEST"), (UNDECIDED, "LEFT UNHEALTHY"), (STOPPED, "SAFETY STOP")):
        found = page(result)
        assert any(attributes.get("role") == "alert" for _, attributes in found.tags)
        assert said in found.text
    assert not any(attributes.get("role") == "alert" for _, attributes in page(TRAPPED).tags)


def test_what_others_wrote_is_escaped_and_secrets_are_names() -> None:
    """Names, paths and headers are text."""
    evil = "<script>alert(1)</script>"
    request = RequestTemplate("POST", "/x", (("Authorization", "Bearer ${TOKEN}"),), evil.encode())
    found = page(replace(TRAPPED, warnings=(evil,)), replace(plan(), name=evil, mix=RequestMix((request,))))
    assert "script" not in {tag for tag, _ in found.tags}
    assert evil in found.text
    assert "Authorization: Bearer ${TOKEN}" in found.text


def test_the_bar_covers_all_utilizations() -> None:
    """Comes back, within the error, stays failed: together all of it; pushes are marked where they were."""
    found = bar(TRAPPED)
    assert found is not None
    assert (found.back, found.back + found.open, found.down) == (31.5, 34.5, 34.5)
    assert [(mark.at, mark.kind) for mark in found.marks] == [(40.0, "asked")]
    whole = bar(NOT_VULNERABLE)
    assert whole is not None
    assert (whole.back, whole.open, whole.down) == (100.0, 0.0, 100.0)
    wild = bar(replace(TRAPPED, threshold=Interval(0.5, -2.0, float("inf"))))
    assert wild is not None
    assert (wild.back, wild.open, wild.down) == (0.0, 100.0, 100.0)
    assert bar(STOPPED) is None


def test_pictures_are_kept_beside_the_page(tmp_path: Path) -> None:
    """As PNG files under the names that the page tells."""
    assert draw_plots(tmp_path, plan(), STOPPED, Observations()) == []
    assert "nothing to draw" in render(plan(), STOPPED, [])
    plots = draw_plots(tmp_path, plan(), STOPPED, observations())
    assert [plot.name for plot in plots] == ["trigger-story", "trigger-wait"]
    for plot in plots:
        assert (tmp_path / "plots" / f"{plot.name}.png").read_bytes() == plot.png
        assert plot.png.startswith(b"\x89PNG")
    plots = draw_plots(tmp_path, plan(), TRAPPED, observations())
    text = write_page(tmp_path, render(plan(), TRAPPED, plots)).read_text(encoding="utf-8")
    assert text.count("data:image/png") == 2
