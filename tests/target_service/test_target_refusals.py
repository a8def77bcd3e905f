import asyncio
import itertools
import time
from collections import Counter

import pytest

from domain.admission import Admission
from domain.codel import CoDel
from domain.limits.aimd import AimdLimit
from meter.counting import AttemptCounts
from target_service.answers import retry_after_headers
from target_service.draws import error_draws
from target_service.headers import deadline_s

pytestmark = pytest.mark.sockets

MODES = pytest.mark.parametrize("mode", ["sleep", "spin"])
HELD = {"pods": 1, "rate_per_pod": 1e-6}
"""One pod that is busy for days with the first attempt."""


async def send(running, count, **headers):
    """Attempts that are in the system before this returns, one after the other."""
    there = (await running.state())["arrived"]
    clients = []
    for number in range(1, count + 1):
        clients.append(asyncio.create_task(running.ask("GET", "/work", **headers)))
        await running.until(lambda state: state["arrived"] == there + number)  # noqa: B023
    return clients


async def dropped(clients):
    for client in clients:
        client.cancel()
    await asyncio.gather(*clients, return_exceptions=True)


@MODES
@pytest.mark.parametrize(
    ("rules", "reason"),
    [({"queue_cap": 1}, b"rejected: full\n"), ({"limit": AimdLimit(2, 2, 2)}, b"rejected: limit\n")],
)
def test_who_is_turned_away_is_told_at_once(target, rules, reason, mode):
    """One in service and one waiting are all there is room for; the 503 says when to come again."""

    async def scenario():
        counts = AttemptCounts()
        admission = Admission(**rules, retry_after_s=0.25)
        async with target(observer=counts, mode=mode, admission=admission, **HELD) as running:
            clients = await send(running, 2)
            reply = await running.ask("GET", "/work", X_Request_Id="7-2")
            assert (reply.status, reply.body, reply.headers["x-request-id"]) == (503, reason, "7-2")
            assert (reply.headers["retry-after"], reply.headers["retry-after-ms"]) == ("1", "250")
            state = await running.state()
            await dropped(clients)
        assert (state["arrived"], state["rejected"], state["queue_depth"]) == (3, 1, 1)
        assert state["limit"] == (None if "queue_cap" in rules else 2)
        assert counts.outcomes == {"rejected": 1}
        assert counts.refusals == {("full" if "queue_cap" in rules else "limit"): 1}

    asyncio.run(scenario())


@MODES
def test_a_retry_makes_room_for_a_first_attempt(target, mode):
    """The retry's client hears of it while it waits, and nothing about when to come again was set."""

    async def scenario():
        admission = Admission(queue_cap=1, first_before_retry=True)
        async with target(mode=mode, admission=admission, **HELD) as running:
            clients = await send(running, 1)
            (retry,) = await send(running, 1, X_Attempt=2)
            clients += await send(running, 1)
            reply = await retry
            assert (reply.status, reply.body) == (503, b"rejected: first-before-retry\n")
            assert not {"retry-after", "retry-after-ms"} & set(reply.headers)
            assert (await running.state())["queue_depth"] == 1
            await dropped(clients)

    asyncio.run(scenario())


