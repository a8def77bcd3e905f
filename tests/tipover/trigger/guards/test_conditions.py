"""The watch beside the test, with made-up looks and with real bystanders."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable

import pytest

from domain.errors import ConfigurationError, ExitCode
from domain.trigger import stop_conditions
from domain.trigger.guards_plan import Guards
from domain.trigger.stop_conditions import Sample
from tests.servers import Conversation, dripping, friendly, rejecting, serving
from tests.tipover.trigger.guards.answers import answering, saying
from tipover.trigger.guards.conditions import Watched, Watchman, watchman_for


def watched(look: Callable[[float], bool], for_s: float = 0.0, name: str = "bystander") -> Watched:
    """A condition that is well when ``look`` says so."""
    return Watched(name, "well", for_s, lambda t_s: Sample(t_s, name, look(t_s), "seen"))


def tripped_within(watchman: Watchman, within_s: float) -> str | None:
    """Wait for it to trip."""
    end_s = time.monotonic() + within_s
    while watchman.tripped() is None and time.monotonic() < end_s:
        time.sleep(0.01)
    return watchman.tripped()


def test_without_conditions_it_never_trips() -> None:
    with watchman_for(Guards()) as watchman:
        watchman.refuse_unless_well()
        assert watchman.tripped() is None
        assert watchman.samples == ()


def test_a_failure_trips_it_and_stays() -> None:
    """A bystander that gets well again does not take the stop back."""
    well = threading.Event()
    with Watchman([watched(lambda t_s: well.is_set())]) as watchman:
        said = tripped_within(watchman, 5.0)
        assert said is not None
        assert said.startswith("bystander: seen (limit: well)")
        well.set()
        count = len(watchman.samples)
        while len(watchman.samples) == count:
            time.sleep(0.01)
        assert watchman.tripped() == said


def test_what_is_well_does_not_trip_it_and_is_sampled() -> None:
    with Watchman([watched(lambda t_s: True)], origin_s=time.monotonic() - 100.0) as watchman:
        watchman.refuse_unless_well(5.0)
        assert watchman.tripped() is None
        assert watchman.samples[0].t_s >= 100.0
        assert watchman.samples[0].well


def test_a_look_that_breaks_has_failed() -> None:
    def broken(t_s: float) -> bool:
        raise ArithmeticError("no such thing")

    with Watchman([watched(broken)]) as watchman:
        said = tripped_within(watchman, 5.0)
    assert said is not None
    assert "ArithmeticError: no such thing" in said


def test_a_look_that_hangs_is_silence_and_hangs_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """It trips, another condition is still looked at, and stopping does not wait for it."""
    never = threading.Event()

    def hanging(t_s: float) -> bool:
        return never.wait(60.0)

    conditions = [watched(hanging, name="stuck"), watched(lambda t_s: True, name="fine")]
    monkeypatch.setattr(stop_conditions, "SILENCE_S", 1.0)
    with Watchman(conditions) as watchman:
        with pytest.raises(ConfigurationError, match="stuck: gave no sample"):
            watchman.refuse_unless_well(0.2)
        said = tripped_within(watchman, 15.0)
        began_s = time.monotonic()
    assert time.monotonic() - began_s < 1.0
    never.set()
    assert said is not None
    assert said.startswith("stuck: no sample")
    assert any(sample.condition == "fine" for sample in watchman.samples)


def test_after_the_stop_nothing_is_looked_at_and_nothing_trips() -> None:
    looks: list[float] = []
    with Watchman([watched(lambda t_s: bool(looks.append(t_s)) or True)]) as watchman:
        watchman.refuse_unless_well(5.0)
    count = len(looks)
    time.sleep(0.7)
    assert len(looks) <= count + 1
    assert watchman.tripped() is None


def test_a_condition_that_holds_already_refuses_the_start() -> None:
    """All of them at once."""
    conditions = [watched(lambda t_s: False, 60.0, "one"), watched(lambda t_s: False, 60.0, "two")]
    with Watchman(conditions) as watchman, pytest.raises(ConfigurationError) as caught:
        watchman.refuse_unless_well(5.0)
    assert [fault.field for fault in caught.value.faults] == ["one", "two"]
    assert caught.value.exit_code == ExitCode.CONFIGURATION


def test_a_process_ends_while_a_look_hangs() -> None:
    """The watch never keeps the harness alive, and brings neither gevent nor locust into it."""
    program = (
        "import sys, threading\n"
        "from domain.trigger.stop_conditions import Sample\n"
        "from tipover.trigger.guards.conditions import Watched, Watchman\n"
        "Watchman([Watched('x', 'y', 1.0, lambda t_s: threading.Event().wait())]).start()\n"
        "import tipover.trigger.guards.audit, tipover.trigger.guards.confirmation\n"
        "import tipover.trigger.guards.stop_file\n"
        "print(sorted({'gevent', 'locust', 'aiohttp', 'pydantic'} & set(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], check=False, timeout=60, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "[]", "")


def test_a_query_needs_a_prometheus() -> None:
    with pytest.raises(ConfigurationError, match="stop_query: needs prometheus"):
        watchman_for(Guards(stop_query="up == 0"))


@pytest.mark.sockets
@pytest.mark.parametrize(
    "url", ["http://169.254.169.254/latest", "http://me:secret@127.0.0.1/", "ftp://127.0.0.1/"]
)
def test_a_bystander_that_must_not_be_asked_is_refused(url: str) -> None:
    with pytest.raises(ConfigurationError, match="health_url") as caught:
        watchman_for(Guards(health_url=url))
    assert "secret" not in str(caught.value)


@pytest.mark.sockets
def test_a_bystander_that_is_well_lets_the_test_go_on() -> None:
    with serving(friendly) as log:
        watchman = watchman_for(Guards(health_url=f"http://127.0.0.1:{log.port}/health"))
        with watchman:
            watchman.refuse_unless_well(10.0)
            assert watchman.tripped() is None
    assert log.requests[0][1].startswith(b"GET /health HTTP/1.1")


@pytest.mark.sockets
@pytest.mark.parametrize(
    ("behaviour", "seen"),
    [
        (rejecting, "status 503"),
        (answering(302, b"", "Location: /elsewhere"), "status 302"),
        (dripping, "no answer within 1 s"),
    ],
)
def test_a_bystander_that_is_not_well_stops_the_test(
    behaviour: Callable[[Conversation], None], seen: str
) -> None:
    with serving(behaviour) as log:
        url = f"http://127.0.0.1:{log.port}/"
        with watchman_for(Guards(health_url=url, health_for_s=0.5)) as watchman:
            said = tripped_within(watchman, 20.0)
    assert said is not None
    assert f"health of 127.0.0.1:{log.port}: {seen}" in said


@pytest.mark.sockets
@pytest.mark.parametrize(
    ("value", "seen"), [("2", "value 2"), ("NaN", "value nan"), (None, "an empty vector")]
)
def test_a_query_stops_the_test(value: str | None, seen: str) -> None:
    """Above 0, not a number, or no sample at all."""
    result = [] if value is None else [{"metric": {}, "value": [1.0, value]}]
    with serving(saying("vector", result)) as log:
        guards = Guards(prometheus=f"http://127.0.0.1:{log.port}", stop_query="errors", stop_for_s=0.1)
        with watchman_for(guards) as watchman:
            said = tripped_within(watchman, 20.0)
    assert said is not None
    assert f"query errors: {seen}" in said


@pytest.mark.sockets
def test_a_query_at_zero_does_not() -> None:
    with serving(saying("vector", [{"metric": {}, "value": [1.0, "0"]}])) as log:
        guards = Guards(prometheus=f"http://127.0.0.1:{log.port}", stop_query="errors", stop_for_s=0.0)
        with watchman_for(guards) as watchman:
            watchman.refuse_unless_well(10.0)
            assert watchman.tripped() is None
