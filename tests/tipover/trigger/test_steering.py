"""The line to the generator, with a stand-in for it."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

import pytest

from domain.trigger.messages import Line, Load, Started, StopAsked
from tests.integration.commands import wait_until
from tipover.trigger.steering import Steering

ECHO = """
import json, os, sys
told, said = (int(sys.argv[sys.argv.index(name) + 1]) for name in ("--commands-fd", "--progress-fd"))
def say(**line):
    os.write(said, json.dumps(line).encode() + b"\\n")
say(kind="started", start_monotonic_s=0.0, pid=os.getpid())
for text in os.fdopen(told):
    command = json.loads(text)
    if "do" in command:
        say(kind="obeyed", t_s=1.0, command=command)
say(kind="stopped", t_s=2.0, reason="the end of the commands")
"""
"""Says what it is told, until the commands end."""
DEAF = 'import sys; print("ready", flush=True); sys.stdin.read()'
"""Keeps its pipes, and neither reads nor writes."""


def steering(program: str, folder: Path, record: Path | None = None) -> Steering:
    """Steers this program."""
    return Steering(["-c", program], folder / "generator.log", record or folder / "lines.jsonl")


def heard(steered: Steering, count: int) -> list[Line]:
    """The first so many lines."""
    lines: list[Line] = []
    until = time.monotonic() + 10
    while len(lines) < count and time.monotonic() < until:
        lines += steered.lines(0.05)
    return lines


def test_commands_go_there_and_lines_come_back_and_are_kept(tmp_path: Path) -> None:
    """Beats are not answered; the end of the commands ends the generator by itself."""
    with steering(ECHO, tmp_path) as steered:
        steered.send(Load(5.0, "baseline"))
        started, obeyed = heard(steered, 2)
        steered.note(StopAsked(1.5, "enough"))
        assert (started.kind, obeyed.command["phase"]) == ("started", "baseline")  # type: ignore[union-attr]
        steered.hang_up()
        steered.send(Load(6.0, "too late"))
        assert steered.ended.wait(10)
        wait_until(lambda: steered.child.exit_code == 0, "it has ended by itself")
    assert steered.fault is None
    kept = (tmp_path / "lines.jsonl").read_text().splitlines()
    assert [line.split('"kind": "')[1].split('"')[0] for line in kept] == [
        "started",
        "obeyed",
        "stop",
        "stopped",
    ]


def test_a_record_without_room_is_a_fault_and_not_the_end(tmp_path: Path) -> None:
    """The lines still come, and leaving raises nothing: the load must be ended in good order."""
    with steering(ECHO, tmp_path, Path("/dev/full")) as steered:
        assert isinstance(heard(steered, 1)[0], Started)
        wait_until(lambda: steered.fault, "the fault is noticed")
    assert "/dev/full could not be written: [Errno 28]" in (steered.fault or "")
    assert steered.child.exit_code is not None


def test_a_record_that_cannot_be_opened_starts_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No process, no thread, no descriptor is left."""
    started: list[object] = []
    monkeypatch.setattr("tipover.trigger.steering.Child", lambda *given, **_: started.append(given))
    descriptors, threads = len(list(Path("/proc/self/fd").iterdir())), threading.active_count()
    with pytest.raises(OSError, match="No such file"):
        steering(ECHO, tmp_path, tmp_path / "absent" / "lines.jsonl")
    assert started == []
    assert len(list(Path("/proc/self/fd").iterdir())) == descriptors
    assert threading.active_count() == threads


def test_a_generator_that_reads_nothing_blocks_nobody(tmp_path: Path) -> None:
    """The pipe is full after 64 KiB; then it is a fault, and leaving still ends it."""
    with steering(DEAF, tmp_path) as steered:
        began = time.monotonic()
        for _ in range(2000):
            steered.send(Load(1.0, "a phase with a name " * 3))
        assert time.monotonic() - began < 5
        assert steered.fault == "the generator does not read its commands"
    assert steered.child.exit_code is not None


def test_a_disk_that_stalls_holds_up_no_command(tmp_path: Path) -> None:
    """Whoever writes the record may wait; the brake may not."""
    with steering(ECHO, tmp_path) as steered:
        heard(steered, 1)
        with steered._record_lock:  # as if a write did not return
            sent = threading.Thread(target=steered.send, args=(Load(0.0, "stop"),), daemon=True)
            sent.start()
            sent.join(5)
            assert not sent.is_alive()


def test_lines_that_are_none_are_a_fault(tmp_path: Path) -> None:
    """And the ones after them are read all the same."""
    program = ECHO.replace("say(kind=", 'os.write(said, b"{\\"kind\\": 1}\\nnonsense\\n"); say(kind=', 1)
    with steering(program, tmp_path) as steered:
        assert isinstance(heard(steered, 1)[0], Started)
        assert "a line of the generator cannot be read" in (steered.fault or "")


def test_beats_stop_when_nobody_asks_for_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A harness that hangs must not keep the load going: the generator hears silence."""
    monkeypatch.setattr("tipover.trigger.steering._HANGS_AFTER_S", 0.3)
    written: list[str] = []
    monkeypatch.setattr(Steering, "_write", lambda _self, text: written.append(text))
    with steering(DEAF, tmp_path) as steered:
        wait_until(lambda: written, "it beats")
        time.sleep(0.6)
        count = len(written)
        time.sleep(0.4)
        assert len(written) == count
        list(steered.lines(0))
        wait_until(lambda: len(written) > count, "it beats again")


@pytest.mark.timeout(30)
def test_signals_do_not_make_the_wait_for_lines_endless(tmp_path: Path) -> None:
    """Each wait is short, whenever a signal comes and however long its handler takes."""
    over = threading.Event()

    def disturb() -> None:
        while not over.wait(0.0031):
            os.kill(os.getpid(), signal.SIGUSR1)

    before = signal.signal(signal.SIGUSR1, lambda *_: time.sleep(0.002))
    disturber = threading.Thread(target=disturb, daemon=True)
    try:
        with steering(ECHO, tmp_path) as steered:
            heard(steered, 1)
            disturber.start()
            found = [line for _ in range(200) for line in steered.lines(0.005)]
    finally:
        over.set()
        disturber.join()
        signal.signal(signal.SIGUSR1, before)
    assert found == []
