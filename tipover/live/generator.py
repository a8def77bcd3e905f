"""``python -P -m tipover.live.generator``: Locust as its arguments say, with our own packages found first.

Locust puts the working directory in front of the path, and a project may well have a package ``domain`` or
``analysis`` there; what has been imported before stays what it is. It also takes options from the
environment, where they were meant for other tests: only our own arguments say how many processes there are.
"""

import os

from locust.main import main

import analysis  # noqa: F401
import domain  # noqa: F401
import loadgen  # noqa: F401
import meter  # noqa: F401

_OF_OTHER_TESTS = ("LOCUST_PROCESSES", "LOCUST_MODE_MASTER", "LOCUST_MODE_WORKER")


def run() -> None:
    """Run Locust; it ends the process."""
    for name in _OF_OTHER_TESTS:
        os.environ.pop(name, None)
    main()


if __name__ == "__main__":
    run()
