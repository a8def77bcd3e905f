"""Bad input: one clear message, the right exit code, nothing started, nothing lost."""

from __future__ import annotations

import json
import socket
import urllib.request
from pathlib import Path

import pytest

from tests import servers
from tests.integration.commands import FAST, scenario_file, started, tipover
from tests.servers import serving

pytestmark = pytest.mark.sockets


def test_all_faults_of_a_scenario_are_reported_and_nothing_is_started(tmp_path: Path) -> None:
    """Several faults come in one message, and no run directory is made."""
    text = FAST.replace("timeout_s = 10.0", "timeout_s = 0").replace("max_attempts = 3", "max_attempts = 0")
    out = tmp_path / "run"
    done = tipover("run", scenario_file(tmp_path, text), "--out", out)
    assert done.returncode == 2
    assert "client.timeout_s" in done.stderr
    assert "client.max_attempts" in done.stderr
    assert not out.exists()


def test_a_port_in_use() -> None:
    """The target says which port is taken and exits 2."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = tipover("serve", "target", "--port", str(port))
    assert done.returncode == 2
    assert str(port) in done.stderr
    assert "Traceback" not in done.stderr


def test_a_target_that_does_not_answer(tmp_path: Path) -> None:
    """Nothing is sent to a target that is not there."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    done = tipover(
        "run", scenario_file(tmp_path), "--target", f"http://127.0.0.1:{port}", "--out", tmp_path / "r"
    )
    assert done.returncode == 2
    assert "does not answer" in done.stderr


def test_a_host_that_is_not_loopback_is_refused(tmp_path: Path) -> None:
    """A name or address elsewhere is refused before anything is sent."""
    done = tipover("run", scenario_file(tmp_path), "--target", "http://192.0.2.1:80", "--out", tmp_path / "r")
    assert done.returncode == 2
    assert "loopback" in done.stderr


def test_a_client_with_a_budget_is_not_put_into_two_processes(tmp_path: Path) -> None:
    """Each would give it a budget of its own, and the run would not be what is predicted."""
    text = FAST.replace("max_attempts = 3", 'max_attempts = 3\nbudget = { kind = "ratio" }')
    out = tmp_path / "run"
    done = tipover("run", scenario_file(tmp_path, text), "--out", out, "--processes", "2")
    assert done.returncode == 2
    assert "client.clients: must be a multiple of the 2 generator processes" in done.stderr
    assert not out.exists()


def test_an_outage_cannot_be_ordered_from_a_foreign_service(tmp_path: Path) -> None:
    """A scenario that changes the capacity needs a target that takes orders."""
    text = FAST.replace("factor = 4.0", "capacity_factor = 0.5")
    with serving(servers.friendly) as log:
        url = f"http://127.0.0.1:{log.port}"
        done = tipover("run", scenario_file(tmp_path, text), "--target", url, "--out", tmp_path / "r")
    assert done.returncode == 2
    assert "does not take orders" in done.stderr


def test_a_plan_that_needs_too_many_sockets_is_refused_with_the_arithmetic(tmp_path: Path) -> None:
    """Outstanding attempts = attempt rate × timeout, worked out before anything is sent."""
    text = FAST.replace("rate_per_pod = 100.0", "rate_per_pod = 20000.0")
    done = tipover("run", scenario_file(tmp_path, text), "--out", tmp_path / "run")
    assert done.returncode == 2
    assert "open at once" in done.stderr
    assert "Traceback" not in done.stderr


def test_an_output_directory_that_cannot_be_made(tmp_path: Path) -> None:
    """A file where the directory should be is named."""
    blocker = tmp_path / "file"
    blocker.write_text("in the way")
    done = tipover("run", scenario_file(tmp_path), "--out", blocker)
    assert done.returncode == 2
    assert "is a file" in done.stderr
    assert blocker.read_text() == "in the way"


def test_a_directory_with_other_things_in_it_is_left_alone(tmp_path: Path) -> None:
    """--replace replaces runs, nothing else."""
    (tmp_path / "precious.txt").write_text("mine")
    scenario = scenario_file(tmp_path)
    done = tipover("run", scenario, "--out", tmp_path, "--replace")
    assert done.returncode == 2
    assert (tmp_path / "precious.txt").read_text() == "mine"


@pytest.mark.parametrize("command", ["run", "predict"])
def test_an_unknown_scenario_lists_the_known_ones(command: str) -> None:
    """A name that is not built in is answered with those that are."""
    done = tipover(command, "f2-4O")
    assert done.returncode == 2
    assert "f2-40" in done.stderr


def test_report_on_something_that_is_no_run(tmp_path: Path) -> None:
    """A directory without run.json is said to be none."""
    done = tipover("report", tmp_path)
    assert done.returncode == 2
    assert "run.json" in done.stderr


def test_credentials_in_the_url_are_refused_and_written_nowhere(tmp_path: Path) -> None:
    """A name and password in the target's URL would end in the record; they are not even repeated."""
    out = tmp_path / "r"
    done = tipover("run", scenario_file(tmp_path), "--target", "http://me:hunter2@127.0.0.1:1", "--out", out)
    assert done.returncode == 2
    assert "name or password" in done.stderr
    assert "hunter2" not in done.stderr + done.stdout
    assert not out.exists()


def test_a_locustfile_without_a_storm_user_sends_nothing(tmp_path: Path) -> None:
    """Another user class would load the target unrecorded, so the run is refused."""
    locustfile = tmp_path / "closed.py"
    locustfile.write_text(
        "from locust import HttpUser, task\nimport tipover.locust_plugin\n"
        "class Closed(HttpUser):\n    @task\n    def go(self):\n        self.client.get('/')\n"
    )
    with serving(servers.friendly) as log:
        done = tipover(
            "run",
            scenario_file(tmp_path),
            *("--target", f"http://127.0.0.1:{log.port}"),
            *("--locustfile", locustfile, "--out", tmp_path / "r"),
        )
        work = [head for _, head in log.requests if b"/healthz" not in head and b"/state" not in head]
    assert done.returncode == 2
    assert "StormUser" in done.stderr
    assert work == []


def test_a_metrics_port_in_use(tmp_path: Path) -> None:
    """The generator's metrics port is taken: said so, exit 2."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = tipover("run", scenario_file(tmp_path), "--metrics-port", port, "--out", tmp_path / "r")
    assert done.returncode == 2
    assert port in done.stderr


def test_a_target_that_is_not_at_rest(tmp_path: Path) -> None:
    """What an earlier run left in a target that serves several is not taken for this run's doing."""
    announced = ("--port", "0", "--pods", "4", "--rate-per-pod", "100", "--announce")
    with started("-m", "tipover", "serve", "target", *announced) as target:
        assert target.stdout is not None
        url = json.loads(target.stdout.readline())["url"]
        order = json.dumps({"capacity_factor": 0.5}).encode()
        urllib.request.urlopen(urllib.request.Request(f"{url}/control", order, method="PUT")).close()
        done = tipover("run", scenario_file(tmp_path), "--target", url, "--out", tmp_path / "r")
    assert done.returncode == 2
    assert "capacity_factor: must be 1" in done.stderr
