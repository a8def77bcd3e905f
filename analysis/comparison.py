"""Prediction against measurement: one check per claim.

A check that has no samples fails; a check that does not apply is left out. Where the prediction has bands,
the check of a recovery is given the leeway that chance takes (``analysis.leeway``).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from analysis.chance import is_band
from analysis.estimators import Findings
from analysis.fleets.checks import fleet_checks
from analysis.leeway import TIMES, in_most_seeds, with_leeway
from analysis.prediction import LAST_SHARE
from analysis.result import Check, Measurement, Prediction
from analysis.spread import shed_recovery_sd_s, squared_variation
from analysis.wording import number
from domain.experiment import Expectation, Experiment

AMPLIFICATION_TOLERANCE = 0.03
DEMAND_TOLERANCE = 0.03
CAPACITY_TOLERANCE = 0.01
INGRESS_TOLERANCE = 0.05
GOODPUT_TOLERANCE = 0.05
SIGMAS = 4.0
SHED_SIGMAS = 4.0
"""The diffusion's spread leaves out chance before the first late attempt, a quarter of it in a short run."""
NO_SAMPLES = "nothing was measured"
_MEASURED_WORD = {"healthy": "healthy", "recovers": "recovered", "trapped": "trapped"}


def compare(
    experiment: Experiment,
    prediction: Prediction,
    measurement: Measurement,
    findings: Findings,
    *,
    own_target: bool = True,
) -> tuple[Check, ...]:
    """Every check that applies to the run. A foreign target tells no capacity, so none is checked there."""
    failing = measurement.outcome != "healthy" or prediction.outcome not in ("healthy", None)
    checks = [*_outcome(experiment, prediction, measurement)]
    if prediction.simulated:
        checks += _recovery_expected(experiment, measurement)
        checks.append(_demand(experiment, measurement, findings))
        checks += _banded(experiment, prediction, measurement, findings)
        checks += fleet_checks(prediction, measurement)
        checks += _ingress_expected(experiment, measurement, findings)
        checks += _after_shed(experiment.expect, measurement)
        return tuple(with_leeway(check, prediction, speedup=experiment.run.speedup) for check in checks)
    checks += _recovery(experiment, prediction, measurement)
    checks += _recovery_expected(experiment, measurement)
    if failing and math.isfinite(experiment.client.max_attempts) and not experiment.is_defended:
        checks.append(_number(prediction, measurement, "amplification", AMPLIFICATION_TOLERANCE))
    checks.append(_demand(experiment, measurement, findings))
    tells_capacity = own_target or measurement.values.get("capacity_per_s") is not None
    # A fleet's own rate is checked with the validity of the run, its capacity by its pods.
    if experiment.service is not None and experiment.fleet is None and failing and tells_capacity:
        completed = findings.samples.get("capacity_per_s", 0)
        works = squared_variation(experiment, completed)
        tolerance = _sampled(CAPACITY_TOLERANCE, completed, works)
        checks.append(_number(prediction, measurement, "capacity_per_s", tolerance))
    if not experiment.is_defended:
        checks += _ingress(experiment, measurement, findings)
    checks += _ingress_expected(experiment, measurement, findings)
    checks += _goodput(experiment, prediction, measurement)
    checks += fleet_checks(prediction, measurement)
    checks += _after_shed(experiment.expect, measurement)
    checks += _shed_recovery(experiment, prediction, measurement)
    return tuple(with_leeway(check, prediction, speedup=experiment.run.speedup) for check in checks)


def confirmed(experiment: Experiment, checks: tuple[Check, ...]) -> bool | None:
    """Whether every check passed; None if the scenario expects nothing."""
    return None if experiment.expect is None else all(check.passed for check in checks)


def _sampled(floor: float, samples: int, squared_variation: float = 1.0) -> float:
    """A relative tolerance of at least four standard errors of a Poisson count, or of so spread samples."""
    return max(floor, SIGMAS * math.sqrt(squared_variation / samples)) if samples else floor


