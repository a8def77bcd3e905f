"""The greenlets of a storm: each starts the moment it is asked for, and all can be ended together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gevent import get_hub
from greenlet import GreenletExit, getcurrent, greenlet

Work = Callable[[Any, Any], None]


class Crew:
    """Greenlets straight on the event loop, without a queue in between, and their timers.

    ``failed`` is told of an exception that one of them raised, ``left`` whenever one has ended.
    """

    def __init__(self, failed: Callable[[Exception], None], left: Callable[[], None]) -> None:
        self._hub = get_hub()
        self._failed = failed
        self._left = left
        self._members: set[greenlet] = set()
        self._timers: set[Any] = set()

    def start(self, work: Work, one: Any, other: Any) -> None:
        """Run ``work`` in a greenlet of its own, now; call it from a callback of the event loop only.

        It always takes two arguments: unpacking any number of them would put another frame on the stack of
        the C language, which is copied whenever greenlets are switched.
        """
        member = greenlet(self._run, self._hub)
        self._members.add(member)
        member.switch(member, work, one, other)

    def sleep(self, seconds: float) -> None:
        """Let others run for so long; at least one turn of the loop."""
        timer = self._hub.loop.timer(max(seconds, 0.0))
        timer.start(getcurrent().switch, update=True)
        try:
            self._hub.switch()
        finally:
            timer.close()

    def call_in(self, seconds: float, work: Work, one: Any, other: Any) -> Any:
        """A timer that starts ``work`` in a greenlet of its own; ``drop`` cancels it."""
        timer = self._hub.loop.timer(max(seconds, 0.0))
        self._timers.add(timer)
        timer.start(self._ring, timer, work, one, other, update=True)
        return timer

    def drop(self, timer: Any) -> None:
        """Cancel a timer, rung or not."""
        self._timers.discard(timer)
        timer.close()

    def end(self, member: greenlet) -> None:
        """End one of them as soon as the loop has a turn; what it holds is closed on the way out."""
        self._hub.loop.run_callback(_end, member)

    def end_all(self) -> None:
        """End them all, and whatever was still to start."""
        while self._timers:
            self._timers.pop().close()
        for member in list(self._members):
            self.end(member)

    def _ring(self, timer: Any, work: Work, one: Any, other: Any) -> None:
        self.drop(timer)
        self.start(work, one, other)

    def _run(self, member: greenlet, work: Work, one: Any, other: Any) -> None:
        try:
            work(one, other)
        except GreenletExit:
            pass
        except Exception as error:  # a bug, or one in the user's own request
            self._failed(error)
        finally:
            self._members.discard(member)
            self._left()


def _end(member: greenlet) -> None:
    if not member.dead:
        member.throw(GreenletExit)
