"""The generator process of a trigger test does what it is told, on real sockets, and counts it right."""

from __future__ import annotations

import fcntl
import math
import time
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from domain.budgets.envoy import EnvoyBudget
from domain.experiment import Client
from domain.request_mix import RequestMix, RequestTemplate
from domain.trigger.messages import Drop, End, Load, Obeyed, Probe, ProbeLine, Saturate, Tick
from domain.trigger.plan import Ceiling, Probing
from tests import servers
from tests.loadgen.steered.generator import Steered, a_plan, steered
from tests.servers import Conversation, serving

pytestmark = pytest.mark.sockets


def _within(found: float, expected: float, errors: float = 5.0) -> bool:
    """Whether a Poisson count is within so many standard errors."""
    return abs(found - expected) <= errors * math.sqrt(expected)


def _phases(generator: Steered) -> dict[str, float]:
    """When each phase began."""
    return {line.command["phase"]: line.t_s for line in generator.of(Obeyed) if "phase" in line.command}


def test_load_follows_the_commands_from_the_moment_they_come(tmp_path: Path) -> None:
    """Poisson first attempts at 150/s, then 600/s, then none; all planned ones are sent once and counted."""
    with serving(servers.friendly) as log, steered(a_plan(log.port), tmp_path) as generator:
        generator.tell(Load(150, "slow"))
        time.sleep(2)
        generator.tell(Load(600, "fast"))
        time.sleep(1)
        generator.tell(Load(0, "none"))
        generator.obeyed("none")
        quiet = generator.until(lambda tick: not tick.open_attempts)
        time.sleep(0.5)
        assert generator.tick.planned == quiet.planned
        stopped = generator.end()
    assert stopped.reason == "the test is over"
    assert stopped.ceiling is stopped.fault is None
    trace, health, begun = generator.trace(), generator.health(), _phases(generator)
    planned = np.sort(trace.planned_s)
    assert health["stopped_by"] is None
    assert health["planned"] == health["sent"] == health["attempts"] == len(trace) == len(log.requests)
    assert set(trace.outcome) == {"ok"}
    for phase, until, rate in (("slow", "fast", 150), ("fast", "none", 600)):
        inside = planned[(planned >= begun[phase]) & (planned < begun[until])]
        assert _within(len(inside), rate * (begun[until] - begun[phase]))
        assert stats.kstest(np.diff(inside) * rate, "expon").pvalue > 1e-4
    last: Tick = generator.tick
    assert (last.planned, last.first, last.answered) == (len(trace),) * 3
    assert (last.retries, last.failed, last.open_attempts) == (0, 0, 0)


def test_retries_of_open_jobs_go_on_without_load(tmp_path: Path) -> None:
    """After the load is set to zero each open job still makes all its attempts; every timeout is counted."""
    with serving(servers.silent) as log:
        plan = a_plan(log.port, Client(timeout_s=0.3, max_attempts=3))
        with steered(plan, tmp_path) as generator:
            generator.tell(Load(100, "load"))
            time.sleep(0.5)
            generator.tell(Load(0, "none"))
            generator.obeyed("none")
            tick = generator.until(lambda tick: not tick.open_attempts)
            generator.end()
    assert tick.first > 10
    assert (tick.retries, tick.failed, tick.timeouts) == (2 * tick.first, 3 * tick.first, 3 * tick.first)
    assert len(generator.trace()) == len(log.requests) == 3 * tick.first


def test_drop_hangs_up_on_everything_and_load_works_again(tmp_path: Path) -> None:
    """Jobs, loops and probes end at once, none of them as failed; then new load is sent."""
    budget = EnvoyBudget(percent=0.2, min_concurrent=3)
    with serving(servers.silent) as log:
        plan = a_plan(log.port, Client(timeout_s=5.0, max_attempts=2, budget=budget))
        with steered(plan, tmp_path) as generator:
            generator.tell(Load(100, "load"), Probe(20), Saturate(7, "loops"))
            generator.until(lambda tick: tick.first > 50 and tick.probes_open > 5 and tick.open_attempts > 57)
            generator.tell(Drop("drop"))
            dropped_s = generator.obeyed("drop")
            after = generator.until(lambda tick: tick.t_s > dropped_s)
            time.sleep(0.5)
            still = generator.tick
            generator.tell(Load(100, "again"), Probe(20), Saturate(3, "again"))
            again = generator.until(lambda tick: tick.first > after.first + 20 and tick.probes_open > 2)
            generator.end()
    assert (after.open_attempts, after.probes_open) == (0, 0)
    assert (after.failed, after.timeouts, after.saturated_failed) == (0, 0, 0)
    assert (still.planned, still.first, still.probes_sent) == (after.planned, after.first, after.probes_sent)
    assert after.planned == after.first
    assert again.open_attempts == again.first - after.first + 3
    trace = generator.trace()
    before = trace[trace.sent_s < dropped_s]
    assert set(before.outcome) == {"aborted"}
    assert before.done_s.max() <= dropped_s
    assert (before.done_s.max() - before.done_s.min()) == 0
    assert not ((trace.sent_s > dropped_s) & (trace.sent_s <= still.t_s)).any()


