"""A prediction in sentences for whoever operates the service (laws: seed 002, Propositions 6 to 8)."""

from __future__ import annotations

import math

from analysis.chance import band_text, seeds_text, tally
from analysis.result import Prediction
from analysis.seeds import FEWEST_SEEDS, available_cores, simulation_s
from analysis.wording import number, percent, seconds
from domain.experiment import Expectation, Experiment
from tipover.commands.output import span


def threshold(experiment: Experiment) -> dict[str, float | None]:
    """Where the trap begins: utilization 1/A and, when the capacity is known, the demand C/A in jobs/s."""
    amplification = experiment.client.amplification
    capacity = experiment.service.capacity_per_s if experiment.service else None
    return {
        "utilization": 1.0 / amplification,
        "demand_per_s": None if capacity is None else capacity / amplification,
    }


def advice(experiment: Experiment, prediction: Prediction) -> list[str]:
    """The threshold, what is predicted of this scenario, and whether its author expects the same."""
    sentences = [_threshold_words(experiment), _outcome_words(experiment, prediction)]
    if experiment.expect and prediction.outcome:
        sentences.append(_agreement_words(experiment.expect, prediction))
    return sentences


def chance_words(experiment: Experiment, prediction: Prediction, *, asked: int | None) -> list[str]:
    """Where the band comes from; ``asked`` is how many seeds were asked for, None if it was left to us."""
    bands = prediction.bands
    if bands is not None:
        return [f"Simulated request by request: {tally(bands.outcomes)} ({seeds_text(bands)})."]
    words = []
    if prediction.recovery_sd_s is not None:
        words.append("5% and 95% are those of the diffusion approximation: mean ± 1.645 standard deviations.")
    if asked is None and experiment.service is not None:
        takes = span(simulation_s(experiment, FEWEST_SEEDS, available_cores()))
        words.append(
            f"Not simulated: too long for a quick answer. `--seeds {FEWEST_SEEDS}` does it in about {takes}, "
            "less if few attempts are retried."
        )
    return words


def since(experiment: Experiment) -> str:
    """What a recovery is counted from."""
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
    return f"The scenario expects: {expect.outcome}{when}{source}; the prediction {verdict}."


def _threshold_words(experiment: Experiment) -> str:
    amplification = experiment.client.amplification
    if math.isinf(amplification):
        return (
            "Clients never give up (A = ∞): once waits pass the timeout, no demand is low enough to let go."
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
    if prediction.outcome == "trapped":
        return f"{here} it NEVER recovers by itself{_release(experiment)}."
    if prediction.outcome == "recovered":
        return f"{here} it recovers by itself{_recovery_words(experiment, prediction)}."
    if prediction.outcome == "healthy":
        held = experiment.amplified_utilization
        trap = ", but a larger trigger would trap it" if held is not None and held >= 1 else ""
        return f"{here} nothing in this scenario makes attempts time out{trap}."
    if prediction.outcome == "undecided":
        later = _recovery_words(experiment, prediction)
        return f"{here} it recovers by itself{later}, when the watch is over."
    return f"{here} there is no prediction: the capacity is not known."


def _release(experiment: Experiment) -> str:
    demand = threshold(experiment)["demand_per_s"]
    return f": demand has to fall below {number(demand)} jobs/s first" if demand else ""


def _recovery_words(experiment: Experiment, prediction: Prediction) -> str:
    recovery_s = prediction.values.get("recovery_s")
    if recovery_s is None or not math.isfinite(recovery_s):
        return ""
    return f", {seconds(recovery_s)}{_spread(prediction)} or {span(recovery_s)} after {since(experiment)}"


def _spread(prediction: Prediction) -> str:
    band = prediction.bands.values.get("recovery_s") if prediction.bands else None
    if band is not None:
        return f" ({band_text(band, 's')} in nine simulated runs of ten)"
    deviation_s = prediction.recovery_sd_s
    return f" ± {seconds(deviation_s)} (one standard deviation)" if deviation_s else ""
