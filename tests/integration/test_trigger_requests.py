"""What ``tipover trigger`` sends and what it makes of what comes back, from the command line to report."""

from __future__ import annotations

import itertools
import json
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from analysis.trace import read_trace
from tests import servers
from tests.integration.commands import tipover
from tests.loadgen.certificates import Authority
from tests.servers import CHUNKED, Behaviour, Conversation, ServerLog, pouring, serving

pytestmark = pytest.mark.sockets

QUICK = ("--capacity", "60", "--utilization", "0.3", "--timeout", "0.2", "--patience", "1", "--attempts", "2")
"""A test of a few seconds: Aρ = 0.6."""
MOST_RSS_BYTES = 400e6
AT_ONCE = 3
EXAMPLE = Path(__file__).parents[2] / "examples" / "checkout.py"


@dataclass(frozen=True)
class Trial:
    """One test that has ended, and what the server saw of it."""

    done: subprocess.CompletedProcess[str]
    out: Path
    log: ServerLog

    @property
    def said(self) -> str:
        """What was printed, on one line."""
        return " ".join(self.done.stdout.split())

    @property
    def found(self) -> dict[str, Any]:
        """``trigger.json``."""
        data: dict[str, Any] = json.loads((self.out / "trigger.json").read_text())
        return data

    @property
    def generator(self) -> dict[str, Any]:
        """What the generator said of itself."""
        data: dict[str, Any] = json.loads((self.out / "generator" / "worker-00.json").read_text())
        return data

    @property
    def requests(self) -> list[tuple[str, str, dict[str, str], bytes]]:
        """What came in: method, path, headers (lower-case names), body."""
        return [_parsed(data) for _, data in self.log.requests]


def _parsed(data: bytes) -> tuple[str, str, dict[str, str], bytes]:
    head, _, body = data.partition(b"\r\n\r\n")
    line, *headers = head.decode().split("\r\n")
    method, path, _ = line.split(" ")
    pairs = (header.partition(": ") for header in headers)
    return method, path, {name.lower(): value for name, _, value in pairs}, body


def trial(log: ServerLog, out: Path, *arguments: str | Path, scheme: str = "http") -> Trial:
    """A test of the server behind ``log``, with a small plan unless the arguments are a whole one."""
    url = f"{scheme}://127.0.0.1:{log.port}"
    done = tipover("trigger", "--url", url, *QUICK, "--out", out, *arguments)
    return Trial(done, out, log)


