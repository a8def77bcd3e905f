"""What the source says of deadlines, beside what the loaded chains of ``traps`` do."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from analysis import laws
from analysis.studies.claims import Claim
from analysis.studies.counting import counted
from analysis.studies.hop_retries.law import amplification, least_trap_if_attempts_are_dropped
from analysis.studies.hop_retries.traps import (
    ABOVE,
    BELOW,
    MANY_ATTEMPTS,
    MORE_PODS,
    OWN_END_LOADS,
    SHORT_ATTEMPTS,
    SHORT_DEADLINE_S,
    SILENT_HOPS,
    Traps,
)
from analysis.studies.hop_retries.variants import (
    ATTEMPTS,
    CALLERS,
    DEADLINE_S,
    EDGE,
    KEPT_WORKS,
    NONE,
    PODS,
    SERVICES,
    TIMEOUT_S,
    Row,
    words,
)
from analysis.wording import number, percent

SOURCE = "003"


def claims(found: Traps) -> list[Claim]:
    """What the source says of deadlines, beside what the loaded chains do."""
    return [_product(found), _whatever_r(found), _whatever_h(found), *_safe(found), _every_hop(found)]


def _product(found: Traps) -> Claim:
    law = [laws.hop_amplification(ATTEMPTS, hops) for hops in _lengths(found.law[NONE])]
    measured = [row.attempts.mean for row in _trapped_rows(found.law[NONE])]
    near = all(abs(ours / said - 1.0) < 0.02 for ours, said in zip(measured, law, strict=True))
    return Claim(
        "Under load, too, the whole product (1 + R)^H comes to a last service that fails",
        f"{SOURCE} predicate",
        f"{words(law)} at H = {words(_lengths(found.law[NONE]))}, R = {ATTEMPTS - 1}",
        f"{words(measured)} attempts per request ({counted(_seeds(found), 'seed')} each)",
        near,
        f"within 2%; without a deadline. {_law_words(found.law[NONE])}. A deadline at the edge alone leaves"
        f" {words([row.attempts.mean for row in _trapped_rows(found.law[EDGE])])}, and"
        f" {_law_words(found.law[EDGE], named=False)}",
    )


def _whatever_r(found: Traps) -> Claim:
    measured = [row.attempts.mean for row in found.more_attempts]
    law = [amplification(row.case.chain).arrive for row in found.more_attempts]
    return Claim(
        "A propagated deadline bounds the work per request under load, whatever R",
        f"{SOURCE} condition 1",
        "bounded regardless of retry count",
        f"{words(measured)} attempts at the last service per request for R ="
        f" {words([most - 1 for most in MANY_ATTEMPTS])} (H = 2)",
        max(measured) <= 1.02 * max(law),
        f"all time out, and a deadline of {number(DEADLINE_S)}T has room for {words([law[-1]])}",
    )


def _whatever_h(found: Traps) -> Claim:
    measured = [row.attempts.mean for row in _trapped_rows(found.law[CALLERS])]
    kept = [row.attempts.mean for row in found.nested]
    return Claim(
        "A propagated deadline bounds the work per request under load, whatever H",
        f"{SOURCE} decision boundary",
        "bounded regardless of H",
        f"{words(measured)} attempts per request at H = {words(_lengths(found.law[CALLERS]))} with the same"
        f" timeout at every hop;"
        f" {words(kept)} with timeouts that leave room for the retries below",
        max(measured) <= 1.02 * measured[0],
        "wall-clock time is bounded, work is not: callers whose own callers have given up retry until the"
        f" deadline, side by side. With n = ⌈D/T⌉ = {_attempts_that_fit()} ≤ m they send C(n − 1 + H, H),"
        f" which"
        f" has no"
        " bound in H. ⌈D/T⌉ whatever H needs one try at a time: nested timeouts, or callers that stop when"
        " theirs have",
    )


def _attempts_that_fit() -> int:
    """⌈D/T⌉: the attempts one caller after the other can begin before the deadline."""
    return int(-(-DEADLINE_S // TIMEOUT_S))


def _safe(found: Traps) -> list[Claim]:
    served = words([amplification(row.case.chain).served for row in _trapped_rows(found.law[SERVICES])])
    callers, services = found.law[CALLERS], found.law[SERVICES]
    edge_of_own_end = [least_trap_if_attempts_are_dropped(_in_time(), pods) for pods in (PODS, MORE_PODS)]
    return [
        Claim(
            "A propagated deadline is safe regardless of R and H",
            f"{SOURCE} decision boundary",
            "safe",
            _law_words(services),
            not any(row.trapped for row in services),
            "consumed by every hop: callers stop, and services drop what is past the request's deadline. The"
            f" wait settles between T and D = {number(DEADLINE_S)}T: callers have left, the deadline is not"
            f" over, and {percent(_last(services).useful.mean)} of the capacity does work that anybody waits"
            f" for. What counts is A_D, the attempts sent before D − T ({served}): trapped iff"
            " A_D·ρ ≥ 1. It is safe whatever R and H are in two forms, both below: D < 2T, or each"
            " attempt's own"
            " end with enough time left",
        ),
        Claim(
            "A propagated deadline is safe if callers alone consume it and services serve what is late",
            f"{SOURCE} decision boundary",
            "safe",
            _law_words(callers),
            not any(row.trapped for row in callers),
            "here A_D is all that is sent before D, and the trap is A_D·ρ ≥ 1 again",
        ),
        _short(found),
        Claim(
            "A propagated deadline is safe if it is each attempt's own end and services drop what is past it",
            f"{SOURCE} decision boundary",
            "safe",
            _loads_words(found.own_end),
            not any(row.trapped for row in found.own_end),
            "this is how gRPC passes a deadline on. H makes no difference, and only attempts still waited"
            " for are begun; but first in, first out"
            " they"
            " are begun when hardly any time is left, so works do not end in time. By the law of such a queue"
            f" no trap below ρ = {words(edge_of_own_end, 2)} with {PODS} and {MORE_PODS} pods, which falls to"
            f" 1/{_in_time()} as pods grow",
        ),
        Claim(
            "A propagated deadline is safe if it is each attempt's own end and services also drop what has"
            " less"
            f" than {number(KEPT_WORKS)} mean works left",
            f"{SOURCE} decision boundary",
            "safe",
            _loads_words(found.enough_left),
            not any(row.trapped for row in found.enough_left),
            "what is begun then nearly always ends in time, so the service does useful work at capacity,"
            " whatever is offered. A call that is dropped early is answered at once and tried again, which"
            " costs the service nothing here",
        ),
    ]


def _short(found: Traps) -> Claim:
    worst = max(row.case.utilization for row in found.short)
    return Claim(
        "A propagated deadline is safe if every hop consumes it and D < 2T (here"
        f" {number(SHORT_DEADLINE_S)}T)",
        f"{SOURCE} decision boundary",
        "safe",
        f"trapped in {_trapped(found.short)} of {_runs(found.short)} runs up to ρ = {number(worst)}, H ="
        f" {words(_lengths(found.short))}, R = {words([most - 1 for most in SHORT_ATTEMPTS])}",
        not any(row.trapped for row in found.short),
        "a retry has then less than T left and is dropped before it is served late, so A_D = 1 whatever R"
        " and H",
    )


def _every_hop(found: Traps) -> Claim:
    full, *rest = found.silent
    measured = [row.attempts.mean for row in rest]
    return Claim(
        "The deadline must be consumed by every hop",
        f"{SOURCE} condition 1",
        "every hop",
        f"{words(measured)} attempts per request instead of {words([full.attempts.mean])}, H = {SILENT_HOPS},"
        " if the first, the second or the last call does not pass it on",
        min(measured[:-1]) > 1.02 * full.attempts.mean,
        "a hop that is silent sets all hops below it free: what is left above it, times m for each hop below."
        " The last call's header matters only to services that drop what is late",
    )


def _in_time() -> int:
    """Attempts of the user that have all of T before the deadline: the others are never begun in a trap."""
    return int(DEADLINE_S // TIMEOUT_S)


def _trapped_rows(found: Sequence[Row]) -> list[Row]:
    """The rows above the threshold, by H."""
    return [row for row in found if row.case.utilization * amplification(row.case.chain).served > 1]


def _last(found: Sequence[Row]) -> Row:
    return _trapped_rows(found)[-1]


def _lengths(found: Iterable[Row]) -> list[int]:
    return sorted({row.case.chain.hops for row in found})


def _trapped(found: Iterable[Row]) -> int:
    return sum(row.trapped for row in found)


def _runs(found: Iterable[Row]) -> int:
    return sum(row.runs for row in found)


def _seeds(found: Traps) -> int:
    return len(found.law[NONE][0].goodput.values)


def _law_words(found: Sequence[Row], *, named: bool = True) -> str:
    above = _trapped_rows(found)
    below = [row for row in found if row not in above]
    good = sum(row.goodput.mean for row in above) / len(above)
    law = words([amplification(row.case.chain).served for row in above]) if named else ""
    return (
        f"after a spike trapped in {_trapped(above)} of {_runs(above)} runs at A_D·ρ = {number(ABOVE)}"
        f" ({percent(good)} answered), in {_trapped(below)} of {_runs(below)} at {number(BELOW)}"
        + (f"; A_D = {law} at H = {words(_lengths(found))}" if named else "")
    )


def _loads_words(found: Sequence[Row]) -> str:
    parts = []
    for pods in (PODS, MORE_PODS):
        for load in OWN_END_LOADS:
            chosen = [row for row in found if (row.case.chain.pods, row.case.utilization) == (pods, load)]
            good = sum(row.goodput.mean for row in chosen) / len(chosen)
            parts.append(
                f"{_trapped(chosen)} of {_runs(chosen)} at ρ = {number(load)} with {pods} pods"
                f" ({percent(good)} answered)"
            )
    return f"trapped in {'; '.join(parts)}; H = {words(_lengths(found))}"
