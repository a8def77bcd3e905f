"""The kernel's counters of connections it dropped before anyone could accept them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

_NETSTAT = Path("/proc/net/netstat")


@dataclass(frozen=True, slots=True)
class ListenCounters:
    """``ListenOverflows`` and ``ListenDrops`` of this network namespace."""

    overflows: int
    drops: int

    def since(self, before: ListenCounters) -> dict[str, int]:
        """How far they moved, as ``run.json`` has it."""
        return {
            "listen_overflows": self.overflows - before.overflows,
            "listen_drops": self.drops - before.drops,
        }


def read_listen_counters() -> ListenCounters | None:
    """The counters now; None where the kernel does not show them."""
    try:
        lines = [line.split() for line in _NETSTAT.read_text().splitlines() if line.startswith("TcpExt:")]
        values = dict(zip(lines[0][1:], map(int, lines[1][1:]), strict=True))
        return ListenCounters(values["ListenOverflows"], values["ListenDrops"])
    except (OSError, KeyError, IndexError, ValueError):
        return None
