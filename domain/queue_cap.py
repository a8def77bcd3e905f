"""A queue cap: how many attempts may wait, and what a client does when it is turned away.

Source: seed 000 §6.5 (the cap), whose figures depend on the second choice, which it does not state.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

OnRejection = Literal["retry", "after-timeout", "give-up"]
"""``retry``: at once, under the client's backoff and attempts; ``after-timeout``: as if it had waited
its whole timeout in vain; ``give-up``: the job ends."""


@dataclass(frozen=True, slots=True)
class QueueCap:
    """At most ``places`` attempts wait beyond those in service; a further one is rejected at once."""

    places: int
    on_rejection: OnRejection = "retry"

    def __post_init__(self) -> None:
        if self.places < 0:
            raise ValueError(f"places: must be at least 0 (got {self.places!r})")
