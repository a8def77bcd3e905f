"""A prediction in sentences for whoever operates the service (laws: seed 002, Propositions 6 to 8)."""

from __future__ import annotations

import math

from analysis.chance import band_text, contested, is_band, seeds_text, tally, too_few
from analysis.fleets.advice import advice as fleet_advice
from analysis.result import Prediction
from analysis.seeds import FEWEST_SEEDS, available_cores, can_be_simulated, fluid_attempts, simulation_s
from analysis.trap import BEYOND_THE_LAW, decided_by_law, failing_amplification
from analysis.wording import number, percent, seconds
from domain.experiment import Expectation, Experiment
from tipover.commands.output import span
from tipover.commands.prediction_table import diffusion_bands
from tipover.commands.simulation import roughly

MINUTE_S = 60.0
"""From this time on it is said in larger units as well."""


def threshold(experiment: Experiment) -> dict[str, float | None]:
    """Where the trap begins: utilization 1/A and, when the capacity is known and stays, the demand C/A in
    jobs/s.

    None where there is no such place: nothing is sent while all fails, or the service's defences decide.
    """
    amplification = failing_amplification(experiment)
    fixed = experiment.service is not None and experiment.fleet is None
    capacity = experiment.service.capacity_per_s if fixed and experiment.service else None
    if amplification <= 0 or not decided_by_law(experiment):
        return {"utilization": None, "demand_per_s": None}
    return {
        "utilization": 1.0 / amplification,
        "demand_per_s": None if capacity is None else capacity / amplification,
    }


def advice(experiment: Experiment, prediction: Prediction) -> list[str]:
    """The threshold, what is predicted of this scenario, and whether its author expects the same.

    Where simulated seeds end otherwise than the fluid model says, that comes first.
    """
    sentences = [_threshold_words(experiment), *fleet_advice(experiment)]
    sentences.append(_outcome_words(experiment, prediction))
    if contested(prediction):
        sentences = [f"{_simulated(prediction)}: {_who_decides(prediction)}", *sentences]
    if experiment.expect and prediction.outcome:
        sentences.append(_agreement_words(experiment.expect, prediction))
    return sentences


def chance_words(experiment: Experiment, prediction: Prediction, *, asked: int | None) -> list[str]:
    """Where the band comes from; ``asked`` is how many seeds were asked for, None if it was left to us."""
    bands = prediction.bands
    if bands is not None:
        # Where they disagree it has been said already, before anything else.
        said = "" if contested(prediction) else f"{_simulated(prediction)}."
        return [words for words in (said, too_few(bands)) if words]
    words = []
    if _is_wild(experiment):
        words.append(
            "The variance of the service times is infinite (α ≤ 2), so there is no diffusion band: only a "
            "simulation shows what chance does."
        )
    elif diffusion_bands(experiment, prediction):
        words.append("5% and 95% are those of the diffusion approximation: mean ± 1.645 standard deviations.")
    if asked is None and can_be_simulated(experiment):
        attempts = fluid_attempts(experiment, prediction.fluid)
        takes = roughly(simulation_s(attempts, FEWEST_SEEDS, available_cores()))
        words.append(
            f"Not simulated: too long for a quick answer. `--seeds {FEWEST_SEEDS}` does it in about {takes}."
        )
    return words


def _is_wild(experiment: Experiment) -> bool:
    return experiment.service is not None and experiment.service.service_time.is_wild


def _simulated(prediction: Prediction) -> str:
    bands = prediction.bands
    assert bands is not None
    return f"Simulated request by request: {tally(bands.outcomes)} ({seeds_text(bands)})"


def since(experiment: Experiment) -> str:
    """What a recovery is counted from."""
    if experiment.step_s is not None:
        return "demand steps up"
    return "the trigger ends" if experiment.trigger else "the run begins"


def _agreement_words(expect: Expectation, prediction: Prediction) -> str:
    agrees = prediction.outcome == ("recovered" if expect.outcome == "recovers" else expect.outcome)
    when = ""
    if expect.recover_s:
        when = f" after {seconds(expect.recover_s)}"
        off = abs((prediction.values.get("recovery_s") or math.inf) - expect.recover_s)
        agrees = agrees and off <= expect.tolerance * expect.recover_s
    source = f" ({expect.source})" if expect.source else ""
    verdict = "agrees" if agrees else "does NOT agree"
    expects = f"The scenario expects: {expect.outcome}{when}{source}"
    bands = prediction.bands
    if bands is None or not contested(prediction):
        return f"{expects}; the prediction {verdict}."
    word = "recovered" if expect.outcome == "recovers" else expect.outcome
    seeds = f"{bands.outcomes.get(word, 0)} of {len(bands.seeds)} seeds end so"
    model = "most seeds say so" if prediction.simulated and agrees else f"the fluid model {verdict}"
    return f"{expects}; {model}, {seeds}."


