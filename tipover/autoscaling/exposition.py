"""The counters an autoscaler wants, out of a page in Prometheus' text format."""

from __future__ import annotations

import math
from collections.abc import Mapping

from meter import names

ATTEMPTS, FIRST, BUSY, POD_SECONDS = "attempts", "first attempts", "busy seconds", "pod seconds"
Counters = Mapping[str, float]
"""By name (one of the above), those that the page shows, summed over their labels."""


def counters_in(text: str) -> Counters:
    """The counters of the page; raises ``ValueError`` when it is no such page."""
    from prometheus_client.parser import text_string_to_metric_families

    found: dict[str, float] = {}
    try:
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                for name in _counters(sample.name, sample.labels):
                    found[name] = found.get(name, 0.0) + float(sample.value)
    except (KeyError, IndexError) as error:  # how its parser trips over what is no page
        raise ValueError("not a page of metrics") from error
    for name, value in found.items():
        if not 0.0 <= value < math.inf:
            raise ValueError(f"{name} are {value:g}")
    return found


def _counters(sample: str, labels: Mapping[str, str]) -> tuple[str, ...]:
    if sample == names.ATTEMPTS:
        first = labels.get(names.LABEL_ATTEMPT) == names.FIRST
        return (ATTEMPTS, FIRST) if first else (ATTEMPTS,)
    if sample == names.BUSY:
        return (BUSY,)
    return (POD_SECONDS,) if sample == names.POD_SECONDS else ()
