"""``python -P -m tipover.live.worker_generator``: the Locust worker of ``tipover serve worker``.

It ends with the process that started it: when its standard input ends, it stops as on SIGTERM.
"""

import os
import signal

import gevent
from gevent.os import make_nonblocking, nb_read
from locust import runners

from tipover.live import generator

_ANNOUNCE_EVERY_S = 1.0


def _end_with_stdin() -> None:
    make_nonblocking(0)
    while nb_read(0, 4096):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    gevent.spawn(_end_with_stdin)
    # Locust's worker says every five seconds that it is there until a master answers, and gives up in the
    # end; whoever has started this one starts it again.
    runners.CONNECT_TIMEOUT = _ANNOUNCE_EVERY_S
    generator.run()
