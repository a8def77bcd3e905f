"""Pods ordered over HTTP, readiness, and requests that queue before a pod of their own."""

import asyncio
import json

import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.parser import text_string_to_metric_families

from domain.admission import Admission
from domain.errors import ConfigurationError
from domain.service_time import ServiceTime
from meter.counting import AttemptCounts
from meter.exporter import ServerPage
from target_service.settings import TargetSettings, parse_scale

pytestmark = pytest.mark.sockets

MODES = pytest.mark.parametrize("mode", ["sleep", "spin"])
LONG_S = 1e6


async def order(running, replicas):
    return await running.ask("PUT", "/scale", json.dumps({"replicas": replicas}).encode())


async def fleet(running):
    return (await running.ask("GET", "/scale")).json


def counts(body):
    return body["replicas"], body["ready"], sum(group["pods"] for group in body["starting"])


@MODES
def test_orders_are_told_back(target, mode):
    """The answer to an order is what GET says: all, ready, starting in their groups; so does the state."""

    async def scenario():
        async with target(pods=2, rate_per_pod=1.0, mode=mode, dead_time_s=LONG_S) as running:
            assert await fleet(running) == {
                "replicas": 2, "ready": 2, "starting": [], "draining": 0, "dead_time_s": LONG_S,
            }  # fmt: skip
            reply = await order(running, 3)
            assert (reply.status, counts(reply.json)) == (200, (3, 2, 1))
            reply = await order(running, 7)
            assert [group["pods"] for group in reply.json["starting"]] == [1, 4]
            first, second = (group["ready_in_s"] for group in reply.json["starting"])
            assert LONG_S - 60 < first < second <= LONG_S
            state = await running.state()
            assert (state["pods"], state["replicas"], state["starting"]) == (2, 7, 5)
            assert (state["pending_orders"], state["routing"], state["dead_time_s"]) == (0, "shared", LONG_S)
            assert counts((await order(running, 4)).json) == (4, 2, 2)
            assert counts((await order(running, 1)).json) == (1, 1, 0)
            await running.control(pods=5)
            assert counts(await fleet(running)) == (5, 5, 0)

    asyncio.run(scenario())


@MODES
def test_pods_serve_when_the_dead_time_is_over(target, mode):
    """By the target's clock no look sees them earlier and none later; the pod-seconds count them then."""
    dead_s = 0.3

    async def scenario():
        clock = asyncio.get_running_loop().time
        begin = clock()
        async with target(pods=1, rate_per_pod=1.0, mode=mode, dead_time_s=dead_s) as running:
            before = clock()
            await order(running, 4)
            after = clock()
            while True:
                asked = clock()
                state = await running.state()
                if state["pods"] == 4:
                    break
                assert (state["pods"], state["starting"]) == (1, 3)
                assert asked < after + dead_s
            assert state["now_monotonic_s"] >= before + dead_s
            assert (await fleet(running))["starting"] == []
            asked = clock()
            later = await running.state()
            told = clock()
        # One from within [begin, before], three more from [before, after] + dead_s, to [asked, told].
        least = (asked - before) + 3 * (asked - after - dead_s)
        assert least <= later["pod_s"] <= (told - begin) + 3 * (told - before - dead_s)

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        ("", ["scale"]),
        ("{", ["scale"]),
        ("[" * 30_000, ["scale"]),
        ("[3]", ["scale"]),
        ("3", ["scale"]),
        ("null", ["scale"]),
        ("{}", ["replicas"]),
        ('{"pods": 3}', ["pods", "replicas"]),
        ('{"replicas": 3, "at": 1}', ["at"]),
        ('{"replicas": 0}', ["replicas"]),
        ('{"replicas": -1}', ["replicas"]),
        ('{"replicas": 10001}', ["replicas"]),
        ('{"replicas": "3"}', ["replicas"]),
        ('{"replicas": true}', ["replicas"]),
        ('{"replicas": null}', ["replicas"]),
        ('{"replicas": [3]}', ["replicas"]),
        ('{"replicas": 3.0}', ["replicas"]),
        ('{"replicas": NaN}', ["replicas"]),
        ('{"replicas": 1e999}', ["replicas"]),
        ('{"replicas": 1' + "0" * 400 + "}", ["replicas"]),
        ('{"replicas": 1' + "0" * 5_000 + "}", ["scale"]),
    ],
)
def test_orders_that_make_no_sense(target, body, fields):
    """Refused with every fault by name, and nothing changes."""

    async def scenario():
        async with target(pods=2, rate_per_pod=1.0) as running:
            reply = await running.ask("PUT", "/scale", body.encode())
            assert (reply.status, [fault["field"] for fault in reply.json["faults"]]) == (400, fields)
            assert counts(await fleet(running)) == (2, 2, 0)
            assert (await running.ask("PUT", "/scale", b"\xff\xfe")).status == 400
            assert (await running.ask("PUT", "/scale", b" " * 100_000)).status == 413
            assert (await running.ask("POST", "/scale", b'{"replicas": 3}')).status == 405

    asyncio.run(scenario())


