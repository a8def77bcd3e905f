"""Failures that come back at once; what else bounds the fan-out: a full queue that says no, held workers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from analysis.studies.claims import Claim
from analysis.studies.counting import counted
from analysis.studies.hop_retries.law import amplification
from analysis.studies.hop_retries.queued import LoadedChain
from analysis.studies.hop_retries.variants import (
    ATTEMPTS,
    CALM_S,
    DEADLINE_S,
    NONE,
    PODS,
    RATE_PER_POD,
    SERVICES,
    TIMEOUT_S,
    Case,
    Row,
    chain,
    nested,
    rows,
    watch_s,
    words,
)
from analysis.wording import number, percent

SOURCE = "003"
LENGTHS = (2, 3, 4)
LIGHT_LOAD = 0.001
"""So few requests that even with the whole product of each the last service is idle most of the time."""
LIGHT_WATCH_S = 3000.0
FAULT_S, FAULT_HOPS = 20.0, 3
FAULT_FACTORS = (0.6, 1.6)
"""A_D · ρ of the loads under a fault of errors."""
PLACES = round(0.5 * TIMEOUT_S * PODS * RATE_PER_POD)
CAP_LOAD, CAP_HOPS = 0.6, 3
WORKERS = PLACES
HELD_FACTORS = (0.5, 1.4)
WATCH_S = 200.0
SEEDS = 4


@dataclass(frozen=True)
class Failures:
    """Rows by what they show."""

    errors: list[Row]
    errors_nested: list[Row]
    fault: list[Row]
    cap: list[Row]
    free: list[Row]
    held: list[Row]


def measure(effort: float, progress: Callable[[float], None]) -> Failures:
    """Simulate them all; ``effort`` scales the seeds."""
    seeds = range(1, max(1, round(SEEDS * effort)) + 1)
    failing = [_always_failing(chain(SERVICES, hops)) for hops in LENGTHS]
    errors = rows([_light("errors", each) for each in failing], seeds)
    errors_nested = rows([_light("errors, nested timeouts", nested(each)) for each in failing], seeds)
    progress(0.4)
    tried = replace(chain(SERVICES, FAULT_HOPS), fault_s=(CALM_S, CALM_S + FAULT_S))
    served = amplification(tried).served
    fault = [
        Case("errors for a while", tried, factor / served, WATCH_S, spike=False) for factor in FAULT_FACTORS
    ]
    cap = [
        Case(
            f"{variant}, a full queue says no",
            replace(chain(variant, CAP_HOPS), places=PLACES),
            CAP_LOAD,
            WATCH_S,
        )
        for variant in (NONE, SERVICES)
    ]
    pooled = replace(chain(NONE, 2), workers=WORKERS, held=True)
    held = [Case("no deadline, held workers", pooled, factor / ATTEMPTS, WATCH_S) for factor in HELD_FACTORS]
    free_load = held[0].utilization
    free = Case(NONE, chain(NONE, 2), free_load, watch_s(chain(NONE, 2), free_load, if_trapped_s=WATCH_S))
    found = Failures(
        errors, errors_nested, rows(fault, seeds), rows(cap, seeds), rows([free], seeds), rows(held, seeds)
    )
    progress(1.0)
    return found


def claims(found: Failures) -> list[Claim]:
    """What the source says of deadlines, while the last service fails fast; two bounds it does not name."""
    return [_fast(found), _fault(found), _cap(found), _held(found)]


def data(found: Failures) -> list[dict[str, Any]]:
    """Every row."""
    groups = (found.errors, found.errors_nested, found.fault, found.cap, found.free, found.held)
    return [row.plain() for group in groups for row in group]


def _fast(found: Failures) -> Claim:
    fit = DEADLINE_S * RATE_PER_POD
    apart, one_by_one = ([row.attempts.mean for row in each] for each in (found.errors, found.errors_nested))
    seeds = counted(len(found.errors[0].attempts.values), "seed")
    return Claim(
        "A propagated deadline bounds the work per request while the last service answers with errors",
        f"{SOURCE} decision boundary",
        "bounded regardless of R and H",
        f"{words(apart)} of {words([ATTEMPTS**hops for hops in LENGTHS])} attempts at H = {words(LENGTHS)}"
        f" with"
        f" one timeout for all; {words(one_by_one)} with timeouts that leave room ({seeds})",
        max(apart) <= 1.1 * (fit + 1),
        f"an error takes s = {number(1 / RATE_PER_POD)} s, so D/s = {number(fit)} fit one after the other,"
        f" which"
        " is the bound min(m^H, D/s + 1) with timeouts that leave room. If the hops above time out meanwhile,"
        " their retries run side by side with what they gave up on, and more get through",
    )


def _fault(found: Failures) -> Claim:
    calm, trapped = found.fault
    product = ATTEMPTS**FAULT_HOPS
    return Claim(
        f"The same deadline is safe when the last service answers with errors for {number(FAULT_S)} s, no"
        f" spike",
        f"{SOURCE} decision boundary",
        "safe",
        f"trapped in {_runs(trapped)} at ρ = {number(trapped.case.utilization)}, in {_runs(calm)} at ρ ="
        f" {number(calm.case.utilization)}, H = {FAULT_HOPS}",
        not (trapped.trapped or calm.trapped),
        f"errors let {number(product * calm.case.utilization)} times the capacity through even at the lower"
        " load (m^H·ρ), so an outage is a trigger by itself; once it is over, A_D·ρ ="
        f" {words(FAULT_FACTORS[::-1])} decides, as after a spike",
    )


def _cap(found: Failures) -> Claim:
    words_of = [
        f"{percent(row.goodput.mean)} answered after the spike, {row.case.name.split(',', maxsplit=1)[0]}"
        for row in found.cap
    ]
    return Claim(
        f"A full queue that says no at once keeps the wait below T (here {number(PLACES)} places, T/2)",
        "not in 003",
        "–",
        f"{'; '.join(words_of)}; trapped in {_all_runs(found.cap)}, ρ = {number(CAP_LOAD)}, H = {CAP_HOPS}",
        None,
        "with a deadline or without: what is let in is served in time. The product then comes as refusals,"
        " which"
        " cost the service nothing here; where one costs a share of a work, that share times m^H·ρ must stay"
        " below 1",
    )


def _held(found: Failures) -> Claim:
    (free,), (calm, trapped) = found.free, found.held
    return Claim(
        f"Workers that are held while they wait, fewer than C·T (here {number(WORKERS)} of"
        f" {number(TIMEOUT_S * PODS * RATE_PER_POD)})",
        "not in 003",
        "–",
        f"no deadline, H = 2: trapped in {_runs(calm)} at ρ = {number(calm.case.utilization)} (in"
        f" {_runs(free)}"
        f" if workers are free to go on), in {_runs(trapped)} at ρ = {number(trapped.case.utilization)}",
        None,
        "no more attempts wait at the last service than workers are held, so none of them times out there:"
        " the"
        f" queue, and the trap, move to the service before it, where A = m = {ATTEMPTS} instead of m^H ="
        f" {ATTEMPTS**2}",
    )


def _always_failing(tried: LoadedChain) -> LoadedChain:
    return replace(tried, fault_s=(0.0, 10 * LIGHT_WATCH_S))


def _light(name: str, tried: LoadedChain) -> Case:
    return Case(name, tried, LIGHT_LOAD, LIGHT_WATCH_S, spike=False)


def _runs(row: Row) -> str:
    return f"{row.trapped} of {counted(row.runs, 'run')}"


def _all_runs(found: Sequence[Row]) -> str:
    return f"{sum(row.trapped for row in found)} of {sum(row.runs for row in found)} runs"
