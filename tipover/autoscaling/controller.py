"""One decision after another: look, judge, order. No schedule and no sleeping."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

from domain.autoscaler import History
from domain.cumulative import ReadySince
from domain.fleet import Fleet
from tipover.autoscaling.agenda import Due
from tipover.autoscaling.decision import Decision
from tipover.autoscaling.judgement import Judgement, judged
from tipover.autoscaling.readings import Readings
from tipover.autoscaling.targets.scale import Scale, ScaleError, ScaleTarget
from tipover.autoscaling.together import together


class Controller:
    """Sizes ``target`` by ``fleet`` from ``readings``; ``now`` is the time since the epoch.

    A pod has a say about CPU once it has been ready for a whole window, give or take a twentieth of a sync
    period, which is what an order may take on its way.
    """

    def __init__(
        self,
        fleet: Fleet,
        rate_per_pod: float,
        readings: Readings,
        target: ScaleTarget,
        *,
        now: Callable[[], float],
        wall: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._fleet = fleet
        self._rate_per_pod = rate_per_pod
        self._readings = readings
        self._target = target
        self._now = now
        self._wall = wall
        self._history = History()
        self._ready_since = ReadySince()
        self._last: Scale | None = None

    def decide(self, due: Due) -> Decision:
        """Make this decision."""
        trouble = self._look()
        readings = self._readings.read(due.at_s)
        values = {signal: readings[signal].value for signal in self._fleet.signals}
        made = Decision(
            due.at_s,
            self._wall().isoformat(timespec="milliseconds"),
            None if self._last is None else self._last.replicas,
            None if self._last is None else self._last.ready,
            values,
            dict.fromkeys(self._fleet.signals),
            None,
            None if self._last is None else self._last.replicas,
            "",
            None,
            # What looking took is late, too.
            max(due.late_s, self._now() - due.at_s) if due.scheduled else 0.0,
            due.missed,
        )
        if trouble is not None or self._last is None:
            said = f"nothing is done: {self._target.name} does not say how many pods there are: {trouble}"
            return self._noted(replace(made, why=said, error=said))
        by_s = due.at_s - self._fleet.metric_lag_s - self._fleet.cpu_window_s
        slack_s = self._fleet.sync_period_s / 20
        pods = self._ready_since.seen(self._last.replicas, by_s + slack_s)
        found = judged(self._fleet, self._rate_per_pod, pods, readings, self._history, due.at_s)
        nothing = found.wanted is None and found.ordered == pods.total != 0
        error = found.why if nothing else self._order(found)
        return self._noted(
            replace(
                made,
                proposals=found.proposals,
                wanted=found.wanted,
                ordered=found.ordered,
                why=found.why,
                error=error,
            )
        )

    def stop(self) -> None:
        """Give up an order that is under way."""
        self._target.stop()

    def _look(self) -> str | None:
        """Ask for readings and pods at once; why there are no pods."""
        troubles: list[str] = []

        def look_at_pods() -> None:
            try:
                self._take(self._target.look())
            except ScaleError as error:
                troubles.append(str(error))

        together([self._readings.look, look_at_pods])
        return troubles[0] if troubles else None

    def _take(self, scale: Scale) -> None:
        at_s = self._now()
        self._ready_since.look(at_s, scale.ready, [(pods, at_s + in_s) for pods, in_s in scale.starting])
        self._last = scale

    def _order(self, found: Judgement) -> str | None:
        """Remember, and order what is new; why that failed."""
        if self._last is not None and found.ordered != self._last.replicas:
            try:
                after = self._target.order(found.ordered)
            except ScaleError as error:
                # Nothing has changed that a limit on changes should remember; the wish stands.
                self._history = replace(found.history, changes=self._history.changes)
                return f"{self._target.name} did not take the order: {error}"
            if after is not None:
                self._take(after)
        self._history = found.history
        return None

    def _noted(self, made: Decision) -> Decision:
        """With what the schedule has to say for itself."""
        notes = ""
        if made.late_s > max(0.1, self._fleet.sync_period_s / 20):
            notes += f"; {made.late_s:.1f} s late"
        if made.missed:
            notes += f"; {made.missed} decision{'s' if made.missed > 1 else ''} before it missed"
        return replace(made, why=made.why + notes)