def _check(
    name: str,
    predicted: float,
    measured: float | None,
    tolerance: float,
    *,
    absolute: bool = False,
    why: str = "",
) -> Check:
    if measured is None:
        return Check(name, predicted, None, tolerance, False, absolute, NO_SAMPLES)
    allowed = tolerance if absolute else tolerance * abs(predicted)
    # The last digits of a difference that is exactly the tolerance must not decide.
    passed = abs(measured - predicted) <= allowed * (1 + 1e-9)
    return Check(name, predicted, measured, tolerance, passed, absolute, why)


def _number(prediction: Prediction, measurement: Measurement, key: str, tolerance: float) -> Check:
    predicted = prediction.values.get(key)
    if predicted is None:
        return Check(key, None, measurement.values.get(key), tolerance, False, why="nothing was predicted")
    return _check(key, predicted, measurement.values.get(key), tolerance)


def _banded(
    experiment: Experiment, prediction: Prediction, measurement: Measurement, findings: Findings
) -> Iterator[Check]:
    """Against the median of the simulated seeds: within the tolerance, or twice as far as their band goes.

    How far chance may move a time, ``analysis.leeway`` says. What not nearly all seeds show is not missed.
    """
    expect = experiment.expect
    times = expect.tolerance if expect else Expectation("recovers").tolerance
    tolerances = {
        "amplification": AMPLIFICATION_TOLERANCE,
        "ingress_per_s": _ingress_tolerance(experiment, findings),
        "goodput_ratio": GOODPUT_TOLERANCE,
        "recovery_s": times,
        "shed_recovery_s": times,
    }
    for key, tolerance in tolerances.items():
        predicted, measured = prediction.values.get(key), measurement.values.get(key)
        bands = prediction.bands
        band = bands.values.get(key) if bands else None
        if predicted is None or (measured is None and bands and band and not in_most_seeds(band, bands)):
            continue
        share = key == "goodput_ratio"
        check = _check(
            key, predicted, measured, tolerance, absolute=share, why="the median of the simulated seeds"
        )
        if measured is not None and is_band(band) and not check.passed and key not in TIMES:
            low, high = predicted - 2 * (predicted - band.low), predicted + 2 * (band.high - predicted)
            inside = low <= measured <= high
            span = f"{number(low)} to {number(high)}, twice as far as their band goes"
            words = f"outside the tolerance, {'but within' if inside else 'and outside'} {span}"
            check = replace(check, passed=inside, why=f"{check.why}; {words}")
        yield check


def _outcome(experiment: Experiment, prediction: Prediction, measurement: Measurement) -> Iterator[Check]:
    if experiment.expect is not None:
        word, why = _MEASURED_WORD[experiment.expect.outcome], "expected by the scenario"
    elif prediction.outcome is not None:
        word, why = prediction.outcome, f"predicted by the {_predictor(prediction)}"
    else:
        return
    yield Check("outcome", word, measurement.outcome, None, measurement.outcome == word, why=why)


def _predictor(prediction: Prediction) -> str:
    return "simulated seeds" if prediction.simulated else "fluid model"


def _recovery(experiment: Experiment, prediction: Prediction, measurement: Measurement) -> Iterator[Check]:
    """Against the fluid model, if it recovers within the watch."""
    expect = experiment.expect
    tolerance = expect.tolerance if expect else Expectation("recovers").tolerance
    measured = measurement.values.get("recovery_s")
    predicted = prediction.values.get("recovery_s")
    if predicted and prediction.outcome == "recovered":
        why = _spread(experiment, prediction, "recovery_s", prediction.recovery_sd_s)
        yield _check("recovery_s", predicted, measured, tolerance, why=why)


def _recovery_expected(experiment: Experiment, measurement: Measurement) -> Iterator[Check]:
    """Against the scenario's own number."""
    expect = experiment.expect
    if expect is not None and expect.recover_s is not None:
        measured = measurement.values.get("recovery_s")
        why = f"expected by the scenario{f' ({expect.source})' if expect.source else ''}"
        yield _check("recovery_s_expected", expect.recover_s, measured, expect.tolerance, why=why)


def _demand(experiment: Experiment, measurement: Measurement, findings: Findings) -> Check:
    jobs = findings.samples.get("demand_per_s", 0)
    return _check(
        "demand_per_s",
        experiment.watched_rate_per_s,
        measurement.values.get("demand_per_s"),
        _sampled(DEMAND_TOLERANCE, jobs),
        why=f"{jobs:,} jobs were due in the watch",
    )


