"""The requests that options of ``tipover trigger`` make, by the command's own way from options to a plan."""

from __future__ import annotations

import inspect
from typing import Any, NamedTuple

from domain.request_mix import RequestMix
from tipover.commands.trigger import _plan, trigger
from tipover.commands.trigger_settings import request_options, settings_of
from tipover.requests.secrets import Secrets


class Requested(NamedTuple):
    """What is sent, and where."""

    base_url: str
    mix: RequestMix
    secrets: Secrets
    warnings: tuple[str, ...]


def mix_from_options(**options: Any) -> Requested:
    """``options`` are the command's, by the names of its parameters. Raises ``ConfigurationError``."""
    given = {name: parameter.default for name, parameter in inspect.signature(trigger).parameters.items()}
    assert options.keys() <= given.keys()
    given |= options
    secrets, request = Secrets(), request_options(given)
    plan, warnings = _plan(given["plan"], settings_of(given, request), request, secrets, yes=False)
    return Requested(plan.target.url, plan.mix, secrets, warnings)
