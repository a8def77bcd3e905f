import asyncio
import contextlib
import errno
import itertools
import json
import os
import signal
import socket
import subprocess
import sys
import textwrap
from collections import Counter

import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.parser import text_string_to_metric_families

from domain.errors import ConfigurationError
from meter.counting import AttemptCounts
from meter.exporter import ServerPage
from target_service.draws import demands
from target_service.listening import AcceptFaults, dropped_connections

pytestmark = pytest.mark.sockets


def test_work_is_answered_and_the_request_id_comes_back(target):
    """Any method does; the body is tiny; an id that cannot stand in a header is not echoed."""

    async def scenario():
        async with target(pods=4, rate_per_pod=10_000.0) as running:
            for method in ("GET", "POST", "PUT", "DELETE"):
                reply = await running.ask(method, "/work", b"{}", X_Request_Id="7-2", X_Attempt="2")
                assert (reply.status, reply.body, reply.headers["x-request-id"]) == (200, b"ok\n", "7-2")
            reply = await running.raw(b"GET /work HTTP/1.1\r\nHost: t\r\nX-Request-Id: \xff\xfe\r\n\r\n")
            assert (reply.status, "x-request-id" in reply.headers) == (200, False)
            assert (await running.ask("GET", "/healthz")).status == 200
            assert (await running.ask("GET", "/elsewhere")).status == 404
            assert (await running.ask("GET", "/metrics")).status == 404

    asyncio.run(scenario())


def test_state_has_every_documented_field(target):
    """The fields of docs/run-directory.md, of the right type, with the loop's own clock."""
    fields = {
        "pods": int, "rate_per_pod": float, "capacity_factor": float, "capacity_per_s": float,
        "queue_depth": int, "in_service": int, "backlog_s": float, "arrived": int, "completed": int,
        "busy_s": float, "abandoned": int, "abandoned_s": float, "saturated_s": float,
        "saturated_completed": int, "clock_lag_p99_s": float, "clock_lag_max_s": float, "mode": str,
        "seed": int, "now_monotonic_s": float,
    }  # fmt: skip

    async def scenario():
        async with target(pods=2, rate_per_pod=1000.0, seed=9) as running:
            await running.ask("GET", "/work")
            before = asyncio.get_running_loop().time()
            state = await running.state()
            assert {field: type(state[field]) for field in fields} == fields
            assert before <= state["now_monotonic_s"] <= asyncio.get_running_loop().time()
            assert (state["arrived"], state["completed"], state["seed"]) == (1, 1, 9)
            assert state["busy_s"] == pytest.approx(next(demands(9)) / 1000)

    asyncio.run(scenario())


@pytest.mark.parametrize("mode", ["sleep", "spin"])
def test_hanging_up_changes_nothing_about_the_work(target, mode):
    """Ten clients leave early: all the work is done all the same, and is counted as abandoned."""

    async def scenario():
        counts = AttemptCounts()
        async with target(observer=counts, pods=1, rate_per_pod=20.0, mode=mode) as running:
            await running.control(capacity_factor=0)  # so that every client has gone before service begins
            await running.hang_up_after_sending(10)
            await running.control(capacity_factor=1)
            state = await running.until(lambda state: state["abandoned"] == 10)
        work_s = sum(itertools.islice(demands(1), 10)) / 20
        assert (state["arrived"], state["completed"], state["queue_depth"]) == (10, 10, 0)
        assert state["abandoned_s"] == pytest.approx(work_s)
        assert state["busy_s"] == pytest.approx(work_s)
        assert counts.outcomes == {"abandoned": 10}

    asyncio.run(scenario())


class Order:
    """An observer that keeps the attempt numbers in the order of their ends."""

    def __init__(self):
        self.ended_attempts = []

    def started(self, attempt):
        """Ignored."""

    def ended(self, attempt, outcome, duration_s):
        self.ended_attempts.append(attempt)

    def refused(self, reason):
        """Ignored."""


def test_first_come_first_served(target):
    """One pod, thirty connections that arrive one after the other: they are completed in that order."""

    async def scenario():
        order = Order()
        async with target(observer=order, pods=1, rate_per_pod=2000.0) as running:
            await running.control(capacity_factor=0)
            clients = []
            for number in range(1, 31):
                clients.append(asyncio.create_task(running.ask("GET", "/work", X_Attempt=number)))
                await running.until(lambda state: state["arrived"] == number)  # noqa: B023
            await running.control(capacity_factor=1)
            assert [reply.status for reply in await asyncio.gather(*clients)] == [200] * 30
        assert order.ended_attempts == list(range(1, 31))

    asyncio.run(scenario())


