"""A count that is asked for beside the test."""

from __future__ import annotations

import threading
import time

import pytest

from tests.integration.commands import wait_until
from tipover.trigger.guards import counting
from tipover.trigger.guards.counting import Counting


def test_each_count_is_taken_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A count that is old by now would be told with the time of now."""
    monkeypatch.setattr(counting, "ASK_EVERY_S", 60)
    with Counting(lambda: 7.0) as counted:
        assert wait_until(counted.take, "the first count") == 7.0
        assert counted.take() is None


def test_no_answer_is_no_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor the last one again."""
    monkeypatch.setattr(counting, "ASK_EVERY_S", 0.01)
    answers = iter([5.0, None, None, None])
    asked = threading.Event()

    def ask() -> float | None:
        value = next(answers, None)
        if value is None:
            asked.set()
        return value

    with Counting(ask) as counted:
        assert asked.wait(10)
        wait_until(lambda: counted.take() is None, "what was counted before is gone")


def test_a_slow_answer_holds_up_nobody() -> None:
    """Neither taking nor leaving: the end of a push does not wait for a Prometheus."""
    answer = threading.Event()

    def ask() -> float:
        answer.wait(20)
        return 1.0

    began_s = time.monotonic()
    with Counting(ask) as counted:
        assert counted.take() is None
    assert time.monotonic() - began_s < 5
    answer.set()


def test_nothing_is_asked_after_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """The thread ends."""
    monkeypatch.setattr(counting, "ASK_EVERY_S", 0.01)
    asked: list[float] = []
    with Counting(lambda: asked.append(0.0) or 1.0) as counted:
        wait_until(counted.take, "the first count")
    wait_until(lambda: not any(t.name == "received" for t in threading.enumerate()), "the thread has ended")
    count = len(asked)
    time.sleep(0.1)
    assert len(asked) == count
