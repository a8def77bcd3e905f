"""Tipover's options for Locust's command line and web page, and what a locustfile of your own imports.

    from tipover.locust_plugin import Request, StormUser

    class Checkout(StormUser):
        def request(self, job):
            return Request("POST", "/checkout", body=b"{}")

Then ``locust -f checkout.py --scenario f2-40 --host http://127.0.0.1:8080``, with Locust's own
``--headless``, ``--processes``, ``--master`` and so on.
"""

from __future__ import annotations

import json
import logging
import sys
from argparse import SUPPRESS, Namespace
from pathlib import Path
from typing import Any

from locust import events
from locust.argument_parser import LocustArgumentParser
from locust.env import Environment
from locust.runners import MasterRunner, WorkerRunner
from prometheus_client import CollectorRegistry

from domain.attempts import Outcome
from domain.errors import TipoverError
from domain.experiment import Experiment
from domain.experiment_json import from_json
from domain.observer import AttemptObserver, NullObserver
from loadgen.locust_events import StormSettings, attach
from loadgen.request import Job, Request
from loadgen.user import StormUser
from meter.counting import AttemptCounts
from meter.exporter import AttemptCollector, BuildInfoCollector
from meter.page_server import MetricsServer
from tipover.live.locust_runs import GivenDirectory, NewRuns
from tipover.scenario import load_scenario
from tipover.trigger import locust_plugin as trigger_plugin
from tipover.version import VERSION

log = logging.getLogger("tipover.loadgen")

__all__ = ["Job", "Outcome", "Request", "StormUser"]


@events.init_command_line_parser.add_listener  # type: ignore[untyped-decorator]
def add_options(parser: LocustArgumentParser) -> None:
    """Add ``--scenario`` and its company; Locust shows them on its web page too."""
    group = parser.add_argument_group("Tipover")
    group.add_argument("--scenario", default="demo", help="a built-in scenario or a TOML file")
    group.add_argument(
        "--speedup", type=float, default=0.0, help="divide every duration (0: as the file says)"
    )
    group.add_argument("--scenario-seed", type=int, default=-1, help="seed (-1: as the file says)")
    group.add_argument("--out", default="", help="run directory to make (none: keep no trace)")
    group.add_argument("--allow-host", default="", help="a host or address other than loopback to allow")
    group.add_argument("--metrics-port", type=int, default=0, help="serve Prometheus metrics here (0: not)")
    # For `tipover run`, which hands over an experiment it has already checked.
    for hidden in ("--experiment", "--progress-fd", "--metrics-host", "--write-below"):
        parser.add_argument(hidden, default="", help=SUPPRESS, include_in_web_ui=False)
    parser.add_argument("--workers", type=int, default=0, help=SUPPRESS, include_in_web_ui=False)
    parser.add_argument("--wait-for-workers", type=float, default=60, help=SUPPRESS, include_in_web_ui=False)
    # For `tipover serve worker`, which starts a worker again when it has ended.
    parser.add_argument(
        "--served", action="store_true", default=False, help=SUPPRESS, include_in_web_ui=False
    )
    trigger_plugin.add_options(parser)


@events.init.add_listener  # type: ignore[untyped-decorator]
def set_up(environment: Environment, **_: Any) -> None:
    """Attach the storm to this Locust process."""
    options = environment.parsed_options
    try:
        if options.trigger_plan:
            trigger_plugin.attach(environment, options)
        else:
            attach(environment, _settings(environment, options))
    except TipoverError as error:
        log.error("%s", error)
        sys.exit(int(error.exit_code))


def _settings(environment: Environment, options: Namespace) -> StormSettings:
    # A worker's master says what is run. The allow-list, the ports and where it may write are its own: they
    # are taken here, before any master has spoken, since Locust copies a master's options over a worker's.
    experiment = None if isinstance(environment.runner, WorkerRunner) else _experiment(options)
    under_run = bool(options.progress_fd)
    out = Path(options.out) if options.out else None
    return StormSettings(
        experiment,
        book=GivenDirectory(out)
        if under_run or out is None or experiment is None
        else NewRuns(out, experiment),
        progress_fd=int(options.progress_fd) if under_run else None,
        allowed_hosts=tuple(part for part in options.allow_host.split(",") if part),
        observer=_meter(environment, options),
        report_to_locust=not under_run,
        quit_when_over=environment.web_ui is None,
        workers=options.workers or None,
        wait_s=options.wait_for_workers,
        below=Path(options.write_below) if options.write_below else None,
        served=options.served,
    )


def _meter(environment: Environment, options: Namespace) -> AttemptObserver:
    port = options.metrics_port
    if not port or isinstance(environment.runner, MasterRunner):
        return NullObserver()
    counts = AttemptCounts()
    registry = CollectorRegistry()
    registry.register(AttemptCollector(counts))
    registry.register(BuildInfoCollector(VERSION))
    if not options.served:
        # Workers of one machine cannot share a port: each takes the next one.
        port += max(int(getattr(environment.runner, "worker_index", 0)), 0)
    MetricsServer(registry, options.metrics_host or "127.0.0.1", port)
    return counts


def _experiment(options: Namespace) -> Experiment:
    if options.experiment:
        return from_json(json.loads(Path(options.experiment).read_text()))
    return load_scenario(
        options.scenario,
        speedup=options.speedup or None,
        seed=options.scenario_seed if options.scenario_seed >= 0 else None,
    )
