"""A generator that is told what to do while it runs, and stops by itself when nobody tells it any more.

Load is the storm's: open loop, with the client's retries. Saturation and probes are patient requests beside
it. Everything that is sent passes the guard. The harness hears of it all in lines
(``domain.trigger.messages``).
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from gevent import get_hub

from domain.errors import ExitCode
from domain.experiment import Demand, Experiment, Phase, RunSettings
from domain.streams import stream
from domain.trigger.messages import (
    SILENCE_S,
    TICK_EVERY_S,
    Command,
    Drop,
    Load,
    Obeyed,
    Probe,
    Saturate,
    Started,
    Stopped,
    Tick,
    message_to_json,
)
from domain.trigger.plan import TriggerPlan
from loadgen.health import Health
from loadgen.session import Session, Share
from loadgen.steered.guard import CeilingName, Guard
from loadgen.steered.patient import PatientLine, PatientSender
from loadgen.steered.pipes import CommandPipe, LinePipe
from loadgen.steered.probing import Probes
from loadgen.steered.saturation import Saturation
from loadgen.steered.schedule import SteeredSchedule
from loadgen.steered.tally import Tally
from loadgen.steered.troubles import TroubleTeller
from loadgen.storm import Storm

_FIRST_SATURATION_ID = 1 << 40
_FIRST_PROBE_ID = 1 << 41
_BEYOND_S = 60.0
"""The storm's own end lies behind the ceiling on the duration, which is what ends it."""
_DRAIN_S = 2.0
_LAG_EVERY_TICKS = 5


@dataclass(frozen=True, slots=True)
class Senders:
    """What sends attempts of jobs, and what sends patient requests: to saturate, and to probe."""

    jobs: Any
    saturation: PatientSender
    probes: PatientSender


