"""Every guard of the trigger test bites: who may be loaded, how much, until when, and what is kept quiet."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests import servers
from tests.integration.commands import wait_until
from tests.integration.namespaces import Namespace, NoNamespaceError, namespace
from tests.integration.trigger_runs import (
    CAPACITY,
    TRAP,
    Service,
    assert_load_over,
    one_worker,
    serving_as,
    triggered,
)
from tests.servers import Behaviour, Conversation, serving

pytestmark = pytest.mark.sockets

PRIVATE, MOVED, PUBLIC, METADATA = "10.231.7.2", "10.231.7.3", "93.184.216.34", "169.254.169.254"
NAME = "checkout.staging.example"
UNAVAILABLE = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n"
SECRET = "5up3rS3cr3tV4lue"


@pytest.fixture(autouse=True)
def _own_audit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("TIPOVER_AUDIT", raising=False)


@pytest.fixture(scope="module")
def elsewhere() -> Iterator[Namespace]:
    """A network in which private, public and metadata addresses answer, and nobody else hears of it."""
    try:
        with namespace([f"{address}/32" for address in (PRIVATE, MOVED, PUBLIC, METADATA)]) as found:
            yield found
    except NoNamespaceError as why:
        pytest.skip(f"no network namespace here: {why}")


def _allow(folder: Path, host: str, *addresses: str, more: str = "") -> None:
    """An allow-list in the working directory."""
    (folder / "tipover-allow.toml").write_text(
        f'[[allow]]\nhost = "{host}"\naddresses = {json.dumps(addresses)}\nmax_rate_per_s = 400\n'
        f'note = "agreed with the checkout team"\n{more}'
    )


def _refusal(folder: Path, url: str, *options: str, within: Namespace | None = None) -> str:
    """What is said when a test is refused before anything is made or sent."""
    with triggered(folder, url, *options, within=within.within if within else ()) as run:
        assert run.ended() == 2, run.output
        assert not list(run.out.glob("*.jsonl"))
        assert "nothing was sent" in run.output
        return run.output


# Who may be loaded.


@pytest.mark.parametrize(
    ("address", "entry", "options", "why"),
    [
        (PRIVATE, None, ("--yes",), "is not a loopback address"),
        (PUBLIC, None, ("--yes",), "is not a loopback address"),
        (PRIVATE, "10.232.0.0/16", ("--yes",), "is not a loopback address"),
        (PRIVATE, PRIVATE, (), "there is no terminal"),
        (PUBLIC, PUBLIC, ("--yes",), "public"),
        (METADATA, METADATA, ("--yes",), "metadata service"),
        (METADATA, None, ("--yes",), "metadata service"),
    ],
    ids=[
        "private",
        "public",
        "another network's entry",
        "not confirmed",
        "public but not said so",
        "metadata with an entry",
        "metadata",
    ],
)
def test_what_is_not_allowed_is_not_even_connected_to(
    address: str, entry: str | None, options: tuple[str, ...], why: str, elsewhere: Namespace, tmp_path: Path
) -> None:
    """Something listens at the address, and it hears nothing."""
    if entry is not None:
        _allow(tmp_path, entry, entry)
    with serving(servers.friendly, listener=elsewhere.listener(address)) as log:
        said = _refusal(tmp_path, f"http://{address}:{log.port}", *options, within=elsewhere)
        assert log.connections == 0
    assert why in said


def test_an_allowed_host_is_loaded_at_the_address_that_was_checked(
    elsewhere: Namespace, tmp_path: Path
) -> None:
    """The name leads elsewhere as soon as the test has begun; nobody asks again. The record says who allowed
    it."""
    _allow(tmp_path, NAME, "10.231.7.0/24")
    elsewhere.hosts.write_text(f"{PRIVATE} {NAME}\n")
    with (
        serving(servers.friendly, listener=elsewhere.listener(PRIVATE)) as log,
        serving(servers.friendly, listener=elsewhere.listener(MOVED, log.port)) as moved,
    ):
        url = f"http://{NAME}:{log.port}"
        with triggered(
            tmp_path, url, *TRAP, *CAPACITY, "--max-rate", "1500", "--yes", within=elsewhere.within
        ) as run:
            assert run.ended() == 2  # more than the entry grants, with the arithmetic
            assert "attempts in one second" in run.output
            assert log.connections == 0
        slower = (*TRAP, "--capacity", "30")
        with triggered(tmp_path, url, *slower, "--yes", within=elsewhere.within) as run:
            run.wait_for("start")
            elsewhere.hosts.write_text(f"{MOVED} {NAME}\n")
            generator = run.generator()
            assert generator is not None
            # This is what it would read if it asked again.
            assert MOVED in Path(f"/proc/{generator.pid}/root/etc/hosts").read_text()
            run.wait_for("baseline")
            wait_until(lambda: len(Service(log).load()) > 30, "the load arrives")
            run.process.send_signal(signal.SIGTERM)
            stopped_s = time.monotonic()
            assert run.ended() == 130
            assert_load_over(Service(log), stopped_s)
        assert moved.connections == 0
        assert all(NAME.encode() in head for _, head in log.requests)
    users = tmp_path / "state" / "tipover" / "audit.jsonl"
    for file in (run.out / "audit.jsonl", users):
        begun = json.loads(file.read_text().splitlines()[-2])
        assert begun["allowed_by"]["host"] == NAME
        assert begun["allowed_by"]["note"] == "agreed with the checkout team"
        assert begun["target"]["address"] == PRIVATE
        assert begun["confirmed"] == "--yes"
        assert begun["ceiling"]["rate_per_s"] == 400


@pytest.mark.parametrize("success", [("2xx", "3xx"), ("2xx",)])
def test_a_redirect_is_an_answer_and_is_not_followed(success: tuple[str, ...], tmp_path: Path) -> None:
    """Where it leads nobody has checked; whether it is a success is what was asked for."""
    with serving(servers.friendly) as other:
        redirect = (
            f"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:{other.port}/\r\nContent-Length: 0\r\n\r\n"
        )
        asked = [word for status in success for word in ("--success", status)]
        with (
            serving_as(servers.answering(*[redirect.encode()] * 100_000)) as service,
            triggered(tmp_path, service.url, *TRAP, *CAPACITY, *asked) as run,
        ):
            if "3xx" in success:
                run.wait_for("spike")  # the baseline was healthy
                run.process.send_signal(signal.SIGINT)
                assert run.ended() == 130
            else:
                assert run.ended() == 4
                assert "status 302" in run.json()["safety_stop"]
            assert service.load()
        assert other.connections == 0


# How much.


@pytest.mark.parametrize(
    ("option", "value", "arithmetic"),
    [
        ("--max-rate", "300", "attempts in one second, over the ceiling"),
        ("--max-attempts-total", "500", "attempts, over the ceiling"),
        ("--max-duration", "20", "s at worst, over the ceiling"),
    ],
)
def test_what_would_exceed_a_ceiling_is_refused_with_the_arithmetic(
    option: str, value: str, arithmetic: str, tmp_path: Path
) -> None:
    """With a known capacity nothing has to be sent to see it."""
    with serving(servers.friendly) as log:
        with triggered(tmp_path, f"http://127.0.0.1:{log.port}", *TRAP, *CAPACITY, option, value) as run:
            assert run.ended() == 2
        assert log.connections == 0
    assert arithmetic in run.output


def test_attempts_that_run_away_stop_at_the_rate(tmp_path: Path) -> None:
    """An endless client whose rejections come at once has no rate of its own; the ceiling is one."""
    rejects: list[bool] = []
    options = ("--timeout", ".5", "--attempts", "inf", "--utilization", ".3", "--capacity", "40")
    with (
        serving_as(_switched(rejects, UNAVAILABLE)) as service,
        triggered(tmp_path, service.url, *options, "--max-rate", "800") as run,
    ):
        run.wait_for("watch")
        rejects.append(True)
        rejected_s = time.monotonic()
        assert run.ended() == 4
        times = service.load()
        assert len([at for at in times if at > rejected_s]) > 300
        # The generator counts when it sends; a busy machine may deliver some later than others.
        assert max(_in_a_second(times)) <= 800 * 1.25
        stopped_s = run.lines("stopped")[0]["t_s"] + run.lines("started")[0]["start_monotonic_s"]
        assert_load_over(service, stopped_s, 0.5)
        rejects.clear()
        assert service.is_well()
    assert "the ceiling rate_per_s" in run.json()["safety_stop"]


def _in_a_second(times: list[float]) -> Iterator[int]:
    first = 0
    for index, at in enumerate(times):
        while times[first] <= at - 1.0:
            first += 1
        yield index - first + 1


def _switched(switch: list[bool], bad: bytes) -> Behaviour:
    """Answers well at once, and with ``bad`` while the switch holds anything."""

    def answer(talk: Conversation) -> None:
        while (head := talk.read_request()) is not None:
            talk.send(bad if switch and b"/well" not in head else servers.OK)

    return answer


@pytest.mark.parametrize(("option", "value"), [("--max-attempts-total", "150"), ("--max-duration", "2")])
def test_a_ceiling_that_nobody_could_foresee_stops_the_test(option: str, value: str, tmp_path: Path) -> None:
    """The generator itself counts; the service never sees one attempt more, or later."""
    short = tmp_path / "plan.toml"
    short.write_text("[test]\nrescue_s = 0.1\nwatch_timeouts = 5\nbaseline_timeouts = 1\n")
    with one_worker() as service:
        with triggered(tmp_path, service.url, short, "--timeout", ".1", option, value) as run:
            assert run.ended() == 4, run.output
        asked = len(service.load())
        time.sleep(0.5)
        assert len(service.load()) == asked
        if option == "--max-attempts-total":
            assert 0 < asked <= 150
        assert service.is_well()
    ceiling = "attempts" if option == "--max-attempts-total" else "duration_s"
    assert f"the ceiling {ceiling}" in run.json()["safety_stop"]


# Until when.


def test_a_bystander_that_fails_ends_the_test(tmp_path: Path) -> None:
    """It is well at first, or nothing would begin; later the reason is named."""
    fails: list[bool] = []
    with one_worker() as service, serving_as(_switched(fails, UNAVAILABLE)) as bystander:
        health = f"{bystander.url}/health"
        with triggered(tmp_path, service.url, *TRAP, *CAPACITY, "--health-url", health) as run:
            run.wait_for("reach")
            fails.append(True)
            assert run.ended() == 4
            assert_load_over(service, time.monotonic(), 0.0)
            wait_until(service.is_well, "the service is well again")
    reason = run.json()["safety_stop"]
    assert f"127.0.0.1:{bystander.log.port}" in reason
    assert "status 503" in reason
    assert '"well": false' in (run.out / "guards.jsonl").read_text()


@pytest.mark.parametrize(
    ("result", "why"),
    [('[{"metric":{},"value":[0,"3"]}]', "value 3"), ("[]", "an empty vector")],
    ids=["above 0", "no sample"],
)
def test_a_query_that_says_stop_ends_the_test(result: str, why: str, tmp_path: Path) -> None:
    """Above 0 it does, and with nothing to say it does as well."""
    stops: list[bool] = []
    with one_worker() as service, serving_as(_prometheus(stops, result)) as prometheus:
        query = ("--prometheus", prometheus.url, "--stop-query", "errors_of_others")
        with triggered(tmp_path, service.url, *TRAP, *CAPACITY, *query) as run:
            run.wait_for("reach")
            stops.append(True)
            assert run.ended() == 4
            assert_load_over(service, time.monotonic(), 0.0)
            wait_until(service.is_well, "the service is well again")
    assert "errors_of_others" in run.json()["safety_stop"]
    assert why in run.json()["safety_stop"]


def _prometheus(stops: list[bool], then: str) -> Behaviour:
    """Answers instant queries with 0, and with this result while the switch holds anything."""

    def answer(talk: Conversation) -> None:
        while talk.read_request() is not None:
            result = then if stops else '[{"metric":{},"value":[0,"0"]}]'
            body = f'{{"status":"success","data":{{"resultType":"vector","result":{result}}}}}'
            talk.send(f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())

    return answer


def test_a_condition_that_holds_already_lets_nothing_begin(tmp_path: Path) -> None:
    """Zero samples before the start are no better than later."""
    with serving(servers.friendly) as log, serving_as(_prometheus([True], "[]")) as prometheus:
        query = ("--prometheus", prometheus.url, "--stop-query", "errors_of_others")
        said = _refusal(tmp_path, f"http://127.0.0.1:{log.port}", *TRAP, *CAPACITY, *query)
        assert log.connections == 0
    assert "an empty vector" in said


@pytest.mark.parametrize("moment", ["reach", "baseline"])
def test_a_service_that_fails_already_is_not_pushed(moment: str, tmp_path: Path) -> None:
    """One in five fails, while nobody has pushed it yet: no spike comes."""
    fails: list[bool] = []
    answer = lambda number: UNAVAILABLE if fails and number % 5 == 0 else servers.OK  # noqa: E731
    with one_worker(answer) as service:
        if moment == "reach":
            fails.append(True)
        with triggered(tmp_path, service.url, *TRAP, *CAPACITY, "--attempts", "1") as run:
            if moment == "baseline":
                run.wait_for("baseline")
                fails.append(True)
                run.wait_for("check")  # it would wait long until it has left the service well
                fails.clear()
            assert run.ended() == 4
        fails.clear()
        assert service.is_well()
    assert "spike" not in {line["command"].get("phase") for line in run.lines("obeyed")}
    assert "%" in run.json()["safety_stop"]


# The finding, and what is kept quiet.


def _everything(folder: Path) -> dict[str, bytes]:
    """All that the files of a directory hold; tables also as text, since they are compressed."""
    found = {}
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        found[str(path)] = path.read_bytes()
        if path.suffix == ".parquet":
            found[f"{path} as text"] = str(pq.read_table(path).to_pydict()).encode()
    return found


def test_a_collapse_is_the_finding_and_a_secret_stays_one(tmp_path: Path) -> None:
    """The service collapses with every guard on watch: the test goes on to its verdict and the rescue. The
    header that let it in stands in no file and in no command line."""
    with one_worker() as service, serving_as(servers.friendly) as bystander:
        header = ("-H", f"Authorization: Bearer {SECRET}")
        guards = ("--health-url", bystander.url)
        with triggered(tmp_path, service.url, *TRAP, *CAPACITY, *header, *guards) as run:
            run.wait_for("baseline")
            generator = run.generator()
            assert generator is not None
            assert SECRET not in " ".join(generator.cmdline())
            assert run.ended(60) == 1, run.output
        assert service.is_well()
        bearer = f"Authorization: Bearer {SECRET}".encode()
        load = [head for _, head in service.log.requests if b"GET /work" in head]
        assert load
        assert all(bearer in head for head in load)
    found = run.json()
    assert found["verdict"] == "trapped"
    assert found["safety_stop"] is None
    assert found["left_healthy"] is True
    _assert_quiet(tmp_path, run.output)


def test_the_secret_of_a_curl_command_line_stays_one(tmp_path: Path) -> None:
    """In a header, in the credentials, in the query and in the body; the service gets them all."""
    with serving(_swallowing) as log:
        curl = (
            f"curl -X POST 'http://127.0.0.1:{log.port}/work?token={SECRET}' -u 'me:{SECRET}' "
            f"-H 'X-Api-Key: {SECRET}' -H 'Content-Type: application/json' "
            f"""--data '{{"password": "{SECRET}"}}'"""
        )
        with triggered(tmp_path, "", "--curl", curl, *TRAP, *CAPACITY) as run:
            run.wait_for("baseline")
            generator = run.generator()
            assert generator is not None
            assert SECRET not in " ".join(generator.cmdline())
            run.process.send_signal(signal.SIGINT)
            stopped_s = time.monotonic()
            assert run.ended() == 130, run.output
            assert_load_over(Service(log), stopped_s)
        received = b"".join(head for _, head in log.requests)
    assert f"token={SECRET}".encode() in received
    assert f"X-Api-Key: {SECRET}".encode() in received
    assert f'"password": "{SECRET}"'.encode() in received
    _assert_quiet(tmp_path, run.output)


def _swallowing(talk: Conversation) -> None:
    """Answers whatever ends a request's body here."""
    while talk.read_request() is not None:
        talk.send(servers.OK)


def _assert_quiet(folder: Path, output: str) -> None:
    """The secret stands nowhere, and the search would have found it."""
    assert SECRET not in output
    files = _everything(folder)
    assert any("audit.jsonl" in name and "state" in name for name in files)
    assert any(name.endswith("run/audit.jsonl") for name in files)
    assert any("as text" in name for name in files)
    assert [name for name, held in files.items() if SECRET.encode() in held] == []
