"""A plain Locust ``FastHttpUser`` as people write it, in a real environment with a local runner.

Closed loop, since that is what Locust has: paced by ``constant_throughput``, or as fast as it goes.
No web page, no printed statistics, no CSV; Locust's own request statistics are on, as they always are.
"""

from __future__ import annotations

from locust import FastHttpUser, constant, constant_throughput, task  # isort: skip  (it patches sockets: first)

import json
import random
import resource
import sys
import time

import gevent
from locust.env import Environment

from tests.bench.load import REQUEST_PATH, Load
from tests.bench.window import lag_quantiles, measure


def make_user(load: Load) -> type[FastHttpUser]:
    """The user class. Paced users start at a random moment of their period, or all would send at once."""

    period_s = load.greenlets / load.rate_per_s if load.users_paced else 0.0

    class PlainUser(FastHttpUser):
        host = load.url
        connection_timeout = load.timeout_s
        network_timeout = load.timeout_s
        wait_time = constant_throughput(1 / period_s) if period_s else constant(0)

        def on_start(self) -> None:
            time.sleep(random.random() * period_s)

        @task
        def work(self) -> None:
            self.client.get(REQUEST_PATH)

    return PlainUser


def main() -> None:
    load = Load.from_argument(sys.argv[1])
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    environment = Environment(user_classes=[make_user(load)])
    runner = environment.create_local_runner()
    runner.start(load.greenlets, spawn_rate=load.greenlets)
    runner.spawning_greenlet.join()
    total = environment.stats.total

    def outcomes() -> dict[str, int]:
        return {"ok": total.num_requests - total.num_failures, "timeout": total.num_failures}

    found = measure(load, outcomes, gevent.sleep)
    found["errors"] = sorted({str(error.error) for error in environment.stats.errors.values()})
    print(json.dumps({**found, **lag_quantiles([])}), flush=True)
    runner.quit()


if __name__ == "__main__":
    main()