def test_an_order_is_a_number():
    """From one pod on."""
    assert parse_scale({"replicas": 1}) == 1
    assert parse_scale({"replicas": 10_000}) == 10_000


@MODES
def test_readiness_goes_with_the_capacity(target, mode):
    """Ready, not so in an outage, ready again; alive all the time, and pods that start change nothing."""

    async def scenario():
        async with target(pods=1, rate_per_pod=1.0, mode=mode, dead_time_s=LONG_S) as running:
            found = []
            for factor in (1, 0, 0.5):
                await running.control(capacity_factor=factor)
                await order(running, 2)
                reply = await running.ask("GET", "/readyz")
                found.append((reply.status, reply.body))
                assert (await running.ask("GET", "/healthz")).status == 200
        assert found == [(200, b"ready\n"), (503, b"not ready\n"), (200, b"ready\n")]

    asyncio.run(scenario())


@MODES
def test_what_is_in_service_at_a_pod_given_up_is_answered(target, mode):
    """Three in service, shrunk to one: two drain, all are answered, and nobody waits for the other pods."""

    async def scenario():
        always = ServiceTime("deterministic")
        async with target(pods=3, rate_per_pod=1.0, mode=mode, service_time=always) as running:
            clients = [asyncio.create_task(running.ask("GET", "/work")) for _ in range(3)]
            await running.until(lambda state: state["in_service"] == 3)
            reply = await order(running, 1)
            assert (counts(reply.json), reply.json["draining"]) == ((1, 1, 0), 2)
            await running.control(rate_per_pod=1000.0)  # for sleeping pods, at once
            replies = await asyncio.gather(*clients)
            assert [one.status for one in replies] == [200] * 3
            assert (await running.state())["draining"] == 0

    asyncio.run(scenario())


def test_a_run_that_ends_leaves_the_target_as_it_was(target):
    """DELETE /control takes back changes of capacity, not pods that start; PUT /control sets serving pods."""

    async def scenario():
        async with target(pods=2, rate_per_pod=1.0, dead_time_s=LONG_S) as running:
            far_s = (await running.state())["now_monotonic_s"] + LONG_S
            await running.control(capacity_factor=0, at_monotonic_s=far_s)
            await order(running, 5)
            assert (await running.state())["pending_orders"] == 1
            assert (await running.ask("DELETE", "/control")).json == {"pending_orders": 0}
            assert counts(await fleet(running)) == (5, 2, 3)
            assert counts((await order(running, 2)).json) == (2, 2, 0)
            await order(running, 1)
            await running.control(pods=2)
            assert counts(await fleet(running)) == (2, 2, 0)

    asyncio.run(scenario())


@pytest.mark.parametrize("routing", ["round-robin", "random", "shortest-queue"])
def test_every_pod_has_a_queue_of_its_own(target, routing):
    """A storm over pods that come and go: every attempt is answered once, and all the work is done."""

    async def scenario():
        async with target(pods=3, rate_per_pod=2000.0, routing=routing) as running:

            async def client():
                async with running.connection() as (reader, writer):
                    for _ in range(40):
                        writer.write(b"GET /work HTTP/1.1\r\nHost: t\r\n\r\n")
                        head = await reader.readuntil(b"\r\n\r\n")
                        assert head.startswith(b"HTTP/1.1 200")
                        await reader.readexactly(3)

            clients = asyncio.gather(*[client() for _ in range(20)])
            sizes = iter([1, 6, 2, 4, 3] * 1000)
            while not clients.done():
                await order(running, next(sizes))
                await asyncio.sleep(0.01)
            await clients
            state = await running.state()
            assert (state["arrived"], state["completed"], state["in_service"]) == (800, 800, 0)
            assert (state["routing"], state["draining"]) == (routing, 0)

    asyncio.run(scenario())


