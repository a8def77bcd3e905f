import http.client
import socket
import subprocess
import sys
import textwrap

import prometheus_client
import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.parser import text_string_to_metric_families

from domain.errors import ConfigurationError
from meter import names
from meter.counting import AttemptCounts
from meter.exporter import AttemptCollector, BuildInfoCollector, ServerCollector, ServerPage, exposition
from meter.page_server import MetricsServer

STATE = {
    "queue_depth": 7, "backlog_s": 1.5, "busy_s": 20.0, "abandoned_s": 4.0, "pods": 4, "in_service": 3,
    "draining": 0, "starting": 2, "replicas": 6, "pod_s": 33.5, "capacity_per_s": 160.0,
}  # fmt: skip


def samples_of(body):
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(body.decode())
        for sample in family.samples
    }


def counted():
    counts = AttemptCounts(buckets_s=(0.1, 1.0))
    counts.started(1)
    counts.started(2)
    counts.started(2)
    counts.ended(1, "ok", 0.05)
    counts.ended(2, "timeout", 3.0)
    counts.refused("budget")
    return counts


def test_the_whole_page_parses():
    """Every sample of every metric, by name and label."""
    page = ServerPage(CollectorRegistry(), counted(), "0.1.0")
    content_type, body = page(STATE)
    assert content_type.startswith("text/plain; version=0.0.4")
    assert samples_of(body) == {
        ("tipover_build_info", "0.1.0"): 1,
        ("tipover_attempts_total", "first"): 1,
        ("tipover_attempts_total", "retry"): 2,
        ("tipover_outcomes_total", "ok"): 1,
        ("tipover_outcomes_total", "timeout"): 1,
        ("tipover_inflight",): 1,
        ("tipover_attempt_duration_seconds_bucket", "0.1"): 1,
        ("tipover_attempt_duration_seconds_bucket", "1.0"): 1,
        ("tipover_attempt_duration_seconds_bucket", "+Inf"): 2,
        ("tipover_attempt_duration_seconds_count",): 2,
        ("tipover_attempt_duration_seconds_sum",): 3.05,
        ("tipover_refusals_total", "budget"): 1,
        ("tipover_queue_depth",): 7,
        ("tipover_backlog_seconds",): 1.5,
        ("tipover_busy_seconds_total",): 20,
        ("tipover_abandoned_work_seconds_total",): 4,
        ("tipover_pods", "busy"): 3,
        ("tipover_pods", "idle"): 1,
        ("tipover_pods", "draining"): 0,
        ("tipover_pods", "starting"): 2,
        ("tipover_replicas",): 6,
        ("tipover_pod_seconds_total",): 33.5,
        ("tipover_capacity_per_second",): 160,
    }
    shown = {line.split()[2] for line in body.decode().splitlines() if line.startswith("# HELP")}
    assert shown <= set(names.HELP)
    assert {names.REPLICAS, names.POD_SECONDS, names.CAPACITY, names.PODS} <= shown


def test_the_page_follows_the_state():
    """A later scrape shows the later state, and what a state lacks is left out."""
    page = ServerPage(CollectorRegistry(), AttemptCounts(), "0.1.0")
    page(STATE)
    later = samples_of(page({"queue_depth": 1, "pods": 1, "in_service": 3})[1])
    assert later[names.QUEUE_DEPTH,] == 1
    assert later[names.PODS, "draining"] == 2
    assert (names.BACKLOG,) not in later
    assert (names.POD_SECONDS,) not in later


def test_pods_that_drain_while_others_are_idle():
    """Pods with queues of their own: two given up still serve, of the five ready ones one does."""
    page = ServerPage(CollectorRegistry(), AttemptCounts(), "0.1.0")
    found = samples_of(page({"pods": 5, "in_service": 3, "draining": 2, "starting": 4})[1])
    by_state = {state: found[names.PODS, state] for state in ("busy", "idle", "draining", "starting")}
    assert by_state == {"busy": 1, "idle": 4, "draining": 2, "starting": 4}


def test_collectors_stand_alone_and_leave_the_global_registry_alone():
    """A registry of one's own gets everything, the global one nothing."""
    registry = CollectorRegistry()
    registry.register(AttemptCollector(counted()))
    registry.register(ServerCollector(lambda: STATE))
    registry.register(BuildInfoCollector("9"))
    assert samples_of(exposition(registry)[1])[names.QUEUE_DEPTH,] == 7
    assert b"tipover_" not in prometheus_client.generate_latest(prometheus_client.REGISTRY)


def get(port, path="/metrics"):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request("GET", path)
        reply = connection.getresponse()
        return reply.status, reply.read()
    finally:
        connection.close()


@pytest.mark.sockets
def test_a_server_of_its_own():
    """It answers /metrics and nothing else, shows fresh counts, and frees its port when closed."""
    counts, registry = AttemptCounts(), CollectorRegistry()
    registry.register(AttemptCollector(counts))
    server = MetricsServer(registry)
    try:
        assert get(server.port, "/")[0] == 404
        counts.started(1)
        status, body = get(server.port, "/metrics?x=1")
        assert (status, samples_of(body)[names.ATTEMPTS, names.FIRST]) == (200, 1)
        with pytest.raises(ConfigurationError, match=str(server.port)):
            MetricsServer(registry, port=server.port)
    finally:
        server.close()
    with socket.socket() as probe, pytest.raises(ConnectionRefusedError):
        probe.connect(("127.0.0.1", server.port))


@pytest.mark.sockets
def test_the_server_works_on_greenlets():
    """In a process that gevent has patched, a scrape is answered while other greenlets run."""
    program = """
        from gevent import monkey
        monkey.patch_all()
        import gevent, http.client
        from prometheus_client import CollectorRegistry
        from meter.counting import AttemptCounts
        from meter.exporter import AttemptCollector
        from meter.page_server import MetricsServer
        counts, registry = AttemptCounts(), CollectorRegistry()
        registry.register(AttemptCollector(counts))
        server = MetricsServer(registry)

        def scrape():
            connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
            connection.request("GET", "/metrics")
            body = connection.getresponse().read()
            connection.close()
            return body

        scraped = gevent.spawn(scrape)
        while not scraped.ready():
            counts.started(1)
            gevent.sleep(0.01)
        assert b"tipover_attempts_total" in scraped.get(), scraped.get()
        server.close()
        print("served")
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "served\n", "")
