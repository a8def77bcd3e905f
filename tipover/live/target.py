"""The service under test as the conductor sees it: started by us or somebody else's, scraped, controlled."""

from __future__ import annotations

import http.client
import json
import select
import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from domain.errors import ConfigurationError, InvalidRunError
from domain.experiment import Experiment
from tipover.live.children import Child

_READY_WITHIN_S = 20.0
_ANSWER_WITHIN_S = 5.0


class TargetClient:
    """The few requests a conductor makes; every one on a connection of its own."""

    def __init__(self, url: str) -> None:
        self.url = url.rstrip("/")
        parts = urlsplit(self.url if "//" in self.url else f"//{self.url}", scheme="http")
        self._host = parts.hostname or ""
        self._port = parts.port or 80

    def request(self, method: str, path: str, body: Any = None) -> tuple[int, bytes]:
        """Status and body; raises ``OSError`` or ``http.client.HTTPException`` if nothing comes back."""
        connection = http.client.HTTPConnection(self._host, self._port, timeout=_ANSWER_WITHIN_S)
        try:
            payload = None if body is None else json.dumps(body)
            headers = {"Content-Type": "application/json"} if payload else {}
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
    arguments = ["-m", "tipover", "serve", "target", "--port", "0", "--announce", "--stop-with-stdin"]
    arguments += ["--pods", str(service.pods), "--rate-per-pod", repr(service.rate_per_pod)]
    arguments += ["--seed", str(experiment.run.seed), "--mode", mode]
    child = Child("target", arguments, log, stdout=subprocess.PIPE)
    try:
        return child, TargetClient(_announced_url(child))
    except BaseException:
        child.stop()
        raise


def _announced_url(child: Child) -> str:
    stream = child.process.stdout
    assert stream is not None
    ready, _, _ = select.select([stream], [], [], _READY_WITHIN_S)
    line = stream.readline() if ready else b""
    if not line:
        raise InvalidRunError(f"the target did not start within {_READY_WITHIN_S:g} s\n{child.last_words()}")
    return str(json.loads(line)["url"])


def check_given_target(client: TargetClient, experiment: Experiment) -> None:
    """Raise ``ConfigurationError`` if the target does not answer or does not fit the scenario."""
    client.check_answers()
    state = client.state()
    if state is None and any(p.capacity_factor != 1.0 for p in experiment.demand.phases):
        raise ConfigurationError(
            "this scenario changes the capacity of the service, and the target at "
            f"{client.url} does not take orders; only `tipover serve target` does"
        )
    if state is not None and experiment.service is not None:
        nominal = state["pods"] * state["rate_per_pod"]
        if nominal != experiment.service.capacity_per_s:
            raise ConfigurationError(
                f"the target serves {nominal:g} attempts/s, the scenario says "
                f"{experiment.service.capacity_per_s:g}; start it with --pods {experiment.service.pods} "
                f"--rate-per-pod {experiment.service.rate_per_pod:g}"
            )
