"""The cases that the trigger test is judged by: a victim, a client, and what must come out.

``python -m tests.victims.cases --out DIR [NAME …]`` runs them, all of them in a quarter of an hour, and
prints the table of docs/trigger.md; some are run by the integration tests.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.victims.gateways import envoy, haproxy, nginx
from tests.victims.services import gunicorn, own_target, single_threaded

TIMEOUT_S = 0.4
MOST_TIMEOUTS_TO_VERDICT = 20.0
PROTECTED = "not vulnerable"


@dataclass(frozen=True)
class Door:
    """Where the test knocks: the service's base URL, and the one past its gateway."""

    url: str
    probe_url: str | None = None
    options: tuple[str, ...] = ()


Victim = Callable[[Path], AbstractContextManager[Door]]


@dataclass(frozen=True)
class Case:
    """A victim at ``amplified_utilization`` Aρ, A = ``attempts`` × ``hidden``.

    ``verdict``: None for what theory says of a plain FIFO service: trapped iff Aρ ≥ 1.
    """

    name: str
    victim: Victim
    amplified_utilization: float
    attempts: int = 3
    hidden: float = 1.0
    verdict: str | None = None
    timeout_s: float = TIMEOUT_S
    options: tuple[str, ...] = field(default_factory=tuple)

    @property
    def amplification(self) -> float:
        """A."""
        return self.attempts * self.hidden

    @property
    def utilization(self) -> float:
        """ρ."""
        return self.amplified_utilization / self.amplification

    @property
    def expected(self) -> str:
        """The right verdict."""
        return self.verdict or ("trapped" if self.amplified_utilization >= 1 else "recovers")

    @property
    def tolerance(self) -> float:
        """Of the measured amplification: 10%, behind a second retry layer 15%."""
        return 0.10 if self.hidden == 1 else 0.15


@contextmanager
def _flask(log: Path, **settings: Any) -> Iterator[Door]:
    with gunicorn(log, **settings) as url:
        yield Door(url)


def flask(**settings: Any) -> Victim:
    """gunicorn + Flask."""
    return lambda log: _flask(log, **settings)


@contextmanager
def _behind(
    log: Path, gateway: Callable[..., AbstractContextManager[str]], **settings: Any
) -> Iterator[Door]:
    direct = settings.pop("direct", False)
    with gunicorn(log) as backend, gateway(log.with_suffix(".gateway"), backend, **settings) as url:
        yield Door(url, backend if direct else None)


def behind(gateway: Callable[..., AbstractContextManager[str]], **settings: Any) -> Victim:
    """gunicorn + Flask with a gateway before it; ``direct``: the probes go past it."""
    return lambda log: _behind(log, gateway, **settings)


@contextmanager
def _plain(log: Path, **settings: Any) -> Iterator[Door]:
    with single_threaded(log, **settings) as url:
        yield Door(url)


def plain(**settings: Any) -> Victim:
    """Python's own HTTP server."""
    return lambda log: _plain(log, **settings)


@contextmanager
def _own(log: Path, *options: str) -> Iterator[Door]:
    with own_target(log, "--pods", "4", "--rate-per-pod", "60", *options) as url:
        yield Door(url)


def own(*options: str) -> Victim:
    """Our own target, 240 attempts/s, with a discipline."""
    return lambda log: _own(log, *options)


_RETRYING = {"retries": 1, "direct": True}

CASES = (
    Case("flask-0.60", flask(), 0.60),
    Case("flask-0.75", flask(), 0.75),
    Case("flask-0.85", flask(), 0.85),
    Case("flask-1.15", flask(), 1.15),
    Case("flask-1.50", flask(), 1.50),
    Case("flask-2.50", flask(), 2.50, attempts=4),
    Case("flask-exponential-0.75", flask(kind="exponential"), 0.75),
    Case("flask-exponential-1.30", flask(kind="exponential"), 1.30),
    Case("flask-threads-0.70", flask(threads=4, work_s=0.02), 0.70),
    Case("flask-threads-1.30", flask(threads=4, work_s=0.02), 1.30),
    Case("flask-workers-1.40", flask(workers=2, work_s=0.01), 1.40),
    Case("haproxy-0.75", behind(haproxy), 0.75),
    Case("haproxy-1.30", behind(haproxy), 1.30),
    Case("nginx-0.75", behind(nginx), 0.75),
    Case("nginx-1.30", behind(nginx), 1.30),
    Case("plain-0.80", plain(), 0.80),
    Case("plain-1.40", plain(), 1.40, attempts=2),
    Case("own-fifo-0.80", own(), 0.80),
    Case("own-fifo-1.20", own(), 1.20),
    Case("own-fifo-2.00", own(), 2.00, attempts=4),
    Case("own-lifo-1.50", own("--discipline", "lifo"), 1.50, verdict=PROTECTED),
    Case("own-drop-expired-1.50", own("--drop-expired", "--least-s", "0.04"), 1.50, verdict=PROTECTED),
    Case("own-cancel-1.50", own("--cancel-on-disconnect"), 1.50, verdict=PROTECTED),
    Case("own-cap-1.50", own("--queue-cap", "40"), 1.50, verdict=PROTECTED),
    Case("own-codel-1.50", own("--codel", "0.02:0.4"), 1.50, verdict=PROTECTED),
    Case("plain-backlog-5-1.50", plain(backlog=5), 1.50, verdict=PROTECTED),
    Case("envoy-retries-0.75", behind(envoy, per_try_timeout_s=0.15, **_RETRYING), 0.75, hidden=2),
    Case("envoy-retries-1.30", behind(envoy, per_try_timeout_s=0.15, **_RETRYING), 1.30, hidden=2),
    Case("envoy-hidden-0.75", behind(envoy, per_try_timeout_s=0.15, retries=1), 0.75, hidden=2),
    Case("envoy-hidden-1.40", behind(envoy, per_try_timeout_s=0.15, retries=1), 1.40, hidden=2),
    Case("haproxy-retries-0.75", behind(haproxy, server_timeout_s=0.15, **_RETRYING), 0.75, hidden=2),
    Case("haproxy-retries-1.40", behind(haproxy, server_timeout_s=0.15, **_RETRYING), 1.40, hidden=2),
)


