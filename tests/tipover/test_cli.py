"""The program: its commands, its errors and their exit codes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
import typer

from analysis.chance import with_bands
from analysis.prediction import predict
from analysis.result import Prediction
from analysis.simulation.bands import simulate_bands
from domain.errors import ExitCode
from domain.experiment import Experiment, RunSettings
from tipover import cli
from tipover.cli import main
from tipover.commands.output import console, error_console, print_json, span
from tipover.commands.predict_words import advice
from tipover.scenario import builtin_names, builtin_scenarios

BAD = '[client]\ntimeout_ms = 5\n[demand]\nutilization = 0.4\nphases = [{ name = "spike", duration_s = 0 }]\n'


def tipover(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the program in a process of its own."""
    program = [sys.executable, "-c", "import sys; from tipover.cli import main; sys.exit(main())"]
    return subprocess.run(
        [*program, *arguments], capture_output=True, text=True, timeout=60, check=False, encoding="utf-8"
    )


def fake_prediction(monkeypatch: pytest.MonkeyPatch, prediction: Prediction) -> list[Experiment]:
    """Put a prediction in the place of the model's; the list gets the experiments it is asked about."""
    asked: list[Experiment] = []

    def predict(experiment: Experiment) -> Prediction:
        asked.append(experiment)
        return prediction

    module = ModuleType("analysis.prediction")
    module.predict = predict  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "analysis.prediction", module)
    return asked


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_letters_that_the_output_lacks_are_no_bug(encoding: str) -> None:
    """A ρ becomes a question mark, on a console of another encoding as in a pipe."""
    program = [sys.executable, "-c", "import sys; from tipover.cli import main; sys.exit(main())"]
    environment = {**os.environ, "PYTHONUTF8": "0", "LC_ALL": "C", "PYTHONIOENCODING": encoding}
    for arguments in (["predict", "f2-40", "--seeds", "0"], ["predict", "f2-40", "--seeds", "0", "--json"]):
        done = subprocess.run(
            [*program, *arguments], capture_output=True, timeout=60, check=False, env=environment
        )
        assert done.returncode == 0
        assert b"Traceback" not in done.stderr
        assert b"amplified_utilization" in done.stdout


def test_help_is_not_cut() -> None:
    """Each command's line in ``--help`` ends where its sentence does."""
    for arguments in (["--help"], ["serve", "--help"]):
        usage, *lines = tipover(*arguments).stdout.splitlines()
        assert usage.endswith("COMMAND [ARGS]...")
        assert not [line for line in lines if "..." in line]


def test_help_lists_the_commands() -> None:
    """``--help`` names every command and succeeds."""
    done = tipover("--help")
    assert done.returncode == 0
    assert done.stderr == ""
    for name in cli.COMMANDS:
        assert f"  {name} " in done.stdout


def test_nothing_asked_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    """Without a command the help goes to stderr and the exit code says so."""
    assert main([]) == ExitCode.CONFIGURATION
    assert "Commands:" in capsys.readouterr().err


def test_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    """``--version`` prints the distribution's version."""
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("tipover 0.")


def test_an_unknown_command_suggests_the_nearest() -> None:
    """A misspelt command is a usage error with a suggestion, no traceback."""
    done = tipover("lst")
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("tipover: No such command 'lst'. Did you mean 'list'?")
    assert "Traceback" not in done.stderr


def test_a_bad_scenario_exits_2_with_all_faults(tmp_path: Path) -> None:
    """Every fault is on stderr, one a line, each with field, rule and value."""
    (tmp_path / "bad.toml").write_text(BAD)
    done = tipover("predict", str(tmp_path / "bad.toml"), "--speedup", "-1")
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.splitlines() == [
        "tipover: scenario 'bad' has 6 faults",
        "  - client.timeout_s: is required",
        "  - client.timeout_ms: is not a known key; did you mean timeout_s, in seconds? (got 5)",
        "  - demand.phases[0].duration_s: must be greater than 0 (got 0)",
        "  - demand.utilization: needs a [service], whose capacity it is a part of; "
        "without one give arrival_rate_per_s (got 0.4)",
        "  - demand.phases[0].factor: is required (factor or capacity_factor) by a phase called 'spike'",
        "  - --speedup: must be greater than 0 (got -1.0)",
    ]


