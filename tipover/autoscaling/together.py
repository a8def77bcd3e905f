"""Several calls at once, each in a thread that holds nobody up when the process ends."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence


def together(calls: Sequence[Callable[[], None]]) -> None:
    """Make all of them at the same time and return when all are done; the first exception is raised again."""
    if len(calls) == 1:
        calls[0]()
        return
    failures: list[BaseException] = []

    def kept(call: Callable[[], None]) -> None:
        try:
            call()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=kept, args=(call,), daemon=True) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
