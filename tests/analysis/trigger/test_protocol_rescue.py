"""Getting a service back: how far to shed, when to send nothing, and how gently to ask."""

from __future__ import annotations

import math

import pytest

from analysis.trigger.course import Journal
from analysis.trigger.rescue import PAUSE_S, healthy_since, shedding
from domain.trigger.messages import Drop, Load, Saturate
from tests.analysis.trigger.simulated_run import TIMEOUT_S, plan_for, run
from tests.analysis.trigger.simulated_service import Fifo, SimulatedTest


class NeedsRest(Fifo):
    """A service that says 500 to everything once a request has waited for ``breaks_at_s``, until it was left
    alone for ``rest_s``."""

    rest_s = 4.0
    last_s = 0.0

    def admit(self, now_s: float, deadline_s: float) -> tuple[float, int] | None:
        rested = now_s - self.last_s >= self.rest_s
        self.last_s = now_s
        if self.broken and not rested:
            return now_s + 0.001, 500
        self.broken = False
        if rested:
            self.free = [now_s] * self.workers
        answer = super().admit(now_s, deadline_s)
        return (now_s + 0.001, 500) if self.broken else answer


@pytest.mark.parametrize(
    ("utilization", "amplification", "shed"),
    [(0.4, 3.0, 1.0 / 6.0), (0.2, 2.0, 0.1), (0.5, 9.0, 1.0 / 18.0), (0.5, math.inf, 0.0)],
)
def test_load_is_shed_below_half_of_what_the_service_can_drain_under(
    utilization: float, amplification: float, shed: float
) -> None:
    """ρ_s = min(ρ/2, 1/(2A)); an endless client leaves nothing to shed to."""
    assert shedding(utilization, amplification, 4.0, 0.5).utilization == pytest.approx(shed)


def test_shedding_is_given_three_times_the_predicted_drain_time_and_five_timeouts_at_least() -> None:
    """W/(1 − Aρ_s) = 4/(1 − .5) = 8 s."""
    assert shedding(0.4, 3.0, 4.0, 0.5).patience_s == pytest.approx(24.0)
    assert shedding(0.4, 3.0, 0.1, 0.5).patience_s == pytest.approx(2.5)


def test_a_service_that_does_not_get_up_under_little_load_gets_none() -> None:
    """After shedding in vain everything is dropped, and it is asked gently, with pauses, until it answers."""
    found = run(plan_for(0.4), NeedsRest(breaks_at_s=1.2))
    commands = [command for _, command in found.test.commands]
    shed = next(i for i, c in enumerate(commands) if isinstance(c, Load) and c.phase == "shed")
    assert commands[shed + 1] == Drop("rescue")
    assert not any(isinstance(c, Load) for c in commands[shed + 1 :])
    asked = [t_s for t_s, c in found.test.commands if c == Saturate(1, "rescue")]
    assert len(asked) == 2
    assert asked[1] - asked[0] > PAUSE_S
    assert found.result.left_healthy is True
    rescue = next(phase for phase in found.result.phases if phase.name == "rescue")
    assert found.result.shots[0].rescued_s == pytest.approx(rescue.end_s - rescue.start_s, abs=0.3)


def test_a_rescue_keeps_the_time_that_draining_without_load_takes() -> None:
    """A short rescue sheds for less time, or not at all."""
    found = run(plan_for(0.5, rescue_s=4.0), Fifo())
    loads = [(t_s, c.phase) for t_s, c in found.commands(Load) if isinstance(c, Load)]
    dropped_s = next(t_s for t_s, c in found.commands(Drop) if c == Drop("rescue"))
    assert loads[-1][1] == "shed"
    assert dropped_s - loads[-1][0] < 2.0
    assert found.result.left_healthy is True


def test_healthy_needs_two_timeouts_and_twenty_attempts_answered() -> None:
    """A window with too few attempts in it is no evidence."""
    for rate, healthy_by_s in ((100.0, 2.5 * TIMEOUT_S), (4.0, 5.5)):
        test, journal = SimulatedTest(Fifo(), seed=3), Journal()
        test.give([Load(rate, "baseline")])
        while healthy_since(journal, plan_for(), 0.0) is None:
            for line in test.lines():
                journal.seen.take(line)
            journal.now_s = journal.seen.now_s
        assert journal.now_s >= 2.0 * TIMEOUT_S
        assert journal.now_s == pytest.approx(healthy_by_s, rel=0.4)
        assert journal.answered_share(0.0)[1] >= 20
