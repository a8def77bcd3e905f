"""Proposition 7: how long the way back takes, by the law, in the fluid and request by request."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from analysis.studies.agreement import (
    Agreement,
    all_hold,
    as_printed,
    between,
    close,
    interval_within,
    mean_within,
    not_comparable,
    one_run,
)
from analysis.studies.claims import Claim
from analysis.studies.demand_debt.specimen import (
    KIT_PODS,
    RATE_PER_POD,
    SPIKE_S,
    TIMEOUT_S,
    Spike,
    scaled_rate,
    seeds,
)
from analysis.studies.sample import Sample
from analysis.wording import number, percent

SOURCE = "002 Prop. 7"
SEEDS = 5
FLUID_TOLERANCE = 0.01
"""The source's fluid model and ours differ in their grid and in when a recovery is noticed."""
SPLIT = "the split of Aρ = 0.5 into A = 1 and ρ = 0.5"
"""Which the source does not give, and with which its figures come out."""
MODELS_TOLERANCE = 0.02
"""How near the source says that its request-level model and its fluid are."""

HALF, HALF_TWO, HALF_THREE = Spike(0.5, 10, 1), Spike(0.25, 10, 2), Spike(1 / 6, 10, 3)
SIX, SIX_TWO = Spike(0.2, 10, 3), Spike(0.3, 10, 2)
EIGHT, EIGHT_TWO = Spike(0.8 / 3, 10, 3), Spike(0.4, 10, 2)
QUARTER, THIRTY = Spike(0.25, 5, pods=KIT_PODS), Spike(0.3, 5, pods=KIT_PODS)
FIFTH, FORTY = Spike(0.2, 5, pods=KIT_PODS), Spike(0.4, 5, pods=KIT_PODS)
TEN, TWENTY = Spike(0.8, 10, budget=0.1), Spike(0.8, 10, budget=0.2)
FIFTY, HUNDRED = Spike(0.8, 10, budget=0.5), Spike(0.5, 10, budget=1.0)

FLUID = (
    *(HALF, HALF_TWO, HALF_THREE, SIX, SIX_TWO, EIGHT, EIGHT_TWO),
    *(QUARTER, THIRTY, FIFTH, FORTY, TEN, TWENTY, FIFTY, HUNDRED),
)
SIMULATED = (HALF, HALF_THREE, SIX, EIGHT, QUARTER, THIRTY, FIFTH, FORTY, TEN, FIFTY)
CURVE = (Spike(0.4 / 3, 10), HALF_THREE, SIX, Spike(0.7 / 3, 10), EIGHT, Spike(0.3, 10), Spike(0.95 / 3, 10))
"""A = 3, for the figure."""
STATED = ((0.5, 2398.0), (0.6, 3582.0), (0.6, 3700.0), (0.8, 10300.0), (0.8, 10386.0))
"""Aρ and recovery times as the source prints them, ends of ranges."""


@dataclass(frozen=True, slots=True)
class Recovery:
    """Recovery times in seconds, by spike."""

    fluid: dict[Spike, float]
    simulated: dict[Spike, Sample]
    rate_per_pod: float

    @property
    def source_spread(self) -> float:
        """Standard deviation of a run at the source's rate over one at ours: chance goes with 1/√rate."""
        return math.sqrt(self.rate_per_pod / RATE_PER_POD)


def work_out(effort: float, told: Callable[[float], None]) -> Recovery:
    """Every spike in the fluid, most of them simulated."""
    fluid = {spike: spike.fluid_s() for spike in {*FLUID, *CURVE}}
    rate, simulated = scaled_rate(effort), {}
    for done, spike in enumerate(SIMULATED):
        told(done / len(SIMULATED))
        simulated[spike] = spike.recovered_s(spike.counts(rate, seeds(effort, SEEDS, fewest=SEEDS)))
    return Recovery(fluid, simulated, rate)


