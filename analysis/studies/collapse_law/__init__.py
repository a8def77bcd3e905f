"""Seed 000, the collapse law: its seven experiments, F1 to F7, on the request-level simulation."""

from __future__ import annotations

from analysis.studies.collapse_law.study import TITLE, run

__all__ = ["TITLE", "run"]
