"""The same generator as a plain locustfile, with the web page, subclassed, and with several workers."""

from __future__ import annotations

import json
import re
import signal
import socket
import time
import urllib.request
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from prometheus_client.parser import text_string_to_metric_families as parse
from scipy import stats

from domain.arrivals import ArrivalPlan, Segment
from domain.streams import stream
from tests import servers
from tests.integration.commands import scenario_file, started, tipover, wait_until
from tests.servers import serving

pytestmark = pytest.mark.sockets

STEADY = """
title = "steady load, nothing known of the service"
[client]
timeout_s = 2.0
max_attempts = 2
[demand]
arrival_rate_per_s = 400
phases = [ { name = "steady", duration_s = 6 } ]
"""
LOCUSTFILE = Path(__file__).parents[2] / "tipover" / "locustfile.py"
OWN_LOCUSTFILE = """
from tipover.locust_plugin import Request, StormUser

class Checkout(StormUser):
    def request(self, job):
        return Request("POST", f"/checkout/{job.job_id}", {"X-Shop": "7"}, b"{}")

    def is_success(self, status):
        return status == 200
"""


def _trace(out: Path) -> pd.DataFrame:
    parts = sorted((out / "attempts").glob("*.parquet"))
    rows = pd.concat([pq.read_table(part).to_pandas() for part in parts], ignore_index=True)
    return rows[rows.outcome.notna()]


def _locust(locustfile: Path, folder: Path, port: int, *options: str) -> tuple[int, str]:
    arguments = ("-m", "locust", "-f", locustfile, "--host", f"http://127.0.0.1:{port}")
    scenario = ("--scenario", scenario_file(folder, STEADY), "--out", folder / "out")
    with started(*arguments, "--headless", *scenario, *options) as run:
        _, errors = run.communicate(timeout=90)
    return run.returncode, errors


def test_a_plain_locustfile_runs_the_plan_and_ends(tmp_path: Path) -> None:
    """``locust -f`` alone sends every planned job once to a healthy service, and Locust's stats agree."""
    with serving(servers.friendly) as log:
        code, output = _locust(LOCUSTFILE, tmp_path, log.port)
    assert code == 0, output
    trace = _trace(tmp_path / "out")
    planned = ArrivalPlan((Segment(0, 6, 400),)).draw(stream(1, "arrivals"))
    np.testing.assert_array_equal(np.sort(trace.planned_s), planned)
    assert len(log.requests) == len(planned)


def test_a_second_start_gets_a_directory_of_its_own_and_each_can_be_reported(tmp_path: Path) -> None:
    """Two runs with one --out do not mix their traces, and ``tipover report`` reads them."""
    with serving(servers.friendly) as log:
        for _ in range(2):
            assert _locust(LOCUSTFILE, tmp_path, log.port)[0] == 0
    first, second = _trace(tmp_path / "out"), _trace(tmp_path / "out-2")
    assert len(first) == len(second) == len(log.requests) / 2
    done = tipover("report", tmp_path / "out-2", "--json")
    assert json.loads(done.stdout)["totals"]["attempts"] == len(second)


def test_a_subclass_sends_its_own_request(tmp_path: Path) -> None:
    """Method, path, headers and body are the subclass's; the attempt's headers are added."""
    own = tmp_path / "own.py"
    own.write_text(OWN_LOCUSTFILE)
    with serving(servers.friendly) as log:
        code, output = _locust(own, tmp_path, log.port)
    assert code == 0, output
    head = log.requests[0][1].decode()
    assert re.match(r"POST /checkout/\d+ HTTP/1.1\r\n", head)
    assert "\r\nX-Shop: 7\r\n" in head
    assert "\r\nContent-Length: 2\r\n" in head
    assert "\r\nX-Attempt: 1\r\n" in head