def claims(recovery: Recovery) -> list[Claim]:
    """The tenfold spikes, the fivefold ones of the kit, retry budgets, and how well the models agree."""
    return [
        *_long_forms(),
        *_tenfold(recovery),
        _any_split(recovery),
        *_fivefold(recovery),
        *_budgets(recovery),
        *_models(recovery),
    ]


def _long_forms() -> list[Claim]:
    rows = []
    for spike, stated in ((HALF, "2400"), (SIX, "3750"), (EIGHT, "10500")):
        judged = as_printed(spike.long_law_s, stated)
        rows.append(
            Claim(
                f"Long-spike form, k = 10, Aρ = {spike.amplified_utilization:g}",
                SOURCE,
                f"{number(float(stated))} s",
                f"{number(spike.long_law_s)} s",
                judged.agrees,
                "Δ(Akρ − 1)/(1 − Aρ)",
            )
        )
    return rows


def _tenfold(recovery: Recovery) -> list[Claim]:
    fluid, drawn = recovery.fluid, recovery.simulated
    judged = close(fluid[HALF], 2398, FLUID_TOLERANCE)
    rows = [
        Claim(
            "Fluid, k = 10, Aρ = 0.5",
            SOURCE,
            "2,398 s",
            f"{number(fluid[HALF])} s for A = 1, ρ = 0.5",
            judged.agrees,
            judged.because(
                f"With A = 3, ρ = 1/6 it is {number(fluid[HALF_THREE])} s, and Prop. 7 itself gives"
                f" {number(HALF_THREE.law_s)} s: the figure fits a service without retries"
            ).why,
            SPLIT,
        ),
        _simulated(
            "Request by request, k = 10, Aρ = 0.5",
            "2,358 to 2,402 s, 3 seeds",
            drawn[HALF],
            one_run(drawn[HALF], 2358, 2402, source_spread=recovery.source_spread, both_ends=True).fitted_to(
                SPLIT
            ),
        ),
    ]
    for spike, other, low, high in ((SIX, SIX_TWO, 3582, 3700), (EIGHT, EIGHT_TWO, 10300, 10386)):
        for each in (spike, other):
            judged = between(fluid[each], low, high, FLUID_TOLERANCE)
            rows.append(
                Claim(
                    f"Fluid, k = 10, Aρ = {each.amplified_utilization:g}, A = {each.max_attempts}",
                    SOURCE,
                    f"{number(low)} to {number(high)} s over models and seeds",
                    f"{number(fluid[each])} s",
                    judged.agrees,
                    judged.why,
                )
            )
        rows.append(
            _simulated(
                f"Request by request, k = 10, Aρ = {spike.amplified_utilization:g}, A = 3",
                f"{number(low)} to {number(high)} s over models and seeds",
                drawn[spike],
                one_run(drawn[spike], low, high, source_spread=recovery.source_spread),
            )
        )
    return rows


def _simulated(statement: str, stated: str, sample: Sample, judged: Agreement) -> Claim:
    return Claim(
        statement,
        SOURCE,
        stated,
        sample.words(" s"),
        judged.agrees,
        judged.why,
        judged.fitted,
        chance=judged.chance,
    )


def _any_split(recovery: Recovery) -> Claim:
    one, two, three = (recovery.fluid[s] for s in (HALF, HALF_TWO, HALF_THREE))
    judged = close(two, 2400, 0.05)
    return Claim(
        "No retries at 50% and one retry at 25% recover alike",
        SOURCE,
        "both about 2,400 s",
        f"{number(one)} s and {number(two)} s fluid; two retries at 16.7%: {number(three)} s",
        judged.agrees,
        judged.because(
            "Not quite alike: t₀ = T/(kρ − 1) is longer at a lower utilization, so less debt is built up"
        ).why,
    )


