"""The generator of a trigger test stops by itself: at its ceilings, and when nobody leads it any more."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from domain.errors import ExitCode
from domain.trigger.messages import SILENCE_S, Load, Probe, Saturate, Started, Stopped
from domain.trigger.plan import Ceiling
from tests import servers
from tests.integration.commands import none_left, wait_until
from tests.loadgen.steered.generator import Steered, a_plan, steered
from tests.servers import serving

pytestmark = pytest.mark.sockets

WITHIN_S = 1.0
"""Stopped means: no attempt later than this."""


def _now_s(generator: Steered) -> float:
    """Seconds since the generator's start, by the clock that is the same for all processes."""
    started: Started = generator.of(Started)[0]
    return time.monotonic() - started.start_monotonic_s


def _fall_silent(generator: Steered) -> None:
    generator.beating = False


def _close_commands(generator: Steered) -> None:
    generator.close_commands()


def _terminate(generator: Steered) -> None:
    generator.process.terminate()


def _interrupt(generator: Steered) -> None:
    generator.process.send_signal(signal.SIGINT)


@pytest.mark.parametrize("leave", [_fall_silent, _close_commands, _terminate, _interrupt])
def test_it_stops_when_nobody_leads_it(leave: Callable[[Steered], None], tmp_path: Path) -> None:
    """Silence, the end of the pipe, a signal: within a second nothing more is sent, and all is kept."""
    with serving(servers.silent) as log, steered(a_plan(log.port), tmp_path) as generator:
        generator.tell(Load(200, "load"), Probe(10), Saturate(3, "loops"))
        generator.until(lambda tick: tick.first > 100)
        leave(generator)
        left_s = _now_s(generator)
        stopped = generator.ended(ExitCode.INTERRUPTED)
    trace = generator.trace()
    assert trace.sent_s.max() <= stopped.t_s <= left_s + WITHIN_S
    assert stopped.fault is stopped.ceiling is None
    assert generator.health()["stopped_by"] == stopped.reason
    assert len(trace) == generator.tick.first + generator.tick.retries
    assert trace.outcome.isin(["timeout", "aborted"]).all()


def test_beats_alone_keep_it_going(tmp_path: Path) -> None:
    """Without a command for several times ``SILENCE_S`` the load goes on as long as there are beats."""
    with serving(servers.friendly) as log, steered(a_plan(log.port), tmp_path) as generator:
        generator.tell(Load(50, "load"))
        generator.until(lambda tick: tick.t_s > 3 * SILENCE_S)
        generator.end()


def test_it_stops_when_nobody_reads_its_lines(tmp_path: Path) -> None:
    """A closed lines pipe ends the load, although commands and beats still come."""
    with serving(servers.friendly) as log, steered(a_plan(log.port), tmp_path) as generator:
        generator.tell(Load(200, "load"))
        generator.until(lambda tick: tick.first > 50)
        generator.stop_reading()
        closed_s = _now_s(generator)
        generator.process.communicate(timeout=20)
        assert generator.process.returncode == ExitCode.INTERRUPTED
    assert generator.trace().sent_s.max() <= closed_s + WITHIN_S
    assert "nobody reads" in generator.health()["stopped_by"]


PARENT = """
import sys, time
from pathlib import Path
from domain.trigger.messages import Load, Probe
from tests.loadgen.steered.generator import a_plan, steered
with steered(a_plan(int(sys.argv[1])), Path(sys.argv[2])) as generator:
    generator.tell(Load(200, "load"), Probe(10))
    print(generator.process.pid, flush=True)
    time.sleep(60)
"""


