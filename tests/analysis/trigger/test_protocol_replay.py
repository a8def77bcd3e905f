"""The same lines make the same test, whenever they are read."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from analysis.trigger.observations import Observations
from analysis.trigger.protocol import Protocol, replay
from domain.trigger.messages import Command, Line, StopAsked
from tests.analysis.trigger.simulated_judge import plain_judge
from tests.analysis.trigger.simulated_run import Run, plan_for, run
from tests.analysis.trigger.simulated_service import Fifo


@pytest.fixture(scope="module")
def found() -> Run:
    return run(plan_for(0.5), Fifo(exponential=True))


def test_a_recorded_test_gives_the_result_of_the_live_one(found: Run) -> None:
    """Value for value."""
    assert replay(plan_for(0.5), found.lines, plain_judge) == found.result


@pytest.mark.parametrize("size", [3, 10, 10_000])
def test_it_does_not_matter_how_many_lines_come_between_two_calls(found: Run, size: int) -> None:
    """The commands and the result are the same if the lines come in clumps."""
    seen, protocol, commands = Observations(), Protocol(plan_for(0.5), plain_judge), []
    for clump in _clumps(found.lines, size):
        for line in clump:
            seen.take(line)
        commands += protocol.next(seen, seen.now_s)
    if size < 10_000:
        assert commands == [command for _, command in found.test.commands]
        assert protocol.result(seen) == found.result


def test_lines_cut_short_by_a_kill_give_what_was_known_by_then(found: Run) -> None:
    """The verdict is there from the tick it was made at, and no word on how the service was left."""
    watched_s = next(phase.end_s for phase in found.result.phases if phase.name == "watch")
    for margin_s, verdict in ((-0.3, "undecided"), (0.3, "trapped")):
        lines = [line for line in found.lines if getattr(line, "t_s", 0.0) < watched_s + margin_s]
        result = replay(plan_for(0.5), lines, plain_judge)
        assert result.verdict == verdict
        assert result.left_healthy is None


def test_a_stop_is_replayed_at_its_place(found: Run) -> None:
    """What the generator still said afterwards changes nothing."""
    cut = len(found.lines) // 2
    now_s = max(getattr(line, "t_s", 0.0) for line in found.lines[:cut])
    stop = StopAsked(now_s, "a guard")
    short = replay(plan_for(0.5), [*found.lines[:cut], stop], plain_judge)
    long = replay(plan_for(0.5), [*found.lines[:cut], stop, *found.lines[cut : cut + 40]], plain_judge)
    assert short.safety_stop == long.safety_stop == "a guard"
    assert (short.phases, short.shots) == (long.phases, long.shots)


def test_nothing_is_commanded_twice_without_new_lines(found: Run) -> None:
    """Calls between two ticks find nothing to do."""
    seen, protocol = Observations(), Protocol(plan_for(0.5), plain_judge)
    commands: list[Command] = []
    for line in found.lines[:20]:
        seen.take(line)
        commands += protocol.next(seen, seen.now_s)
        assert protocol.next(seen, seen.now_s) == []
    assert commands


def _clumps(lines: list[Line], size: int) -> Iterator[list[Line]]:
    for begin in range(0, len(lines), size):
        yield lines[begin : begin + size]