def test_errors_are_json_when_json_is_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With ``--json`` the error is on stdout, faults apart, values that JSON has no number for as text."""
    (tmp_path / "bad.toml").write_text(BAD.replace("timeout_ms = 5", "timeout_s = inf"))
    assert main(["predict", str(tmp_path / "bad.toml"), "--json"]) == 2
    captured = capsys.readouterr()
    assert captured.err == ""
    answer = json.loads(captured.out)
    assert answer["exit_code"] == 2
    assert answer["error"] == "scenario 'bad' has 4 faults"
    assert answer["faults"][0] == {
        "field": "client.timeout_s",
        "rule": "must be a finite number",
        "value": "inf",
    }


@pytest.mark.parametrize(
    "arguments", [["--json", "predict"], ["predict", "--json"], ["list", "--no", "--json"]]
)
def test_usage_errors_are_json_too(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """A missing argument or an unknown option is answered in JSON as well."""
    assert main(arguments) == 2
    answer = json.loads(capsys.readouterr().out)
    assert (answer["faults"], answer["exit_code"]) == ([], 2)
    assert "--help` says more" in answer["error"]


@pytest.mark.parametrize(
    ("raised", "code", "message"),
    [
        (KeyboardInterrupt(), 130, ""),
        (typer.Abort(), 130, ""),
        (typer.Exit(ExitCode.FINDING), 1, ""),
    ],
)
def test_what_a_command_raises_becomes_an_exit_code(
    raised: BaseException,
    code: int,
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """One place turns errors into messages and codes."""

    def command() -> None:
        raise raised

    monkeypatch.setattr(cli, "COMMANDS", ("fake", "list"))
    fake = ModuleType("tipover.commands.fake")
    fake.register = lambda app: app.command("fake")(command)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "tipover.commands.fake", fake)
    assert main(["fake"]) == code
    assert capsys.readouterr().err == message


def test_a_bug_is_neither_hidden_nor_a_finding(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is shown with its traceback and exits 3: exit 1 would read as a verdict on the service."""

    def broken() -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("tipover.scenario.builtin_scenarios", broken)
    assert main(["list"]) == 3
    shown = capsys.readouterr().err
    assert "Traceback" in shown
    assert "bug in tipover: ZeroDivisionError" in shown


BROKEN = [("list",), ("list", "--json"), ("list", "--nonsense", "--json"), ("trigger", "--help")]


@pytest.mark.parametrize("arguments", BROKEN, ids=" ".join)
def test_a_reader_that_has_gone_is_no_finding(arguments: tuple[str, ...]) -> None:
    """``tipover … | head`` ends as a shell says of any program that a closed pipe ends."""
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "tipover", *arguments]
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writer)
    assert done.returncode == 141
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr


@pytest.mark.parametrize("arguments", BROKEN[1:], ids=" ".join)
def test_an_answer_that_cannot_be_written_is_no_finding(arguments: tuple[str, ...]) -> None:
    """The disk behind stdout is full."""
    with Path("/dev/full").open("w") as full:
        command = [sys.executable, "-m", "tipover", *arguments]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 3
    assert "No space left on device" in done.stderr
    assert "Exception ignored" not in done.stderr


def test_closed_streams_are_no_bug() -> None:
    """Their numbers must not be given to a pipe or a file that a traceback would then be written into."""
    command = f"exec {sys.executable} -m tipover list >&- 2>&-"
    assert subprocess.run(["/bin/sh", "-c", command], check=False).returncode == 0


def test_list_names_every_scenario(capsys: pytest.CaptureFixture[str]) -> None:
    """The table has a row for each, without colour when a pipe reads."""
    assert main(["list"]) == 0
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert all(any(line.startswith(name) for line in out.splitlines()) for name in builtin_names())
    assert "recovers in 9,756 s" in out


def test_list_json() -> None:
    """The same as data."""
    done = tipover("list", "--json")
    assert done.returncode == 0
    rows = {row["name"]: row for row in json.loads(done.stdout)["scenarios"]}
    assert tuple(rows) == builtin_names()
    assert rows["f2-30"]["recover_s"] == 9756
    assert rows["f2-30"]["takes_s"] == pytest.approx(248)


def test_schema_is_json(capsys: pytest.CaptureFixture[str]) -> None:
    """``schema`` prints the schema of scenario files."""
    assert main(["schema"]) == 0
    assert json.loads(capsys.readouterr().out)["title"] == "Tipover scenario"


