"""A real Prometheus with the stack's own rules: it says of a run what the run's summary says."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
import yaml

from tests.compose.prometheus import Prometheus, Settled, alerts, assert_rules_agree
from tests.integration.commands import run_facts, scenario_file, started, tipover, wait_until
from tipover.scenario import load_scenario

pytestmark = [
    pytest.mark.sockets,
    pytest.mark.skipif(
        shutil.which("prometheus") is None,
        reason="prometheus is not installed (make gateways installs it as root)",
    ),
]

FILES = Path(__file__).parents[2] / "compose" / "prometheus"
TRAP = """
title = "a small trap, long enough for windows of 15 s"
[service]
pods = 4
rate_per_pod = 60.0
[client]
timeout_s = 0.5
max_attempts = 3
[demand]
utilization = 0.45
phases = [
  { name = "baseline", duration_s = 2 },
  { name = "spike", duration_s = 3, factor = 4.0 },
  { name = "watch", duration_s = 32 },
]
[expect]
outcome = "trapped"
"""


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port: int = probe.getsockname()[1]
        return port


def _configured(directory: Path, places: dict[str, str]) -> Path:
    """The stack's own configuration and rules, with containers' names replaced by places on this host."""
    for name in ("rules.yml", "timeout.yml"):
        shutil.copy(FILES / name, directory / name)
    configuration = yaml.safe_load((FILES / "prometheus.yml").read_text())
    configuration["scrape_configs"] = [
        {
            "job_name": job["job_name"],
            "static_configs": [{"targets": [places[job["job_name"]]] if job["job_name"] in places else []}],
        }
        for job in configuration["scrape_configs"]
    ]
    path = directory / "prometheus.yml"
    path.write_text(yaml.safe_dump(configuration))
    return path


@contextmanager
def _prometheus(directory: Path, places: dict[str, str]) -> Iterator[Prometheus]:
    directory.mkdir()
    port = _free_port()
    command = ["prometheus", f"--config.file={_configured(directory, places)}"]
    command += [f"--storage.tsdb.path={directory}/data", f"--web.listen-address=127.0.0.1:{port}"]
    with (directory / "log").open("w") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
        try:
            found = Prometheus(f"http://127.0.0.1:{port}")
            wait_until(found.ready, "Prometheus is ready")
            yield found
        finally:
            process.terminate()
            process.wait(30)


def test_rules_say_what_the_summary_says(tmp_path: Path) -> None:
    """Within 5%, from a target behind a meter, loaded by a generator, all scraped every second; and both
    alerts fire in the trap."""
    scenario = scenario_file(tmp_path, TRAP)
    for attempt in range(3):
        out = tmp_path / f"run-{attempt}"
        with ExitStack() as stack:
            target = stack.enter_context(
                started(
                    "-m", "tipover", "serve", "target", "--rate-per-pod", "60", "--port", "0", "--announce"
                )
            )
            assert target.stdout is not None
            target_url = json.loads(target.stdout.readline())["url"]
            port, admin_port, metrics_port = _free_port(), _free_port(), _free_port()
            meter = stack.enter_context(
                started(
                    *("-m", "tipover", "serve", "meter", "--upstream", target_url, "--count", "/work"),
                    *("--port", str(port), "--admin-port", str(admin_port), "--announce"),
                )
            )
            assert meter.stdout is not None
            url = json.loads(meter.stdout.readline())["url"]
            prometheus = stack.enter_context(
                _prometheus(
                    tmp_path / f"prometheus-{attempt}",
                    {
                        "target": target_url.removeprefix("http://"),
                        "meter": f"127.0.0.1:{admin_port}",
                        "generator": f"127.0.0.1:{metrics_port}",
                    },
                )
            )
            done = tipover(
                "run", scenario, "--target", url, "--metrics-port", str(metrics_port), "--out", out, "--json"
            )
            assert done.stdout, done.stderr
            summary = json.loads(done.stdout)
            if not summary["valid"]:  # this machine was too busy: such a run says nothing
                print(f"made again: {summary['invalid_reasons']}")
                assert all("lag" in reason or " late" in reason for reason in summary["invalid_reasons"])
                continue
            assert summary["outcome"] == "trapped"
            facts, live = run_facts(out), load_scenario(str(scenario)).live()
            assert_rules_agree(prometheus, summary, facts, live)
            end_s = Settled.of(facts, live).end_s
            assert alerts(prometheus, end_s) >= {("RetryStorm", "firing")}
            assert "Trapped" in {name for name, _ in alerts(prometheus, end_s)}  # fires after 30 s of it
            assert 20 < prometheus.value("tipover:time_above_timeout:seconds", end_s) < 40
            assert prometheus.value("tipover:wasted_work:ratio", end_s) > 0.99
            return
    pytest.fail(f"the machine is too busy for this test: {summary['invalid_reasons']}")