def _fivefold(recovery: Recovery) -> list[Claim]:
    fluid, drawn = recovery.fluid, recovery.simulated
    rows = []
    for spike, stated in ((QUARTER, 2867), (THIRTY, 9756)):
        judged = close(fluid[spike], stated, FLUID_TOLERANCE).because(
            "The rest is the source's grid of one second, see docs/theory.md"
        )
        rows.append(
            Claim(
                f"Four pods, k = 5, ρ = {spike.utilization:g}: fluid",
                SOURCE,
                f"{number(stated)} s",
                f"{number(fluid[spike])} s",
                judged.agrees,
                judged.why,
            )
        )
        rows.append(
            _simulated(
                f"Four pods, k = 5, ρ = {spike.utilization:g}: request by request",
                f"{number(stated)} s (fluid)",
                drawn[spike],
                mean_within(drawn[spike], stated, MODELS_TOLERANCE),
            )
        )
    for name, value, printed in (
        ("full form", QUARTER.law_s, "2873"),
        ("long-spike form", QUARTER.long_law_s, "3300"),
    ):
        judged = as_printed(value, printed)
        rows.append(
            Claim(
                f"Four pods, k = 5, ρ = 0.25: {name}",
                SOURCE,
                f"{number(float(printed))} s",
                f"{number(value, 5)} s",
                judged.agrees,
                judged.why,
            )
        )
    rows.append(
        _outcome("Four pods, k = 5, ρ = 0.2", "no timeout at all", fluid[FIFTH] < 1, drawn[FIFTH], 0.0)
    )
    rows.append(
        _outcome("Four pods, k = 5, ρ = 0.4", "never", math.isinf(fluid[FORTY]), drawn[FORTY], math.inf)
    )
    return rows


def _outcome(statement: str, stated: str, fluid_agrees: bool, drawn: Sample, value: float) -> Claim:
    """An outcome without a figure: no timeout, or no recovery, in the fluid and in every seed."""
    count = sum(v == value for v in drawn.values)
    return Claim(
        statement,
        SOURCE,
        stated,
        f"{'so' if fluid_agrees else 'not so'} in the fluid; in {count} of {len(drawn.values)} seeds",
        fluid_agrees and count == len(drawn.values),
        "the fluid and every seed",
    )


def _budgets(recovery: Recovery) -> list[Claim]:
    fluid, drawn = recovery.fluid, recovery.simulated
    rows = []
    for spike, stated, law in ((TEN, 19398, "19457"), (TWENTY, 63881, "64243")):
        judged = close(fluid[spike], stated, FLUID_TOLERANCE)
        name = f"Retry budget {percent(spike.budget)} at ρ = 0.8, k = 10"
        rows.append(
            Claim(
                f"{name}: fluid",
                SOURCE,
                f"{number(stated)} s",
                f"{number(fluid[spike])} s",
                judged.agrees,
                judged.why,
            )
        )
        printed = as_printed(spike.law_s, law)
        rows.append(
            Claim(
                f"{name}: Prop. 7",
                SOURCE,
                f"{number(float(law))} s",
                f"{number(spike.law_s)} s",
                printed.agrees,
                printed.why,
            )
        )
    rows.append(
        _simulated(
            "Retry budget 10% at ρ = 0.8: request by request",
            "19,398 s (fluid)",
            drawn[TEN],
            mean_within(drawn[TEN], 19398, MODELS_TOLERANCE),
        )
    )
    rows.append(
        _outcome("Retry budget 50% at ρ = 0.8", "never", math.isinf(fluid[FIFTY]), drawn[FIFTY], math.inf)
    )
    rows.append(
        Claim(
            "Retry budget 100% at ρ = 0.5, Aρ = 1 exactly",
            SOURCE,
            "never",
            "never in the fluid" if math.isinf(fluid[HUNDRED]) else f"{number(fluid[HUNDRED])} s",
            math.isinf(fluid[HUNDRED]),
            "at the edge itself only the fluid is sharp: a random walk without drift comes back some day",
        )
    )
    return rows


