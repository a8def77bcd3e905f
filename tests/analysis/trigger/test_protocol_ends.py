"""Tests that end early: stopped, out of reach, failing before the spike, beyond a ceiling."""

from __future__ import annotations

from dataclasses import replace

import pytest

from analysis.trigger.observations import Observations
from analysis.trigger.protocol import Protocol
from domain.sockets import SocketLimits
from domain.trigger.messages import Drop, End, Load, StopAsked, Stopped
from domain.trigger.plan import Ceiling
from tests.analysis.trigger.simulated_judge import plain_judge
from tests.analysis.trigger.simulated_run import plan_for, run
from tests.analysis.trigger.simulated_service import Fifo

PHASES = ("reach", "capacity", "baseline", "spike", "watch", "rescue", "check")


@pytest.mark.parametrize("phase", PHASES)
def test_a_stop_in_any_phase_ends_the_load_with_the_same_tick(phase: str) -> None:
    """Drop and End are all that is commanded from then on, and the result says why."""
    found = run(plan_for(0.5), Fifo(), stop_when=lambda protocol: protocol.phase == phase)
    stopped_s = found.test.commands[-1][0]
    last = [command for t_s, command in found.test.commands if t_s == stopped_s]
    assert [type(command) for command in last][-2:] == [Drop, End]
    assert found.phases[-1] == phase
    assert found.result.safety_stop == "told to"
    assert found.result.left_healthy is None
    assert (found.result.verdict == "trapped") == (phase in ("rescue", "check"))


def test_a_stop_asked_for_in_the_lines_is_obeyed_and_told_apart_from_a_guards() -> None:
    """A signal interrupts, a guard stops; both at once, even before the first tick."""
    for interrupted in (True, False):
        seen, protocol = Observations(), Protocol(plan_for(), plain_judge)
        seen.take(StopAsked(0.0, "why", interrupted=interrupted))
        assert [type(command) for command in protocol.next(seen, 0.0)] == [Drop, End]
        assert protocol.next(seen, 0.1) == []
        result = protocol.result(seen)
        assert result.interrupted_by == ("why" if interrupted else None)
        assert result.safety_stop == (None if interrupted else "why")


def test_a_service_that_cannot_be_reached_is_said_so_with_how_its_answers_ended() -> None:
    """Nothing but single requests is sent to it."""
    found = run(plan_for(), Fifo(dead=True))
    assert found.result.safety_stop is not None
    assert "cannot be reached" in found.result.safety_stop
    assert "× error" in found.result.safety_stop
    assert found.commands(Load) == []
    assert found.result.left_healthy is None


def test_a_service_that_fails_one_request_at_a_time_gets_no_load() -> None:
    """The sentence names the statuses."""
    found = run(plan_for(), Fifo(fails_share=0.5))
    assert found.result.safety_stop is not None
    assert "status 500" in found.result.safety_stop
    assert found.commands(Load) == []


def test_a_service_that_does_not_stand_the_utilization_gets_no_spike() -> None:
    """A capacity given too high makes the baseline itself the overload; it is left healthy."""
    found = run(plan_for(0.9, capacity_per_s=260.0), Fifo())
    assert found.result.safety_stop is not None
    assert "does not stand the asked utilization" in found.result.safety_stop
    assert "spike" not in found.phases
    assert found.result.verdict == "undecided"
    assert found.result.left_healthy is True


@pytest.mark.parametrize(
    ("rate_per_worker", "words"),
    [(3000.0, "too near the ceiling"), (1200.0, "limits.rate_per_s")],
)
def test_a_service_too_fast_for_the_ceiling_is_a_fault_before_the_spike(
    rate_per_worker: float, words: str
) -> None:
    """The generator's ceiling is not even reached."""
    service = Fifo(rate_per_worker=rate_per_worker, overhead_s=0.0003)
    found = run(plan_for(ceiling=Ceiling(rate_per_s=2000.0)), service, ceiling_per_s=2000.0)
    assert len(found.result.invalid_reasons) == 1
    assert words in found.result.invalid_reasons[0]
    assert found.commands(Load) == []
    assert not any(isinstance(line, Stopped) and line.ceiling for line in found.lines)


def test_a_spike_whose_peak_does_not_fit_is_stretched_at_the_same_dose() -> None:
    """Longer and lower, and still a trigger."""
    plan = plan_for(0.5, ceiling=Ceiling(rate_per_s=900.0))
    found = run(plan, Fifo())
    assert found.result.invalid_reasons == ()
    spike = next(phase for phase in found.result.phases if phase.name == "spike")
    assert spike.end_s - spike.start_s == pytest.approx(3.0, abs=0.03)
    assert found.result.shots[0].dose == pytest.approx(2.0, abs=0.7)


def test_limits_of_the_machine_count_once_the_capacity_is_known() -> None:
    """Too few descriptors for what would be open at once: no load is sent."""
    found = run(plan_for(), Fifo(), limits=SocketLimits(300, 28_000, 60.0))
    assert any("file descriptors" in reason for reason in found.result.invalid_reasons)
    assert found.commands(Load) == []


def test_a_ceiling_that_the_generator_reaches_is_a_safety_stop() -> None:
    """The sentence says which."""
    found = run(plan_for(0.5), Fifo(), ceiling_per_s=400.0)
    assert found.result.safety_stop is not None
    assert "rate_per_s" in found.result.safety_stop
    assert found.finished


def test_the_watch_leaves_time_for_the_rescue_under_the_ceiling_of_duration() -> None:
    """A service that can never be judged is still got back before the generator stops by itself."""
    plan = plan_for(0.5, watch_timeouts=40.0, rescue_s=20.0, ceiling=Ceiling(duration_s=46.0))
    found = run(plan, Fifo(), judge=lambda seen, context: replace(plain_judge(seen, context), verdict=None))
    assert found.result.verdict == "undecided"
    assert found.result.left_healthy is True
    assert found.test.now_s < 46.0