class Steering:
    """One steered test in this process. ``finished`` is called once, when everything is on disk and told.

    ``make_senders(health)`` builds what sends. ``out`` is the run directory.
    """

    def __init__(
        self,
        plan: TriggerPlan,
        make_senders: Callable[[Health], Senders],
        *,
        out: Path | None,
        commands_fd: int,
        lines_fd: int,
        finished: Callable[[Steering], None],
    ) -> None:
        self._plan = plan
        self._finished = finished
        self._start_monotonic_s = time.monotonic()
        self._schedule = SteeredSchedule(stream(plan.seed, "arrivals"))
        self._tally = Tally()
        self._guard = Guard(plan.ceiling, self._reached, self._look)
        self._senders: Senders | None = None
        self.session = Session(
            _experiment(plan),
            Share(0, 1, self._start_monotonic_s),
            lambda health: self._keep(make_senders(health)).jobs,
            out=out,
            observer=self._tally,
            finished=self._on_disk,
            make_storm=partial(Storm, arrivals=self._schedule, before_sending=self._guard),
        )
        self._commands = CommandPipe(commands_fd, self._obey, self._gone, self._failed)
        self._lines = LinePipe(lines_fd, self._unread, self._overflown)
        self._troubles = TroubleTeller(self.session.health.error_reasons, self._lines.tell)
        self._saturation, self._probes = self._patient()
        self._ticks = get_hub().loop.timer(TICK_EVERY_S, TICK_EVERY_S)
        self._tick_number = 0
        self._lag_p99_s = 0.0
        self._stopped: Stopped | None = None
        self.exit_code = ExitCode.CONFIRMED

    @property
    def now_s(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self._start_monotonic_s

    @property
    def fault(self) -> str | None:
        """What makes this test worthless, in one sentence."""
        told = self._stopped.fault if self._stopped is not None else None
        return told or self.session.fault

    def start(self) -> None:
        """Get ready and say so; returns at once."""
        self.session.start()
        # Callbacks run in the order they were asked for: by then the session has begun.
        get_hub().loop.run_callback(self._begin)

    def stop(self, reason: str, code: ExitCode = ExitCode.INTERRUPTED) -> None:
        """Send nothing more from now on; the trace is completed in the background (``join``)."""
        self._stop(reason, code)

    def join(self, timeout_s: float | None = None) -> None:
        """Wait until everything is on disk and told."""
        self.session.join(timeout_s)

    # What follows runs in callbacks of the event loop, or in the greenlet whose attempt the guard stops.

    def _begin(self) -> None:
        if self._stopped is not None:
            return
        self._lines.tell(Started(self._start_monotonic_s, os.getpid()))
        self._commands.start()
        self._guard.look_at_s = 0.0
        self._look(self.now_s)
        self._ticks.start(self._tick, update=True)

    def _obey(self, command: Command) -> None:
        if self._stopped is not None:
            return
        if isinstance(command, Load):
            self._schedule.change(self.now_s, command.rate_per_s)
            self.session.storm.rearm()
        elif isinstance(command, Saturate):
            self._saturation.keep(command.in_flight)
        elif isinstance(command, Probe):
            self._probes.keep(command.rate_per_s)
        else:
            self._drop()
        self._lines.tell(Obeyed(self.now_s, message_to_json(command)))
        if not isinstance(command, Load | Saturate | Probe | Drop):
            self._stop("the test is over", ExitCode.CONFIRMED)

    def _drop(self) -> None:
        self._schedule.clear(self.now_s)
        self.session.storm.drop()
        self.session.storm.rearm()
        self._saturation.drop()
        self._probes.drop()

    def _look(self, now_s: float) -> None:
        """Whether the test may go on: it is not too long yet, and the harness was heard of late."""
        if now_s >= self._plan.ceiling.duration_s:
            self._reached("duration_s")
            return
        self._commands.listen()  # beats may be waiting, if the loop was held up
        quiet_at_s = self._commands.heard_s - self._start_monotonic_s + SILENCE_S
        if now_s >= quiet_at_s:
            self._stop(f"nothing was heard from the harness for {SILENCE_S:g} s", ExitCode.INTERRUPTED)
        else:
            self._guard.look_at_s = min(quiet_at_s, self._plan.ceiling.duration_s)

    def _tick(self) -> None:
        try:
            now_s = self.now_s
            if self.session.storm.over.is_set():
                self._stop("the load has ended by itself", ExitCode.INVALID_RUN, fault=self.session.fault)
            elif now_s >= self._guard.look_at_s:
                self._look(now_s)
            if self._stopped is None:
                self._troubles.look(now_s)
                self._lines.tell(self._counters())
        except Exception as error:  # the event loop would print it and go on
            self._failed(error)

    def _counters(self) -> Tick:
        storm, health = self.session.storm, self.session.health
        storm.note_planned()
        counts, tally, lag = storm.counts, self._tally, health.lag
        saturation, probes = self._saturation, self._probes
        if self._tick_number % _LAG_EVERY_TICKS == 0 or self._stopped is not None:
            self._lag_p99_s = lag.quantile_s(0.99)  # walks through a thousand bins
        self._tick_number += 1
        return Tick(
            t_s=self.now_s,
            planned=health.planned,
            first=counts.first,
            retries=counts.retries,
            answered=counts.answered,
            failed=counts.failed,
            rejected=tally.rejected,
            timeouts=tally.timeouts,
            errors=tally.errors,
            refused=tally.refused_attempts,
            open_attempts=storm.open_attempts + saturation.line.open,
            saturated=saturation.answered,
            saturated_failed=saturation.failures,
            probes_sent=probes.line.sent,
            probes_open=probes.line.open,
            lag_p99_s=self._lag_p99_s,
            lag_max_s=lag.max_s,
        )

    def _before_probe(self) -> tuple[int, int]:
        """Attempts of any kind so far, and those of them that were turned away: see ``ProbeLine``."""
        patient = self._saturation.line.turned_away + self._probes.line.turned_away
        return self._guard.sent, self._tally.rejected + self._tally.errors + patient

    # Ends.

    def _reached(self, ceiling: CeilingName) -> None:
        most = getattr(self._plan.ceiling, ceiling)
        self._stop(f"the ceiling {ceiling} of {most:g} was reached", ExitCode.SAFETY_STOP, ceiling=ceiling)

    def _gone(self) -> None:
        self._stop("the harness is gone: its end of the commands is closed", ExitCode.INTERRUPTED)

    def _unread(self) -> None:
        self._stop("the harness is gone: nobody reads the lines", ExitCode.INTERRUPTED)

    def _overflown(self) -> None:
        said = "the harness has not read the generator's lines for too long"
        self._stop(said, ExitCode.INVALID_RUN, fault=said)

    def _failed(self, error: Exception) -> None:
        said = f"the generator failed: {type(error).__name__}: {error}"
        self._stop(said, ExitCode.INVALID_RUN, fault=said)

    def _stop(
        self, reason: str, code: ExitCode, *, ceiling: CeilingName | None = None, fault: str | None = None
    ) -> None:
        if self._stopped is not None:
            return
        self._stopped = Stopped(self.now_s, reason, ceiling, fault)
        self.exit_code = code
        self._guard.closed = True
        self._commands.close()
        self._ticks.close()
        self._saturation.drop()
        self._probes.drop()
        storm = self.session.storm
        if code is ExitCode.CONFIRMED:
            storm.end()
        else:
            storm.stop(reason)
        self._troubles.look(self.now_s, last=True)
        self._lines.tell(self._counters(), last=True)

    def _on_disk(self, _session: Session) -> None:
        self._stop("the load has ended by itself", ExitCode.INVALID_RUN, fault=self.session.fault)
        stopped = self._stopped
        assert stopped is not None
        if self.fault:
            self.exit_code = ExitCode.INVALID_RUN
        end = Stopped(stopped.t_s, stopped.reason, stopped.ceiling, self.fault)
        self._troubles.look(self.now_s, last=True)
        self._lines.tell(end, last=True)
        self._lines.drain(_DRAIN_S)
        self._finished(self)

    # Parts.

    def _keep(self, senders: Senders) -> Senders:
        self._senders = senders
        return senders

    def _patient(self) -> tuple[Saturation, Probes]:
        senders, probing = self._senders, self._plan.probing
        assert senders is not None
        start_s, patience_s = self._start_monotonic_s, probing.patience_s
        loops = PatientLine(senders.saturation, self._guard, start_s, patience_s, _FIRST_SATURATION_ID)
        probes = PatientLine(senders.probes, self._guard, start_s, patience_s, _FIRST_PROBE_ID)
        return (
            Saturation(loops, self._guard, self._failed),
            Probes(
                probes,
                probing.most_open,
                self._before_probe,
                self._lines.tell,
                self._failed,
            ),
        )


def _experiment(plan: TriggerPlan) -> Experiment:
    """What the storm takes its client and its seed from; its arrivals are steered."""
    longest = Phase("steered", plan.ceiling.duration_s + _BEYOND_S)
    return Experiment(
        plan.name, plan.name, plan.client, Demand(0.0, (longest,)), run=RunSettings(seed=plan.seed)
    )
