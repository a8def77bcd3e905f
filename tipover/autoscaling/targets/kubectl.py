"""``kubectl scale``: the replicas of a Deployment or StatefulSet.

Source: the reference of ``kubectl scale`` and ``kubectl get``; ``status.readyReplicas`` is left out of the
status while it is 0.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from tipover.autoscaling.targets.programs import LOOK_WITHIN_S, Runner
from tipover.autoscaling.targets.scale import Scale, ScaleError

KINDS = ("deployment", "statefulset", "replicaset")


class KubectlScale:
    """``spec.replicas`` and ``status.readyReplicas`` of one object."""

    def __init__(self, kind: str, name: str, where: Sequence[str] = ()) -> None:
        """``where``: the options that name context and namespace."""
        self.name = f"kubectl:{kind}/{name}"
        self._object = f"{kind}/{name}"
        self._where = [*where, f"--request-timeout={LOOK_WITHIN_S:g}s"]
        self._runner = Runner()

    def look(self) -> Scale:
        """``kubectl get -o json``."""
        said = self._runner.run(["kubectl", "get", self._object, "-o", "json", *self._where], LOOK_WITHIN_S)
        try:
            found = json.loads(said)
            replicas, ready = found["spec"]["replicas"], found["status"].get("readyReplicas", 0)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise ScaleError("kubectl get says nothing of replicas") from error
        if not isinstance(replicas, int) or not isinstance(ready, int):
            raise ScaleError("kubectl get says nothing of replicas")
        return Scale(replicas, ready)

    def order(self, replicas: int) -> None:
        """``kubectl scale``."""
        command = ["kubectl", "scale", f"--replicas={replicas}", self._object, *self._where]
        self._runner.run(command, LOOK_WITHIN_S)

    def stop(self) -> None:
        """End what runs."""
        self._runner.stop()
