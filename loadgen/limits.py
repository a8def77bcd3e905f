"""What this machine is and allows a generator: its identity, descriptors, local ports."""

from __future__ import annotations

import platform
import resource
from dataclasses import replace
from ipaddress import ip_address
from pathlib import Path

from domain.errors import ConfigurationError
from domain.experiment import Experiment
from domain.sockets import SocketLimits, faults_in_need, worst_need

_NET = Path("/proc/sys/net/ipv4")
_TIME_WAIT_S = 60.0
_LOOPBACK_REUSE_S = 1.0
"""With net.ipv4.tcp_tw_reuse = 2 (Linux's default) loopback ports are taken again after one second."""


def machine_id() -> str:
    """Tells clocks apart: processes with the same one share CLOCK_MONOTONIC.

    That is the kernel's boot, which containers of one machine share, and its time namespace, which they may
    have of their own. ``/etc/machine-id`` is a file of each container and says nothing of clocks.
    """
    return f"{_boot_id()} {_namespace('time')}"


def network_id() -> str:
    """Tells networks apart: processes with the same one take their local ports from the same lot."""
    return f"{_boot_id()} {_namespace('net')}"


def _boot_id() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return platform.node()


def _namespace(kind: str) -> str:
    try:
        return str(Path(f"/proc/self/ns/{kind}").readlink())
    except OSError:
        return ""  # not Linux, or a kernel without them: there is one


def raise_descriptor_limit() -> int:
    """Raise the soft limit to the hard one and return it."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard == resource.RLIM_INFINITY:
        hard = 1_048_576
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard


def machine_limits(address: str) -> SocketLimits:
    """The limits that bind a process that loads ``address``, once its soft limit is raised."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    low, high = 32768, 60999
    reuse = 0
    try:
        low, high = (int(part) for part in (_NET / "ip_local_port_range").read_text().split())
        reuse = int((_NET / "tcp_tw_reuse").read_text())
    except (OSError, ValueError):
        pass  # not Linux, or hidden: the kernel's defaults stand
    reused_soon = reuse == 1 or (reuse == 2 and ip_address(address).is_loopback)
    rest_s = _LOOPBACK_REUSE_S if reused_soon else _TIME_WAIT_S
    return SocketLimits(descriptors=hard, ports=high - low + 1, port_rest_s=rest_s)


def check_plan_fits(
    experiment: Experiment, address: str, workers: int = 1, neighbours: int | None = None
) -> None:
    """Raise ``ConfigurationError`` with the arithmetic if the plan needs more sockets than there are.

    The load is that of ``workers`` processes, of which ``neighbours`` (all of them, if not said) take their
    local ports from the same lot.
    """
    here = workers if neighbours is None else neighbours
    need = worst_need(experiment, workers)
    if need is None:
        return
    share = here / workers
    ours = replace(
        need,
        jobs_per_s=need.jobs_per_s * share,
        attempts_per_s=need.attempts_per_s * share,
        workers=here,
    )
    faults = faults_in_need(ours, machine_limits(address))
    if faults:
        raise ConfigurationError("this load does not fit the machine; nothing was sent", faults)
