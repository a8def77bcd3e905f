"""``tipover serve meter --tail`` as a process: its pages, its files, its end."""

import json
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import contextmanager

import pytest
from prometheus_client.parser import text_string_to_metric_families

from domain.errors import ConfigurationError
from domain.recognition import Recognition
from domain.sightings import Sightings
from meter import names
from tipover.commands.serve.meter_tail import serve_tail

pytestmark = pytest.mark.sockets

PROGRAM = """
import sys
from pathlib import Path
from domain.recognition import Recognition
from domain.sightings import Sightings
from tipover.commands.serve.meter_tail import serve_tail
serve_tail([Path(path) for path in sys.argv[1:]], "auto", "127.0.0.1", 0, Recognition(), Sightings(),
           ignore=("/health",), by_route=True, announce=True)
"""


def line(job, path="/work", status="200"):
    fields = {"gateway": "nginx", "method": "GET", "path": path, "status": status, "duration_s": "0.2"}
    return json.dumps({**fields, "ending": "0.2", "headers": {"x-request-id": job}}) + "\n"


@contextmanager
def tailing(*paths):
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *map(str, paths)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process, json.loads(process.stdout.readline())["url"]
    finally:
        process.kill()
        process.communicate()


def page(url):
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def state_of(url, lines, within_s=20.0):
    """The state once so many lines have been read."""
    until = time.monotonic() + within_s
    while True:
        state = json.loads(page(f"{url}/state")[1])
        if sum(state["lines"].values()) >= lines or time.monotonic() > until:
            return state
        time.sleep(0.05)


def test_the_pages(tmp_path):
    """Two logs, one of which appears later; retries by first sight; a stop within a second."""
    there, later = tmp_path / "a.log", tmp_path / "b.log"
    there.write_text(line("old"))
    with tailing(there, later) as (process, url):
        assert page(f"{url}/healthz")[0] == 200
        assert page(f"{url}/readyz") == (503, "a log is missing\n")
        with there.open("a") as stream:
            stream.write(
                line("1") + line("1") + line("2", status="503") + "nonsense\n" + line("3", "/health")
            )
        later.write_text(line("2"))
        state = state_of(url, 6)
        assert (state["first"], state["retries"]) == (2, 2)
        assert state["lines"] == {"counted": 4, "ignored": 1, "malformed": 1}
        assert state["routes"] == {"/work": [2, 2]}
        assert page(f"{url}/readyz")[0] == 200
        samples = {
            (sample.name, *sample.labels.values()): sample.value
            for family in text_string_to_metric_families(page(f"{url}/metrics")[1])
            for sample in family.samples
        }
        assert samples[names.ATTEMPTS, "first"] == 2
        assert samples[names.ATTEMPTS, "retry"] == 2
        assert samples[names.OUTCOMES, "ok"] == 3
        assert samples[names.OUTCOMES, "rejected"] == 1
        assert samples[names.ROUTE_ATTEMPTS, "retry", "/work"] == 2
        assert samples[names.LOG_LINES, "counted"] == 4
        assert samples[names.LOG_LINES, "malformed"] == 1
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=5)
        assert process.returncode == 0
        assert said.count("tipover: ") == 1
        assert "nonsense" in said


def test_standard_input():
    """A pipe from whatever has the log; the pages stay when it ends."""
    with tailing("-") as (process, url):
        process.stdin.write("".join(line(str(job // 2)) for job in range(2000)))
        process.stdin.close()
        process.stdin = None
        state = state_of(url, 2000)
        assert (state["first"], state["retries"]) == (1000, 1000)
        assert page(f"{url}/readyz")[0] == 503
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=5)
        assert process.returncode == 0


def test_what_is_asked_for_is_checked(tmp_path):
    """All faults at once, and before anything is read or listens."""
    path = tmp_path / "a.log"
    with pytest.raises(ConfigurationError) as caught:
        serve_tail(
            [path, path], "clf", "127.0.0.1", 0, Recognition(), Sightings(), count=("work",), ignore=("",)
        )
    assert [fault.field for fault in caught.value.faults] == ["--format", "--tail", "--count", "--ignore"]