@pytest.fixture(autouse=True, scope="module")
def _audited(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The audit record of these tests is not the user's."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TIPOVER_AUDIT", str(tmp_path_factory.mktemp("audit") / "audit.jsonl"))
        yield


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """One for all tests: keys take time."""
    return Authority(tmp_path_factory.mktemp("authority"))


def at_capacity(answer: bytes = servers.OK) -> Behaviour:
    """A service of some 65 requests a second, one after the other."""
    one_at_a_time = threading.Lock()

    def serve(talk: Conversation) -> None:
        while talk.read_request() is not None:
            with one_at_a_time:
                time.sleep(0.015)
            talk.send(answer)

    return serve


def healthy(test: Trial) -> None:
    """It was tested to its end and nothing was wrong with its answers."""
    assert test.done.returncode in (0, 1), test.done.stdout + test.done.stderr
    assert test.found["safety_stop"] is None
    assert test.found["left_healthy"] is True
    assert test.found["error_reasons"] == {}
    # One request that was open when the last phase ended is in no counter.
    assert 0 <= len(test.requests) - test.found["attempts_sent"] <= 1


# Where requests come from.

HAR = [
    {
        "method": "GET",
        "url": "https://shop.invalid/list?page=2",
        "headers": [{"name": "Accept", "value": "a/b"}],
    },
    {"method": "GET", "url": "https://shop.invalid/item", "headers": []},
    {"method": "GET", "url": "https://shop.invalid/item", "headers": []},
    {"method": "GET", "url": "https://shop.invalid/item", "headers": []},
]
OPENAPI = {
    "openapi": "3.0.3",
    "info": {"title": "shop", "version": "1"},
    "paths": {
        "/items/{id}": {
            "get": {
                "operationId": "item",
                "parameters": [
                    {
                        "name": "id",
                        "in": "path",
                        "required": True,
                        "schema": {"type": "integer"},
                        "example": 7,
                    }
                ],
                "responses": {"200": {"description": "it"}},
            }
        },
        "/items": {
            "post": {
                "operationId": "add",
                "requestBody": {"content": {"application/json": {"example": {"name": "x"}}}},
                "responses": {"201": {"description": "made"}},
            }
        },
    },
}


def test_a_recording_over_https_with_an_authority_of_its_own(tmp_path: Path, authority: Authority) -> None:
    """HAR and ``--ca-file``: the requests arrive as often as they were recorded, relatively."""
    har = tmp_path / "shop.har"
    har.write_text(json.dumps({"log": {"entries": [{"request": request} for request in HAR]}}))
    with serving(at_capacity(), authority.good("127.0.0.1")) as log:
        test = trial(log, tmp_path / "run", "--har", har, "--ca-file", authority.ca_file, scheme="https")
    healthy(test)
    paths = Counter(path for _, path, _, _ in test.requests)
    assert set(paths) == {"/list?page=2", "/item"}
    assert 0.6 < paths["/item"] / paths.total() < 0.9
    assert {headers.get("accept") for _, path, headers, _ in test.requests if path == "/list?page=2"} == {
        "a/b"
    }
    assert {headers["host"] for _, _, headers, _ in test.requests} == {f"127.0.0.1:{log.port}"}


def test_a_curl_command_with_a_credential_and_a_preset(tmp_path: Path) -> None:
    """What curl sends is what arrives, the credential too, which is written nowhere; success is what was said
    to be one."""
    answer = b'HTTP/1.1 418 Teapot\r\nContent-Length: 11\r\n\r\n{"ok": yes}'
    with serving(at_capacity(answer)) as log:
        command = f"curl -X PUT http://127.0.0.1:{log.port}/order?x=1 -H 'Authorization: Bearer geheim' "
        command += "-H 'X-Shop: a' --json '{\"n\": 1}'"
        success = ("--success", "418", "--body-match", '"ok": *yes')
        test = trial(log, tmp_path / "run", "--curl", command, *success, "--preset", "aws-standard")
    healthy(test)
    assert {(method, path, body) for method, path, _, body in test.requests} == {
        ("PUT", "/order?x=1", b'{"n": 1}')
    }
    headers = test.requests[-1][2]
    assert headers["authorization"] == "Bearer geheim"
    assert (headers["x-shop"], headers["content-type"]) == ("a", "application/json")
    assert test.found["plan"]["client"]["preset"] == "aws-standard"
    written = [path for path in test.out.rglob("*") if path.is_file()]
    assert len(written) > 10
    assert [path.name for path in written if b"geheim" in path.read_bytes()] == []
    assert "geheim" not in test.done.stdout + test.done.stderr


def test_the_operations_of_an_openapi_document(tmp_path: Path) -> None:
    """With the examples that it gives."""
    document = tmp_path / "openapi.json"
    document.write_text(json.dumps(OPENAPI))
    with serving(at_capacity()) as log:
        test = trial(log, tmp_path / "run", "--openapi", document, "--allow-writes")
    healthy(test)
    kinds = Counter((method, path) for method, path, _, _ in test.requests)
    assert set(kinds) == {("GET", "/items/7"), ("POST", "/items")}
    assert 0.3 < kinds["GET", "/items/7"] / kinds.total() < 0.7
    bodies = {body for method, _, _, body in test.requests if method == "POST"}
    assert [json.loads(body) for body in bodies] == [{"name": "x"}]


def test_a_user_class_of_ones_own(tmp_path: Path) -> None:
    """The requests are its own, one for each job, and are counted as those of a plan are."""
    with serving(at_capacity()) as log:
        test = trial(log, tmp_path / "run", "--locustfile", EXAMPLE)
    healthy(test)
    assert {(method, path) for method, path, _, _ in test.requests} == {("POST", "/work")}
    first = [
        json.loads(body)["order"] for _, _, headers, body in test.requests if headers["x-attempt"] == "1"
    ]
    attempts = read_trace(test.out).attempts
    jobs = set(attempts[attempts.attempt == 1].job_id)
    assert len(jobs) > 10
    assert jobs <= set(first)
    assert len(set(first)) == len(first)


FAULTY = {
    "no module": ("import nosuchmodule", "nosuchmodule"),
    "no user class of ours": ("from locust import User", "must be a Locust file whose one user class"),
    "a request that fails": (
        "from tipover.locust_plugin import StormUser\n"
        "class Mine(StormUser):\n"
        "    def request(self, job):\n"
        "        raise RuntimeError('my own bug')\n",
        "my own bug",
    ),
}


def test_a_locustfile_with_a_fault_is_refused(tmp_path: Path) -> None:
    """With the fault, as bad input is, and before anything is sent."""

    def refused(number: int, text: str) -> Trial:
        file = tmp_path / f"mine{number}.py"
        file.write_text(text)
        return trial(log, tmp_path / f"run{number}", "--locustfile", file)

    with serving(servers.friendly) as log, ThreadPoolExecutor(AT_ONCE) as pool:
        tests = list(pool.map(refused, range(len(FAULTY)), [text for text, _ in FAULTY.values()]))
    for test, (_, why) in zip(tests, FAULTY.values(), strict=True):
        assert test.done.returncode == 2, test.done.stdout
        assert why in " ".join(test.done.stderr.split())
        assert "nothing was sent" in test.done.stderr
    assert log.requests == []


def test_a_preset_is_shown_before_it_is_imitated() -> None:
    """Its attempts are the A of the forecast; a method without a body has none to match."""
    usual = ("trigger", "--url", "http://127.0.0.1:9", "--dry-run", "--json")
    shown = json.loads(tipover(*usual, "--preset", "aws-standard", "--capacity", "100").stdout)
    assert shown["client"]["preset"] == "aws-standard"
    assert shown["client"]["max_attempts"] == 3
    assert 1 <= shown["predicted"]["amplification"] <= 3
    assert shown["sent"] == 0
    refused = tipover(*usual, "-X", "HEAD", "--body-match", "ok")
    assert refused.returncode == 2
    assert "HEAD" in refused.stdout


# Services that cannot be reached, or do not answer as they should.

ERROR_PAGE = servers.answering(*[b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nsorry"] * 1000)
BAD: dict[str, Behaviour] = {
    "not HTTP": servers.not_http,
    "invalid chunk": servers.answering(CHUNKED + b"zz\r\nnonsense\r\n"),
    "before the answer": servers.half_then_closed,
    "reset": servers.resetting,
    "header": servers.ENDLESS["a header's value"],
    "headers": servers.ENDLESS["headers"],
    "trailers": servers.ENDLESS["trailers"],
    "body": pouring(b"HTTP/1.1 200 OK\r\nContent-Length: 999999999999\r\n\r\n", bytes(65536)),
    "chunks": servers.ENDLESS["chunks"],
}


def in_turn(*behaviours: Behaviour) -> Behaviour:
    """Another one at every connection."""
    turn = itertools.cycle(behaviours)

    def behave(talk: Conversation) -> None:
        next(turn)(talk)

    return behave


@dataclass(frozen=True)
class Away:
    """A service that a test gets nowhere with: what is said of it, in words and as reasons."""

    behaviour: Behaviour
    says: tuple[str, ...]
    certificate: str = ""
    arguments: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()


AWAY: Mapping[str, Away] = {
    "a certificate by itself": Away(
        servers.friendly,
        ("cannot be reached", "the certificate is not accepted: self-signed certificate"),
        certificate="by itself",
        reasons=("self-signed",),
    ),
    "a certificate for another host": Away(
        servers.friendly,
        ("cannot be reached", "the certificate is not accepted: ", "mismatch"),
        certificate="for another host",
        reasons=("mismatch",),
    ),
    "an error page": Away(
        ERROR_PAGE, ("does not answer as it should", "status 200"), "", ("--body-match", "done")
    ),
    "no answer at all": Away(servers.silent, ("cannot be reached", "timeout")),
    "every kind of nonsense": Away(
        in_turn(*BAD.values(), servers.dripping),
        ("errors: ",),
        reasons=("not HTTP", "reset", "closed", "long"),
    ),
}


@pytest.fixture(scope="module")
def away(tmp_path_factory: pytest.TempPathFactory, authority: Authority) -> dict[str, Trial]:
    """All of them, several at a time: they mostly wait."""
    folder = tmp_path_factory.mktemp("away")
    certificates = authority.bad()

    def one(name: str) -> Trial:
        case = AWAY[name]
        arguments: tuple[str, ...] = case.arguments
        tls = certificates[case.certificate][0] if case.certificate else None
        if tls is not None:
            arguments += ("--ca-file", authority.ca_file)
        with serving(case.behaviour, tls) as log:
            return trial(log, folder / name.replace(" ", "-"), *arguments, scheme="https" if tls else "http")

    with ThreadPoolExecutor(AT_ONCE) as pool:
        return dict(zip(AWAY, pool.map(one, AWAY), strict=True))


@pytest.mark.parametrize("name", AWAY)
def test_a_service_that_cannot_be_tested_is_not_pushed(name: str, away: dict[str, Trial]) -> None:
    """The test stops itself, says why, and has sent next to nothing."""
    case, test = AWAY[name], away[name]
    assert test.done.returncode == 4, test.done.stdout + test.done.stderr
    for words in ("CANNOT START", *case.says):
        assert words in test.said
    assert test.found["shots"] == []
    assert "Traceback" not in test.done.stderr
    reasons = test.found["error_reasons"]
    assert all(any(word in reason for reason in reasons) for word in case.reasons), reasons
    assert reasons == test.generator["error_reasons"]
    if case.certificate:
        assert test.log.requests == []
    if not case.reasons:
        assert reasons == {}
    assert test.found["attempts_sent"] < 10_000
    assert test.generator["peak_rss_bytes"] < MOST_RSS_BYTES
    page = (test.out / "trigger.html").read_text()
    assert ("Attempts that ended as errors" in page) == bool(case.reasons)


class HostileWhenPushed:
    """Serves well until there is a queue; from then on every connection gets another kind of nonsense."""

    def __init__(self) -> None:
        self._one_at_a_time, self._counting = threading.Lock(), threading.Lock()
        self._queue = 0
        self._nonsense = in_turn(*BAD.values())
        self.pushed = threading.Event()

    def __call__(self, talk: Conversation) -> None:
        """One connection."""
        while not self.pushed.is_set():
            if talk.read_request() is None:
                return
            self._wait()
            talk.send(servers.OK)
        self._nonsense(talk)

    def _wait(self) -> None:
        with self._counting:
            self._queue += 1
        with self._one_at_a_time:
            time.sleep(0.015)
        with self._counting:
            self._queue -= 1
            if self._queue > 10:
                self.pushed.set()


def test_a_service_that_answers_nonsense_once_it_is_pushed(tmp_path: Path) -> None:
    """It is told as trapped or as left unhealthy, with the reasons; the generator stays small and sound."""
    plan = tmp_path / "plan.toml"
    plan.write_text("[test]\nrescue_s = 3\nwatch_timeouts = 15\n")
    service = HostileWhenPushed()
    with serving(service) as log:
        test = trial(log, tmp_path / "run", plan)
    assert service.pushed.is_set(), test.said
    assert test.done.returncode == 4, test.done.stdout + test.done.stderr
    assert "THE SERVICE WAS LEFT UNHEALTHY" in test.said
    reasons = test.found["error_reasons"]
    for word in ("not HTTP", "reset", "closed"):
        assert any(word in reason for reason in reasons), reasons
    assert sum(reasons.values()) > 50
    assert f"{max(reasons.values()):,} × " in test.said
    assert test.generator["peak_rss_bytes"] < MOST_RSS_BYTES
    assert "Traceback" not in test.done.stderr