def _ingress(experiment: Experiment, measurement: Measurement, findings: Findings) -> Iterator[Check]:
    """Attempts per second of a trapped service, against Aλ."""
    predicted = experiment.client.amplification * experiment.watched_rate_per_s
    if measurement.outcome != "trapped" or not math.isfinite(predicted):
        return  # there is nothing that could have settled; the check of the outcome says the rest
    tolerance = _ingress_tolerance(experiment, findings)
    measured = measurement.values.get("ingress_per_s")
    yield _check("ingress_per_s", predicted, measured, tolerance, why="Aλ while every attempt fails")


def _ingress_expected(
    experiment: Experiment, measurement: Measurement, findings: Findings
) -> Iterator[Check]:
    """The same against the scenario's own number."""
    expect = experiment.expect
    if measurement.outcome == "trapped" and expect is not None and expect.ingress_per_s is not None:
        tolerance = _ingress_tolerance(experiment, findings)
        measured = measurement.values.get("ingress_per_s")
        yield _check("ingress_per_s_expected", expect.ingress_per_s, measured, tolerance)


def _ingress_tolerance(experiment: Experiment, findings: Findings) -> float:
    """Jobs are the independent samples: each sends m attempts while all fail, or what its defences leave.

    How many that is of a defended job no law says, so as many are counted as the watch has jobs: what the
    demand is allowed is allowed here. The settled stretch has no more of them than attempts.
    """
    attempts = findings.samples.get("ingress_per_s", 0)
    if experiment.is_defended:
        return _sampled(INGRESS_TOLERANCE, min(attempts, findings.samples.get("demand_per_s", 0)))
    return _sampled(INGRESS_TOLERANCE, int(attempts / experiment.client.amplification))


def _goodput(experiment: Experiment, prediction: Prediction, measurement: Measurement) -> Iterator[Check]:
    """At the end of the watch, unless the recovery itself may fall into that stretch."""
    predicted = prediction.values.get("goodput_ratio")
    if predicted is None or prediction.outcome is None:
        return
    start, end = experiment.watch
    recovery = prediction.values.get("recovery_s")
    if recovery is not None:
        margin = 3 * (prediction.recovery_sd_s or 0.0) + 5 * experiment.client.timeout_s
        last_part = start + (1 - LAST_SHARE) * (end - start)
        if last_part - margin < start + recovery < end + margin:
            return
    yield _check(
        "goodput_ratio", predicted, measurement.values.get("goodput_ratio"), GOODPUT_TOLERANCE, absolute=True
    )


def _after_shed(expect: Expectation | None, measurement: Measurement) -> Iterator[Check]:
    if expect is None or expect.after_shed is None:
        return
    word = _MEASURED_WORD[expect.after_shed]
    measured = measurement.after_shed
    why = "expected by the scenario"
    if measured is None:
        why += "; the service was not failing when shedding began, or none was shed"
    yield Check("after_shed", word, measured, None, measured == word, why=why)


def _shed_recovery(
    experiment: Experiment, prediction: Prediction, measurement: Measurement
) -> Iterator[Check]:
    expect, predicted = experiment.expect, prediction.values.get("shed_recovery_s")
    if expect is not None and expect.after_shed == "recovers" and predicted:
        # Short drains scatter, and which attempt happens to be the last matters: three standard deviations.
        sd = shed_recovery_sd_s(experiment, prediction) or 0.0
        slack = max(expect.tolerance * predicted, SHED_SIGMAS * sd, 2 * experiment.client.timeout_s)
        measured_s = measurement.values.get("shed_recovery_s")
        why = _spread(experiment, prediction, "shed_recovery_s", sd)
        yield _check("shed_recovery_s", predicted, measured_s, slack, absolute=True, why=why)


def _spread(experiment: Experiment, prediction: Prediction, key: str, sd_s: float | None) -> str:
    """The diffusion approximation's word on chance, where there is no band to say it better."""
    if sd_s is None or (prediction.bands is not None and key in prediction.bands.values):
        return ""
    if experiment.service is not None and experiment.service.service_time.is_wild:
        return f"so many services of infinite variance typically scatter it by {number(sd_s)} s"
    return f"one standard deviation at this run's rates is {number(sd_s)} s"
