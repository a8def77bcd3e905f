"""Why attempts ended as errors, in words."""

from __future__ import annotations

import re
from collections.abc import Mapping

from analysis.wording import number

_ERROR_NUMBER = re.compile(r"\[Errno \d+\] ")


def reason_rows(reasons: Mapping[str, int]) -> list[tuple[str, str]]:
    """Every reason and how many errors it was given for, the commonest first."""
    return [(reason, number(count)) for reason, count in _commonest(reasons)]


def reasons_text(reasons: Mapping[str, int], most: int = 3) -> str:
    """The commonest of them in a line, "31 × connection refused, 2 × …"; empty if there are none."""
    common = _commonest(reasons)
    shown = [f"{number(count)} × {reason}" for reason, count in common[:most]]
    rest = sum(count for _, count in common[most:])
    return ", ".join([*shown, *([f"{number(rest)} × something else"] if rest else [])])


def error_remarks(reasons: Mapping[str, int]) -> list[str]:
    """That attempts ended as errors, and the commonest reasons, as a sentence; nothing if none did."""
    count = sum(reasons.values())
    if not count:
        return []
    errors = "1 attempt" if count == 1 else f"{number(count)} attempts"
    return [f"{errors} ended as errors: {reasons_text(reasons)}."]


def _commonest(reasons: Mapping[str, int]) -> list[tuple[str, int]]:
    """In the order of their counts, without the numbers that the system has for its errors."""
    named: dict[str, int] = {}
    for reason, count in reasons.items():
        text = _ERROR_NUMBER.sub("", reason)
        named[text] = named.get(text, 0) + count
    return sorted(named.items(), key=lambda item: (-item[1], item[0]))
