"""Which chains stay failed after a spike, by how far the deadline goes: the law A_D · ρ ≥ 1, under load."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from analysis.studies.hop_retries.law import amplification
from analysis.studies.hop_retries.queued import LoadedChain
from analysis.studies.hop_retries.variants import (
    CALLERS,
    EDGE,
    ENOUGH_LEFT,
    NONE,
    OWN_END,
    SERVICES,
    Case,
    Row,
    chain,
    nested,
    rows,
    silent,
    watch_s,
)

LENGTHS, FEWER_LENGTHS = (1, 2, 3, 4), (1, 2)
"""H; the fewer at a low effort."""
LOW_EFFORT = 0.5
BELOW, ABOVE = 0.7, 1.4
"""Aρ of the two loads that every law is tried at."""
SHORT_DEADLINE_S = 1.75
SHORT = "services drop what is late, D < 2T"
SHORT_ATTEMPTS = (4, 10)
SHORT_LOADS = (0.5, 0.85)
OWN_END_LOADS = (0.6, 0.85)
MORE_PODS = 40
"""Of the same capacity together as the usual ones, so each is slower."""
MANY_ATTEMPTS = (3, 4, 10)
NESTED = "callers alone, nested timeouts"
SILENT_HOPS = 3
WATCH_S, SHORTER_WATCH_S = 200.0, 100.0
"""Of chains that would stay failed for ever by the fluid; the shorter one where the law is not A_D."""
SEEDS = 4


@dataclass(frozen=True)
class Traps:
    """Rows by what they show; ``law`` by variant."""

    law: dict[str, list[Row]]
    short: list[Row]
    own_end: list[Row]
    enough_left: list[Row]
    more_attempts: list[Row]
    nested: list[Row]
    silent: list[Row]


def measure(effort: float, progress: Callable[[float], None]) -> Traps:
    """Simulate them all; ``effort`` scales the seeds."""
    seeds = range(1, max(1, round(SEEDS * effort)) + 1)
    lengths = LENGTHS if effort >= LOW_EFFORT else FEWER_LENGTHS
    ends = (lengths[0], lengths[-1])
    kinds = (NONE, EDGE, CALLERS, SERVICES)
    law = {}
    for done, variant in enumerate(kinds):
        law[variant] = rows([case for hops in lengths for case in _around(chain(variant, hops))], seeds)
        progress((done + 1) / (len(kinds) + 2))
    short = [
        _case(
            SHORT,
            chain(SERVICES, hops, deadline_s=SHORT_DEADLINE_S, max_attempts=most),
            load,
            SHORTER_WATCH_S,
        )
        for most in SHORT_ATTEMPTS
        for hops in ends
        for load in SHORT_LOADS
    ]
    own_end, enough_left = (
        [
            _case(variant, bigger, load, SHORTER_WATCH_S)
            for hops in ends
            for load in OWN_END_LOADS
            for bigger in _sizes(chain(variant, hops))
        ]
        for variant in (OWN_END, ENOUGH_LEFT)
    )
    measured = Traps(
        law,
        rows(short, seeds),
        rows(own_end, seeds),
        rows(enough_left, seeds),
        rows([_above(chain(CALLERS, 2, max_attempts=most)) for most in MANY_ATTEMPTS], seeds),
        rows([_above(nested(chain(CALLERS, hops)), NESTED) for hops in lengths], seeds),
        rows([_above(each, name) for name, each in _with_a_silent_hop()], seeds),
    )
    progress(1.0)
    return measured


def data(found: Traps) -> list[dict[str, Any]]:
    """Every row."""
    groups: Iterable[list[Row]] = (
        *found.law.values(), found.short, found.own_end, found.enough_left,
        found.more_attempts, found.nested, found.silent,
    )  # fmt: skip
    return [row.plain() for group in groups for row in group]


def _around(tried: LoadedChain) -> list[Case]:
    """Loads below and above the law's threshold."""
    served = amplification(tried).served
    return [_case(_name(tried), tried, factor / served) for factor in (BELOW, ABOVE) if factor / served < 1]


def _above(tried: LoadedChain, name: str = "") -> Case:
    return _case(name or _name(tried), tried, ABOVE / amplification(tried).served)


def _case(name: str, tried: LoadedChain, utilization: float, watched_s: float = WATCH_S) -> Case:
    return Case(name, tried, utilization, watch_s(tried, utilization, if_trapped_s=watched_s))


def _name(tried: LoadedChain) -> str:
    return next(
        variant
        for variant in (NONE, EDGE, CALLERS, SERVICES)
        if chain(variant, tried.hops).deadline == tried.deadline
    )


def _sizes(tried: LoadedChain) -> tuple[LoadedChain, ...]:
    """The chain, and one of the same capacity with more and slower pods."""
    slower = tried.rate_per_pod * tried.pods / MORE_PODS
    least = tried.deadline.least_s * tried.rate_per_pod / slower
    told = replace(tried.deadline, least_s=least)
    return tried, replace(tried, pods=MORE_PODS, rate_per_pod=slower, deadline=told)


def _with_a_silent_hop() -> list[tuple[str, LoadedChain]]:
    """The chain without one, then with each hop silent in turn."""
    full = chain(CALLERS, SILENT_HOPS)
    rest = [(f"callers alone, call {hop} silent", silent(full, hop)) for hop in range(1, SILENT_HOPS + 1)]
    return [(CALLERS, full), *rest]