def case(name: str) -> Case:
    """The case of that name."""
    return next(found for found in CASES if found.name == name)


@dataclass(frozen=True)
class Outcome:
    """What came out of a case; ``answers``: whether the service answered afterwards, this program."""

    case: Case
    exit_code: int
    result: dict[str, Any]
    answers: bool
    took_s: float
    said: str

    @property
    def shot(self) -> dict[str, Any]:
        """The first push."""
        shots = self.result.get("shots") or [{}]
        first: dict[str, Any] = shots[0]
        return first

    @property
    def verdict(self) -> str:
        """In a word; "invalid" if the test says so of itself."""
        return "invalid" if self.result.get("invalid_reasons") else str(self.result.get("verdict"))

    @property
    def amplification(self) -> float | None:
        """A as measured."""
        found = self.shot.get("amplification")
        return None if found is None else float(found["value"])

    @property
    def timeouts_to_verdict(self) -> float | None:
        """Since the end of the spike."""
        decided = self.shot.get("decided_s")
        return None if decided is None else float(decided) / self.case.timeout_s


def run_case(wanted: Case, directory: Path) -> Outcome:
    """Start the victim, test it by the command line, look whether it answers."""
    directory.mkdir(parents=True, exist_ok=True)
    with wanted.victim(directory / f"{wanted.name}.log") as door:
        command = [sys.executable, "-m", "tipover", "trigger", "--url", door.url, "--path", "/work"]
        command += ["--timeout", str(wanted.timeout_s), "--attempts", str(wanted.attempts)]
        command += ["--utilization", f"{wanted.utilization:.4f}", "--json", "--replace"]
        command += ["--out", str(directory / wanted.name), *wanted.options, *door.options]
        if door.probe_url is not None:
            command += ["--probe-url", door.probe_url]
        begun = time.monotonic()
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
        took_s = time.monotonic() - begun
        answers = all(_answers(door.url + "/work") for _ in range(3))
    result = json.loads(done.stdout) if done.stdout.strip().startswith("{") else {}
    return Outcome(wanted, done.returncode, result, answers, took_s, done.stderr)


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=2) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def _row(outcome: Outcome) -> str:
    wanted, a, timeouts = outcome.case, outcome.amplification, outcome.timeouts_to_verdict
    cells = [
        wanted.name,
        f"{wanted.amplified_utilization:.2f}",
        wanted.expected,
        outcome.verdict,
        f"{wanted.amplification:g}",
        "–" if a is None else f"{a:.2f} ({a / wanted.amplification - 1:+.0%})",
        "–" if timeouts is None else f"{timeouts:.1f}",
        "yes" if outcome.answers else "NO",
        f"{outcome.took_s:.0f} s",
    ]
    return "| " + " | ".join(cells) + " |"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the named cases, or all of them; exit with the number of wrong verdicts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--out", type=Path, default=Path("runs/trigger-cases"))
    given = parser.parse_args(arguments)
    wrong = 0
    print("| case | Aρ | expected | verdict | A | measured | timeouts to verdict | answers after | took |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for wanted in CASES if not given.names else map(case, given.names):
        outcome = run_case(wanted, given.out)
        wrong += outcome.verdict != wanted.expected
        print(_row(outcome), flush=True)
        if not outcome.result:
            print(outcome.said, file=sys.stderr)
    return wrong


if __name__ == "__main__":
    sys.exit(main())
