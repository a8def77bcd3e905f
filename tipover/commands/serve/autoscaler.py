"""``tipover serve autoscaler``."""

from __future__ import annotations


def serve_autoscaler() -> None:
    """To be written."""
    raise NotImplementedError
