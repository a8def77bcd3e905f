"""How the generator of a trigger test is started: alone, and with our own packages."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from domain.trigger.plan_json import plan_to_json
from tests.loadgen.steered.generator import LOCUSTFILE, a_plan

pytestmark = pytest.mark.sockets


def ended(folder: Path, **environment: str) -> tuple[int, list[str], str]:
    """Start a generator in this directory and hang up on it: its status, the kinds of its lines, its log."""
    plan = folder / "plan.json"
    plan.write_text(json.dumps(plan_to_json(a_plan(9))))
    commands_read, commands_write = os.pipe()
    lines_read, lines_write = os.pipe()
    os.close(commands_write)
    command = [sys.executable, "-P", "-m", "tipover.live.generator", "-f", str(LOCUSTFILE), "--headless"]
    command += ["--users", "1", "--host", "http://127.0.0.1:9", "--trigger-plan", str(plan)]
    command += ["--out", str(folder / "out"), "--commands-fd", str(commands_read)]
    done = subprocess.run(
        [*command, "--progress-fd", str(lines_write)],
        cwd=folder,
        env={**os.environ, **environment},
        pass_fds=(commands_read, lines_write),
        stdin=subprocess.PIPE,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    os.close(commands_read)
    os.close(lines_write)
    with os.fdopen(lines_read) as stream:
        kinds = [json.loads(line)["kind"] for line in stream]
    return done.returncode, kinds, done.stderr


def test_packages_of_the_same_name_are_left_alone(tmp_path: Path) -> None:
    """A project with a package domain of its own and Locust set up for many processes is tested too."""
    for name in ("domain", "analysis", "loadgen", "meter", "tipover", "locust", "json"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("raise SystemExit('not this one')\n")
    of_other_tests = {"LOCUST_PROCESSES": "2", "LOCUST_MODE_WORKER": "true"}
    code, kinds, log = ended(tmp_path, **of_other_tests)
    assert (code, kinds.count("started"), kinds[-1]) == (130, 1, "stopped"), log


def test_processes_asked_for_in_a_file_are_refused(tmp_path: Path) -> None:
    """Each of them would send up to the ceilings."""
    (tmp_path / "locust.conf").write_text("processes = 2\n")
    code, kinds, log = ended(tmp_path)
    assert (code, kinds) == (2, []), log
    assert "the generator must be alone; nothing was sent" in log
    assert "processes: must not be set for a trigger test (in locust.conf" in log
