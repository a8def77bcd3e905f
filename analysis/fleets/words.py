"""What happened to an autoscaled fleet, in plain words with the run's own numbers."""

from __future__ import annotations

from analysis.fleets.advice import SIGNAL_WORDS, Stakes
from analysis.result import RunResult
from analysis.wording import measured_else_predicted, number, percent, trigger_name


def asked(result: RunResult) -> str:
    """What users asked for, of how many pods."""
    experiment = result.experiment
    service, stakes = experiment.service, Stakes.of(experiment)
    rate = number(experiment.demand.arrival_rate_per_s)
    if service is None or stakes is None:
        return f"Users asked for {rate} jobs/s of a fleet whose capacity is not known."
    begun = (
        f"Users asked for {rate} jobs/s of {service.pods} pods of {number(service.rate_per_pod)} attempts/s"
    )
    needs = (
        f"needs {stakes.needed} pods at the autoscaler's target of "
        f"{percent(stakes.fleet.target_utilization)}, and a pod serves "
        f"{number(stakes.fleet.dead_time_s)} s after it is ordered"
    )
    if experiment.step_s is None:
        return f"{begun}; that {needs}."
    return (
        f"{begun}; then the {trigger_name(result)} raised that to {number(stakes.demand_per_s)} jobs/s "
        f"for good. That {needs}."
    )


def what_the_fleet_did(result: RunResult) -> list[str]:
    """Why it is trapped at the pods it has, or how it got out and at what price."""
    stakes = Stakes.of(result.experiment)
    if stakes is None or result.measurement.values.get("failed_after_s") is None:
        return []
    met = result.measurement.values.get("capacity_met_s")
    said = (
        []
        if met is None
        else [
            f"{number(met)} s after the step the pods could have served the demand, had there been no "
            f"backlog and "
            "no retries."
        ]
    )
    if result.outcome == "trapped":
        return [*said, *_trapped(result, stakes)]
    if result.outcome == "recovered":
        return [*said, *_recovered(result, stakes)]
    return said


def _trapped(result: RunResult, stakes: Stakes) -> list[str]:
    pods = result.measurement.values.get("settled_pods")
    if pods is None:
        return []
    capacity = pods * stakes.rate_per_pod
    ingress = measured_else_predicted(result, "ingress_per_s") or stakes.failing_per_s
    busy = (
        f"At {number(pods)} pods every pod is busy with requests nobody waits for any more: each "
        f"failing job makes "
        f"A = {number(stakes.amplification)} attempts, so {number(stakes.demand_per_s)} jobs/s come to "
        f"{number(ingress)} attempts/s, {number(ingress / capacity)} times what these pods can do."
    )
    if pods >= stakes.ceiling:
        return [busy, f"More than {number(stakes.ceiling)} pods it may not have: the ceiling holds it there."]
    if stakes.fleet.signals == ("first",):
        return [
            busy,
            f"The signal asks for {number(pods)} because that is all it sees: it counts first attempts, "
            f"and the "
            f"retries are not among them (u* = {percent(stakes.fleet.target_utilization)} is at least 1/A = "
            f"{percent(1 / stakes.amplification)}, Corollary 4). Waiting will not help.",
        ]
    return [busy]


def _recovered(result: RunResult, stakes: Stakes) -> list[str]:
    values = result.measurement.values
    peak, over = values.get("peak_pods"), values.get("over_provisioning")
    if peak is None:
        return []
    names = " and ".join(SIGNAL_WORDS[signal] for signal in stakes.fleet.signals)
    times = "" if over is None else f", {number(over)} times what the demand needs"
    grew = f"Scaled on {names} the fleet grew to {number(peak)} pods{times}"
    share = stakes.failing_per_s / (peak * stakes.rate_per_pod)
    grew += (
        f": more than the {number(stakes.draining_pods)} that every retry takes (Aρ = {number(share)} at "
        f"{number(peak)} pods), so the backlog drained."
        if share < 1
        else "."
    )
    lost, spent, settled = values.get("lost_s"), values.get("pod_seconds"), values.get("settled_pods")
    price = []
    if lost is not None:
        price.append(f"{number(lost)} s of the demand were lost")
    if spent is not None:
        price.append(f"{number(spent)} pod-seconds were spent")
    if settled is not None:
        price.append(f"{number(settled)} pods serve at the end of the watch")
    return [grew, f"The price: {'; '.join(price)}."] if price else [grew]
