"""The meter's counts beside the generator's trace in a storm of 100,000 attempts.

``python -m tests.bench.meter_counts [--keep DIRECTORY]``: two minutes; loads 127.0.0.1 only. The
generator is ``tipover run`` with a scenario of its own, through ``tipover serve meter``, against our own
target. Exits 1 if the counts differ by more than 0.1%, or by one attempt that nobody can explain.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from pathlib import Path
from typing import Any

import psutil
from rich.console import Console
from rich.table import Table

from analysis.fluid import fluid_trace
from tests.bench.processes import ROOT, announced
from tests.edge_agreement import Agreement, recorded
from tipover.scenario import load_scenario

SCENARIO = Path(__file__).with_name("meter_storm.toml")
ATTEMPTS = 100_000
IGNORED = ("--ignore", "/state", "--ignore", "/healthz", "--ignore", "/control", "--ignore", "/scale")
"""What the conductor asks of the target passes through the meter as well."""
_DRAINED_WITHIN_S = 60.0


class Watched:
    """A process and its page, looked at twice a second: memory, work outstanding, CPU time."""

    def __init__(self, pid: int, state_url: str) -> None:
        self._process = psutil.Process(pid)
        self._url = state_url
        self._over = threading.Event()
        self._cpu_s, self._since_s = self._cpu(), time.monotonic()
        self.rss_before = self.rss_peak = self.rss
        self.outstanding_peak = 0
        self.cpu_share = 0.0
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    @property
    def rss(self) -> int:
        """Bytes of memory now."""
        return int(self._process.memory_info().rss)

    def state(self) -> dict[str, Any]:
        return page(self._url)

    def load_is_over(self) -> None:
        """The CPU share is that until now."""
        self.cpu_share = (self._cpu() - self._cpu_s) / (time.monotonic() - self._since_s)
        self._over.set()
        self._thread.join()

    def _cpu(self) -> float:
        return float(sum(self._process.cpu_times()[:2]))

    def _look(self) -> None:
        while not self._over.wait(0.5):
            self.rss_peak = max(self.rss_peak, self.rss)
            self.outstanding_peak = max(self.outstanding_peak, self.state()["outstanding"])


def page(url: str) -> dict[str, Any]:
    """A page of JSON."""
    with urllib.request.urlopen(f"{url}/state", timeout=30) as answer:
        found: dict[str, Any] = json.load(answer)
    return found


def run(target: str, out: Path) -> dict[str, Any]:
    """The summary of a run of the scenario against ``target``."""
    command = ("run", str(SCENARIO), "--target", target, "--out", str(out), "--json")
    done = subprocess.run(
        [sys.executable, "-m", "tipover", *command],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        cwd=ROOT,
    )
    if not done.stdout:
        raise RuntimeError(f"the run failed:\n{done.stderr[-3000:]}")
    summary: dict[str, Any] = json.loads(done.stdout)
    return summary


def drained(meter: Watched) -> dict[str, Any]:
    """The meter's state once nothing is outstanding: all that was written has been read and ended."""
    end_s = time.monotonic() + _DRAINED_WITHIN_S
    while (state := meter.state())["outstanding"] or state["client_connections"]:
        if time.monotonic() > end_s:
            raise RuntimeError(f"{state['outstanding']} exchanges are still outstanding")
        time.sleep(0.5)
    return state


def counts_table(agreement: Agreement) -> Table:
    table = Table("attempts", "trace", "meter", "difference", title="Counts in a storm")
    trace, meter = agreement.trace, agreement.meter
    for name in ("first", "retries"):
        table.add_row(
            name,
            f"{getattr(trace, name):,}",
            f"{meter[name]:,}",
            f"{agreement.differences[name]:,}",
        )
    table.add_row(
        "all", f"{trace.attempts:,}", f"{agreement.ingress:,}", f"{trace.attempts - agreement.ingress:,}"
    )
    behind = agreement.behind
    table.add_row("arrived at the target", f"{behind['arrived']:,}", f"{behind['passed on']:,}", "")
    return table


def explanations_table(agreement: Agreement) -> Table:
    table = Table("kind of difference", "at most", title="What can explain one")
    for kind, most in agreement.explanations.items():
        table.add_row(kind, f"{most:,}")
    table.add_row("answered as its client gave up (an outcome, no attempt)", f"{agreement.crossed:,}")
    return table


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", type=Path, help="make the run directory here and leave it")
    keep = parser.parse_args().keep
    experiment = load_scenario(str(SCENARIO))
    screen = Console()
    fluid = fluid_trace(experiment)
    screen.print(f"predicted peak of the backlog: {max(fluid.backlog):,.0f} attempts")
    service = experiment.service
    assert service is not None
    pods = ("--pods", str(service.pods), "--rate-per-pod", repr(service.rate_per_pod))
    here = ("--port", "0", "--announce")
    with (
        tempfile.TemporaryDirectory() as folder,
        announced("tipover", "serve", "target", *pods, *here) as (_, target_line),
        announced(
            "tipover", "serve", "meter", "--upstream", json.loads(target_line)["url"], *IGNORED, *here,
            "--admin-port", "0",
        ) as (meter_pid, meter_line),
    ):  # fmt: skip
        urls = json.loads(meter_line)
        meter = Watched(meter_pid, urls["admin_url"])
        out = keep or Path(folder) / "run"
        load_before = os.getloadavg()[0]
        summary = run(urls["url"], out)
        meter.load_is_over()
        state, after = drained(meter), meter.rss
        agreement = Agreement(recorded(out), state, (page(json.loads(target_line)["url"]),))
        scrapes = sum(1 for _ in (out / "server.jsonl").open())
    screen.print(counts_table(agreement), explanations_table(agreement))
    screen.print(f"outcomes in the trace {dict(agreement.trace.outcomes)}, at the meter {state['outcomes']}")
    screen.print(f"scrapes that passed and were not counted: at least {scrapes}")
    mb = 1e6
    screen.print(
        f"meter: {meter.rss_before / mb:.0f} MB before, {meter.rss_peak / mb:.0f} at most, {after / mb:.0f} "
        f"after; {meter.outstanding_peak:,} outstanding at most; {meter.cpu_share:.0%} of a core"
    )
    screen.print(
        f"the run: {summary['outcome']}, valid: {summary['valid']} {summary['invalid_reasons']}; "
        f"load average {load_before:.1f} before, {os.getloadavg()[0]:.1f} after"
    )
    faults = agreement.faults
    if agreement.trace.attempts < ATTEMPTS:
        faults.append(f"no storm of {ATTEMPTS:,} attempts: {agreement.trace.attempts:,}")
    for fault in faults:
        screen.print(f"[red]{fault}[/red]")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