def _models(recovery: Recovery) -> list[Claim]:
    tenfold = (HALF, SIX, EIGHT, HALF_TWO, SIX_TWO, EIGHT_TWO)
    worst = max(tenfold, key=lambda s: _apart(recovery, s))
    quarter, every = _apart(recovery, worst), max(_apart(recovery, s) for s in _finite(recovery, FLUID))
    judged = _models_agree(recovery)
    return [
        Claim(
            "Full form against the fluid, tenfold spikes",
            SOURCE,
            "within 0.25%",
            f"within {percent(quarter)}",
            quarter <= 0.0025,
            f"furthest apart with A = {worst.max_attempts} at Aρ = {worst.amplified_utilization:.1f}; with"
            " A = 1 and A = 2 they are within"
            f" {percent(max(_apart(recovery, s) for s in tenfold if s.max_attempts < 3))}. The source does"
            " not say which split it ran",
        ),
        Claim(
            "Full form against the fluid, all spikes here",
            SOURCE,
            "within 1.2%",
            f"within {percent(every)}",
            every <= 0.012,
            "the largest difference found",
        ),
        Claim(
            "Request by request (mean over seeds) against the fluid",
            SOURCE,
            "within about 2%",
            _furthest(recovery),
            judged.agrees,
            judged.why,
            chance=judged.chance,
        ),
    ]


def _models_agree(recovery: Recovery) -> Agreement:
    """All of the 95% interval of every mean must lie within the source's 2%; chance of ours helps nobody."""
    intervals = _off_fluid(recovery)
    if not intervals:
        return not_comparable("no spike recovers in every seed")
    verdicts = [
        interval_within(mean - reach, mean + reach, -MODELS_TOLERANCE, MODELS_TOLERANCE)
        for mean, reach in intervals.values()
    ]
    widest = max(reach for _, reach in intervals.values())
    left_out = len(_finite(recovery, recovery.simulated)) - len(intervals)
    return Agreement(
        all_hold(verdicts),
        f"95% intervals of the means, ±{percent(widest)} at most: {verdicts.count(True)} of {len(verdicts)}"
        f" lie within {percent(MODELS_TOLERANCE)}, {verdicts.count(False)} beyond, {verdicts.count(None)}"
        " on the edge, which is undecided"
        + (f"; {left_out} left out, where a seed never recovers" if left_out else ""),
        chance=True,
    )


def _off_fluid(recovery: Recovery) -> dict[Spike, tuple[float, float]]:
    """The mean over seeds over the fluid less one, and half of its 95% interval, where all seeds recover."""
    drawn = {s: recovery.simulated[s] for s in _finite(recovery, recovery.simulated)}
    return {
        s: (sample.mean / recovery.fluid[s] - 1, sample.half_width / recovery.fluid[s])
        for s, sample in drawn.items()
        if not sample.infinite
    }


def _furthest(recovery: Recovery) -> str:
    off = _off_fluid(recovery)
    if not off:
        return "no mean"
    mean, reach = max(off.values(), key=lambda pair: abs(pair[0]))
    return f"furthest: {percent(mean)} ± {percent(reach)} of the fluid"


def _finite(recovery: Recovery, chosen: Iterable[Spike]) -> list[Spike]:
    return [s for s in chosen if 1 < recovery.fluid[s] < math.inf]


def _apart(recovery: Recovery, spike: Spike) -> float:
    return abs(spike.law_s / recovery.fluid[spike] - 1)


def data(recovery: Recovery) -> dict[str, Any]:
    """Law, fluid and seeds, by spike."""
    ordered = sorted(recovery.fluid, key=lambda s: (s.factor, s.amplified_utilization, s.max_attempts))
    return {
        "spike_s": SPIKE_S,
        "timeout_s": TIMEOUT_S,
        "rate_per_pod": recovery.rate_per_pod,
        "spikes": [
            {
                "utilization": s.utilization,
                "factor": s.factor,
                "max_attempts": s.max_attempts,
                "budget": s.budget,
                "amplified_utilization": s.amplified_utilization,
                "law_s": s.law_s,
                "long_law_s": s.long_law_s,
                "fluid_s": recovery.fluid[s],
                "simulated_s": list(recovery.simulated[s].values) if s in recovery.simulated else None,
            }
            for s in ordered
        ],
    }
