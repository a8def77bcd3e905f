"""What counts as a failure of a hedged client: attempt by attempt, in seconds of the wall clock."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from analysis.episodes import Window, find_episodes
from analysis.trace import Attempts, attempts_of, resolve
from domain.trace import TRACE_SCHEMA

GAP_S, TIMEOUT_S = 0.05, 1.0
BEGINS_S, ENDS_S = 10.0, 15.0
"""When every attempt times out."""


def hedged() -> Attempts:
    """Sixty seconds of jobs of two copies: the second goes out after .3 s, the first answers after .4 s."""
    rows: list[tuple[object, ...]] = []
    for job, due_s in enumerate(np.arange(0.0, 60.0, GAP_S)):
        fails = BEGINS_S <= due_s < ENDS_S
        for copy, sent_s, ends in ((1, due_s, "ok"), (2, due_s + 0.3, "cancelled")):
            done_s = sent_s + TIMEOUT_S if fails else due_s + 0.4
            outcome = "timeout" if fails else ends
            rows.append((job, copy, sent_s, sent_s, done_s, outcome, 200 if outcome == "ok" else 0, 0))
    return attempts_of(resolve(pd.DataFrame(rows, columns=TRACE_SCHEMA.names)))


def test_cancelled_copies_do_not_keep_a_service_failing() -> None:
    """Every healthy job has one: half of the attempts are not answered, and the service is well."""
    (episode,) = find_episodes(hedged(), Window(0.0, 58.0, TIMEOUT_S))
    assert episode.recovered
    assert episode.start_s == pytest.approx(BEGINS_S, abs=TIMEOUT_S)
    assert episode.end_s == pytest.approx(ENDS_S + 0.3 - GAP_S, abs=GAP_S)