def test_probes_know_what_was_sent_before_them(tmp_path: Path) -> None:
    """Each ended probe counts exactly the attempts sent, and those turned away, before it; evenly spaced."""
    server = b"HTTP/1.1 503 Service Unavailable\r\nServer: a/1\r\nContent-Length: 0\r\n\r\n"

    def refusing(talk: Conversation) -> None:
        while talk.read_request() is not None:
            talk.send(server)

    with serving(refusing) as log, steered(a_plan(log.port), tmp_path) as generator:
        generator.tell(Load(100, "load"), Probe(20))
        generator.until(lambda tick: tick.probes_sent >= 25)
        generator.tell(Load(0, "none"), Probe(0))
        generator.until(lambda tick: tick.open_attempts == tick.probes_open == 0)
        generator.end()
    probes: list[ProbeLine] = sorted(generator.of(ProbeLine), key=lambda probe: probe.number)
    assert len(probes) == generator.tick.probes_sent >= 25
    assert {(p.outcome, p.status, p.server) for p in probes} == {("rejected", 503, "a/1")}
    trace = generator.trace()
    for probe in probes:
        earlier = sum(other.sent_s < probe.sent_s for other in probes)
        assert probe.attempts_before == (trace.sent_s < probe.sent_s).sum() + earlier
        ended = sum(other.done_s < probe.sent_s for other in probes)
        assert probe.rejected_before == (trace.done_s < probe.sent_s).sum() + ended
    # Evenly spaced, up to what a busy machine is late by: none is made up for.
    sent = np.array([probe.sent_s for probe in probes])
    assert len(probes) <= (sent[-1] - sent[0]) * 20 + 1.5
    assert np.median(np.diff(sent)) == pytest.approx(0.05, rel=0.1)
    tick = generator.tick
    assert tick.rejected == tick.failed == len(trace)


def test_probes_wait_for_as_long_as_it_takes_and_are_never_too_many(tmp_path: Path) -> None:
    """A probe outlives the client's timeout by far; above ``most_open`` none is sent until one has ended."""

    def slow(talk: Conversation) -> None:
        while talk.read_request() is not None:
            talk.over.wait(1.0)
            talk.send(servers.OK)

    with serving(slow) as log:
        plan = a_plan(log.port, Client(0.1, 1), probing=Probing(patience_s=20.0, most_open=4))
        with steered(plan, tmp_path) as generator:
            generator.tell(Probe(50))
            generator.until(lambda tick: len(generator.of(ProbeLine)) >= 9)
            generator.end()
    assert {probe.outcome for probe in generator.of(ProbeLine)} == {"ok"}
    assert max(tick.probes_open for tick in generator.of(Tick)) == 4
    assert all(probe.done_s - probe.sent_s >= 0.99 for probe in generator.of(ProbeLine))
    assert len(generator.trace()) == 0


def test_saturation_keeps_so_many_open(tmp_path: Path) -> None:
    """Four loops, then nine, then two, then none: as many wait at a time; all are answered."""

    def slow(talk: Conversation) -> None:
        while talk.read_request() is not None:
            talk.over.wait(0.1)
            talk.send(servers.OK)

    with serving(slow) as log, steered(a_plan(log.port), tmp_path) as generator:
        for count in (4, 9, 2):
            generator.tell(Saturate(count, f"{count} loops"))
            generator.obeyed(f"{count} loops")
            generator.until(lambda tick, count=count: tick.open_attempts == count)
            told = generator.until(lambda tick, count=count: tick.open_attempts == count)
            later = generator.until(lambda tick, told=told: tick.t_s > told.t_s + 0.5)
            rate = (later.saturated - told.saturated) / (later.t_s - told.t_s)
            assert 0 < rate <= count / 0.1 + 2 * count
        generator.tell(Saturate(0, "none"))
        done = generator.until(lambda tick: not tick.open_attempts)
        generator.end()
    assert done.saturated_failed == 0
    assert done.saturated == len(log.requests)
    assert done.planned == done.first == len(generator.trace()) == 0


def test_a_dead_service_is_not_hammered(tmp_path: Path) -> None:
    """Loops whose requests are turned away at once send at most ten a second each, and count them."""
    with serving(servers.rejecting) as log, steered(a_plan(log.port), tmp_path) as generator:
        generator.tell(Saturate(3, "loops"))
        begun_s = generator.obeyed("loops")
        tick = generator.until(lambda tick: tick.saturated_failed >= 30)
        generator.end()
    assert tick.saturated == 0
    assert tick.saturated_failed <= 3 * ((tick.t_s - begun_s) / 0.1 + 1)


