"""The service under test as the conductor sees it: started by us or somebody else's, scraped, controlled."""

from __future__ import annotations

import contextlib
import http.client
import json
import math
import select
import subprocess
import time
from pathlib import Path
from typing import Any

from domain.admission import Admission
from domain.errors import ConfigurationError, Fault, InvalidRunError
from domain.experiment import Experiment
from domain.experiment_json import admission_to_json
from loadgen.destination import Destination
from loadgen.tls import TlsClient
from tipover.live.children import Child

_READY_WITHIN_S = 20.0
_ANSWER_WITHIN_S = 5.0
_SAME_CLOCK_S = 5.0
_REST_SHARE = 0.1


class TargetClient:
    """The few requests a conductor makes, to the very address the generator will use."""

    def __init__(self, destination: Destination) -> None:
        self.url = destination.url
        self._host_header = destination.host_header
        self._address = (destination.ip, destination.port)
        self._tls = TlsClient(destination.hostname) if destination.tls else None

    def request(self, method: str, path: str, body: Any = None) -> tuple[int, bytes]:
        """Status and body; raises ``OSError`` or ``http.client.HTTPException`` if nothing comes back."""
        connection = http.client.HTTPConnection(*self._address, timeout=_ANSWER_WITHIN_S)
        try:
            if self._tls is not None:
                connection.connect()
                connection.sock = self._tls.wrap(connection.sock)
            payload = None if body is None else json.dumps(body)
            headers = {"Host": self._host_header}
            if payload:
                headers["Content-Type"] = "application/json"
            connection.request(method, path, payload, headers)
            response = connection.getresponse()
            return response.status, response.read()
        finally:
            connection.close()

    def state(self) -> dict[str, Any] | None:
        """What our own target says of itself; None if this is somebody else's service or it is silent."""
        try:
            status, body = self.request("GET", "/state")
            found = json.loads(body) if status == 200 else None
        except (OSError, http.client.HTTPException, ValueError):
            return None
        return found if isinstance(found, dict) and "capacity_per_s" in found else None

    def check_answers(self) -> None:
        """Raise ``ConfigurationError`` if nothing that speaks HTTP listens there."""
        try:
            self.request("GET", "/healthz")
        except (OSError, http.client.HTTPException) as error:
            raise ConfigurationError(f"the target does not answer: {self.url}: {error}") from error

    def schedule_capacity(self, experiment: Experiment, start_monotonic_s: float) -> None:
        """Tell our own target when its capacity changes, on the clock of this machine."""
        current = 1.0
        for placed in experiment.live().placed_phases:
            factor = placed.phase.capacity_factor
            if factor != current:
                self._control(
                    {"capacity_factor": factor, "at_monotonic_s": start_monotonic_s + placed.start_s}
                )
                current = factor

    def cancel_orders(self) -> None:
        """Take back changes of capacity that are still to come; a target that is gone needs none."""
        with contextlib.suppress(OSError, http.client.HTTPException):
            self.request("DELETE", "/control")

    def scale(self) -> dict[str, Any] | None:
        """How many pods there are and come; None if this service does not take orders for pods."""
        try:
            status, body = self.request("GET", "/scale")
            found = json.loads(body) if status == 200 else None
        except (OSError, http.client.HTTPException, ValueError):
            return None
        return found if isinstance(found, dict) and isinstance(found.get("replicas"), int) else None

    def replicas(self) -> int | None:
        """The pods ordered, ready or not."""
        scale = self.scale()
        return None if scale is None else int(scale["replicas"])

    def set_replicas(self, replicas: int) -> None:
        """Order so many pods; a target that is gone needs none."""
        with contextlib.suppress(OSError, http.client.HTTPException):
            self.request("PUT", "/scale", {"replicas": replicas})

    def _control(self, change: dict[str, float]) -> None:
        try:
            status, body = self.request("PUT", "/control", change)
        except (OSError, http.client.HTTPException) as error:
            raise InvalidRunError(f"the target did not take a change of capacity: {error}") from error
        if status != 200:
            raise InvalidRunError(f"the target refused a change of capacity: {body.decode(errors='replace')}")


def start_own_target(experiment: Experiment, log: Path, mode: str) -> tuple[Child, TargetClient]:
    """Start the built-in service for this experiment on a free port of 127.0.0.1."""
    service = experiment.service
    if service is None:
        raise ConfigurationError(
            f"scenario {experiment.name!r} has no [service]; say which one to test with --target URL"
        )
    _check_settings(experiment, mode)
    arguments = ["-m", "tipover", "serve", "target", "--port", "0", "--announce", "--stop-with-stdin"]
    arguments += ["--pods", str(service.pods), "--rate-per-pod", repr(service.rate_per_pod)]
    arguments += ["--service-time", service.service_time.kind]
    if service.service_time.shape is not None:
        arguments += ["--shape", repr(service.service_time.shape)]
    arguments += ["--seed", str(experiment.run.seed), "--mode", mode]
    arguments += ["--admission", json.dumps(_live_admission(experiment))]
    if service.routing != "shared":
        arguments += ["--routing", service.routing]
    fleet = experiment.live().fleet
    if fleet is not None:
        arguments += ["--dead-time", repr(fleet.dead_time_s)]
    child = Child("target", arguments, log, stdout=subprocess.PIPE)
    try:
        return child, TargetClient(Destination(_announced_url(child)))
    except BaseException:
        child.stop()
        raise


