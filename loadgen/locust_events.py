"""Makes Locust's start and stop drive the storm, in a process that is alone, a worker or the master.

The same code serves ``tipover run``, a plain ``locust -f`` with its web page, and several workers. Locust
keeps doing what it is good at (command line, web page, processes); it does not pace anything here, since
all its wait times are closed loops. However many users are spawned, each worker process runs one storm:
its share of the experiment's arrivals.
"""

from __future__ import annotations

from locust.env import Environment
from locust.runners import MasterRunner, WorkerRunner

from loadgen.locust_cluster import MasterSide
from loadgen.locust_storm import Generator, LocalSide, RunBook, StormSettings
from loadgen.locust_worker import WorkerSide

__all__ = ["Generator", "RunBook", "StormSettings", "attach"]


def attach(environment: Environment, settings: StormSettings) -> None:
    """Set up the storm in this process; call it from Locust's ``events.init``."""
    runner = environment.runner
    if isinstance(runner, MasterRunner):
        MasterSide(environment, settings)
    elif isinstance(runner, WorkerRunner):
        WorkerSide(environment, settings)
    else:
        LocalSide(environment, settings)
