"""What the meter at the edge counted beside what the generator recorded; a number for every difference."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from analysis.trace import read_trace
from domain.attempts import Outcome

TOLERANCE = 0.001
"""Of the attempts in the trace."""
LAST_MOMENT_S = 0.05
"""A connection that began within this time of the end of the load may not have stood by then."""
_NEVER_WRITTEN = ("connect:", "send:", "[Errno")
"""How the generator's reasons begin for attempts whose request did not get out."""

State = Mapping[str, Any]


@dataclass(frozen=True)
class Recorded:
    """The generator's side. ``never_written`` attempts ended as errors before their request was out;
    ``last_moment`` ones had just begun when the load ended. A client's own refusals are no attempts."""

    first: int
    retries: int
    outcomes: Mapping[str, int]
    never_written: int
    last_moment: int

    @property
    def attempts(self) -> int:
        return self.first + self.retries


def recorded(run: Path) -> Recorded:
    """From a run directory: its trace, and the files of its workers."""
    trace = read_trace(run)
    assert not trace.faults, trace.faults
    rows = trace.attempts[trace.attempts["outcome"] != Outcome.REFUSED.value]
    first = int((rows["attempt"] == 1).sum())
    open_at_end = rows[rows["outcome"] == Outcome.ABORTED.value]
    end_s = float(open_at_end["done_s"].max()) if len(open_at_end) else 0.0
    workers = [json.loads(path.read_text()) for path in run.glob("generator/worker-*.json")]
    reasons = [item for worker in workers for item in worker["error_reasons"].items()]
    return Recorded(
        first,
        len(rows) - first,
        {str(outcome): int(count) for outcome, count in rows["outcome"].value_counts().items() if count},
        sum(count for reason, count in reasons if reason.startswith(_NEVER_WRITTEN)),
        int((open_at_end["sent_s"] > end_s - LAST_MOMENT_S).sum()),
    )


@dataclass(frozen=True)
class Agreement:
    """Both sides, with the state of the meter (and of its targets) once all has been read.

    For every kind of difference there is somebody who counted it: ``explanations`` has as many attempts as
    each can explain at most.
    """

    trace: Recorded
    meter: State
    targets: tuple[State, ...]

    @property
    def ingress(self) -> int:
        return int(self.meter["first"] + self.meter["retries"])

    @property
    def differences(self) -> dict[str, int]:
        """Trace less meter."""
        return {
            "first": self.trace.first - self.meter["first"],
            "retries": self.trace.retries - self.meter["retries"],
        }

    @property
    def explanations(self) -> dict[str, int]:
        """Attempts of the trace that the meter need not have seen."""
        refusals = self.meter["refusals"]
        return {
            "no socket, or refused or cut before the request was written": self.trace.never_written,
            "given up before the connection stood (dropped by the kernel)": self.meter["listen_drops"] or 0,
            f"begun less than {LAST_MOMENT_S:g} s before the end of the load": self.trace.last_moment,
            "closed by the meter unread (no descriptor)": refusals.get("no-descriptor", 0),
            "refused by the meter as malformed": refusals.get("malformed", 0),
        }

    @property
    def crossed(self) -> int:
        """Answers that the meter handed on and whose client had given up by then."""
        ours, theirs = self.meter["outcomes"], self.trace.outcomes
        return int(ours.get("ok", 0) - theirs.get("ok", 0) - theirs.get("late", 0))

    @property
    def behind(self) -> dict[str, int]:
        """Attempts the meter passed on, and those the targets counted."""
        refused = self.meter["outcomes"].get("refused", 0) + self.meter["outcomes"].get("error", 0)
        return {
            "passed on": self.ingress - refused,
            "arrived": sum(target["arrived"] for target in self.targets),
        }

    @property
    def faults(self) -> list[str]:
        """Sentences about what is too far apart or cannot be explained; none is what is wanted."""
        found, explained = [], sum(self.explanations.values())
        for name, missing in self.differences.items():
            if missing < 0:
                found.append(f"{name}: the meter counted {-missing} that nobody sent")
        missing = self.trace.attempts - self.ingress
        if missing > explained:
            found.append(f"{missing} attempts are missing, and {explained} at most can be explained")
        if sum(map(abs, self.differences.values())) > TOLERANCE * self.trace.attempts:
            found.append(f"the counts differ by more than {TOLERANCE:.1%}: {self.differences}")
        told = self.meter["recognised"].get("ours", 0)
        if told != self.ingress:
            found.append(f"{self.ingress - told} attempts were not recognised by our own headers")
        ended = sum(self.meter["outcomes"].values()) + self.meter["inflight"]
        if ended != self.ingress:
            found.append(f"{self.ingress} attempts began, and {ended} ended or are in flight")
        if self.crossed < 0:
            found.append(f"{-self.crossed} answers came to clients and were not handed on by the meter")
        if self.behind["passed on"] != self.behind["arrived"]:
            found.append(f"the meter passed on other attempts than arrived: {self.behind}")
        return found