def test_two_workers_share_the_plan_and_their_merged_stream_is_poisson(tmp_path: Path) -> None:
    """Each worker draws half the rate on its own; together the planned starts are Poisson at the whole."""
    with serving(servers.friendly) as log:
        code, output = _locust(LOCUSTFILE, tmp_path, log.port, "--processes", "2", "--users", "2")
    assert code == 0, output
    trace = _trace(tmp_path / "out")
    first = trace[trace.attempt == 1]
    shares = first.groupby("worker").size()
    assert list(shares.index) == [0, 1]
    assert first.job_id.is_unique
    for worker in (0, 1):
        plan = ArrivalPlan((Segment(0, 6, 400),)).draw(stream(1, "arrivals", worker), worker, 2)
        np.testing.assert_array_equal(np.sort(first[first.worker == worker].planned_s), plan)
    merged = np.sort(first.planned_s)
    gaps = np.diff(merged)
    assert stats.kstest(gaps, "expon", args=(0, 1 / 400)).pvalue > 0.001
    counts = np.histogram(merged, bins=np.arange(0, 6.05, 0.1))[0]
    dispersion = counts.var(ddof=1) / counts.mean()
    low, high = stats.chi2.ppf([0.0005, 0.9995], len(counts) - 1) / (len(counts) - 1)
    assert low < dispersion < high
    health = [json.loads(p.read_text()) for p in sorted((tmp_path / "out" / "generator").glob("*.json"))]
    assert sum(h["planned"] for h in health) == sum(h["sent"] for h in health) == len(first)


def test_the_meter_is_mounted_in_the_generator(tmp_path: Path) -> None:
    """A scrape during the storm counts first attempts and retries, outcomes and durations."""
    port = _free_port()
    text = STEADY.replace("timeout_s = 2.0", "timeout_s = 0.3").replace("duration_s = 6", "duration_s = 60")
    scenario = ("--scenario", scenario_file(tmp_path, text), "--metrics-port", str(port))
    with serving(servers.silent) as log:
        address = ("--headless", "--host", f"http://127.0.0.1:{log.port}")
        with started("-m", "locust", "-f", LOCUSTFILE, *address, *scenario):
            wait_until(lambda: len(log.requests) > 800, "the storm is under way")
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as answer:
                page = answer.read().decode()
    values = {s.name + str(s.labels): s.value for f in parse(page) for s in f.samples}
    first = values["tipover_attempts_total{'attempt': 'first'}"]
    assert first > 0
    assert 0 < values["tipover_attempts_total{'attempt': 'retry'}"] <= first
    assert values["tipover_outcomes_total{'outcome': 'timeout'}"] > 0
    assert values["tipover_inflight{}"] > 0


def _ask(url: str, data: bytes | None = None) -> Any:
    with urllib.request.urlopen(url, data, timeout=5) as answer:
        return json.loads(answer.read())


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


def test_the_web_page_starts_and_stops_the_storm(tmp_path: Path) -> None:
    """Locust's page shows first attempts and retries; its stop button ends the load within a second."""
    page = _free_port()
    text = STEADY.replace("duration_s = 6", "duration_s = 300").replace("timeout_s = 2.0", "timeout_s = 0.5")
    scenario = ("--scenario", scenario_file(tmp_path, text), "--web-port", str(page))
    with serving(servers.silent) as log:
        host = f"http://127.0.0.1:{log.port}"
        address = ("--web-host", "127.0.0.1", "--host", host)
        with started("-m", "locust", "-f", LOCUSTFILE, *address, *scenario) as run:
            base = f"http://127.0.0.1:{page}"
            wait_until(lambda: _answers(page), "the page is up")
            assert _ask(f"{base}/swarm", b"user_count=1&spawn_rate=1&host=" + host.encode())["success"]
            wait_until(lambda: len(log.requests) > 400, "the storm is under way")
            names = wait_until(lambda: _methods(base) >= {"first", "retry"}, "the statistics show attempts")
            assert names
            _ask(f"{base}/stop", b"")
            stopped_s = time.monotonic()
            time.sleep(2.5)
            assert not [at for at, _ in log.requests if at > stopped_s + 1.0]
            run.send_signal(signal.SIGTERM)
            run.wait(20)


def _answers(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 0.2).close()
    except OSError:
        return False
    return True


def _methods(base: str) -> set[str]:
    return {entry["method"] for entry in _ask(f"{base}/stats/requests")["stats"]}