def test_an_outage_by_order(target):
    """Capacity 0 holds everything; the order's own time is exact; restored, all is served."""

    async def scenario():
        async with target(pods=2, rate_per_pod=1000.0) as running:
            start_s = (await running.state())["now_monotonic_s"]
            reply = await running.control(capacity_factor=0, at_monotonic_s=start_s)
            assert (reply.status, reply.json["at_monotonic_s"]) == (200, start_s)
            clients = [asyncio.create_task(running.ask("GET", "/work")) for _ in range(10)]
            state = await running.until(lambda state: state["arrived"] == 10)
            assert (state["capacity_per_s"], state["completed"], state["busy_s"]) == (0, 0, 0)
            assert (state["queue_depth"], state["in_service"]) == (8, 2)
            backlog_s = state["backlog_s"]
            assert backlog_s == pytest.approx(sum(itertools.islice(demands(1), 10)) / 2000)
            await running.control(capacity_factor=1, pods=5, rate_per_pod=500.0)
            assert [reply.status for reply in await asyncio.gather(*clients)] == [200] * 10
            state = await running.state()
            assert (state["capacity_per_s"], state["pods"], state["completed"]) == (2500, 5, 10)
            assert state["busy_s"] == pytest.approx(2000 * backlog_s / 500)

    asyncio.run(scenario())


