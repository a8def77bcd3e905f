"""When the harness is told why attempts ended as errors."""

from __future__ import annotations

from domain.trigger.messages import Troubles
from loadgen.reasons import Reasons
from loadgen.steered.troubles import TroubleTeller


def test_they_are_told_when_they_change_but_at_most_once_a_second() -> None:
    """At once the first time, and what came meanwhile at the end in any case."""
    reasons, told = Reasons(), list[Troubles]()
    teller = TroubleTeller(reasons, told.append)
    teller.look(0.0)
    assert told == []
    reasons.note("a")
    for t_s in (0.5, 0.55, 1.4):
        teller.look(t_s)
        reasons.note("a")
    assert told == [Troubles(0.5, {"a": 1})]
    teller.look(1.5)
    assert told[1:] == [Troubles(1.5, {"a": 4})]
    teller.look(9.0)
    assert len(told) == 2
    reasons.note("b")
    teller.look(9.1)
    reasons.note("b")
    teller.look(9.2, last=True)
    teller.look(9.3, last=True)
    assert told[2:] == [Troubles(9.1, {"a": 4, "b": 1}), Troubles(9.2, {"a": 4, "b": 2})]
