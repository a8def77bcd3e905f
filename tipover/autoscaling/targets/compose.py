"""``docker compose up --scale``: the containers of one service of a compose file.

``--no-recreate`` leaves running containers as they are whatever the file says now, ``--no-deps`` does not
touch the services it depends on. Source: the reference of ``docker compose up``, ``ps`` and ``docker
inspect``.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from typing import Any

from domain.errors import ConfigurationError, Fault
from tipover.autoscaling.targets.programs import LOOK_WITHIN_S, ORDER_WITHIN_S, Runner
from tipover.autoscaling.targets.scale import Scale, ScaleError

_FORMAT = "[{{json .State}},{{json .Config.Labels}}]"
_ONE_OFF = "com.docker.compose.oneoff"
_GONE = frozenset({"removing", "dead"})


class ComposeScale:
    """A service of a compose project. A container is ready when it runs and, if it has a health check, is
    healthy; one that has stopped counts as a replica, which the next order starts again."""

    def __init__(self, service: str, compose: Sequence[str], where: Sequence[str] = ()) -> None:
        """``compose`` is the program (as of ``compose_program``), ``where`` the options that name the
        project."""
        self.name = f"compose:{service}"
        self._service = service
        self._compose = [*compose, *where]
        self._runner = Runner()

    def look(self) -> Scale:
        """``compose ps`` for the containers, ``docker inspect`` for how they are."""
        listed = self._runner.run([*self._compose, "ps", "-a", "-q", self._service], LOOK_WITHIN_S)
        ids = listed.split()
        if not ids:
            return Scale(0, 0)
        # One line of JSON a container.
        inspect = ["docker", "inspect", "--type", "container", "--format", _FORMAT, *ids]
        try:
            found = [
                json.loads(line) for line in self._runner.run(inspect, LOOK_WITHIN_S).split("\n") if line
            ]
            states = [state for state, labels in found if not _is_one_off(labels)]
            there = [state for state in states if state["Status"] not in _GONE]
            return Scale(len(there), sum(map(_is_ready, there)))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise ScaleError("docker inspect says nothing of containers") from error

    def order(self, replicas: int) -> None:
        """``compose up``, detached, of this service alone."""
        scale = ["up", "-d", "--no-recreate", "--no-deps", "--scale", f"{self._service}={replicas}"]
        self._runner.run([*self._compose, *scale, self._service], ORDER_WITHIN_S)

    def stop(self) -> None:
        """End what runs."""
        self._runner.stop()


def compose_program() -> list[str]:
    """``docker compose``, or ``docker-compose`` where docker has no such plugin; raises
    ``ConfigurationError`` where there is neither."""
    if shutil.which("docker"):
        try:
            Runner().run(["docker", "compose", "version"], LOOK_WITHIN_S)
        except ScaleError:
            pass
        else:
            return ["docker", "compose"]
        if shutil.which("docker-compose"):
            return ["docker-compose"]
    rule = "needs the program docker with its compose plugin, or with docker-compose"
    raise ConfigurationError("the autoscaler cannot be started", [Fault("--scale", rule, None)])


def _is_one_off(labels: Any) -> bool:
    """Whether somebody's ``compose run`` made it, which ``ps -a`` lists, too: it is no replica."""
    return labels is not None and labels.get(_ONE_OFF) == "True"


def _is_ready(state: Any) -> bool:
    health = state.get("Health") or {}
    return state["Status"] == "running" and health.get("Status", "healthy") in ("healthy", "none", "")
