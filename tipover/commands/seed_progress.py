"""How far a simulation of many seeds has come: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import time
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

_LINE_EVERY_S = 10.0


class SeedProgress:
    """A context in which ``progress(done)`` shows how many of ``seeds`` are finished."""

    def __init__(self, seeds: int, screen: Console) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        self._seeds, self._screen = seeds, screen
        self._bar = Progress(
            TextColumn("simulating, seeds done:"),
            MofNCompleteColumn(),
            BarColumn(),
            TimeRemainingColumn(),
            console=screen,
            transient=True,
            disable=not screen.is_terminal,
        )
        self._task = self._bar.add_task("", total=seeds)
        self._line_s = time.monotonic()

    def __enter__(self) -> SeedProgress:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def __call__(self, done: int) -> None:
        """Show that so many seeds are finished."""
        self._bar.update(self._task, completed=done)
        now = time.monotonic()
        if not self._screen.is_terminal and now - self._line_s >= _LINE_EVERY_S and done < self._seeds:
            self._line_s = now
            self._screen.print(f"simulating: {done} of {self._seeds} seeds done")