@pytest.mark.parametrize(
    ("scenario", "prediction", "words"),
    [
        (
            "f2-40",
            Prediction("trapped", {"utilization": 0.4, "recovery_s": None}, None, notes=("mind the gap",)),
            ["1/A = 33.3%", "C/A = 53.3 jobs/s", "NEVER recovers", "prediction agrees", "Note: mind the gap"],
        ),
        (
            "f2-30",
            Prediction("recovered", {"recovery_s": 9742.0}, None, recovery_sd_s=120.0),
            ["9,742 s ± 120 s", "2 h 42 min after the trigger ends", "recovers after 9,756 s", "agrees"],
        ),
        (
            "f1",
            Prediction("healthy", {"recovery_s": None}, None),
            ["nothing in this scenario makes attempts time out, but a larger trigger would trap it"],
        ),
        (
            "f2-40-cap",
            Prediction("healthy", {}, None, simulated=True),
            ["it does not fail: at no time are fewer than half of the jobs answered for a whole timeout."],
        ),
        (
            "f2-40-budget",
            Prediction("undecided", {}, None, simulated=True),
            ["it is still failing when the watch ends, and the seeds do not show whether for good."],
        ),
        (
            "f2-40-budget",
            Prediction(None, {}, None, simulated=True),
            ["only a simulation can tell: --seeds 10"],
        ),
        ("f1", Prediction("trapped", {}, None), ["does NOT agree"]),
        ("f1", Prediction(None, {}, None), ["there is no prediction"]),
        ("f2-30", Prediction("recovered", {"recovery_s": 5000.0}, None), ["does NOT agree"]),
        (
            "f2-30",
            Prediction("undecided", {"recovery_s": 20_000.0}, None),
            ["by itself, 20,000 s or 5 h 33 min after the trigger ends, when the watch is over"],
        ),
    ],
)
def test_predict_speaks_to_the_operator(
    scenario: str,
    prediction: Prediction,
    words: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Threshold, demand that lets go, and recovery time or never, in sentences."""
    fake_prediction(monkeypatch, prediction)
    assert main(["predict", scenario, "--seeds", "0"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    for expected in words:
        assert expected in out


@pytest.mark.parametrize("scenario", builtin_scenarios(), ids=lambda scenario: scenario.name)
def test_the_models_agree_with_every_built_in_scenario(scenario: Experiment) -> None:
    """Fluid model or seeds predict what each built-in scenario expects, recovery time included."""
    prediction = predict(scenario)
    if prediction.simulated:
        prediction = with_bands(prediction, simulate_bands(scenario, range(1, 11)))
    assert advice(scenario, prediction)[-1].endswith("the prediction agrees.")


def test_predict_json_and_overrides(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The overrides reach the model, and infinity does not break the JSON."""
    prediction = Prediction("trapped", {"amplification": float("inf"), "recovery_s": float("nan")}, None)
    asked = fake_prediction(monkeypatch, prediction)
    assert main(["predict", "f2-40", "--speedup", "4", "--seed", "9", "--seeds", "0", "--json"]) == 0
    assert [e.run for e in asked] == [RunSettings(4.0, 9)]
    answer = json.loads(capsys.readouterr().out)
    assert answer["scenario"]["run"] == {"speedup": 4.0, "seed": 9}
    assert answer["values"] == {"amplification": "inf", "recovery_s": None}
    assert answer["threshold"]["demand_per_s"] == pytest.approx(160 / 3)


def test_endless_clients_are_never_let_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With A = ∞ the threshold is zero, and says so in words."""
    (tmp_path / "endless.toml").write_text(
        "[service]\npods = 1\nrate_per_pod = 10\n[client]\ntimeout_s = 1\nmax_attempts = inf\n"
        '[demand]\nutilization = 0.1\nphases = [{ name = "a", duration_s = 1 }]\n'
    )
    fake_prediction(monkeypatch, Prediction("trapped", {}, None))
    assert main(["predict", str(tmp_path / "endless.toml"), "--seeds", "0"]) == 0
    assert "no demand is low enough" in " ".join(capsys.readouterr().out.split())


def test_importing_the_program_is_light() -> None:
    """A fresh interpreter that imports the program has loaded none of the heavy libraries."""
    heavy = (
        "gevent",
        "locust",
        "aiohttp",
        "pandas",
        "matplotlib",
        "pyarrow",
        "scipy",
        "numpy",
        "pydantic",
        "rich",
    )
    code = f"import sys, tipover.cli as c; c.build_app(); print([m for m in {heavy!r} if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.25, "0.25 s"),
        (48, "48 s"),
        (59.7, "1 min"),
        (61, "1 min 1 s"),
        (3599.9, "1 h"),
        (9756, "2 h 43 min"),
    ],
)
def test_spans(seconds: float, words: str) -> None:
    """Durations are told in the two largest units that fit."""
    assert span(seconds) == words


def test_json_of_odd_values(capsys: pytest.CaptureFixture[str]) -> None:
    """What JSON has no word for becomes text, at any depth."""
    print_json({"a": [float("-inf"), (1, float("nan"))], "b": Path("x"), "c": True})
    assert json.loads(capsys.readouterr().out) == {"a": ["-inf", [1, None]], "b": "x", "c": True}


def test_consoles_keep_answer_and_remarks_apart(capsys: pytest.CaptureFixture[str]) -> None:
    """Square brackets are text, and remarks go to stderr."""
    console().print("an [answer]")
    error_console().print("a [remark]")
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("an [answer]\n", "a [remark]\n")
