"""The target as the harness starts it and as its users do."""

import json
import subprocess
import sys
from dataclasses import replace

import pytest

from domain.admission import Admission
from domain.codel import CoDel
from domain.degradation import Degradation
from domain.errors import ConfigurationError
from domain.experiment import Client, Demand, Experiment, Phase, RunSettings, Service
from domain.experiment_json import admission_from_json, admission_to_json
from domain.limits.aimd import AimdLimit
from loadgen.destination import Destination
from tipover.live.target import TargetClient, check_given_target, start_own_target

pytestmark = pytest.mark.sockets

DEFENDED = Admission(
    discipline="adaptive-lifo", queue_cap=50, drop_expired=True, least_s=0.5, codel=CoDel(0.5, 10.0),
    retry_after_s=1.0, error_rate=0.25, first_before_retry=True, cancel_on_disconnect=True,
)  # fmt: skip


def experiment_with(admission, speedup=10.0):
    return Experiment(
        name="defended",
        title="defended",
        client=Client(timeout_s=10.0),
        demand=Demand(1.0, (Phase("all", 10.0),)),
        service=Service(2, 50.0, admission=admission),
        run=RunSettings(speedup=speedup),
    )


@pytest.fixture
def started(tmp_path):
    children = []

    def start(experiment, mode="sleep"):
        child, client = start_own_target(experiment, tmp_path / "target.log", mode)
        children.append(child)
        return client

    yield start
    for child in children:
        child.stop()


def test_the_scenarios_defences_are_those_of_its_own_target_in_scaled_time(started):
    """At ten times the speed every duration is a tenth; the same target fits the scenario it was made for."""
    experiment = experiment_with(DEFENDED)
    client = started(experiment)
    assert admission_from_json(client.state()["admission"]) == DEFENDED.scaled(0.1)
    assert client.state()["admission"]["codel"] == {"target_s": 0.05, "interval_s": 1.0}
    check_given_target(client, experiment)
    for other in (replace(DEFENDED, queue_cap=51), replace(DEFENDED, least_s=0.6), Admission()):
        with pytest.raises(ConfigurationError) as caught:
            check_given_target(client, experiment_with(other))
        assert [fault.field for fault in caught.value.faults] == ["admission"]
    with pytest.raises(ConfigurationError):
        check_given_target(client, experiment_with(DEFENDED, speedup=5.0))


def test_a_defence_that_spinning_pods_cannot_have_is_refused_before_anything_starts(tmp_path):
    """Degradation in spin mode is a fault of the configuration, and no process is started."""
    experiment = experiment_with(Admission(degradation=Degradation(10.0)))
    with pytest.raises(ConfigurationError) as caught:
        start_own_target(experiment, tmp_path / "target.log", "spin")
    assert [fault.field for fault in caught.value.faults] == ["degradation"]
    assert not (tmp_path / "target.log").exists()


def served(*options, fields="admission"):
    """What ``tipover serve target`` says of its defences with these options, or of other fields."""
    command = [sys.executable, "-m", "tipover", "serve", "target", "--port", "0", "--announce"]
    with subprocess.Popen(
        [*command, "--stop-with-stdin", *options],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        line = process.stdout.readline()
        if not line:
            return process.wait(60), process.stderr.read()
        state = TargetClient(Destination(json.loads(line)["url"])).state()
        process.stdin.close()
        return process.wait(60), state[fields] if isinstance(fields, str) else [
            state[name] for name in fields
        ]


def test_every_defence_has_an_option():
    """They give what the JSON of all of them gives."""
    options = (
        "--discipline adaptive-lifo --standing 3 --queue-cap 50 --drop-expired --least-s 0.5 "
        "--cancel-on-disconnect --first-before-retry --codel 0.5:10 --degradation 20:0.5 "
        "--retry-after 1 --error-rate 0.25 --limit aimd"
    )
    wanted = replace(DEFENDED, standing=3, degradation=Degradation(20.0, 0.5), limit=AimdLimit())
    assert served(*options.split()) == (0, admission_to_json(wanted))
    assert served("--admission", json.dumps(admission_to_json(wanted))) == (0, admission_to_json(wanted))
    assert served() == (0, admission_to_json(Admission()))


def test_pods_have_a_dead_time_and_a_routing_by_option():
    """Both are in the state, and both faults are named at once."""
    fields = ("dead_time_s", "routing", "pods", "replicas")
    asked = ("--dead-time", "2.5", "--routing", "shortest-queue", "--pods", "3")
    assert served(*asked, fields=fields) == (0, [2.5, "shortest-queue", 3, 3])
    assert served(fields=fields) == (0, [0.0, "shared", 4, 4])
    status, said = served("--dead-time", "-1", "--routing", "fastest")
    assert status == 2
    assert "dead_time_s: must be a finite number of seconds, at least 0 (got -1.0)" in said
    assert "routing: must be one of shared, round-robin, random, shortest-queue (got 'fastest')" in said


@pytest.mark.parametrize(
    ("options", "field"),
    [
        (["--codel", "5"], "--codel"),
        (["--degradation", "a:b"], "--degradation"),
        (["--admission", "{"], "--admission"),
        (["--admission", "{}", "--queue-cap", "3"], "--admission"),
        (["--admission", '{"queue_caps": 3}'], "queue_caps"),
        (["--limit", "some"], "--limit: must be one of aimd, vegas, gradient2, envoy-gradient (got 'some')"),
        (["--codel", "1:0.5"], "--codel: interval_s: must be above target_s and finite (got '1.0:0.5')"),
        (["--standing", "3"], "--standing: goes with --discipline adaptive-lifo (got 3)"),
        (["--least-s", "0.1"], "--least-s: needs --drop-expired (got 0.1)"),
        (["--retry-after", "1", "--error-rate", "0.1"], "--retry-after: needs something that answers 503"),
        (
            ["--retry-after", "inf", "--queue-cap", "9"],
            "--retry-after: must be at least 0 and finite (got inf)",
        ),
        (["--admission", '{"queue_cap": ' + "9" * 5000 + "}"], "--admission: must be JSON"),
        (["--mode", "spin", "--degradation", "20:0.5"], "degradation"),
        (["--error-rate", "2"], "--error-rate: must be at most 1 (got 2.0)"),
    ],
)
def test_what_makes_no_sense_is_a_fault_with_its_field(options, field):
    """Exit status 2, the field by name, no traceback."""
    status, errors = served(*options)
    assert status == 2
    assert field in errors
    assert "Traceback" not in errors
