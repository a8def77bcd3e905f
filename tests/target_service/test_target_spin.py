import asyncio
import itertools
import time
from types import SimpleNamespace

import pytest

from target_service.completions import Completions, Ticket
from target_service.draws import demands
from target_service.settings import CapacityChange, Order, TargetSettings
from target_service.spin import SpinPods


class Outcomes(list):
    def started(self, attempt):
        """Ignored."""

    def ended(self, attempt, outcome, duration_s):
        self.append((attempt, outcome))

    def refused(self, reason):
        """Ignored."""


def spin(pods, rate, scenario):
    """Run a scenario over spinning pods: it gets the pods, a function that submits, and what has ended."""

    async def main():
        loop = asyncio.get_running_loop()
        ended = Outcomes()
        completions = Completions(ended, loop.time)
        fleet = SpinPods(TargetSettings(pods, rate, mode="spin"), completions.deliver, loop)

        def submit(number):
            request = SimpleNamespace(transport=SimpleNamespace(is_closing=lambda: False))
            ticket = Ticket(request, loop.create_future(), number, loop.time())
            fleet.submit(ticket)
            return ticket.done

        try:
            return await scenario(fleet, submit, ended)
        finally:
            fleet.close()

    return asyncio.run(main())


def test_cpu_is_burned_for_the_service():
    """Forty pieces of work on two threads take their seconds of CPU, and FIFO order holds on one."""

    async def scenario(fleet, submit, ended):
        before_s = time.process_time()
        await asyncio.gather(*[submit(number) for number in range(1, 41)])
        return fleet.state(), time.process_time() - before_s, ended

    work_s = sum(itertools.islice(demands(1), 40)) / 100
    state, burned_s, ended = spin(2, 100.0, scenario)
    assert (state.completed, state.in_service, state.queue_depth, state.backlog_s) == (40, 0, 0, 0)
    assert state.busy_s == pytest.approx(work_s)
    assert burned_s >= work_s - 0.001
    assert sorted(ended) == [(number, "ok") for number in range(1, 41)]
    *_, ended = spin(1, 1000.0, scenario)
    assert [attempt for attempt, _ in ended] == list(range(1, 41))


def test_an_outage_stops_new_starts():
    """Nothing begins at capacity 0; what is ordered for later happens later."""

    async def scenario(fleet, submit, ended):
        now = asyncio.get_running_loop().time()
        fleet.order(Order(now, CapacityChange(capacity_factor=0.0)))
        done = [submit(number) for number in range(1, 6)]
        fleet.order(Order(now + 0.2, CapacityChange(capacity_factor=1.0, pods=3)))
        fleet.order(Order(now + 3600, CapacityChange(pods=1)))
        held = fleet.state()
        await asyncio.gather(*done)
        return held, fleet.state(), asyncio.get_running_loop().time() - now

    held, state, elapsed_s = spin(1, 1000.0, scenario)
    assert (held.queue_depth, held.in_service, held.saturated_s) == (5, 0, 0)
    assert (state.completed, state.pods) == (5, 3)
    assert elapsed_s >= 0.2


def test_shrinking_lets_the_running_finish():
    """Four pods shrunk to one finish what they have; from then on one works at a time."""

    async def scenario(fleet, submit, ended):
        done = [submit(number) for number in range(1, 13)]
        while fleet.state().in_service < 4:
            await asyncio.sleep(0)
        fleet.order(Order(0.0, CapacityChange(pods=1)))
        shrunk = fleet.state()
        await asyncio.gather(*done)
        return shrunk, fleet.state()

    shrunk, state = spin(4, 50.0, scenario)
    # A completion counts as saturated if exactly one was in service: all but those beyond the new size.
    beyond = max(0, shrunk.in_service - 1)
    alone = state.saturated_completed - shrunk.saturated_completed
    assert (state.completed, state.pods) == (12, 1)
    assert alone == 12 - shrunk.completed - beyond


def test_closing_returns_what_was_not_completed():
    """Threads end at once, in mid-service."""

    async def scenario(fleet, submit, ended):
        for number in range(1, 6):
            submit(number)
        while fleet.state().in_service < 2:
            await asyncio.sleep(0)
        left = fleet.close()
        assert not [thread for thread in fleet._threads if thread.is_alive()]
        return [ticket.attempt for ticket in left]

    assert sorted(spin(2, 0.001, scenario)) == [1, 2, 3, 4, 5]
