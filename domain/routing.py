"""Which pod a request is sent to when each has a queue of its own.

A decision from numbers: how many requests have been routed, how long each queue is, and a uniform draw.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

Routing = Literal["shared", "round-robin", "random", "shortest-queue"]
"""``shared``: one queue before all pods, nothing to decide; ``round-robin``: in turn; ``random``: any with
the same chance; ``shortest-queue``: where the fewest wait or are served, any of those alike."""


def chosen_pod(routing: Routing, routed: int, in_system: Sequence[int], u: float) -> int:
    """The place of the pod in ``in_system`` (requests of each pod, waiting or in service).

    ``routed`` counts the requests routed before this one; ``u`` is uniform in [0, 1). Raises ``ValueError``
    when there is no pod, or nothing to decide.
    """
    pods = len(in_system)
    if pods == 0 or routing == "shared":
        raise ValueError(f"routing: needs a pod and a queue for each (got {pods} pods, {routing})")
    if routing == "round-robin":
        return routed % pods
    if routing == "random":
        return min(int(u * pods), pods - 1)
    shortest = min(in_system)
    candidates = [place for place, length in enumerate(in_system) if length == shortest]
    return candidates[min(int(u * len(candidates)), len(candidates) - 1)]
