"""The generator's resident memory as its attempts grow in number, recording on."""

from __future__ import annotations

from tests.bench.variants.tipover_session import end, make_session  # isort: skip  (it patches sockets: first)

import json
import sys
import tempfile
from pathlib import Path

import gevent
import psutil

from meter.counting import AttemptCounts
from tests.bench.load import Load

_POINTS = 10
_LOOK_EVERY_S = 0.02


def main() -> None:
    load = Load.from_argument(sys.argv[1])
    counts, process = AttemptCounts(), psutil.Process()
    marks = [load.attempts * point // _POINTS for point in range(1, _POINTS + 1)]
    points = []
    with tempfile.TemporaryDirectory() as folder:
        session = make_session(load, counts, Path(folder), 2 * load.attempts / load.rate_per_s)
        session.start()
        while marks:
            gevent.sleep(_LOOK_EVERY_S)
            if counts.finished >= marks[0]:
                marks.pop(0)
                points.append({"attempts": counts.finished, "rss_bytes": process.memory_info().rss})
        lag_p99_s = session.health.lag.quantile_s(0.99)
        end(session)
    unexpected = counts.finished - counts.outcomes.get(load.expected, 0)
    report = {
        "rate_per_s": load.rate_per_s,
        "points": points,
        "lag_p99_s": lag_p99_s,
        "unexpected": unexpected,
    }
    print(json.dumps({**report, "written": session.recorder.written}), flush=True)


if __name__ == "__main__":
    main()
