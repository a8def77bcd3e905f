"""The live picture: what is shown of an autoscaled fleet, and only of one."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from tipover.live.progress import ProgressFeed
from tipover.live.view import LiveView
from tipover.scenario import load_scenario


def feed_at(t_s: float) -> ProgressFeed:
    """A feed of one worker that has told of two moments, the second at ``t_s``, and of five pods of nine."""
    feed = ProgressFeed(1)
    for at_s, count in ((t_s - 2.0, 100), (t_s, 900)):
        counters = dict.fromkeys(("planned", "first", "retries", "answered", "failed"), count)
        line = {"t_s": at_s, "worker": 0, "state": "running", "open": 3, "lag_p99_s": 0.001}
        feed.take({**line, **counters, "start_monotonic_s": 5.0})
    feed.take_server_state({"pods": 5, "replicas": 9})
    return feed


@pytest.mark.parametrize("terminal", [False, True])
@pytest.mark.parametrize(
    ("scenario", "words"), [("f4-paired", ("pods 5 of 9", "5 ready, 9 ordered")), ("f2-40", None)]
)
def test_the_pods_of_a_fleet_are_shown(terminal: bool, scenario: str, words: tuple[str, str] | None) -> None:
    """Those that serve and those that are to come, on a line and on a terminal; otherwise no word of pods."""
    out = io.StringIO()
    console = Console(file=out, width=120, force_terminal=terminal, color_system=None, no_color=True)
    with LiveView(load_scenario(scenario), console) as view:
        view(feed_at(14.0))
    shown = out.getvalue()
    assert "ingress" in shown
    assert ("pods" in shown) is (words is not None)
    assert words is None or words[terminal] in shown


def test_a_target_that_tells_no_replicas_has_the_pods_that_serve() -> None:
    """As an older one does, or one that says nothing of use."""
    feed = ProgressFeed(1)
    feed.take_server_state({"capacity_per_s": 3.0})
    assert feed.pods is None
    feed.take_server_state({"pods": 4})
    assert feed.pods is not None
    assert feed.pods.ready == feed.pods.ordered == 4
