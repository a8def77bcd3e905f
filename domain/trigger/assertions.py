"""What a pipeline asks of a trigger test's finding."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Assertions:
    """What must hold of the finding; None and an empty tuple ask nothing.

    ``max_utilization``: the service must come back at least up to this utilization. ``max_amplification``: of
    the measured A. ``max_recovery_s``: from the end of the spike. ``verdicts``: those that are accepted.
    """

    max_utilization: float | None = None
    max_amplification: float | None = None
    max_recovery_s: float | None = None
    verdicts: tuple[str, ...] = ()

    @property
    def asked(self) -> bool:
        """Whether anything is."""
        return self != Assertions()
