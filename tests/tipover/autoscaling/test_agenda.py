"""When it looks and when it decides."""

from __future__ import annotations

import pytest

from domain.fleet import Fleet, Signal
from tipover.autoscaling.agenda import Agenda, Due, looks_per_sync, next_look

AGENDA = Agenda(1000.0, 15.0)


@pytest.mark.parametrize(
    ("now_s", "last", "due"),
    [
        # nothing at the epoch itself, nor before it
        (900.0, 0, None),
        (1000.0, 0, None),
        (1014.9, 0, None),
        (1015.0, 0, Due(1, 15.0, 0.0, 0)),
        # never twice
        (1015.0, 1, None),
        # a late one is made, and says so
        (1022.0, 0, Due(1, 15.0, 7.0, 0)),
        # of those that were missed only the latest is made
        (1061.0, 1, Due(4, 60.0, 1.0, 2)),
    ],
)
def test_decisions_are_due_at_absolute_times(now_s: float, last: int, due: Due | None) -> None:
    assert AGENDA.due(now_s, last) == due


def test_times_do_not_drift() -> None:
    """A period that binary numbers do not have: a hundred thousand decisions, each due when it is."""
    agenda = Agenda(12345.678, 1.1)
    for number in range(1, 100_000, 997):
        at_s = agenda.at(number)
        assert agenda.due(at_s, number - 1) == Due(
            number, pytest.approx(number * 1.1), pytest.approx(0.0, abs=1e-6), 0
        )


@pytest.mark.parametrize(
    ("signals", "lag_s", "cpu_s", "rate_s", "looks"),
    [
        (("cpu", "first"), 0.0, 30.0, 60.0, 3),
        (("cpu", "first"), 0.0, 20.0, 60.0, 3),
        (("cpu",), 0.0, 22.5, 60.0, 4),
        # only windows of the signals count
        (("first",), 0.0, 22.5, 60.0, 3),
        (("cpu",), 3.0, 30.0, 60.0, 5),
        # none fits: values in between are interpolated
        (("cpu",), 0.0, 31.4159, 60.0, 3),
    ],
)
def test_edges_of_windows_fall_on_looks(
    signals: tuple[Signal, ...], lag_s: float, cpu_s: float, rate_s: float, looks: int
) -> None:
    fleet = Fleet(signals, metric_lag_s=lag_s, cpu_window_s=cpu_s, rate_window_s=rate_s)
    assert looks_per_sync(fleet) == looks


def test_a_short_period_has_fewer_looks() -> None:
    """Never more than ten a second."""
    assert looks_per_sync(Fleet(("first",), sync_period_s=0.15)) == 1
    assert looks_per_sync(Fleet(("first",), sync_period_s=0.01)) == 1


@pytest.mark.parametrize(
    ("now_s", "at_s", "decides"),
    [
        # the first is at the epoch, on which nothing is decided
        (990.0, 1000.0, False),
        (1000.0, 1005.0, False),
        (1009.9, 1010.0, False),
        (1010.0, 1015.0, True),
        (1015.0, 1020.0, False),
        (1099.0, 1100.0, False),
    ],
)
def test_looks_fall_on_a_grid(now_s: float, at_s: float, decides: bool) -> None:
    assert next_look(AGENDA, 3, now_s) == (at_s, decides)
