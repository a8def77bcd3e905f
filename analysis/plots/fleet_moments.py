"""The moments of a fleet's run: demand steps up, new pods serve, it is well, it has settled."""

from __future__ import annotations

import numpy as np

from analysis.fleets.pod_path import PodPath
from analysis.fleets.rest import WITHIN
from analysis.plots.moments import Moment, recoveries
from analysis.result import RunResult
from analysis.wording import number, trigger_name


def fleet_moments(result: RunResult) -> list[Moment]:
    """What was measured, by time, in words that need no more than a line; and the predicted recovery."""
    experiment = result.experiment
    step_s, end = experiment.step_s, experiment.watch[1]
    path = reported_pods(result)
    if step_s is None:
        return recoveries(result)
    fleet, name = experiment.fleet, trigger_name(result)
    assert fleet is not None
    found = [Moment(step_s, "demand steps up" if name == "step" else f"{name} begins", False)]
    if path is not None:
        # What was ordered before the step, by chance a pod or two, is ready a dead time after it at last.
        earliest = step_s + fleet.dead_time_s
        more = path.t_s[(path.t_s >= earliest) & (path.pods > path.at(earliest))]
        if more.size:
            found.append(_after(float(more[0]), step_s, "first new pods serve"))
    met = result.measurement.values.get("capacity_met_s")
    if met is not None and met > 0:
        found.append(_after(step_s + met, step_s, "pods for the demand"))
    for moment in recoveries(result):
        word = "predicted recovery" if moment.predicted else "last failing attempt"
        found.append(_after(moment.t_s, step_s, word, predicted=moment.predicted))
    if path is not None and result.outcome == "recovered" and path.most(step_s, end) > path.at(end):
        since = path.steady_from_s(step_s, end, WITHIN)
        settled = number(result.measurement.values.get("settled_pods"))
        found.append(_after(since, step_s, f"settles at about {settled} pods"))
    return sorted(found, key=lambda moment: moment.t_s)


def reported_pods(result: RunResult, column: str = "pods") -> PodPath | None:
    """The pods of the series, in scenario time."""
    series = result.series
    if column not in series:
        return None
    return PodPath.of_reports(series["t_s"].to_numpy(), series[column].to_numpy(dtype=np.float64))


def _after(at_s: float, step_s: float, words: str, *, predicted: bool = False) -> Moment:
    return Moment(at_s, f"{words} +{number(round(at_s - step_s))} s", predicted)
