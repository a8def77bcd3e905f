"""Which hosts may be loaded: loopback, unless the user has named another address himself."""

from __future__ import annotations

from collections.abc import Collection
from ipaddress import ip_address

from domain.errors import Fault


def fault_in_target(host: str, address: str, allowed: Collection[str] = ()) -> Fault | None:
    """Why the resolved ``address`` of ``host`` must not be loaded; None if it may be.

    The address is judged, not the name: a name can resolve to anything.
    """
    if ip_address(address).is_loopback or address in allowed or host in allowed:
        return None
    return Fault(
        "target",
        "is not a loopback address; load is only sent elsewhere when the host is allowed by name",
        f"{host} → {address}",
    )