def test_in_turn_a_request_waits_though_another_pod_is_free(target):
    """Two pods in turn, the first one held: every other attempt waits; in one queue none would."""

    async def scenario():
        for routing, waiting in (("round-robin", 1), ("shared", 0)):
            async with target(pods=2, rate_per_pod=1e-6, routing=routing) as running:
                clients = [asyncio.create_task(running.ask("GET", "/work"))]
                await running.until(lambda state: state["arrived"] == 1)
                # The second goes to the second pod, the third in turn to the first one, which is held.
                for number in (2, 3):
                    clients.append(asyncio.create_task(running.ask("GET", "/work")))
                    await running.until(lambda state: state["arrived"] == number)  # noqa: B023
                state = await running.state()
                assert (state["in_service"], state["queue_depth"]) == (2, 1)
                await running.control(pods=3)
                state = await running.state()
                assert (state["in_service"], state["queue_depth"]) == (3 - waiting, waiting)
                for one in clients:
                    one.cancel()
                await asyncio.gather(*clients, return_exceptions=True)

    asyncio.run(scenario())


def test_who_hangs_up_leaves_the_queue_of_its_pod(target):
    """With cancellation on, of four that wait before two held pods those whose clients go leave."""

    async def scenario():
        admission = Admission(cancel_on_disconnect=True)
        settings = {"pods": 2, "rate_per_pod": 1e-6, "routing": "round-robin", "admission": admission}
        async with target(**settings) as running:
            clients = []
            for number in range(1, 7):
                clients.append(asyncio.create_task(running.ask("GET", "/work")))
                await running.until(lambda state: state["arrived"] == number)  # noqa: B023
            for client in (clients[3], clients[4], clients[0]):  # two that wait, one in service
                client.cancel()
            state = await running.until(lambda state: state["cancelled"] == 2)
            assert (state["in_service"], state["queue_depth"]) == (2, 2)
            await running.control(rate_per_pod=10_000.0)
            assert [(await clients[number]).status for number in (1, 2, 5)] == [200] * 3
            assert (await running.state())["abandoned"] == 1

    asyncio.run(scenario())


def test_the_page_of_metrics_shows_the_fleet(target):
    """Ready is busy and idle together; starting, draining and all pods beside them, and their rate."""

    async def scenario():
        counts = AttemptCounts()
        page = ServerPage(CollectorRegistry(), counts, "1")
        settings = {"pods": 3, "rate_per_pod": 1e-6, "dead_time_s": LONG_S}
        async with target(observer=counts, metrics=page, **settings) as running:
            clients = [asyncio.create_task(running.ask("GET", "/work")) for _ in range(2)]
            await running.until(lambda state: state["in_service"] == 2)
            await order(running, 1)
            await order(running, 5)
            earlier = (await running.state())["pod_s"]
            body = (await running.ask("GET", "/metrics")).body.decode()
            later = (await running.state())["pod_s"]
            for one in clients:
                one.cancel()
            await asyncio.gather(*clients, return_exceptions=True)
        found = {
            (sample.name, *sample.labels.values()): sample.value
            for family in text_string_to_metric_families(body)
            for sample in family.samples
        }
        pods = {state: found["tipover_pods", state] for state in ("busy", "idle", "draining", "starting")}
        assert pods == {"busy": 1, "idle": 0, "draining": 1, "starting": 4}
        assert found["tipover_replicas",] == 5
        assert found["tipover_capacity_per_second",] == pytest.approx(1e-6)
        assert earlier <= found["tipover_pod_seconds_total",] <= later

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("settings", "fields"),
    [
        ({"dead_time_s": -1.0}, ["dead_time_s"]),
        ({"dead_time_s": float("nan"), "routing": "fastest"}, ["dead_time_s", "routing"]),
        ({"dead_time_s": float("inf")}, ["dead_time_s"]),
        ({"routing": "random", "mode": "spin"}, ["routing"]),
    ],
)
def test_settings_that_do_not_go(settings, fields):
    """All faults at once; threads take their work from one queue."""
    with pytest.raises(ConfigurationError) as caught:
        TargetSettings(2, 1.0, **settings)
    assert [fault.field for fault in caught.value.faults] == fields