def test_connections_dropped_at_the_full_accept_queue_are_counted():
    """A listener with room for one, which nobody accepts from, drops the rest; another's count stays 0."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as full, contextlib.ExitStack() as clients:
        other = clients.enter_context(socket.create_server(("127.0.0.1", 0)))
        assert dropped_connections(full) == 0
        for _ in range(6):
            client = clients.enter_context(socket.socket())
            client.setblocking(False)
            client.connect_ex(full.getsockname())
        assert dropped_connections(full) >= 4
        assert dropped_connections(other) == 0


@pytest.mark.parametrize("mode", ["sleep", "spin"])
def test_orders_to_come_can_be_taken_back(target, mode):
    """A scheduled outage is shown as pending, and after DELETE /control it does not happen."""

    async def scenario():
        async with target(pods=1, rate_per_pod=1000.0, mode=mode) as running:
            soon_s = (await running.state())["now_monotonic_s"] + 0.3
            await running.control(capacity_factor=0, at_monotonic_s=soon_s)
            assert (await running.state())["pending_orders"] == 1
            assert (await running.ask("DELETE", "/control")).json == {"pending_orders": 0}
            state = await running.until(lambda state: state["now_monotonic_s"] > soon_s)
            assert (state["pending_orders"], state["capacity_factor"]) == (0, 1)

    asyncio.run(scenario())


@pytest.mark.parametrize(
    "body", [b'{"pods": 0, "capacity_factor": NaN}', b"not JSON", b"[" * 60_000, b"\xff"]
)
def test_orders_that_make_no_sense_get_their_faults_back(target, body):
    """400, with field, rule and value of each fault, as strict JSON."""

    async def scenario():
        async with target(pods=2, rate_per_pod=1000.0) as running:
            reply = await running.ask("PUT", "/control", body)
            assert reply.status == 400
            faults = json.loads(reply.body, parse_constant=pytest.fail)["faults"]
            assert faults
            assert all(set(fault) == {"field", "rule", "value"} for fault in faults)
            assert (await running.state())["pods"] == 2

    asyncio.run(scenario())


def test_rude_clients_harm_nobody(target, caplog):
    """Bad headers, garbage, huge bodies and half bodies: refused or served, and nothing is logged."""

    async def scenario():
        async with target(pods=4, rate_per_pod=10_000.0) as running:
            for rude in (b"GET /work HTTP/1.1\r\nBad Header\r\n\r\n", b"\x16\x03\x01\x02\r\n\r\n"):
                assert (await running.raw(rude)).status == 400
            endless = b"GET /work HTTP/1.1\r\nHost: t\r\nX: " + b"x" * 20_000 + b"\r\n\r\n"
            assert (await running.raw(endless)).status == 400
            huge = b"POST /work HTTP/1.1\r\nHost: t\r\nContent-Length: 99999999999\r\n\r\nab"
            assert (await running.raw(huge)).status == 413
            assert (await running.ask("PUT", "/control", b" " * 100_000)).status == 413
            async with running.connection() as (_, writer):
                writer.write(b"POST /work HTTP/1.1\r\nHost: t\r\nContent-Length: 1000\r\n\r\nhalf")
                await running.until(lambda state: state["arrived"] == 1)
            await running.until(lambda state: state["completed"] == 1)
            async with running.connection() as (_, writer):
                writer.write(b"PUT /control HTTP/1.1\r\nHost: t\r\nContent-Length: 1000\r\n\r\n{")
                await writer.drain()
            assert (await running.ask("GET", "/work")).status == 200

    asyncio.run(scenario())
    assert not caplog.records


def test_metrics_parse_and_agree_with_the_state(target):
    """The page of a real run parses, and its counters are those of the observer and the state."""

    async def scenario():
        counts = AttemptCounts()
        page = ServerPage(CollectorRegistry(), counts, "1.2.3")
        async with target(observer=counts, metrics=page, pods=3, rate_per_pod=5000.0) as running:
            for attempt in (1, 1, 2, 3):
                await running.ask("GET", "/work", X_Attempt=attempt)
            state = await running.state()
            reply = await running.ask("GET", "/metrics")
        assert reply.headers["content-type"].startswith("text/plain")
        samples = {
            (sample.name, *sample.labels.values()): sample.value
            for family in text_string_to_metric_families(reply.body.decode())
            for sample in family.samples
        }
        assert samples["tipover_attempts_total", "first"] == 2
        assert samples["tipover_attempts_total", "retry"] == 2
        assert samples["tipover_outcomes_total", "ok"] == 4
        assert samples["tipover_busy_seconds_total",] == pytest.approx(state["busy_s"])
        assert samples["tipover_pods", "idle"] == 3

    asyncio.run(scenario())


def test_a_port_in_use_is_a_configuration_error(target):
    """The message names the port; nothing is left running."""

    async def scenario(port):
        async with target(pods=1, rate_per_pod=1.0, port=port):
            pytest.fail("the port was taken twice")

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ConfigurationError, match=rf"127\.0\.0\.1:{port}: the port is in use"):
            asyncio.run(scenario(port))


def test_stopping_does_not_wait_for_the_queue(target):
    """A thousand live and a thousand abandoned requests, weeks of work: gone with the listener."""

    async def scenario():
        async with target(pods=1, rate_per_pod=0.001) as running:
            connections = [await running.connect() for _ in range(2000)]
            for _, writer in connections:
                writer.write(b"GET /work HTTP/1.1\r\nHost: t\r\n\r\n")
            await running.until(lambda state: state["arrived"] == 2000)
            live, gone = connections[:1000], connections[1000:]
            for _, writer in gone:
                writer.close()
            running.stop.set()
            await asyncio.wait_for(running.task, 20)
            assert Counter([await reader.read() for reader, _ in live]) == {b"": 1000}
            for _, writer in live:
                writer.close()
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(scenario())


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("mode", ["sleep", "spin"])
def test_a_signal_ends_the_process_without_noise(number, mode):
    """With requests queued, the process ends with status 0 and not a word on standard error."""
    program = f"""
        from target_service.server import run_target
        from target_service.settings import TargetSettings
        settings = TargetSettings(pods=2, rate_per_pod=0.001, mode="{mode}", backlog=64)
        run_target(settings, ready=lambda host, port: print(port, flush=True))
    """
    with subprocess.Popen(
        [sys.executable, "-X", "dev", "-c", textwrap.dedent(program)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        port = int(process.stdout.readline())
        clients = [socket.create_connection(("127.0.0.1", port)) for _ in range(20)]
        for client in clients:
            client.sendall(b"GET /work HTTP/1.1\r\nHost: t\r\n\r\n")
        os.kill(process.pid, number)
        _, errors = process.communicate(timeout=60)
        for client in clients:
            client.close()
    assert (process.returncode, errors) == (0, "")


def test_a_lack_of_descriptors_is_counted_and_said_once(caplog):
    """Other faults of the loop still reach its default handler."""
    loop = asyncio.new_event_loop()
    try:
        faults = AcceptFaults()
        for _ in range(3):
            faults(loop, {"message": "accept", "exception": OSError(errno.EMFILE, "Too many open files")})
        assert (faults.count, len(caplog.records)) == (3, 1)
        faults(loop, {"message": "something else", "exception": OSError(errno.EIO, "I/O")})
        assert (faults.count, len(caplog.records)) == (3, 2)
    finally:
        loop.close()


def test_a_low_somaxconn_is_said_aloud(target, caplog):
    """A backlog that the kernel will cut draws a warning."""

    async def scenario():
        async with target(pods=1, rate_per_pod=1.0, backlog=2_000_000_000):
            pass

    asyncio.run(scenario())
    assert "somaxconn" in caplog.text
