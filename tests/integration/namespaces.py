"""A network namespace: addresses that are not loopback, and yet lead nowhere but to the test itself."""

from __future__ import annotations

import ctypes
import os
import shutil
import socket
import subprocess
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

_CLONE_NEWNET = 0x40000000


class NoNamespaceError(Exception):
    """Why there can be none here."""


@dataclass
class Namespace:
    """A namespace by its name; ``hosts`` is its /etc/hosts, of which a change is seen at once."""

    name: str
    hosts: Path

    @property
    def within(self) -> list[str]:
        """What starts a program in it, with its hosts file, and becomes that program."""
        return ["ip", "netns", "exec", self.name]

    def listener(self, address: str, port: int = 0) -> socket.socket:
        """A listening socket in it; a socket stays where it was made."""
        made: list[socket.socket | OSError] = []

        def listen() -> None:
            try:
                # Only this thread enters.
                with Path("/var/run/netns", self.name).open() as place:
                    if ctypes.CDLL(None, use_errno=True).setns(place.fileno(), _CLONE_NEWNET):
                        raise OSError(ctypes.get_errno(), "setns")
                made.append(socket.create_server((address, port), backlog=1024))
            except OSError as error:
                made.append(error)

        thread = threading.Thread(target=listen)
        thread.start()
        thread.join()
        if isinstance(made[0], OSError):
            raise made[0]
        return made[0]


@contextmanager
def namespace(addresses: Sequence[str]) -> Iterator[Namespace]:
    """A namespace in which these addresses are its own, and nothing else can be reached. Raises
    ``NoNamespaceError``."""
    name = f"tipover-test-{os.getpid()}"
    etc = Path("/etc/netns", name)
    if shutil.which("ip") is None or os.geteuid() != 0:
        raise NoNamespaceError("needs iproute2 and root")
    made = subprocess.run(["ip", "netns", "add", name], capture_output=True, text=True, check=False)
    if made.returncode:
        raise NoNamespaceError(f"ip netns add: {made.stderr.strip()}")
    try:
        etc.mkdir(parents=True)
        (etc / "hosts").write_text("127.0.0.1 localhost\n")
        commands = ["link set lo up", *(f"addr add {address} dev lo" for address in addresses)]
        for command in commands:
            subprocess.run(["ip", "-n", name, *command.split()], check=True)
        found = Namespace(name, etc / "hosts")
        tried = subprocess.run([*found.within, "true"], capture_output=True, text=True, check=False)
        if tried.returncode:
            raise NoNamespaceError(f"ip netns exec: {tried.stderr.strip()}")
        yield found
    finally:
        subprocess.run(["ip", "netns", "del", name], check=False)
        shutil.rmtree(etc, ignore_errors=True)
