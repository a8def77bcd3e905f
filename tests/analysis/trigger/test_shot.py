"""What one shot makes of the judge's word: against what was answered, what came later, and the ceilings."""

from __future__ import annotations

from dataclasses import replace

import pytest

from analysis.trigger.observations import Observations
from analysis.trigger.outdone import outdone_capacity
from analysis.trigger.result import Interval
from analysis.trigger.shot_context import ShotContext
from analysis.trigger.watch import Judgement, judge
from domain.trigger.messages import Load, ProbeLine, Tick
from domain.trigger.plan import Ceiling
from tests.analysis.trigger.made_up import QUIET
from tests.analysis.trigger.simulated_run import TIMEOUT_S, plan_for, run
from tests.analysis.trigger.simulated_service import Fifo


@pytest.mark.parametrize("seed", [2, 9, 14])
def test_a_capacity_given_at_half_is_not_forgotten_with_a_harder_push(seed: int) -> None:
    """A plain service at a true Aρ of .75: what it does per attempt looks as if it shed, and is all it
    does."""
    service = Fifo(rate_per_worker=100.0, exponential=True, seed=seed)
    result = run(plan_for(0.5, capacity_per_s=50.0), service, judge=judge).result
    assert result.verdict in ("undecided", "recovers")
    assert any("capacity is larger" in one for one in result.shots[0].evidence)


def test_a_given_capacity_is_checked_by_the_best_stretch_before_it_is_not_vulnerable() -> None:
    """Of a queue that drains at twice the number given; a measured one is not."""
    seen = Observations()
    for i in range(200):
        t_s = 0.05 * i
        seen.take(replace(QUIET, t_s=t_s, answered=int(max(0.0, min(t_s, 6.0) - 5.0) * 100.0)))
    given, measured = Interval(50.0, 50.0, 50.0), Interval(50.0, 49.0, 51.0)
    assert outdone_capacity(seen, (1.0, 1.5), given, 0.5, not_vulnerable=False) is None
    assert outdone_capacity(seen, (1.0, 1.5), measured, 0.5, not_vulnerable=True) is None
    said = outdone_capacity(seen, (1.0, 1.5), given, 0.5, not_vulnerable=True)
    assert said is not None
    assert "100/s" in said


def test_the_deepest_wait_is_that_of_any_probe_since_the_spike() -> None:
    """Most of a trapped service's probes come back after the verdict."""
    found = run(plan_for(0.5), Fifo(), judge=judge)
    shot = found.result.shots[0]
    spike = next(phase for phase in found.result.phases if phase.name == "spike")
    probes = [line for line in found.lines if isinstance(line, ProbeLine)]
    waits = [p.done_s - p.sent_s for p in probes if p.sent_s >= spike.start_s]
    assert shot.deepest_wait_s == pytest.approx(max(waits))
    assert shot.decided_s is not None
    decided_s = shot.spike_end_s + shot.decided_s
    assert max(waits) > max(p.done_s - p.sent_s for p in probes if p.done_s <= decided_s)


def test_a_service_that_comes_back_while_it_is_watched_on_is_not_called_trapped() -> None:
    """Its capacity grew, say: the verdict was right for what it was, and what came is the finding."""

    def late(seen: Observations, shot: ShotContext) -> Judgement:
        since = (seen.now_s - shot.spike_end_s) / TIMEOUT_S
        wide, a = Interval(1.5, 1.1, 1.9), Interval(3.0, 2.2, 3.8)
        if since < 4.0:
            return Judgement(None)
        if since < 7.0:
            return Judgement("trapped", False, wide, a, "probes", evidence=("it grows",))
        return Judgement("not vulnerable", False, wide, a, "probes", recovered_s=3.0, evidence=("back",))

    found = run(plan_for(0.2), Fifo(), judge=late)
    shot = found.result.shots[0]
    assert (found.result.verdict, shot.recovered_s) == ("recovers", 3.0)
    assert shot.decided_s == pytest.approx(7.0 * TIMEOUT_S, abs=0.1)
    assert "called trapped" in shot.evidence[0]


def test_a_harder_push_is_not_tried_if_it_could_break_the_ceiling_of_attempts() -> None:
    """A service that caps its queue is pushed harder as long as that fits."""
    assert _spikes(Ceiling(rate_per_s=9000.0)) == 3
    assert _spikes(Ceiling(rate_per_s=9000.0, attempts=17_500)) == 1


def _spikes(ceiling: Ceiling) -> int:
    found = run(plan_for(0.4, capacity_per_s=200.0, ceiling=ceiling), Fifo(queue_cap=20))
    assert found.result.invalid_reasons == ()
    last = next(line for line in reversed(found.lines) if isinstance(line, Tick))
    assert last.first + last.retries + last.probes_sent + last.saturated < ceiling.attempts
    return sum(isinstance(c, Load) and c.phase == "spike" for _, c in found.commands(Load))


def test_there_is_no_push_without_time_to_watch_it_and_to_get_the_service_back() -> None:
    """Finding the capacity took most of the ceiling's duration."""
    short = {"rescue_s": 4.0, "watch_timeouts": 12.0, "baseline_timeouts": 2.0}
    found = run(plan_for(0.5, ceiling=Ceiling(duration_s=16.0), **short), Fifo())
    assert "spike" not in found.phases
    assert any("--max-duration" in reason for reason in found.result.invalid_reasons)
    assert found.result.left_healthy is True


def test_the_last_look_at_a_service_that_stays_down_ends_before_the_ceiling() -> None:
    """At the ceiling the generator stops by itself, and whether it was left healthy would not be known."""
    plan = plan_for(
        0.4, capacity_per_s=200.0, rescue_s=30.0, watch_timeouts=10.0, ceiling=Ceiling(duration_s=40.0)
    )
    found = run(plan, Fifo(breaks_at_s=1.2))
    assert found.finished
    assert found.result.left_healthy is False
    assert found.result.phases[-1].end_s < 40.0