def test_it_does_not_outlive_a_killed_parent(tmp_path: Path) -> None:
    """kill -9 of whoever started it: no request a second later, no process, and the trace is whole."""
    with serving(servers.friendly) as log:
        command = [sys.executable, "-c", PARENT, str(log.port), str(tmp_path)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
            assert parent.stdout is not None
            generator = psutil.Process(int(parent.stdout.readline()))
            wait_until(lambda: len(log.requests) > 100, "the load is under way")
            parent.kill()
            killed_s = time.monotonic()
        wait_until(lambda: none_left([generator]), "the generator is gone", timeout_s=10)
        assert max(at_s for at_s, _ in log.requests) <= killed_s + WITHIN_S


@pytest.mark.parametrize(
    ("ceiling", "name"),
    [
        (Ceiling(attempts=150), "attempts"),
        (Ceiling(rate_per_s=80), "rate_per_s"),
        (Ceiling(duration_s=1.0), "duration_s"),
    ],
)
def test_ceilings_stop_it(ceiling: Ceiling, name: str, tmp_path: Path) -> None:
    """Whatever it is told: the ceiling is not exceeded by one attempt, and the line and the status say so."""
    with serving(servers.silent) as log, steered(a_plan(log.port, ceiling=ceiling), tmp_path) as generator:
        generator.tell(Load(200, "load"), Probe(20))
        stopped = generator.ended(ExitCode.SAFETY_STOP)
    sent = generator.tick.first + generator.tick.retries + generator.tick.probes_sent
    assert stopped.ceiling == name
    assert stopped.fault is None
    assert len(log.requests) <= sent
    if name == "attempts":
        assert sent == 150
    elif name == "rate_per_s":
        assert sent >= 80  # it may have taken more than a second to get there
    assert generator.trace().sent_s.max() <= min(stopped.t_s, ceiling.duration_s)


BROKEN = """
from tipover.locust_plugin import Request, StormUser

class Broken(StormUser):
    def request(self, job):
        return Request("GET", "/") if job.job_id < 30 else 1 / 0
"""


def test_a_bug_in_the_users_class_is_a_fault(tmp_path: Path) -> None:
    """The load ends, the last line and the exit status say that the test is worthless."""
    own = tmp_path / "own.py"
    own.write_text(BROKEN)
    with serving(servers.friendly) as log, steered(a_plan(log.port), tmp_path, own) as generator:
        generator.tell(Load(100, "load"))
        stopped = generator.ended(ExitCode.INVALID_RUN)
    assert "ZeroDivisionError" in (stopped.fault or "")


STALLING = """
import time
from tipover.locust_plugin import Request, StormUser

class Stalling(StormUser):
    def request(self, job):
        if job.job_id == 60:
            until = time.monotonic() + 2.5
            while time.monotonic() < until:
                pass
        return Request("GET", "/")
"""


def test_a_stalled_loop_sends_nothing_late_to_nobody(tmp_path: Path) -> None:
    """A loop that was held up while the harness fell silent sends none of the jobs that have become due."""
    own = tmp_path / "own.py"
    own.write_text(STALLING)
    with serving(servers.friendly) as log, steered(a_plan(log.port), tmp_path, own) as generator:
        generator.tell(Load(100, "load"))
        wait_until(lambda: len(log.requests) >= 60, "the job that stalls")
        generator.beating = False
        left_s = _now_s(generator)
        stopped = generator.ended(ExitCode.INTERRUPTED)
    assert stopped.t_s > left_s + WITHIN_S  # it could not look before
    # The one whose request took so long had begun in time.
    assert generator.trace().sent_s.max() <= left_s + WITHIN_S


def test_nonsense_on_the_commands_pipe_is_a_fault(tmp_path: Path) -> None:
    """What cannot be understood is not guessed at."""
    with serving(servers.friendly) as log, steered(a_plan(log.port), tmp_path) as generator:
        os.write(generator.commands, b'{"do": "explode"}\n')
        stopped = generator.ended(ExitCode.INVALID_RUN)
    assert stopped.fault is not None
    assert isinstance(stopped, Stopped)


OVERFLOW = """
import os
from domain.trigger.messages import Started
from loadgen.steered.pipes import MOST_WAITING_LINES, LinePipe
inside, outside = os.pipe()
said = []
pipe = LinePipe(outside, lambda: said.append("gone"), lambda: said.append("full"))
for number in range(2 * MOST_WAITING_LINES):
    pipe.tell(Started(0.0, number))
pipe.tell(Started(0.0, -1), last=True)
assert said == ["full"], said
got = b""
import gevent
os.set_blocking(inside, False)
while not got.endswith(b'"pid": -1, "kind": "started"}\\n'):
    try:
        got += os.read(inside, 65536)
    except BlockingIOError:
        gevent.sleep(0.001)
lines = got.count(b"\\n")
assert MOST_WAITING_LINES < lines < 2 * MOST_WAITING_LINES, lines
os.close(inside)
pipe.tell(Started(0.0, 1))
assert said == ["full"], said
pipe.tell(Started(0.0, 2), last=True)
assert said == ["full", "gone"], said
"""


def test_lines_that_nobody_takes_are_a_fault_and_not_lost_silently() -> None:
    """Beyond ten thousand waiting lines it is said once; the last line still comes, after all kept ones."""
    done = subprocess.run(
        [sys.executable, "-c", OVERFLOW], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