def _who_decides(prediction: Prediction) -> str:
    """Chance, or, if no seed does what the fluid model says, not even that."""
    bands = prediction.bands
    assert bands is not None
    if prediction.simulated:
        return "chance decides how a single run ends. What follows is the most frequent end."
    if len(bands.outcomes) > 1:
        return "chance decides how a single run ends. What follows is the fluid model, which knows no chance."
    return "what follows is the fluid model, and holds only for a service of far higher rates."


def _threshold_words(experiment: Experiment) -> str:
    if not decided_by_law(experiment):
        return BEYOND_THE_LAW
    amplification = failing_amplification(experiment)
    if amplification <= 0:
        return "While every attempt fails these clients send nothing at all: no failed state holds itself up."
    if math.isinf(amplification):
        return (
            "Clients never give up (A = ∞): once waits pass the timeout, no demand is low enough to let go."
        )
    if amplification < 1:
        return (
            f"While every attempt fails a job costs A = {number(amplification)} attempts, for most are "
            "refused by the client itself: failing clients alone never fill the service."
        )
    attempts = "attempt" if amplification == 1 else "attempts"
    words = (
        f"While every attempt fails a job costs A = {number(amplification)} {attempts}, so a failed state "
        f"holds itself up from a utilization of 1/A = {percent(1 / amplification)}"
    )
    demand = threshold(experiment)["demand_per_s"]
    return words + ("." if demand is None else f", that is C/A = {number(demand)} jobs/s.")


def _outcome_words(experiment: Experiment, prediction: Prediction) -> str:
    rho = experiment.utilization
    demand = f"{number(experiment.demand.arrival_rate_per_s)} jobs/s"
    here = f"At {demand}" + (f" ({percent(rho)} of capacity)" if rho is not None else "")
    if experiment.step_s is not None:
        here = (
            f"When demand steps up from {demand} to {number(experiment.watched_rate_per_s)} jobs/s for good"
        )
    if prediction.outcome == "trapped":
        pods = prediction.values.get("settled_pods")
        at_pods = "" if pods is None else f", at {number(pods)} pods"
        return f"{here} it NEVER recovers by itself{at_pods}{_release(experiment)}."
    if prediction.outcome == "recovered":
        return f"{here} it recovers by itself{_recovery_words(experiment, prediction)}."
    words = _seeds_say(prediction) if prediction.simulated else _fluid_says(experiment, prediction)
    return f"{here} {words}."


def _seeds_say(prediction: Prediction) -> str:
    """What becomes of a service that neither recovers nor is trapped, where only seeds can tell."""
    if prediction.outcome == "healthy":
        return "it does not fail: at no time are fewer than half of the jobs answered for a whole timeout"
    if prediction.outcome == "undecided":
        return "it is still failing when the watch ends, and the seeds do not show whether for good"
    return f"only a simulation can tell: --seeds {FEWEST_SEEDS} or more"


def _fluid_says(experiment: Experiment, prediction: Prediction) -> str:
    """The same by the fluid model."""
    if prediction.outcome == "healthy":
        held = experiment.amplified_utilization if experiment.fleet is None else None
        trap = ", but a larger trigger would trap it" if held is not None and held >= 1 else ""
        return f"nothing in this scenario makes attempts time out{trap}"
    if prediction.outcome == "undecided":
        return f"it recovers by itself{_recovery_words(experiment, prediction)}, when the watch is over"
    if experiment.service is not None:
        return "there is no prediction"
    return "there is no prediction: the capacity is not known"


def _release(experiment: Experiment) -> str:
    demand = threshold(experiment)["demand_per_s"]
    return f": demand has to fall below {number(demand)} jobs/s first" if demand else ""


def _recovery_words(experiment: Experiment, prediction: Prediction) -> str:
    recovery_s = prediction.values.get("recovery_s")
    if recovery_s is None or not math.isfinite(recovery_s):
        return ""
    spread = _spread(experiment, prediction, recovery_s)
    units = f" or {span(recovery_s)}" if recovery_s >= MINUTE_S else ""
    after = "later" if experiment.step_s is not None else f"after {since(experiment)}"
    return f", {seconds(recovery_s)}{spread}{units} {after}"


def _spread(experiment: Experiment, prediction: Prediction, recovery_s: float) -> str:
    bands, deviation_s = prediction.bands, prediction.recovery_sd_s
    if bands is not None:
        band = bands.values.get("recovery_s")
        if not is_band(band):
            return ""
        count, total = band.count, len(bands.seeds)
        runs = "in nine simulated runs of ten" if count == total else f"in nine of ten of the {count} that do"
        return f" ({band_text(band, 's')} {runs})"
    if not deviation_s or _is_wild(experiment):
        return ""
    if deviation_s >= recovery_s:
        return f" (which is noise: one standard deviation is {seconds(deviation_s)})"
    return f" ± {seconds(deviation_s)} (one standard deviation)"
