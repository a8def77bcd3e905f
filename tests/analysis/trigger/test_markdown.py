"""The summary for a pull request: short, whole, and nothing in it comes alive."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from analysis.trigger.against import compare
from analysis.trigger.assertions import check
from analysis.trigger.markdown import escaped, summary_text
from analysis.trigger.result import Advice
from domain.trigger.assertions import Assertions
from tests.analysis.trigger.made_up import EVERY_KIND, INVALID, RECOVERS, TRAPPED, UNDECIDED, plan


def test_it_has_verdict_numbers_advice_and_what_was_asked() -> None:
    """What a reviewer needs."""
    asked = Assertions(max_utilization=0.5)
    comparison = compare(plan(), TRAPPED, plan(), RECOVERS)
    text = summary_text(plan(), TRAPPED, check(TRAPPED, asked), comparison, answered=0.0, passed=False)
    assert text.startswith("### ❌ tipover trigger: checkout\n")
    assert "answered nobody in time" in text
    assert "| highest utilization at which it comes back | 33.1% (31.5%–34.5%) |" in text
    assert "| a retry budget of 10% | 91% |" in text
    assert "| ❌ max\\_utilization | at least 50% | 33.1% |" in text
    assert "| verdict | recovers | trapped | worse |" in text
    assert "WORSE than the earlier result: verdict." in text
    assert len(text) < 6000


@pytest.mark.parametrize("kind", EVERY_KIND)
def test_every_table_is_one(kind: str) -> None:
    """All lines of a table have as many cells as its head."""
    result = replace(EVERY_KIND[kind], shots=EVERY_KIND[kind].shots * 3)
    asked = check(result, Assertions(0.5, 2.0, 1.0, ("a | b",)))
    text = summary_text(plan(), result, asked, compare(plan(), result, plan(), RECOVERS), passed=False)
    tables = [block for block in text.split("\n\n") if block.startswith("|")]
    assert tables
    for table in tables:
        cells = {len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}
        assert len(cells) == 1, table
    assert re.search(r"\b(nan|None|inf|True|False)\b", text) is None


def test_what_others_wrote_stays_text() -> None:
    """No tag, link, mention, emphasis or cell comes of it."""
    evil = "a | b <script>x</script> [l](http://e) **b** `c` @team\n# head &amp; \\|"
    shown = escaped(evil)
    assert "\n" not in shown
    assert "<" not in shown
    assert re.search(r"(?<!\\)[|\[\]*`#]", shown.replace("\\\\", "")) is None
    assert "@team" not in shown
    assert "&amp;amp;" in shown
    advice = (Advice(evil, 0.5, evil),)
    text = summary_text(
        replace(plan(), name=evil), replace(TRAPPED, advice=advice, warnings=(evil,)), passed=False
    )
    assert "<script>" not in text
    assert "@team" not in text


def test_what_must_be_loud_is() -> None:
    """Before the verdict, as a quotation."""
    text = summary_text(plan(), INVALID, passed=False)
    assert text.index("INVALID TEST") < text.index("TRAPPED")
    assert "80 ms" in text
    assert "> **THE SERVICE WAS LEFT UNHEALTHY" in summary_text(plan(), UNDECIDED, passed=False)


def test_the_sign_follows_the_exit_code() -> None:
    """A trap that was expected passes; the verdict stays in the headline."""
    text = summary_text(plan(), TRAPPED, passed=True)
    assert text.startswith("### ✅")
    assert "**TRAPPED: " in text
    assert summary_text(plan(), RECOVERS, passed=False).startswith("### ❌")
