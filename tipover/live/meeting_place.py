"""Where a Locust master and its workers meet: HOST:PORT."""

from __future__ import annotations

import re
import socket

from domain.errors import Fault

_PLACE = re.compile(r"([A-Za-z0-9_.-]{1,253}):([0-9]{1,5})")


def meeting_place(option: str, text: str, faults: list[Fault]) -> tuple[str, int]:
    """Host and port; what is wrong with them goes to ``faults``."""
    found = _PLACE.fullmatch(text)
    if found is None or not 1 <= int(found[2]) <= 65535:
        faults.append(Fault(option, "must be HOST:PORT, a name or an IPv4 address and a port", text))
        return "", 0
    return found[1], int(found[2])


def fault_in_binding(option: str, host: str, port: int) -> Fault | None:
    """Why a master could not listen there; None if it can."""
    try:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((host, port))
    except OSError as error:
        return Fault(option, f"cannot be listened on: {error.strerror or error}", f"{host}:{port}")
    return None