@MODES
def test_what_is_too_late_is_not_served(target, mode):
    """Either notation, the earlier of both; nonsense is no deadline."""

    async def scenario():
        counts = AttemptCounts()
        admission = Admission(drop_expired=True)
        past, ahead = time.time() - 1.0, time.time() + 3600.0
        async with target(
            observer=counts, mode=mode, admission=admission, pods=1, rate_per_pod=1e3
        ) as running:
            await running.control(capacity_factor=0)
            # An outage keeps these from being served; where nothing starts at once this one waits, too.
            first = await send(running, 1)
            late = [
                *await send(running, 1, X_Deadline=past),
                *await send(running, 1, grpc_timeout="1m"),
                *await send(running, 1, grpc_timeout="1H", X_Deadline=past),
                *await send(running, 1, grpc_timeout="1m", X_Deadline=ahead),
            ]
            in_time = [
                *await send(running, 1, X_Deadline=ahead, grpc_timeout="1H"),
                *await send(running, 1, X_Deadline="tomorrow", grpc_timeout="soon"),
                *await send(running, 1),
            ]
            now_s = (await running.state())["now_monotonic_s"]
            await running.until(lambda state: state["now_monotonic_s"] > now_s + 0.01)
            await running.control(capacity_factor=1)
            replies = await asyncio.gather(*late)
            assert [(reply.status, reply.body) for reply in replies] == [(504, b"expired\n")] * 4
            assert [reply.status for reply in await asyncio.gather(*first, *in_time)] == [200] * 4
            state = await running.state()
        assert (state["expired"], state["completed"]) == (4, 4)
        assert counts.outcomes == {"expired": 4, "ok": 4}

    asyncio.run(scenario())


def test_deadlines_are_not_read_unless_they_count(target):
    """Without the defence what is too late is served."""

    async def scenario():
        async with target(pods=1, rate_per_pod=1e4) as running:
            await running.control(capacity_factor=0)
            clients = await send(running, 2, X_Deadline=time.time() - 1)
            await running.control(capacity_factor=1)
            assert [reply.status for reply in await asyncio.gather(*clients)] == [200, 200]

    asyncio.run(scenario())


def test_a_deadline_is_placed_on_the_loops_clock():
    """The wall clock is asked at the arrival; of two the earlier counts; without one it is infinity."""
    left_s = deadline_s({"X-Deadline": repr(time.time() + 50.0)}, 1000.0) - 1000.0
    assert 0 < left_s <= 50.0
    assert deadline_s({"grpc-timeout": "2500m"}, 1000.0) == 1002.5
    assert deadline_s({"grpc-timeout": "2500m", "X-Deadline": repr(time.time() + 50)}, 1000.0) == 1002.5
    assert deadline_s({"grpc-timeout": "-1S", "X-Deadline": "nan"}, 1000.0) == float("inf")
    assert deadline_s({}, 1000.0) == float("inf")


@pytest.mark.parametrize(("mode", "interval_s"), [("sleep", 0.02), ("spin", 60.0)])
def test_a_standing_queue_is_shed(target, mode, interval_s):
    """Forty have waited through an outage; at the second or third interval begun, the rest goes at once.

    A pod that sleeps takes up the first before the outage ends, without a wait, so an interval of about
    ten services goes by first; one that spins takes up nothing until then.
    """

    async def scenario():
        counts = AttemptCounts()
        admission = Admission(codel=CoDel(1e-3, interval_s), retry_after_s=2.0)
        async with target(
            observer=counts, mode=mode, admission=admission, pods=1, rate_per_pod=500.0
        ) as running:
            await running.control(capacity_factor=0)
            clients = await send(running, 40)
            await running.control(capacity_factor=1)
            replies = await asyncio.gather(*clients)
            state = await running.state()
        shed = [reply for reply in replies if reply.status == 503]
        assert Counter(reply.status for reply in replies) == {503: state["shed"], 200: state["completed"]}
        assert 0 < state["shed"] < 40
        assert {(reply.body, reply.headers["retry-after"]) for reply in shed} == {(b"shed\n", "2")}
        assert counts.outcomes == {"shed": state["shed"], "ok": state["completed"]}

    asyncio.run(scenario())


@MODES
def test_some_answers_are_errors(target, mode):
    """Those that the seed's error stream says, in order of arrival, after having been served."""

    async def scenario():
        counts = AttemptCounts()
        admission = Admission(error_rate=0.4)
        async with target(
            observer=counts, mode=mode, admission=admission, pods=1, rate_per_pod=1e4, seed=3
        ) as running:
            replies = [await running.ask("GET", "/work") for _ in range(20)]
            state = await running.state()
        fails = [draw < 0.4 for draw in itertools.islice(error_draws(3), 20)]
        assert [(reply.status, reply.body) for reply in replies] == [
            (500, b"error\n") if failed else (200, b"ok\n") for failed in fails
        ]
        assert (state["completed"], state["errors"]) == (20, sum(fails))
        assert counts.outcomes == {"ok": 20 - sum(fails), "error": sum(fails)}

    asyncio.run(scenario())


