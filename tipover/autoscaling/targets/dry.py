"""Nobody to order from: what would be ordered is only said."""

from __future__ import annotations

from tipover.autoscaling.targets.scale import Scale, ScaleTarget


class FixedPods:
    """So many pods as somebody says there are, all ready, whatever is ordered."""

    name = "none"

    def __init__(self, pods: int) -> None:
        self._scale = Scale(pods, pods)

    def look(self) -> Scale:
        """Always the same."""
        return self._scale

    def order(self, replicas: int) -> None:
        """Nothing."""

    def stop(self) -> None:
        """Nothing."""


class OnlyWatched:
    """Another target, which is asked and never told: somebody else scales it."""

    def __init__(self, inner: ScaleTarget) -> None:
        self.name = f"none:{inner.name}"
        self._inner = inner

    def look(self) -> Scale:
        """As the other says."""
        return self._inner.look()

    def order(self, replicas: int) -> None:
        """Nothing."""

    def stop(self) -> None:
        """As the other does."""
        self._inner.stop()
