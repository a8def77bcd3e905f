"""The line to the generator: commands and beats one way, its lines the other."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType

from domain.trigger.messages import BEAT_EVERY_S, Command, Line, line_from_json, message_to_json
from tipover.live.children import Child

_HANGS_AFTER_S = 3.0
"""A harness that has not asked for lines for so long steers no more: its beats stop, and so does the load."""


class Steering:
    """A generator process with its two pipes. Leaving it ends the process, whatever it does.

    ``arguments`` is the generator's command line but for the pipes; ``environ`` holds what must stand nowhere
    else: the secrets. ``record`` is the file that keeps every line.
    """

    def __init__(
        self, arguments: Sequence[str], log: Path, record: Path, environ: Mapping[str, str] | None = None
    ) -> None:
        # First what can fail for want of room, before there is a process to end.
        self._record = record.open("a", buffering=1)
        self._record_lock = threading.Lock()
        """Of its own: a disk that stalls holds up neither a command nor a beat."""
        commands_read, self._commands = os.pipe()
        lines_read, lines_write = os.pipe()
        try:
            self.child = Child(
                "generator",
                [*arguments, "--commands-fd", str(commands_read), "--progress-fd", str(lines_write)],
                log,
                pass_fds=[commands_read, lines_write],
                environ=environ,
            )
        except BaseException:
            os.close(lines_read)
            os.close(self._commands)
            self._record.close()
            raise
        finally:
            os.close(commands_read)
            os.close(lines_write)
        os.set_blocking(self._commands, False)
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._asked_s = time.monotonic()
        # Not a SimpleQueue: its get with a timeout waits for ever if a signal comes as the timeout ends.
        self._lines: queue.Queue[Line] = queue.Queue()
        self.fault: str | None = None
        self.ended = threading.Event()
        """Set once the generator has closed its end: no line will come any more."""
        self._threads = [
            threading.Thread(target=self._read, args=(lines_read,), name="generator lines", daemon=True),
            threading.Thread(target=self._beat, name="generator beats", daemon=True),
        ]

    def __enter__(self) -> Steering:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self.hang_up()
        self.child.stop()
        self.ended.wait(5)
        with self._record_lock:
            try:
                self._record.close()
            except OSError as unwritten:
                self._unwritten(unwritten)

    def send(self, command: Command) -> None:
        """Tell the generator; one that is gone hears nothing, which its missing lines will show."""
        self._write(json.dumps(message_to_json(command)))

    def lines(self, wait_s: float) -> Iterator[Line]:
        """What has come; waits up to ``wait_s`` for the first."""
        self._asked_s = time.monotonic()
        with contextlib.suppress(queue.Empty):
            yield self._lines.get(timeout=wait_s)
            while True:
                yield self._lines.get_nowait()

    def note(self, line: Line) -> None:
        """Keep a line of the harness's own among the generator's."""
        self._keep(json.dumps(message_to_json(line)) + "\n")

    def hang_up(self) -> None:
        """Close the commands: the generator stops at once."""
        with self._lock:
            if self._commands >= 0:
                os.close(self._commands)
                self._commands = -1

    def _write(self, text: str) -> None:
        with self._lock:
            if self._commands < 0:
                return
            try:
                os.write(self._commands, (text + "\n").encode())
            except BlockingIOError:
                self.fault = self.fault or "the generator does not read its commands"
            except OSError:
                pass  # it has ended, and its lines say how

    def _beat(self) -> None:
        beats = 0
        while not self._over.wait(BEAT_EVERY_S):
            beats += 1
            if time.monotonic() - self._asked_s < _HANGS_AFTER_S:
                self._write(json.dumps({"beat": beats}))

    def _read(self, descriptor: int) -> None:
        with os.fdopen(descriptor, "rb") as stream:
            for raw in stream:
                text = raw.decode(errors="replace")
                try:
                    line = line_from_json(json.loads(text))
                except (ValueError, KeyError, TypeError) as error:
                    self.fault = self.fault or f"a line of the generator cannot be read: {error}"
                    continue
                self._keep(text)
                self._lines.put(line)
        self.ended.set()

    def _keep(self, text: str) -> None:
        with self._record_lock:
            if self._record.closed:
                return
            try:
                self._record.write(text)
            except OSError as error:
                self._unwritten(error)

    def _unwritten(self, error: OSError) -> None:
        self.fault = self.fault or f"{self._record.name} could not be written: {error}"
