"""The options of the trigger test's generator, and how they set it up.

They are registered by ``tipover.locust_plugin``, so that a locustfile of the user's own, which imports that,
takes them as well.
"""

from __future__ import annotations

import json
from argparse import SUPPRESS, Namespace
from pathlib import Path

from locust.argument_parser import LocustArgumentParser
from locust.env import Environment

from domain.errors import ConfigurationError, Fault
from domain.trigger.plan import TriggerPlan
from domain.trigger.plan_json import plan_from_json
from loadgen.steered.locust_side import SteeredSettings, SteeredSide

_OPTIONS = ("--trigger-plan", "--commands-fd")


def add_options(parser: LocustArgumentParser) -> None:
    """Add what only ``tipover trigger`` gives; ``--out``, ``--progress-fd``, ``--allow-host`` are shared."""
    for hidden in _OPTIONS:
        parser.add_argument(hidden, default="", help=SUPPRESS, include_in_web_ui=False)


def attach(environment: Environment, options: Namespace) -> None:
    """Set up a steered test in this Locust process. Raises ``ConfigurationError``."""
    _refuse_company(options)
    plan = _plan(Path(options.trigger_plan))
    SteeredSide(
        environment,
        SteeredSettings(
            plan,
            commands_fd=int(options.commands_fd),
            lines_fd=int(options.progress_fd),
            out=Path(options.out) if options.out else None,
            allowed_hosts=tuple(part for part in options.allow_host.split(",") if part),
        ),
    )


def _refuse_company(options: Namespace) -> None:
    """Locust takes options from the environment and from files, too. Of several processes each would send up
    to the ceilings, and one that is led by a master would obey somebody else."""
    given = {name: getattr(options, name) for name in ("processes", "master", "worker")}
    rule = "must not be set for a trigger test (in locust.conf, pyproject.toml or the environment)"
    faults = [Fault(name, rule, value) for name, value in given.items() if value]
    if faults:
        raise ConfigurationError("the generator must be alone; nothing was sent", faults)


def _plan(path: Path) -> TriggerPlan:
    try:
        return plan_from_json(json.loads(path.read_text()))
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"the plan {path} cannot be read: {error}") from error
