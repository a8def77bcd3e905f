"""The chain tried under load, how far its deadline goes, and a spike that takes the wait past the timeout.

Every hop has the same timeout T and makes m = 1 + R attempts; the deadline D per user request leaves room for
the third of them. The spike brings (kρ − 1)Δ = 3T of work more than the last service does meanwhile.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from analysis.studies.hop_retries.kernel import ATTEMPT, NOTHING, REQUEST, STARTED, USEFUL
from analysis.studies.hop_retries.law import amplification
from analysis.studies.hop_retries.queued import Deadline, Load, LoadedChain, Seen, on_all_cores, run
from analysis.studies.sample import Sample
from analysis.wording import number

TIMEOUT_S, DEADLINE_S, ATTEMPTS = 1.0, 2.75, 4
PODS, RATE_PER_POD = 10, 20.0
KEPT_WORKS = 3.0
"""Mean works that must be left for a call to be begun, in the last variant."""
CALM_S, SPIKE_S, SPIKE_LOAD = 20.0, 1.5, 3.0
"""The spike's demand is so many times the capacity, whatever the utilization: k = 3/ρ."""
SETTLED_S = 25.0
"""By then the last attempt of a request of four hops has been sent and has come to an end."""
TRAPPED_BELOW = 0.5
NONE, EDGE, CALLERS, SERVICES, OWN_END, ENOUGH_LEFT = (
    "no deadline",
    "at the edge alone",
    "callers alone",
    "services drop what is late",
    "each attempt's own end",
    "and enough of it left",
)
VARIANTS = (NONE, EDGE, CALLERS, SERVICES, OWN_END, ENOUGH_LEFT)


def deadline(variant: str, hops: int, deadline_s: float = DEADLINE_S) -> Deadline:
    """The deadline of a variant along so many hops."""
    if variant == NONE:
        return Deadline(math.inf, (NOTHING,) * hops)
    if variant == EDGE:
        return Deadline(deadline_s, (NOTHING,) * hops)
    tells = (REQUEST if variant in (CALLERS, SERVICES) else ATTEMPT,) * hops
    least_s = KEPT_WORKS / RATE_PER_POD if variant == ENOUGH_LEFT else 0.0
    return Deadline(deadline_s, tells, variant != CALLERS, least_s)


def chain(
    variant: str, hops: int, *, deadline_s: float = DEADLINE_S, max_attempts: int = ATTEMPTS
) -> LoadedChain:
    """The chain of a variant, with the same timeout at every hop."""
    told = deadline(variant, hops, deadline_s)
    return LoadedChain((TIMEOUT_S,) * hops, max_attempts, told, PODS, RATE_PER_POD)


def silent(chain: LoadedChain, hop: int) -> LoadedChain:
    """The same chain with one hop (the user's call is the first) that does not pass the deadline on."""
    told = tuple(NOTHING if at == hop else told for at, told in enumerate(chain.deadline.tells, 1))
    return replace(chain, deadline=replace(chain.deadline, tells=told))


def nested(chain: LoadedChain) -> LoadedChain:
    """The same chain with timeouts that leave room, 5% to spare, for all the attempts of the hop below."""
    room = 1.05 * chain.max_attempts
    timeouts = tuple(chain.timeouts_s[-1] * room ** (chain.hops - hop) for hop in range(1, chain.hops + 1))
    return replace(chain, timeouts_s=timeouts)


@dataclass(frozen=True, slots=True)
class Case:
    """A chain at one utilization by first attempts, watched for ``watch_s`` after the spike or the calm."""

    name: str
    chain: LoadedChain
    utilization: float
    watch_s: float
    spike: bool = True

    @property
    def load(self) -> Load:
        """Demand over the run."""
        factor = SPIKE_LOAD / self.utilization if self.spike else 1.0
        rate = self.utilization * self.chain.capacity_per_s
        return Load(rate, CALM_S, SPIKE_S, factor, self.watch_s)


def watch_s(chain: LoadedChain, utilization: float, *, if_trapped_s: float) -> float:
    """Long enough for what the spike brought to drain, by the fluid, or ``if_trapped_s`` if it never does."""
    most = amplification(chain).arrive
    if most * utilization >= 1.0:
        return if_trapped_s
    return 2 * SETTLED_S + 1.5 * most * SPIKE_LOAD * SPIKE_S / (1.0 - most * utilization)


@dataclass(frozen=True)
class Row:
    """What the runs of a case come to, in the last third of the watch: one value per seed.

    ``goodput``: share of the jobs answered in time; ``attempts``: at the last service per job; ``begun``:
    works begun there per unit of capacity; ``useful``: those that end while the caller waits.
    """

    case: Case
    goodput: Sample
    attempts: Sample
    begun: Sample
    useful: Sample

    @property
    def trapped(self) -> int:
        """In how many runs the service stayed failed."""
        return sum(value < TRAPPED_BELOW for value in self.goodput.values)

    @property
    def runs(self) -> int:
        """Runs in which a job came in the last third."""
        return sum(not math.isnan(value) for value in self.goodput.values)

    def plain(self) -> dict[str, Any]:
        """Everything about it, as plain values."""
        chain = self.case.chain
        law = amplification(chain)
        return {
            "case": self.case.name,
            "hops": chain.hops,
            "max_attempts": chain.max_attempts,
            "deadline_s": chain.deadline.deadline_s,
            "pods": chain.pods,
            "utilization": self.case.utilization,
            "attempts_arriving_by_law": law.arrive,
            "attempts_served_by_law": law.served,
            "trapped": self.trapped,
            "runs": self.runs,
            **{name: getattr(self, name).plain() for name in ("goodput", "attempts", "begun", "useful")},
        }


def rows(cases: Sequence[Case], seeds: Sequence[int]) -> list[Row]:
    """Every case with every seed."""
    found = on_all_cores(_last_third, [(case, seed) for case in cases for seed in seeds])
    each = [found[i * len(seeds) : (i + 1) * len(seeds)] for i in range(len(cases))]
    return [
        Row(case, *(Sample.of(values) for values in zip(*seen, strict=True)))
        for case, seen in zip(cases, each, strict=True)
    ]


def last_third(case: Case, seen: Seen) -> tuple[float, float, float, float]:
    """Goodput, attempts per job, works begun and useful works, the last two per unit of capacity."""
    end_s = case.load.end_s - SETTLED_S
    start_s = end_s - (case.watch_s - SETTLED_S) / 3
    capacity = case.chain.capacity_per_s
    return (
        seen.goodput(start_s, end_s),
        seen.attempts_per_job(start_s, end_s),
        seen.rate(STARTED, start_s, end_s) / capacity,
        seen.rate(USEFUL, start_s, end_s) / capacity,
    )


def _last_third(task: tuple[Case, int]) -> tuple[float, float, float, float]:
    case, seed = task
    return last_third(case, run(case.chain, case.load, seed))


def words(values: Sequence[float], digits: int = 3) -> str:
    """Numbers in a row: "3, 6, 10"."""
    return ", ".join(number(value, digits) for value in values)
