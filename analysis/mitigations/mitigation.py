"""One mitigation: a name, a sentence, and what it makes of an experiment."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from domain.experiment import Experiment

NONE, CLIENT, SERVICE, COMBINATION, PRESET = "none", "client", "service", "combination", "preset"


@dataclass(frozen=True, slots=True)
class Mitigation:
    """``group`` is where it sits; ``sentence`` says what it does; ``apply`` puts it on an experiment."""

    name: str
    group: str
    sentence: str
    apply: Callable[[Experiment], Experiment]
