"""Why things went wrong, counted by their texts, of which there may be any number."""

from __future__ import annotations

MOST_REASONS = 20
MOST_CHARACTERS = 200
OTHER_REASONS = "other"


class Reasons(dict[str, int]):
    """How often each was given. The first ``MOST_REASONS`` have names; what comes after is ``other``."""

    def note(self, text: str) -> None:
        """Count one more."""
        reason = text[:MOST_CHARACTERS]
        if reason not in self and len(self) >= MOST_REASONS:
            reason = OTHER_REASONS
        self[reason] = self.get(reason, 0) + 1
