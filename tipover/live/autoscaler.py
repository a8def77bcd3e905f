"""The autoscaler of a live run: a process of its own beside the target, started, watched and judged."""

from __future__ import annotations

import json
import time
from dataclasses import replace

from domain.experiment import MAX_PODS, Experiment
from domain.experiment_json import fleet_to_json
from tipover.live.children import Child
from tipover.live.decisions import faults_in_decisions, read_decisions
from tipover.live.record import RunRecord
from tipover.live.target import TargetClient

DECISIONS = "autoscaler.jsonl"


class FleetKeeper:
    """Sizes the target of a run if its experiment has a fleet; otherwise it does nothing at all.

    With ``restores`` the target, which is not ours, gets back the replicas it had.
    """

    def __init__(
        self,
        experiment: Experiment,
        record: RunRecord,
        target: TargetClient,
        *,
        restores: bool,
        allowed_hosts: tuple[str, ...] = (),
    ) -> None:
        self._live = experiment.live()
        self._record = record
        self._target = target
        self._restores = restores
        self._allowed_hosts = allowed_hosts
        self._child: Child | None = None
        self._replicas: int | None = None
        self._start_s = self._stopped_s = 0.0

    def begin(self, start_monotonic_s: float) -> None:
        """Start the autoscaler; its decisions fall on whole sync periods from the start of the load."""
        if self._live.fleet is None:
            return
        self._start_s = start_monotonic_s
        self._replicas = self._target.replicas()
        command = self._command(start_monotonic_s)
        self._record.facts["autoscaler"] = {"command": command, "epoch_monotonic_s": start_monotonic_s}
        self._child = Child("autoscaler", command, self._record.directory / "autoscaler.log")

    def fault_now(self) -> str | None:
        """Why the run cannot go on, if it cannot."""
        if self._child is None or self._child.exit_code is None:
            return None
        return f"the autoscaler died (exit code {self._child.exit_code}); see {self._child.log.name}"

    def terminate(self) -> None:
        """Ask it to stop; returns at once."""
        if self._child is not None:
            self._stopped_s = time.monotonic() - self._start_s
            self._child.terminate()

    def stop(self) -> None:
        """End it, once it was told to stop, and give a target that is not ours its replicas back. Unless
        something else ended the run, what it did too late or not at all is noted."""
        if self._child is None:
            return
        self._child.stop()
        if self._restores and self._replicas is not None:
            self._target.set_replicas(self._replicas)
        facts = self._record.facts
        if not facts["harness_faults"] and "interrupted_by" not in facts:
            decisions = read_decisions(self._record.directory / DECISIONS)
            for fault in faults_in_decisions(decisions, self._live, self._stopped_s):
                self._record.fault(fault)

    def _command(self, start_monotonic_s: float) -> list[str]:
        fleet, service = self._live.fleet, self._live.service
        assert fleet is not None
        assert service is not None
        url = self._target.url
        command = ["-P", "-m", "tipover", "serve", "autoscaler", "--port", "0", "--stop-with-stdin"]
        # Without a ceiling of its own the fleet has the target's.
        most = min(fleet.autoscaler.max_pods, MAX_PODS)
        fleet = replace(fleet, autoscaler=replace(fleet.autoscaler, max_pods=most))
        command += ["--fleet", json.dumps(fleet_to_json(fleet)), "--rate-per-pod", repr(service.rate_per_pod)]
        command += ["--scrape", f"{url}/metrics", "--scale", url, "--epoch", repr(start_monotonic_s)]
        command += ["--log", str(self._record.directory / DECISIONS)]
        for host in self._allowed_hosts:
            command += ["--allow-host", host]
        return command
