"""One first-in first-out server and its clients, in each of the tools that are compared."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable
from dataclasses import dataclass

import ciw
import numpy as np
import simpy

from analysis.simulation import simulate
from domain.experiment import Experiment
from tests.analysis import fifo
from tests.bench.simulation.cases import CIW, ORACLE, SIMPY, TIPOVER


@dataclass(frozen=True)
class Answer:
    """What a simulator said, and the CPU time it took to say it."""

    cpu_s: float
    jobs: int
    attempts: int
    late: int
    sojourn_s: float
    """Mean time from an attempt's sending to the end of its service, late ones included."""


def run_peer(peer: str, experiment: Experiment) -> Answer:
    """The experiment, which has one server of rate 1 and one phase, in one of the tools."""
    return _PEERS[peer](experiment)


def _tipover(experiment: Experiment) -> Answer:
    begun_s = time.process_time()
    counts = simulate(experiment)
    cpu_s = time.process_time() - begun_s
    attempts = int(counts.attempts.sum())
    # The mean sojourn by Little's law, from a second run that looks at the queue every second.
    edges_s = np.arange(0.0, math.floor(experiment.duration_s) + 1.0)
    depth = float(simulate(experiment, edges_s=edges_s).depth.mean())
    sojourn_s = depth * experiment.duration_s / attempts
    return Answer(cpu_s, int(counts.jobs.sum()), attempts, int(counts.late.sum()), sojourn_s)


def _oracle(experiment: Experiment) -> Answer:
    begun_s = time.process_time()
    found = fifo.simulate(experiment)
    cpu_s = time.process_time() - begun_s
    rows = found.rows
    # Late rows end at the timeout; the server's scrapes have what is needed for Little's law.
    in_system = np.searchsorted(rows["sent_s"].to_numpy(), found.server["t_s"]) - found.server["completed"]
    sojourn_s = float(in_system.mean()) * experiment.duration_s / len(rows)
    first, late = int((rows["attempt"] == 1).sum()), int((rows["outcome"] == "timeout").sum())
    return Answer(cpu_s, first, len(rows), late, sojourn_s)


class _SimPyClients:
    """Clients that give up after a timeout, while the server still serves what they have sent."""

    def __init__(self, experiment: Experiment) -> None:
        self._client = experiment.client
        self._rate_per_s = experiment.demand.arrival_rate_per_s * experiment.demand.phases[0].factor
        self._random = random.Random(experiment.run.seed)
        self._env = simpy.Environment()
        self._server = simpy.Resource(self._env, capacity=1)
        self.jobs = self.attempts = self.late = self.served = 0
        self.sojourns_s = 0.0
        self._env.process(self._arrive())

    def run(self, until_s: float) -> None:
        self._env.run(until=until_s)

    def _arrive(self):
        job = self._ask if self._client.max_attempts == 1 else self._persist
        while True:
            yield self._env.timeout(self._random.expovariate(self._rate_per_s))
            self.jobs += 1
            self._env.process(job())

    def _ask(self):
        self.attempts += 1
        sent_s = self._env.now
        with self._server.request() as turn:
            yield turn
            yield self._env.timeout(self._random.expovariate(1.0))
        sojourn_s = self._env.now - sent_s
        self.sojourns_s += sojourn_s
        self.served += 1
        self.late += sojourn_s > self._client.timeout_s

    def _persist(self):
        client, attempt = self._client, 0
        while attempt < client.max_attempts:
            attempt += 1
            answer = self._env.process(self._ask())
            yield answer | self._env.timeout(client.timeout_s)
            if answer.processed or attempt == client.max_attempts:
                return
            yield self._env.timeout(client.backoff.delay_s(attempt, self._random.random()))


def _simpy(experiment: Experiment) -> Answer:
    begun_s = time.process_time()
    clients = _SimPyClients(experiment)
    clients.run(experiment.duration_s)
    cpu_s = time.process_time() - begun_s
    return Answer(
        cpu_s, clients.jobs, clients.attempts, clients.late, clients.sojourns_s / max(1, clients.served)
    )


def _ciw(experiment: Experiment) -> Answer:
    rate_per_s = experiment.demand.arrival_rate_per_s * experiment.demand.phases[0].factor
    begun_s = time.process_time()
    ciw.seed(experiment.run.seed)
    network = ciw.create_network(
        arrival_distributions=[ciw.dists.Exponential(rate_per_s)],
        service_distributions=[ciw.dists.Exponential(1.0)],
        number_of_servers=[1],
    )
    simulation = ciw.Simulation(network)
    simulation.simulate_until_max_time(experiment.duration_s)
    cpu_s = time.process_time() - begun_s
    sojourns_s = np.array([r.exit_date - r.arrival_date for r in simulation.get_all_records()])
    late = int((sojourns_s > experiment.client.timeout_s).sum())
    return Answer(cpu_s, sojourns_s.size, sojourns_s.size, late, float(sojourns_s.mean()))


_PEERS: dict[str, Callable[[Experiment], Answer]] = {
    TIPOVER: _tipover,
    ORACLE: _oracle,
    SIMPY: _simpy,
    CIW: _ciw,
}
