"""A host that is not this machine is loaded only after somebody has typed its name, or said ``--yes``.

``--yes`` is no way around the allow-list: it stands in for the typing, never for the entry.
"""

from __future__ import annotations

import sys
from typing import TextIO

from domain.errors import ConfigurationError, Fault
from domain.guard import canonical_host
from tipover.trigger.guards.resolution import Resolved


def confirm(
    target: Resolved,
    what_is_sent: str,
    *,
    yes: bool = False,
    answers: TextIO | None = None,
    shows: TextIO | None = None,
) -> str:
    """Return how the load was confirmed: ``loopback``, ``--yes`` or ``typed``.

    ``what_is_sent`` is shown first (on standard error unless ``shows`` is given), then the host's name is
    read from ``answers`` (standard input). Raises ``ConfigurationError`` if another word is typed, if nobody
    is at a terminal to type one, or if a host that is not loopback has no entry.
    """
    if target.is_loopback:
        return "loopback"
    if target.entry is None:
        fault = Fault(
            "target", "has no entry in the allow-list, without which nothing confirms it", target.host
        )
        raise ConfigurationError("the target is not allowed; nothing was sent", [fault])
    if yes:
        return "--yes"
    source, screen = answers or sys.stdin, shows or sys.stderr
    if source is None or source.closed or not source.isatty():
        rule = "must be confirmed by typing its name, and there is no terminal; --yes stands in for it"
        raise ConfigurationError("not confirmed; nothing was sent", [Fault("target", rule, target.host)])
    screen.write(
        f"{what_is_sent.rstrip()}\n\nThis is sent to {target.host} ({target.address}, port {target.port}), "
        f"which is not this machine.\nType the host's name to go on: "
    )
    screen.flush()
    typed = source.readline().strip()
    if not _same(typed, target.host):
        fault = Fault("confirmation", f"must be the host's name, {target.host}", typed)
        raise ConfigurationError("not confirmed; nothing was sent", [fault])
    return "typed"


def _same(typed: str, host: str) -> bool:
    """Case and a trailing dot do not matter; letters that only look like others do."""
    if not typed.isascii():
        return False
    try:
        return canonical_host(typed) == host
    except ValueError:
        return False
