"""The lines of a test on the way: which push a phase belongs to, and what the closed loop sends."""

from __future__ import annotations

from dataclasses import replace
from io import StringIO

from rich.console import Console

from analysis.trigger.observations import Observations
from analysis.trigger.protocol import Protocol
from analysis.trigger.tables import phase_names
from analysis.trigger.watch import judge
from tests.analysis.trigger.made_up import QUIET, TRAPPED, plan
from tests.analysis.trigger.simulated_run import plan_for, run
from tests.analysis.trigger.simulated_service import Fifo
from tipover.trigger.view import TestView


def test_requests_of_the_closed_loop_count_in_the_rates() -> None:
    """Those that were answered and those that failed."""
    seen = Observations()
    seen.take(QUIET)
    seen.take(replace(QUIET, t_s=1.0, saturated=30, saturated_failed=20, first=5, answered=4))
    view = TestView(plan(), Console(file=StringIO()))
    assert view._rates(seen) == "(55 attempts/s, 34 answered/s)"


def test_a_phase_of_a_push_says_its_utilization() -> None:
    """On the terminal and in the table; others do not."""
    out = StringIO()
    test = plan_for(0.45)
    made = run(test, Fifo(175.0), judge=judge)
    protocol, seen = Protocol(test, judge), Observations()
    with TestView(test, Console(file=out, width=200)) as view:
        for line in made.lines:
            seen.take(line)
            protocol.next(seen, seen.now_s)
            view(protocol, seen)
    assert "watch at 45%" in out.getvalue()
    assert "capacity at" not in out.getvalue()


def test_the_table_of_phases_says_it_too() -> None:
    """70 a second of 175; the check belongs to no push."""
    assert phase_names(TRAPPED)[2:] == [
        "baseline at 40%",
        "spike at 40%",
        "watch at 40%",
        "rescue",
        "check",
    ]
