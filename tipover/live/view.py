"""The live picture on the terminal: phase, time left, demand, ingress, goodput, state in words."""

from __future__ import annotations

import time
from types import TracebackType

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from domain.experiment import Experiment, PlacedPhase
from tipover.live.progress import PodsSeen, ProgressFeed, Snapshot

_LINE_EVERY_S = 5.0
_RATES_OVER_S = 1.3
_STATE_STYLE = {"healthy": "green", "struggling": "yellow", "failing": "bold red"}
_STATE_WORDS = {
    "healthy": "healthy: answers come in time",
    "struggling": "struggling: some answers come too late",
    "failing": "failing: nobody gets an answer in time",
    "silent": "silent: nothing has come back yet",
    "waiting": "waiting for the first answers",
}


class LiveView:
    """Shows a run as it goes: a live panel on a terminal, a line now and then elsewhere."""

    def __init__(self, experiment: Experiment, console: Console) -> None:
        self._experiment = experiment
        self._live_phases = experiment.live().placed_phases
        self._console = console
        self._panel = (
            Live(console=console, auto_refresh=False, transient=True) if console.is_terminal else None
        )
        self._last_line_s = 0.0
        self._last_phase = ""

    def __enter__(self) -> LiveView:
        if self._panel:
            self._panel.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._panel:
            self._panel.stop()

    def __call__(self, feed: ProgressFeed) -> None:
        """Show the latest."""
        snapshot = feed.snapshot()
        if self._panel:
            shown = (
                self._picture(snapshot, self._pods(feed)) if snapshot else Text("starting the generator …")
            )
            self._panel.update(shown, refresh=True)
        elif snapshot:
            self._line(snapshot, self._pods(feed))

    def _pods(self, feed: ProgressFeed) -> PodsSeen | None:
        """The pods of an autoscaled fleet; None where their number is settled."""
        return feed.pods if self._experiment.fleet is not None else None

    def _phase(self, t_s: float) -> PlacedPhase:
        for placed in self._live_phases:
            if t_s < placed.end_s:
                return placed
        return self._live_phases[-1]

    def _line(self, snapshot: Snapshot, pods: PodsSeen | None) -> None:
        placed = self._phase(snapshot.t_s)
        now = time.monotonic()
        if placed.phase.name == self._last_phase and now - self._last_line_s < _LINE_EVERY_S:
            return
        # Rates are over the last second: a phase's first line waits until that second lies in it.
        if snapshot.t_s - placed.start_s < min(_RATES_OVER_S, (placed.end_s - placed.start_s) / 2):
            return
        self._last_line_s, self._last_phase = now, placed.phase.name
        left_s = max(self._live_phases[-1].end_s - snapshot.t_s, 0.0)
        self._console.print(
            f"{placed.phase.name:<12} {left_s:5.0f} s left  demand {snapshot.demand_per_s:6.0f}/s  "
            f"ingress {snapshot.ingress_per_s:6.0f}/s  goodput {snapshot.goodput_per_s:6.0f}/s  "
            f"{'' if pods is None else f'pods {_pods_in_words(pods):<8}  '}{snapshot.state}",
        )

    def _picture(self, snapshot: Snapshot, pods: PodsSeen | None) -> Group:
        placed = self._phase(snapshot.t_s)
        end_s = self._live_phases[-1].end_s
        speedup = self._experiment.run.speedup
        state = Text(_STATE_WORDS[snapshot.state], style=_STATE_STYLE.get(snapshot.state, ""))
        grid = Table.grid(padding=(0, 2))
        grid.add_column(style="dim")
        grid.add_column()
        grid.add_row(
            "phase", f"{placed.phase.name} (load × {placed.phase.factor:g}{_capacity_words(placed)})"
        )
        scenario = f"  (scenario time {snapshot.t_s * speedup:.0f} of {end_s * speedup:.0f} s)"
        grid.add_row(
            "time left", f"{max(end_s - snapshot.t_s, 0):.0f} s" + (scenario if speedup != 1 else "")
        )
        peak = max(snapshot.ingress_per_s, snapshot.demand_per_s, self._capacity(pods) or 0.0, 1.0)
        for name, value, style in (
            ("demand", snapshot.demand_per_s, "blue"),
            ("ingress", snapshot.ingress_per_s, "red"),
            ("goodput", snapshot.goodput_per_s, "green"),
        ):
            bar = ProgressBar(
                total=peak, completed=value, width=40, complete_style=style, finished_style=style
            )
            row = Table.grid(padding=(0, 1))
            row.add_row(bar, f"{value:.0f}/s")
            grid.add_row(name, row)
        if pods is not None:
            grid.add_row("pods", f"{pods.ready} ready" + _ordered_words(pods))
        grid.add_row("service", state)
        return Group(Text(self._experiment.title, style="bold"), grid)

    def _capacity(self, pods: PodsSeen | None) -> float | None:
        service = self._experiment.service
        if service is None:
            return None
        return service.capacity_per_s if pods is None else pods.ready * service.rate_per_pod


def _pods_in_words(pods: PodsSeen) -> str:
    return str(pods.ready) if pods.ready == pods.ordered else f"{pods.ready} of {pods.ordered}"


def _ordered_words(pods: PodsSeen) -> str:
    return "" if pods.ready == pods.ordered else f", {pods.ordered} ordered"


def _capacity_words(placed: PlacedPhase) -> str:
    factor = placed.phase.capacity_factor
    return "" if factor == 1 else f", capacity × {factor:g}"