def test_saturation_stays_below_the_ceiling(tmp_path: Path) -> None:
    """However fast the service answers, loops and probes together never reach the ceiling on the rate."""
    ceiling = Ceiling(rate_per_s=200)
    with serving(servers.friendly) as log, steered(a_plan(log.port, ceiling=ceiling), tmp_path) as generator:
        generator.tell(Saturate(8, "loops"), Probe(5))
        tick = generator.until(lambda tick: tick.saturated >= 500)
        generator.end()
    begun_s = _phases(generator)["loops"]
    assert tick.saturated / (tick.t_s - begun_s) <= 200
    times = np.array([at_s for at_s, _ in log.requests])
    assert (np.searchsorted(times, times + 1.0) - np.arange(len(times))).max() <= 215  # as the server saw it


def test_a_reader_that_pauses_loses_no_line(tmp_path: Path) -> None:
    """With a full pipe the load goes on; when the reader is back, all ticks are there, in order."""
    with serving(servers.friendly) as log, steered(a_plan(log.port), tmp_path) as generator:
        fcntl.fcntl(generator.lines_fd, fcntl.F_SETPIPE_SZ, 4096)
        generator.tell(Load(100, "load"))
        generator.until(lambda tick: tick.first > 10)
        generator.reading = False
        time.sleep(3)
        requests, seen = len(log.requests), len(generator.of(Tick))
        generator.reading = True
        generator.until(lambda tick: tick.first > requests)
        stopped = generator.end()
    assert requests > 150
    assert stopped.fault is None
    times = np.array([tick.t_s for tick in generator.of(Tick)])
    assert (np.diff(times) > 0).all()
    # Sixty fall into the pause; a busy machine makes some of them late, and so fewer.
    assert len(times) - seen > 30
    assert generator.tick.first == len(generator.trace())


OWN = """
from tipover.locust_plugin import Request, StormUser

class Checkout(StormUser):
    def request(self, job):
        return Request("POST", f"/checkout/{job.job_id}", {"X-Shop": "7"}, b"{}")

    def is_success(self, status):
        return status == 503
"""


def test_a_locustfile_of_the_users_own_says_what_is_sent(tmp_path: Path) -> None:
    """Its request and its notion of success hold for jobs, loops and probes; no two share an id."""
    own = tmp_path / "own.py"
    own.write_text(OWN)
    with serving(servers.rejecting) as log, steered(a_plan(log.port), tmp_path, own) as generator:
        generator.tell(Load(50, "load"), Probe(10), Saturate(1, "loop"))
        tick = generator.until(lambda t: t.answered > 20 and t.saturated > 5 and generator.of(ProbeLine))
        generator.end()
    assert (tick.failed, tick.saturated_failed) == (0, 0)
    assert {probe.outcome for probe in generator.of(ProbeLine)} == {"ok"}
    heads = [head.decode() for _, head in log.requests]
    assert all(head.startswith("POST /checkout/") and "\r\nX-Shop: 7\r\n" in head for head in heads)
    assert len({head.split()[1] for head in heads}) == len(heads)


SENDS_ITSELF = """
import gevent
from tipover.locust_plugin import Outcome, StormUser

class Other(StormUser):
    def send(self, job, attempt, timeout_s):
        gevent.sleep(0.5)
        return Outcome.OK, 0
"""


def test_a_user_that_sends_itself_is_patient_when_it_has_to_be(tmp_path: Path) -> None:
    """Its own ``send`` of half a second is cut at the client's timeout for jobs, and not for probes."""
    own = tmp_path / "own.py"
    own.write_text(SENDS_ITSELF)
    with steered(a_plan(1, Client(0.2, 1)), tmp_path, own) as generator:
        generator.tell(Load(50, "load"), Probe(10))
        tick = generator.until(lambda tick: len(generator.of(ProbeLine)) > 3 and tick.timeouts > 20)
        generator.end()
    assert tick.answered == 0
    assert {probe.outcome for probe in generator.of(ProbeLine)} == {"ok"}


def test_the_plans_mix_is_sent(tmp_path: Path) -> None:
    """Both requests of a mix go out, by their weights, and the same for all attempts of a job."""
    mix = RequestMix((RequestTemplate(path="/a", weight=3.0), RequestTemplate(path="/b", weight=1.0)))
    with serving(servers.rejecting) as log, steered(a_plan(log.port, mix=mix), tmp_path) as generator:
        generator.tell(Load(200, "load"))
        generator.until(lambda tick: tick.first > 300)
        generator.tell(End())
        generator.ended()
    paths: dict[str, set[bytes]] = {}
    for _, head in log.requests:
        fields = head.decode().split("\r\n")
        request_id = next(field for field in fields if field.startswith("X-Request-Id"))
        paths.setdefault(request_id, set()).add(head.split()[1])
    assert all(len(found) == 1 for found in paths.values())
    share = sum(found == {b"/a"} for found in paths.values()) / len(paths)
    assert abs(share - 0.75) < 5 * math.sqrt(0.75 * 0.25 / len(paths))
