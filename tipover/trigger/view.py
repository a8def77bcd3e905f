"""The trigger test on the terminal while it goes: the phase, what is known, what is sent and answered."""

from __future__ import annotations

import time
from types import TracebackType

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from analysis.trigger.observations import Observations
from analysis.trigger.protocol import Protocol
from analysis.trigger.tables import PUSH_PHASES
from analysis.wording import percent
from domain.trigger.plan import TriggerPlan

_LINE_EVERY_S = 5.0
_DRAW_EVERY_S = 0.1
_RATES_OVER_S = 1.0


class TestView:
    """A live panel on a terminal; elsewhere a line for every phase, and one now and then."""

    __test__ = False  # not a test of pytest's

    def __init__(self, plan: TriggerPlan, console: Console) -> None:
        self._plan = plan
        self._console = console
        self._panel = (
            Live(console=console, auto_refresh=False, transient=True) if console.is_terminal else None
        )
        self._phase = ""
        self._last_s = 0.0
        self._drawn_s = 0.0
        self._last_words = ""

    def __enter__(self) -> TestView:
        self._console.print(self._plan.title or f"trigger test of {self._plan.target.url}", style="bold")
        if self._panel:
            self._panel.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._panel:
            self._panel.stop()
        self._close_phase()

    def __call__(self, protocol: Protocol, seen: Observations) -> None:
        """Show the latest."""
        now = time.monotonic()
        if protocol.phase != self._phase:
            self._close_phase()
            self._phase, self._last_s = protocol.phase, now
        self._last_words = f"{_phase_words(protocol):<9} {protocol.said}".rstrip()
        if self._panel and now - self._drawn_s > _DRAW_EVERY_S:
            self._drawn_s = now
            self._panel.update(self._picture(protocol, seen), refresh=True)
        elif not self._panel and now - self._last_s > _LINE_EVERY_S:
            self._last_s = now
            self._console.print(
                f"{seen.now_s:6.1f} s  {self._last_words}  {self._rates(seen)}", soft_wrap=True
            )

    def _close_phase(self) -> None:
        """The last that was known of a phase stays on the screen."""
        if self._phase and self._last_words:
            self._console.print(f"          {self._last_words}", soft_wrap=True, style="dim")

    def _rates(self, seen: Observations) -> str:
        sent, answered = self._sent(seen), self._answered(seen)
        return f"({sent:.0f} attempts/s, {answered:.0f} answered/s)"

    def _rate(self, seen: Observations, name: str) -> float:
        return seen.rate(name, seen.now_s - _RATES_OVER_S, seen.now_s) or 0.0

    def _sent(self, seen: Observations) -> float:
        """Of the closed loop that looks for the capacity too, of which those count that ended."""
        names = ("first", "retries", "saturated", "saturated_failed")
        return sum(self._rate(seen, name) for name in names)

    def _answered(self, seen: Observations) -> float:
        return self._rate(seen, "answered") + self._rate(seen, "saturated")

    def _picture(self, protocol: Protocol, seen: Observations) -> Group:
        grid = Table.grid(padding=(0, 2))
        grid.add_column(style="dim")
        grid.add_column()
        grid.add_row("phase", _phase_words(protocol))
        grid.add_row("time", f"{seen.now_s:.1f} s")
        rates = (
            ("first", self._rate(seen, "first"), "blue"),
            ("attempts", self._sent(seen), "red"),
            ("answered", self._answered(seen), "green"),
        )
        peak = max(1.0, *(value for _, value, _ in rates))
        for name, value, style in rates:
            bar = ProgressBar(
                total=peak, completed=value, width=40, complete_style=style, finished_style=style
            )
            row = Table.grid(padding=(0, 1))
            row.add_row(bar, f"{value:.0f}/s")
            grid.add_row(name, row)
        grid.add_row("known", Text(protocol.said))
        return Group(grid)


def _phase_words(protocol: Protocol) -> str:
    """As "watch at 34.4%": the phase, and the utilization of the push that it belongs to."""
    if protocol.phase not in PUSH_PHASES or protocol.utilization is None:
        return protocol.phase
    return f"{protocol.phase} at {percent(protocol.utilization)}"
