"""The two pipes to the harness, read and written without ever waiting for it."""

from __future__ import annotations

import json
import os
import time
from collections import deque
from collections.abc import Callable
from typing import Any

import gevent
from gevent import get_hub

from domain.trigger.messages import Command, Line, command_from_json

_READ, _WRITE = 1, 2
_CHUNK_BYTES = 4096
MOST_WAITING_LINES = 10_000
"""More lines than this that nobody takes is a fault: they would be lost, or memory have no bound."""


class CommandPipe:
    """Commands and beats from the harness; ``heard_s`` is when the last of them was read.

    ``obey`` is called with each command in a callback of the event loop; ``gone`` once at the end of the
    pipe, ``failed`` with what cannot be understood. Times are of CLOCK_MONOTONIC.
    """

    def __init__(
        self,
        descriptor: int,
        obey: Callable[[Command], None],
        gone: Callable[[], None],
        failed: Callable[[Exception], None],
    ) -> None:
        self._descriptor = descriptor
        self._obey = obey
        self._gone = gone
        self._failed = failed
        self._rest = b""
        self._commands: deque[Command] = deque()
        self.heard_s = time.monotonic()
        self.ended = False
        os.set_blocking(descriptor, False)
        self._watcher = get_hub().loop.io(descriptor, _READ)

    def start(self) -> None:
        """Begin to listen; silence counts from here."""
        self.heard_s = time.monotonic()
        self._watcher.start(self.listen)

    def close(self) -> None:
        """Listen no more, and obey nothing that has been heard and not obeyed yet."""
        self.ended = True
        self._commands.clear()
        self._watcher.stop()

    def listen(self) -> None:
        """Note whether anything has come; commands are obeyed when the loop has its next turn."""
        while not self.ended:
            try:
                data = os.read(self._descriptor, _CHUNK_BYTES)
            except BlockingIOError:
                return
            except OSError:
                data = b""
            if not data:
                self.ended = True
                self._watcher.stop()
                # After the commands that came before the end.
                get_hub().loop.run_callback(self._gone)
                return
            self.heard_s = time.monotonic()
            try:
                self._take(data)
            except (ValueError, KeyError, TypeError) as error:
                self._failed(error)

    def _take(self, data: bytes) -> None:
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            said = json.loads(line)
            if "beat" not in said:
                self._commands.append(command_from_json(said))
        if self._commands:
            get_hub().loop.run_callback(self._obey_all)

    def _obey_all(self) -> None:
        try:
            while self._commands:
                self._obey(self._commands.popleft())
        except Exception as error:  # the event loop would print it and go on
            self._failed(error)


class LinePipe:
    """Lines to the harness, in order. ``gone`` is called when nobody reads them any more, ``full`` when too
    many wait to be read and the next one is left out; either once."""

    def __init__(self, descriptor: int, gone: Callable[[], None], full: Callable[[], None]) -> None:
        self._descriptor = descriptor
        self._gone = gone
        self._full = full
        self._waiting: deque[bytes] = deque()
        self._broken = False
        self._overflown = False
        os.set_blocking(descriptor, False)
        self._watcher: Any = get_hub().loop.io(descriptor, _WRITE)
        self._watching = False

    def tell(self, line: Line, last: bool = False) -> None:
        """Write a line, now or as soon as there is room; the last one is not left out."""
        if self._broken or (self._overflown and not last):
            return
        if len(self._waiting) >= MOST_WAITING_LINES and not last:
            self._overflown = True
            self._full()
            return
        self._waiting.append(_text(line))
        if not self._watching:
            self._write()

    def drain(self, within_s: float) -> None:
        """Wait until all is written, but not for ever."""
        until_s = time.monotonic() + within_s
        while self._waiting and time.monotonic() < until_s:
            gevent.sleep(0.01)

    def _write(self) -> None:
        waiting = self._waiting
        while waiting:
            try:
                written = os.write(self._descriptor, waiting[0])
            except BlockingIOError:
                self._watch(True)
                return
            except OSError:
                self._broken = True
                waiting.clear()
                self._watch(False)
                self._gone()
                return
            if written == len(waiting[0]):
                waiting.popleft()
            else:
                waiting[0] = waiting[0][written:]
        self._watch(False)

    def _watch(self, wanted: bool) -> None:
        if wanted and not self._watching:
            self._watcher.start(self._write)
        elif self._watching and not wanted:
            self._watcher.stop()
        self._watching = wanted


def _text(line: Line) -> bytes:
    """The line as ``message_to_json`` has it. That would copy every field deeply, which costs more than
    all the rest of a tick."""
    return json.dumps({name: getattr(line, name) for name in line.__slots__}).encode() + b"\n"
