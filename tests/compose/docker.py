"""The real stack, built out of a copy of this repository and started with ports of its own."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
from collections.abc import Iterator, Sequence
from configparser import ConfigParser
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from resource import RLIMIT_NOFILE, getrlimit
from typing import Any

from tests.compose.prometheus import Prometheus
from tests.integration.commands import wait_until

REPOSITORY = Path(__file__).parents[2]
BASE = "tipover-base"
_COPIED = (
    "domain", "target_service", "loadgen", "meter", "analysis", "tipover", "compose",
    "pyproject.toml", "requirements.lock", "README.md", "LICENSE", ".dockerignore",
)  # fmt: skip
_PORTS = ("METER_PORT", "METER_ADMIN_PORT", "AUTOSCALER_PORT", "LOCUST_PORT", "PROMETHEUS_PORT")
_CERTIFICATES = ("PIP_CERT", "REQUESTS_CA_BUNDLE", "SSL_CERT_FILE")


def engine() -> str | None:
    """What is missing for the stack to be started here; None if nothing is."""
    if shutil.which("docker") is None or _ran("docker", "info", check=False).returncode:
        return "no Docker engine answers"
    return None if _compose_program() else "neither docker compose nor docker-compose is there"


def _ran(*command: str | Path, check: bool = True, **options: Any) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [*map(str, command)], capture_output=True, text=True, timeout=900, check=False, **options
    )
    assert not check or done.returncode == 0, f"{command}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return done


def _compose_program() -> list[str]:
    if _ran("docker", "compose", "version", check=False).returncode == 0:
        return ["docker", "compose"]
    return ["docker-compose"] if shutil.which("docker-compose") else []


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port: int = probe.getsockname()[1]
        return port


@dataclass(frozen=True)
class Stack:
    """A project of docker compose."""

    directory: Path
    environment: dict[str, str]

    @property
    def name(self) -> str:
        """The project."""
        return self.environment["COMPOSE_PROJECT_NAME"]

    @property
    def results(self) -> Path:
        """Where runs are written."""
        return Path(self.environment["RESULTS"])

    def port(self, name: str) -> int:
        """A published port."""
        return int(self.environment[name])

    @property
    def prometheus(self) -> Prometheus:
        """The stack's own."""
        return Prometheus(f"http://127.0.0.1:{self.port('PROMETHEUS_PORT')}")

    def command(self, *words: str) -> list[str]:
        """A command of docker compose for this project."""
        files = ["-f", str(self.directory / "compose.yaml"), "-f", str(self.directory / "offline.yaml")]
        return [*_compose_program(), *files, *words]

    def compose(self, *words: str, check: bool = True, **more: str) -> subprocess.CompletedProcess[str]:
        """Run one to its end, with ``more`` in its environment."""
        return _ran(*self.command(*words), check=check, cwd=self.directory, env={**self.environment, **more})

    def containers(self, service: str = "") -> list[dict[str, Any]]:
        """What the engine knows of them, those that have ended too."""
        labels = [f"label=com.docker.compose.project={self.name}"]
        if service:
            labels += [f"label=com.docker.compose.service={service}"]
        filters = [word for label in labels for word in ("--filter", label)]
        ids = _ran("docker", "ps", "--all", "--quiet", *filters).stdout.split()
        found: list[dict[str, Any]] = json.loads(_ran("docker", "inspect", *ids).stdout) if ids else []
        return found

    def network(self, name: str) -> dict[str, Any]:
        """What the engine knows of a network."""
        (found,) = json.loads(_ran("docker", "network", "inspect", name).stdout)
        return dict(found)

    def wait_healthy(self, *services: str) -> None:
        """Until every container of the services runs, and is healthy where it has a check."""
        for service in services:
            wait_until(partial(self._healthy, service), f"{service} is healthy", 90)

    def _healthy(self, service: str) -> bool:
        states = [one["State"] for one in self.containers(service)]
        return bool(states) and all(
            state["Running"] and state.get("Health", {}).get("Status", "healthy") == "healthy"
            for state in states
        )

    def run(self, *words: str, workers: int = 1) -> tuple[int, str, str]:
        """``docker compose run`` of the service ``run`` with an idle target: exit code, output, errors."""
        self.renew_target()
        done = self.compose(*RUN, *words, check=False, WORKERS=str(workers))
        return done.returncode, done.stdout, done.stderr

    def renew_target(self) -> None:
        """A target without the work of an earlier run."""
        self.compose("restart", "-t", "1", "target")
        self.wait_healthy("target")


RUN = ("run", "--rm", "--use-aliases", "-T", "run")


def _pip_settings(folder: Path) -> None:
    """This machine's certificates and index, for the image's build alone."""
    certificates = next((os.environ[name] for name in _CERTIFICATES if os.environ.get(name)), None)
    if certificates and Path(certificates).is_file():
        shutil.copy(certificates, folder / "ca-certificates.crt")
    settings = ConfigParser(interpolation=None)
    settings["global"] = {
        name.lower().replace("_", "-"): value
        for name in ("INDEX_URL", "EXTRA_INDEX_URL", "TRUSTED_HOST")
        if (value := os.environ.get(f"PIP_{name}"))
    }
    with (folder / "pip.conf").open("w") as file:
        settings.write(file)


@contextmanager
def started_stack(directory: Path) -> Iterator[Stack]:
    """Build everything, start it, wait until it is healthy; in the end take it down, and see it gone."""
    source, results = directory / "source", directory / "results"
    source.mkdir()
    for name in _COPIED:
        found = REPOSITORY / name
        if found.is_dir():
            shutil.copytree(found, source / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(found, source / name)
    _pip_settings(source / "compose" / "pip")
    results.mkdir()
    directory.chmod(0o755)
    environment = {
        **os.environ,
        "COMPOSE_PROJECT_NAME": f"tipover-test-{os.getpid()}",
        "TIPOVER_IMAGE": "tipover:test",
        "BASE": os.environ.get("BASE") or _base(),
        "BUILD_NETWORK": "host",
        "RESULTS": str(results),
        "NOFILE": str(min(65536, getrlimit(RLIMIT_NOFILE)[1])),
        **{name: str(_free_port()) for name in _PORTS},
    }
    stack = Stack(source / "compose", environment)
    stack.compose("build")
    try:
        stack.compose("up", "-d")
        stack.wait_healthy("target", "meter", "autoscaler", "locust", "worker", "prometheus")
        yield stack
    finally:
        print(stack.compose("logs", "--tail", "30", check=False).stdout[-8000:])
        stack.compose("down", "-v", "--remove-orphans", "-t", "5", check=False)
        assert not _left_of(stack)


def _base() -> str:
    """An image made without a registry, kept for the next time."""
    if _ran("docker", "image", "inspect", BASE, check=False).returncode:
        _ran("sh", REPOSITORY / "compose" / "base.sh", BASE)
    return BASE


def _left_of(stack: Stack) -> Sequence[str]:
    label = f"label=com.docker.compose.project={stack.name}"
    kinds = (("ps", "--all"), ("network", "ls"), ("volume", "ls"))
    return [
        f"{kind[0]} {one}"
        for kind in kinds
        for one in _ran("docker", *kind, "--quiet", "--filter", label).stdout.split()
    ]
