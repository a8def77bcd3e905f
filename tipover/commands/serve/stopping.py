"""What every part does that the harness has started: it stops when its standard input ends."""

from __future__ import annotations

import os
import signal
import threading


def stop_with_stdin() -> None:
    """From now on, end this process (SIGTERM) when its standard input ends."""
    threading.Thread(target=_stop_at_end_of_stdin, name="stdin", daemon=True).start()


def _stop_at_end_of_stdin() -> None:
    # Raw reads: a thread inside a buffered one would hold a lock that the interpreter needs at exit.
    while os.read(0, 4096):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
