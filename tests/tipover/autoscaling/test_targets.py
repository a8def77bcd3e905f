"""Whoever keeps the pods, on real sockets and in real processes."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path

import pytest

from tests.servers import Behaviour, dripping, resetting, serving, silent
from tests.tipover.autoscaling.programs import Programs
from tests.tipover.trigger.guards.answers import answering
from tipover.autoscaling.setup import Where
from tipover.autoscaling.targets import programs as running
from tipover.autoscaling.targets.compose import ComposeScale, compose_program
from tipover.autoscaling.targets.http import HttpScale
from tipover.autoscaling.targets.kubectl import KubectlScale
from tipover.autoscaling.targets.scale import Scale, ScaleError

pytestmark = pytest.mark.sockets

SAID = {
    "replicas": 10,
    "ready": 4,
    "starting": [{"pods": 5, "ready_in_s": 2.5}, {"pods": 1, "ready_in_s": 17.5}],
    "draining": 0,
    "dead_time_s": 20.0,
}


def test_a_scale_is_read_and_set() -> None:
    with serving(answering(200, json.dumps(SAID).encode())) as log:
        for path in ("", "/", "/scale"):
            scale = HttpScale(f"http://127.0.0.1:{log.port}{path}", 5.0)
            assert scale.look() == Scale(10, 4, ((5, 2.5), (1, 17.5)))
        assert scale.order(12) == Scale(10, 4, ((5, 2.5), (1, 17.5)))
        asked = [data.split(b"\r\n")[0] for _, data in log.requests]
        assert asked == [b"GET /scale HTTP/1.1"] * 3 + [b"PUT /scale HTTP/1.1"]
        assert b"Content-Type: application/json" in log.requests[-1][1]


@pytest.mark.parametrize(
    ("behaviour", "said"),
    [
        (silent, "no answer within 0.3 s"),
        (dripping, "no answer within 0.3 s"),
        (resetting, "ConnectionResetError"),
        (answering(404, b"not found"), "status 404"),
        (
            answering(400, b'{"faults": [{"field": "replicas", "rule": "must be at most 9", "value": 50}]}'),
            "status 400: replicas must be at most 9",
        ),
        (answering(200, b"<html>"), "not a scale"),
        (answering(200, b"[]"), "not a scale"),
        (answering(200, b'{"replicas": 4, "ready": 4}'), "not a scale"),
        (answering(200, json.dumps({**SAID, "replicas": -1}).encode()), "not a scale"),
        (answering(200, json.dumps({**SAID, "ready": True}).encode()), "not a scale"),
        (answering(200, json.dumps({**SAID, "ready": 4.5}).encode()), "not a scale"),
        (answering(200, json.dumps({**SAID, "starting": [{"pods": 1}]}).encode()), "not a scale"),
        (
            answering(200, b'{"replicas": 4, "ready": 4, "starting": [{"pods": 1, "ready_in_s": NaN}]}'),
            "not a scale",
        ),
        (answering(200, json.dumps({**SAID, "replicas": 10**30}).encode()), "not a scale"),
        (
            answering(
                200,
                json.dumps({**SAID, "starting": [{"pods": 1, "ready_in_s": 10**400}]}).encode(),
            ),
            "not a scale",
        ),
        (answering(200, b"[" * 100_000), "not a scale"),
    ],
)
def test_whatever_else_comes_back_is_an_error(behaviour: Behaviour, said: str) -> None:
    with serving(behaviour) as log:
        scale = HttpScale(f"http://127.0.0.1:{log.port}/scale", 0.3)
        for ask in (scale.look, lambda: scale.order(3)):
            with pytest.raises(ScaleError, match=said):
                ask()


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Programs:
    return Programs(tmp_path, monkeypatch)


def states(*states: tuple[str, str | None]) -> str:
    """What ``docker inspect`` says of containers in these states and healths."""
    found = [{"Status": s, **({"Health": {"Status": h}} if h else {})} for s, h in states]
    labels = {"com.docker.compose.oneoff": "False"}
    return "".join(json.dumps([state, labels]) + "\n" for state in found)


def test_compose_counts_containers_and_scales_one_service(programs: Programs) -> None:
    programs.have("docker")
    programs.answer("compose version", "v2")
    programs.answer(" ps ", "a1\nb2\nc3\nd4\ne5\n")
    programs.answer(
        "inspect",
        states(
            ("running", None),
            ("running", "healthy"),
            ("running", "starting"),
            ("exited", None),
            ("removing", None),
        ),
    )
    where = Where(("a.yml", "b.yml"), "/srv/lab", "lab")
    target = ComposeScale("web", compose_program(), where.compose())
    assert target.look() == Scale(4, 2)
    target.order(7)
    common = [
        "docker",
        "compose",
        "-f",
        "a.yml",
        "-f",
        "b.yml",
        "--project-directory",
        "/srv/lab",
        "-p",
        "lab",
    ]
    inspect = [
        "docker",
        "inspect",
        "--type",
        "container",
        "--format",
        "[{{json .State}},{{json .Config.Labels}}]",
    ]
    up = ["up", "-d", "--no-recreate", "--no-deps", "--scale", "web=7", "web"]
    assert programs.calls() == [
        ["docker", "compose", "version"],
        [*common, "ps", "-a", "-q", "web"],
        [*inspect, "a1", "b2", "c3", "d4", "e5"],
        [*common, *up],
    ]


def test_what_compose_run_has_left_is_no_replica(programs: Programs) -> None:
    """``ps -a`` lists one-off containers as well; counted, they would stand for pods that are not there."""
    programs.have("docker")
    programs.answer(" ps ", "a1\nb2\nc3\n")
    up, one_off = {"Status": "running"}, {"com.docker.compose.oneoff": "True"}
    lines = [[up, None], [up, one_off], [{"Status": "exited"}, one_off]]
    programs.answer("inspect", "".join(json.dumps(line) + "\n" for line in lines))
    assert ComposeScale("web", ["docker", "compose"]).look() == Scale(1, 1)


def test_compose_of_the_first_version(programs: Programs) -> None:
    programs.have("docker", "docker-compose")
    programs.answer("docker compose", code=125, err="unknown flag")
    assert compose_program() == ["docker-compose"]
    target = ComposeScale("web", compose_program())
    assert target.look() == Scale(0, 0)
    target.order(2)
    up = ["up", "-d", "--no-recreate", "--no-deps", "--scale", "web=2", "web"]
    assert programs.calls()[-1] == ["docker-compose", *up]


@pytest.mark.parametrize(
    "out", ["no json\n", "[]\n", "{}\n", "[{},null]\n", '[{"Status": "running", "Health": 3},{}]\n']
)
def test_what_docker_does_not_say_is_an_error(programs: Programs, out: str) -> None:
    programs.have("docker")
    programs.answer(" ps ", "a1\n")
    programs.answer("inspect", out)
    with pytest.raises(ScaleError, match="says nothing of containers"):
        ComposeScale("web", ["docker", "compose"]).look()


def test_kubectl_reads_and_sets_the_replicas(programs: Programs) -> None:
    programs.have("kubectl")
    programs.answer("get", json.dumps({"spec": {"replicas": 6}, "status": {"readyReplicas": 5}}))
    target = KubectlScale("deployment", "web", Where(namespace="shop", context="stage").kubectl())
    assert target.look() == Scale(6, 5)
    target.order(9)
    options = ["-n", "shop", "--context", "stage", "--request-timeout=10s"]
    assert programs.calls() == [
        ["kubectl", "get", "deployment/web", "-o", "json", *options],
        ["kubectl", "scale", "--replicas=9", "deployment/web", *options],
    ]
    programs.answer("get", json.dumps({"spec": {"replicas": 6}, "status": {}}))
    assert KubectlScale("deployment", "web").look() == Scale(6, 0)


@pytest.mark.parametrize("out", ["", "{}", "[]", '{"spec": {"replicas": "6"}, "status": {}}'])
def test_what_kubectl_does_not_say_is_an_error(programs: Programs, out: str) -> None:
    programs.have("kubectl")
    programs.answer("get", out)
    with pytest.raises(ScaleError, match="says nothing of replicas"):
        KubectlScale("deployment", "web").look()


def test_a_program_that_fails_is_quoted(programs: Programs) -> None:
    programs.have("kubectl")
    programs.answer("scale", code=1, err='some warning\nError: deployments.apps "web" not found\n')
    with pytest.raises(ScaleError, match=r"exit status 1 of kubectl scale .*: Error: .* not found$"):
        KubectlScale("deployment", "web").order(3)


def test_a_program_that_is_not_there_is_an_error(programs: Programs) -> None:
    with pytest.raises(ScaleError, match="cannot be run: kubectl: No such file"):
        KubectlScale("deployment", "web").look()


def test_a_program_that_takes_too_long_is_ended(programs: Programs, monkeypatch: pytest.MonkeyPatch) -> None:
    programs.have("kubectl")
    programs.answer("scale", seconds=60)
    with pytest.raises(ScaleError, match=r"not done within 0\.3 s: kubectl"):
        running.Runner().run(["kubectl", "scale"], 0.3)


def test_stopping_ends_what_runs_and_starts_nothing_more(programs: Programs) -> None:
    programs.have("kubectl")
    programs.answer("scale", seconds=60)
    target = KubectlScale("deployment", "web")

    def stop_once_it_runs() -> None:
        while not programs.calls():
            time.sleep(0.02)
        target.stop()

    stopper = threading.Thread(target=stop_once_it_runs)
    stopper.start()
    began_s = time.monotonic()
    with pytest.raises(ScaleError, match="exit status -9"):
        target.order(3)
    stopper.join()
    assert time.monotonic() - began_s < 9.0
    with pytest.raises(ScaleError, match="is stopping"):
        target.look()
    assert len(programs.calls()) == 1
