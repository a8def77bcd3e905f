"""An interval in words."""

from __future__ import annotations

from analysis.trigger.result import Interval
from analysis.wording import number


def interval_words(value: Interval) -> str:
    """The estimate and its interval, for a sentence."""
    return f"{number(value.value)} ({number(value.low)} to {number(value.high)})"