def _check_settings(experiment: Experiment, mode: str) -> None:
    """Raise the ``ConfigurationError`` that the target would end with."""
    from target_service.settings import TargetSettings

    service = experiment.live().service
    assert service is not None
    TargetSettings(
        service.pods,
        service.rate_per_pod,
        service.service_time,
        mode=mode,  # type: ignore[arg-type]  # checked by the settings
        admission=service.admission,
    )


def _live_admission(experiment: Experiment) -> dict[str, Any]:
    """The scenario's defences in seconds of the wall clock, as ``/state`` shows a target's."""
    service = experiment.live().service
    return admission_to_json(Admission() if service is None else service.admission)


def _announced_url(child: Child) -> str:
    stream = child.process.stdout
    assert stream is not None
    ready, _, _ = select.select([stream], [], [], _READY_WITHIN_S)
    line = stream.readline() if ready else b""
    if not line:
        raise InvalidRunError(f"the target did not start within {_READY_WITHIN_S:g} s\n{child.last_words()}")
    return str(json.loads(line)["url"])


def check_given_target(client: TargetClient, experiment: Experiment) -> None:
    """Raise ``ConfigurationError`` if the target is silent, does not fit, or is not at rest."""
    client.check_answers()
    state = client.state()
    changes_capacity = any(p.capacity_factor != 1.0 for p in experiment.demand.phases)
    if experiment.fleet is not None:
        _check_scales(client, experiment)
    if state is None:
        if changes_capacity:
            raise ConfigurationError(
                f"this scenario changes the capacity of the service, and the target at {client.url} does "
                "not take orders; only `tipover serve target` does"
            )
        return
    faults = [*_faults_in_fit(state, experiment), *_faults_in_rest(state, experiment)]
    if changes_capacity and abs(state["now_monotonic_s"] - time.monotonic()) > _SAME_CLOCK_S:
        rule = "runs on another machine's clock, so its capacity cannot be changed at exact times"
        faults.append(Fault("target", rule, client.url))
    if faults:
        raise ConfigurationError(f"the target at {client.url} cannot serve this scenario", faults)


def _check_scales(client: TargetClient, experiment: Experiment) -> None:
    """Raise ``ConfigurationError`` if a target cannot be sized as the scenario's fleet, or is being sized."""
    live = experiment.live()
    assert live.fleet is not None
    assert live.service is not None
    scale = client.scale()
    if scale is None:
        raise ConfigurationError(
            f"this scenario has a [fleet], and the target at {client.url} takes no orders for pods "
            "(GET /scale); only `tipover serve target` does"
        )
    faults = []
    if scale["replicas"] != live.service.pods:
        rule = f"must be the scenario's {live.service.pods} when a run begins"
        faults.append(Fault("replicas", rule, scale["replicas"]))
    if scale.get("starting"):
        faults.append(Fault("starting", "must be none when a run begins", scale["starting"]))
    if not math.isclose(scale.get("dead_time_s", 0.0), live.fleet.dead_time_s, rel_tol=1e-6, abs_tol=1e-6):
        rule = f"must be the scenario's at its speed-up (--dead-time {live.fleet.dead_time_s:g})"
        faults.append(Fault("dead_time_s", rule, scale.get("dead_time_s")))
    if faults:
        raise ConfigurationError(f"the target at {client.url} cannot serve this scenario", faults)


def _faults_in_fit(state: dict[str, Any], experiment: Experiment) -> list[Fault]:
    service = experiment.service
    if service is None:
        return []
    faults = []
    nominal = state["pods"] * state["rate_per_pod"]
    if nominal != service.capacity_per_s:
        rule = (
            f"must be the scenario's {service.capacity_per_s:g} attempts/s "
            f"(--pods {service.pods} --rate-per-pod {service.rate_per_pod:g})"
        )
        faults.append(Fault("capacity", rule, nominal))
    routing = state.get("routing", "shared")
    if routing != service.routing:
        rule = f"must be the scenario's (--routing {service.routing})"
        faults.append(Fault("routing", rule, routing))
    wanted = _live_admission(experiment)
    found = state.get("admission") or admission_to_json(Admission())
    if found != wanted:
        rule = f"must be the scenario's defences (--admission '{json.dumps(wanted)}')"
        differing = {name: found.get(name) for name in wanted if found.get(name) != wanted[name]}
        faults.append(Fault("admission", rule, differing))
    return faults


def _faults_in_rest(state: dict[str, Any], experiment: Experiment) -> list[Fault]:
    """What an earlier run may have left in a target that serves more than one."""
    faults = []
    if state["capacity_factor"] != 1.0:
        faults.append(Fault("capacity_factor", "must be 1 when a run begins", state["capacity_factor"]))
    if state.get("pending_orders"):
        faults.append(Fault("pending_orders", "must be 0: DELETE /control", state["pending_orders"]))
    if state["backlog_s"] > _REST_SHARE * experiment.live().client.timeout_s:
        rule = "must be nothing: wait until the work of an earlier run is done"
        faults.append(Fault("backlog_s", rule, round(state["backlog_s"], 3)))
    return faults