@MODES
def test_hanging_up_takes_what_waits_out_of_the_queue(target, mode):
    """Ten clients hang up: the one in service is served for nothing, the nine that wait leave at once."""

    async def scenario():
        counts = AttemptCounts()
        admission = Admission(cancel_on_disconnect=True)
        async with target(observer=counts, mode=mode, admission=admission, **HELD) as running:
            await running.hang_up_after_sending(10)
            state = await running.until(lambda state: state["cancelled"] == 9)
        assert (state["arrived"], state["in_service"], state["queue_depth"]) == (10, 1, 0)
        assert (state["completed"], state["abandoned"]) == (0, 0)
        assert counts.outcomes == {"cancelled": 9}

    asyncio.run(scenario())


def test_many_hang_up_at_once_in_an_outage_and_the_rest_is_served(target):
    """Of 300 every third stays; one that has gone is in service already and counts as abandoned."""

    async def scenario():
        async with target(
            admission=Admission(cancel_on_disconnect=True), pods=1, rate_per_pod=2000.0
        ) as running:
            await running.control(capacity_factor=0)
            connections = []
            for number in range(300):
                connections.append(await running.connect())
                connections[-1][1].write(b"GET /work HTTP/1.1\r\nHost: t\r\n\r\n")
                if number == 0:
                    await running.until(lambda state: state["arrived"] == 1)
            await running.until(lambda state: state["arrived"] == 300)
            for number, (_, writer) in enumerate(connections):
                if number % 3 != 2:
                    writer.close()
            state = await running.until(lambda state: state["cancelled"] == 199)
            assert (state["queue_depth"], state["in_service"]) == (100, 1)
            await running.control(capacity_factor=1)
            stay = connections[2::3]
            lines = await asyncio.gather(*[reader.readline() for reader, _ in stay])
            assert set(lines) == {b"HTTP/1.1 200 OK\r\n"}
            state = await running.state()
            assert (state["completed"], state["abandoned"], state["cancelled"]) == (101, 1, 199)
            for _, writer in stay:
                writer.close()

    asyncio.run(scenario())


@MODES
def test_stopping_with_cancellation_on(target, mode, caplog):
    """Whatever waits is dropped with its connection, without a word."""

    async def scenario():
        async with target(mode=mode, admission=Admission(cancel_on_disconnect=True), **HELD) as running:
            clients = await send(running, 5)
            running.stop.set()
            await asyncio.wait_for(running.task, 20)
            assert all(
                isinstance(end, OSError | asyncio.IncompleteReadError)
                for end in await asyncio.gather(*clients, return_exceptions=True)
            )

    asyncio.run(scenario())
    assert not caplog.records


def test_the_state_shows_the_defences(target):
    """As the JSON that another target can be started with; times in seconds."""

    async def scenario():
        admission = Admission(discipline="lifo", queue_cap=7, codel=CoDel(0.1, 0.5))
        async with target(pods=1, rate_per_pod=1.0, admission=admission) as running:
            state = await running.state()
        assert state["discipline"] == "lifo"
        assert state["admission"]["queue_cap"] == 7
        assert state["admission"]["codel"] == {"target_s": 0.1, "interval_s": 0.5}

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("wait_s", "whole", "exact"),
    [
        (0.0, "0", "0"),
        (0.0125, "1", "12.5"),
        (1.0, "1", "1000"),
        (100.0, "100", "100000"),
        (1.5, "2", "1500"),
    ],
)
def test_both_notations_of_a_wait(wait_s, whole, exact):
    """Whole seconds are rounded up."""
    assert retry_after_headers(wait_s) == {"Retry-After": whole, "retry-after-ms": exact}
