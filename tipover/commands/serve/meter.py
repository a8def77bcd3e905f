"""``tipover serve meter``."""

from __future__ import annotations


def serve_meter() -> None:
    """To be written."""
    raise NotImplementedError
