"""Why attempts ended as errors: from the generator's lines to what is said of them."""

from __future__ import annotations

from dataclasses import replace

from analysis.trigger.course import Journal
from analysis.trigger.markdown import summary_text
from analysis.trigger.observations import Observations
from analysis.trigger.page import render
from analysis.trigger.protocol import Protocol
from analysis.trigger.result_json import result_from_json, result_to_json
from analysis.trigger.troubles import error_remarks, reason_rows, reasons_text
from analysis.trigger.words import remarks
from domain.trigger.messages import Obeyed, Started, Tick, Troubles, line_from_json, message_to_json
from tests.analysis.trigger.made_up import RECOVERS, STOPPED, plan

REFUSED = "send: [Errno 111] Connection refused"
SELF_SIGNED = "TLS: the certificate is not accepted: self-signed certificate"


def tick(t_s: float, failed: int = 0) -> Tick:
    """One of a test that fails to reach its service."""
    return Tick(t_s, *(0,) * 11, failed, 0, 0, 0.001, 0.001)


def test_the_line_is_read_as_it_was_written() -> None:
    line = Troubles(1.5, {REFUSED: 3})
    assert line_from_json(message_to_json(line)) == line


def test_the_last_line_has_them_all() -> None:
    """They are cumulative."""
    seen = Observations()
    assert seen.error_reasons == {}
    seen.take(Troubles(1.0, {"a": 1}))
    seen.take(Troubles(2.0, {"a": 1, "b": 5}))
    assert seen.error_reasons == {"a": 1, "b": 5}


def test_a_course_knows_only_those_of_its_past() -> None:
    """However many lines are there, a recorded test is judged as it was when it ran."""
    seen, journal = Observations(), Journal()
    for line in (Troubles(1.0, {"a": 1}), tick(1.0), Troubles(2.0, {"a": 9}), tick(2.0)):
        seen.take(line)
    journal.take_up_to(seen.ticks[0], seen, ())
    assert journal.seen.error_reasons == {"a": 1}
    journal.take_up_to(seen.ticks[1], seen, ())
    assert journal.seen.error_reasons == {"a": 9}


def test_a_service_that_cannot_be_reached_is_told_with_its_reasons() -> None:
    """In the message that ends the test, and in the result."""
    seen, protocol = Observations(), Protocol(plan())
    seen.take(Started(0.0, 1))
    t_s = 0.0
    while not protocol.finished:
        t_s += 0.05
        if round(t_s * 20) % 20 == 0:
            seen.take(Troubles(t_s, {SELF_SIGNED: round(t_s), REFUSED: 1}))
        seen.take(tick(t_s, round(t_s)))
        for command in protocol.next(seen, t_s):
            seen.take(Obeyed(t_s, message_to_json(command)))
    result = protocol.result(seen)
    assert result.error_reasons == {SELF_SIGNED: 5, REFUSED: 1}
    assert result.safety_stop is not None
    assert f"errors: 5 × {SELF_SIGNED}, 1 × send: Connection refused" in result.safety_stop


def test_the_commonest_come_first_and_the_rest_together() -> None:
    reasons = {"a": 1, "b": 5000, "c": 2, "d": 7, "e": 1, REFUSED: 0}
    assert reasons_text(reasons) == "5,000 × b, 7 × d, 2 × c, 2 × something else"
    assert reasons_text({}) == ""
    assert reason_rows({"b: [Errno 1] x": 2, "b: x": 1, "a": 1}) == [("b: x", "3"), ("a", "1")]


def test_they_are_said_wherever_the_evidence_is() -> None:
    """Also of a test without a push, and never as markup: a service may have given the text."""
    hostile = {"not HTTP: <script>alert(1)</script>": 2}
    for found in (replace(RECOVERS, error_reasons=hostile), replace(STOPPED, error_reasons=hostile)):
        assert remarks(found)[-1].startswith("2 attempts ended as errors: 2 × not HTTP")
        assert "2 attempts ended as errors" in summary_text(plan(), found, passed=False)
        page = render(plan(), found, [])
        assert "Attempts that ended as errors" in page
        assert "&lt;script&gt;alert(1)" in page
        assert "<script>alert" not in page + summary_text(plan(), found, passed=False)
    assert error_remarks({}) == []
    assert "Attempts that ended as errors" not in render(plan(), RECOVERS, [])


def test_they_are_in_the_json_and_an_older_one_has_none() -> None:
    found = replace(RECOVERS, error_reasons={REFUSED: 3})
    data = result_to_json(found)
    assert data["error_reasons"] == {REFUSED: 3}
    assert result_from_json(data) == found
    del data["error_reasons"]
    assert result_from_json(data) == RECOVERS
