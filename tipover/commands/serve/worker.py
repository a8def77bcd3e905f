"""``tipover serve worker``."""

from __future__ import annotations


def serve_worker() -> None:
    """To be written."""
    raise NotImplementedError
