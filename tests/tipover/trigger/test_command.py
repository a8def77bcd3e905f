"""``tipover trigger`` as it is typed."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from analysis.trigger.result_json import TriggerRecord, write_record
from domain.errors import ExitCode
from domain.experiment import Client
from domain.request_mix import RequestTemplate, Success
from domain.trigger.plan import TriggerPlan
from tests.analysis.trigger import made_up
from tipover.cli import main

URL = "http://127.0.0.1:9"


@pytest.fixture(autouse=True)
def _empty_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing lies about where the command is typed, and it can be seen what it leaves."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What would have been run; nothing is."""
    runs: list[dict[str, Any]] = []

    def run_trigger(plan: TriggerPlan, directory: Path, secrets: Any, **options: Any) -> str:
        runs.append({"plan": plan, "directory": directory, "secrets": dict(secrets), **options})
        return "result"

    def publish(directory: Path, plan: TriggerPlan, result: str, **options: Any) -> ExitCode:
        runs[-1].update(result=result, **{f"publish_{name}": value for name, value in options.items()})
        return ExitCode.FINDING

    for name, function in (("undertaking", run_trigger), ("publishing", publish)):
        module = ModuleType(f"tipover.trigger.{name}")
        setattr(module, function.__name__, function)
        monkeypatch.setitem(sys.modules, module.__name__, module)
    return runs


def planned(started: list[dict[str, Any]], *arguments: str) -> TriggerPlan:
    """The plan that these arguments run."""
    assert main(["trigger", *arguments]) == ExitCode.FINDING
    (run,) = started
    plan: TriggerPlan = run["plan"]
    return plan


def told(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, str]:
    """What is wrong with these arguments: field → rule."""
    assert main(["trigger", *arguments, "--json"]) == ExitCode.CONFIGURATION
    answer = json.loads(capsys.readouterr().out)
    assert answer["exit_code"] == 2
    return {fault["field"]: fault["rule"] for fault in answer["faults"]}


def test_a_run_gets_its_plan_and_its_exit_code(started: list[dict[str, Any]]) -> None:
    """One call to conduct it, one to publish it; the finding is the exit code."""
    plan = planned(started, "--url", f"{URL}/work", "--out", "here", "--replace", "--json")
    (run,) = started
    assert run["directory"] == Path("here")
    assert (run["replace"], run["publish_as_json"], run["publish_against"]) == (True, True, None)
    assert run["result"] == "result"
    assert plan.target.url == URL
    assert plan.mix.requests == (RequestTemplate(path="/work"),)


def test_every_option_has_its_place(started: list[dict[str, Any]]) -> None:
    """All at once, as a pipeline may type them."""
    plan = planned(
        started,
        *("--url", URL, "-X", "PUT", "--path", "/p", "-H", "A: b", "--body", "x", "--success", "200-204"),
        *("--success", "404", "--body-match", "ok", "--timeout", "0.5", "--attempts", "4"),
        *("--backoff", "full-jitter", "--backoff-base", "0.1", "--backoff-cap", "1", "--budget", "0.1"),
        *("--utilization", "0.4", "--capacity", "50", "--dose", "3", "--find-threshold", "--seed", "5"),
        *("--probe-url", "http://127.0.0.1:8", "--probe-rate", "2", "--patience", "30"),
        *("--prometheus", "http://127.0.0.1:7", "--received", "r", "--stop-query", "s"),
        *("--health-url", "http://127.0.0.1:6/h", "--max-rate", "900", "--max-attempts-total", "9000"),
        *("--max-duration", "300", "--yes", "--max-utilization", "0.6", "--max-amplification", "4"),
        *("--max-recovery", "9", "--expect-verdict", "recovers", "--expect-verdict", "not vulnerable"),
    )
    assert plan.mix.requests == (RequestTemplate("PUT", "/p", (("A", "b"),), b"x"),)
    assert plan.mix.success == Success(((200, 204), (404, 404)), "ok")
    assert (plan.client.timeout_s, plan.client.max_attempts) == (0.5, 4)
    assert (plan.client.backoff.kind, plan.client.budget.kind) == ("full-jitter", "ratio")
    assert plan.client.backoff.bounds_s(1) == (0.0, 0.2)
    assert (plan.utilization, plan.capacity_per_s, plan.dose, plan.seed) == (0.4, 50, 3, 5)
    assert plan.find_threshold
    assert plan.target.probe_url == "http://127.0.0.1:8"
    assert (plan.probing.rate_per_s, plan.probing.patience_s) == (2, 30)
    guards, asked, ceiling = plan.guards, plan.assertions, plan.ceiling
    assert (guards.prometheus, guards.received_query, guards.stop_query) == ("http://127.0.0.1:7", "r", "s")
    assert (guards.health_url, guards.yes) == ("http://127.0.0.1:6/h", True)
    assert (ceiling.rate_per_s, ceiling.attempts, ceiling.duration_s) == (900, 9000, 300)
    assert (asked.max_utilization, asked.max_amplification, asked.max_recovery_s) == (0.6, 4, 9)
    assert asked.verdicts == ("recovers", "not vulnerable")


def test_options_win_over_the_plan_file(started: list[dict[str, Any]]) -> None:
    """What is not typed is the file's."""
    Path("p.toml").write_text(
        f'[target]\nurl = "{URL}"\n[client]\ntimeout_s = 2\nmax_attempts = 5\n[test]\nfind_threshold = true\n'
    )
    plan = planned(started, "p.toml", "--attempts", "inf", "--preset", "envoy")
    assert (plan.name, plan.client.timeout_s, plan.client.max_attempts) == ("p", 2, float("inf"))
    assert plan.client.preset == "envoy"
    assert plan.find_threshold


def test_a_base_alone_is_an_exponential_backoff(started: list[dict[str, Any]]) -> None:
    """As everybody means it; of a fixed one it is the wait."""
    assert planned(started, "--url", URL, "--backoff-base", "0.2").client.backoff.kind == "exponential"
    started.clear()
    client = planned(started, "--url", URL, "--backoff", "fixed", "--backoff-base", "0.2").client
    assert client.backoff.bounds_s(1) == (0.2, 0.2)


def test_credentials_stay_out_of_the_plan(started: list[dict[str, Any]]) -> None:
    """They go to the run beside it, under a name."""
    plan = planned(started, "--url", URL, "-H", "Authorization: Bearer abcdef")
    assert plan.mix.requests[0].headers == (("Authorization", "${TIPOVER_SECRET_1}"),)
    assert started[0]["secrets"] == {"TIPOVER_SECRET_1": "Bearer abcdef"}
    assert "abcdef" not in repr(plan)


def test_a_curl_command_is_enough(started: list[dict[str, Any]]) -> None:
    """It says where, too; with ``--url`` it goes elsewhere."""
    assert planned(started, "--curl", f"curl {URL}/a").target.url == URL
    started.clear()
    plan = planned(started, "--curl", "curl https://production.example/a", "--url", URL)
    assert (plan.target.url, plan.mix.requests[0].path) == (URL, "/a")


def test_a_variable_that_is_not_set_stops_the_run(
    started: list[dict[str, Any]], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The dry run, too: it says what the run would."""
    monkeypatch.delenv("TIPOVER_TEST_TOKEN", raising=False)
    arguments = ("--url", URL, "-H", "Authorization: Bearer ${TIPOVER_TEST_TOKEN}")
    assert "TIPOVER_TEST_TOKEN" in told(capsys, *arguments)["request[0].headers.Authorization"]
    assert "TIPOVER_TEST_TOKEN" in told(capsys, *arguments, "--dry-run")["request[0].headers.Authorization"]
    monkeypatch.setenv("TIPOVER_TEST_TOKEN", "x")
    assert main(["trigger", *arguments, "--dry-run"]) == ExitCode.CONFIRMED
    assert not started


@pytest.mark.parametrize(
    ("files", "replaced", "says"),
    [
        ((), False, None),
        (("run.json",), False, "holds a run already"),
        (("run.json",), True, None),
        (("notes.txt",), True, "is not empty and holds no run (choose another directory, or empty it)"),
        (("run.json", "STOP"), True, "STOP"),
    ],
)
def test_a_dry_run_refuses_a_directory_as_the_run_does(
    files: tuple[str, ...], replaced: bool, says: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    """And leaves it as it is, made or not."""
    for name in files:
        Path("here").mkdir(exist_ok=True)
        (Path("here") / name).write_text("")
    arguments = ["trigger", "--url", URL, "--dry-run", "--out", "here", *["--replace"] * replaced]
    assert main(arguments) == (ExitCode.CONFIRMED if says is None else ExitCode.CONFIGURATION)
    assert (says or "") in capsys.readouterr().err
    assert {path.name for path in Path("here").glob("*")} == set(files)
    assert Path("here").exists() == bool(files)


def test_a_dry_run_refuses_a_stop_file(capsys: pytest.CaptureFixture[str]) -> None:
    """It would keep the test from starting."""
    Path("STOP").touch()
    assert main(["trigger", "--url", URL, "--dry-run"]) == ExitCode.CONFIGURATION
    assert "STOP" in capsys.readouterr().err


@pytest.mark.parametrize("in_plan", [False, True])
def test_a_path_in_the_url_belongs_into_path(in_plan: bool, capsys: pytest.CaptureFixture[str]) -> None:
    """Of a URL that was typed nothing is said of tables in a file."""
    Path("p.toml").write_text(f'[target]\nurl = "{URL}"\n')
    where = ("p.toml",) if in_plan else ("--path", "/b")
    rule = told(capsys, *where, "--url", f"{URL}/a")["--url"]
    assert "--path" in rule
    assert "[[request]]" not in rule


@pytest.mark.parametrize(
    ("options", "warns"),
    [
        (("--body", '{"a": 1}'), True),
        (("--body", "[1]", "-H", "Accept: */*"), True),
        (("--body", '{"a": 1}', "-H", "content-type: application/json"), False),
        (("--body", "{a"), False),
        (("--body", "1"), False),
        ((), False),
    ],
)
def test_json_without_a_type_is_warned_of(
    options: tuple[str, ...], warns: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    """Many frameworks refuse it."""
    assert main(["trigger", "--url", URL, *options, "--dry-run"]) == ExitCode.CONFIRMED
    assert ("no Content-Type is sent" in capsys.readouterr().out) == warns


NUMBERS = {
    "--timeout": "must be a number (of seconds, such as 0.5)",
    "--backoff-base": "must be a number (of seconds, such as 0.5)",
    "--backoff-cap": "must be a number (of seconds, such as 0.5)",
    "--patience": "must be a number (of seconds, such as 0.5)",
    "--max-duration": "must be a number (of seconds, such as 0.5)",
    "--max-recovery": "must be a number (of seconds, such as 0.5)",
    "--capacity": "must be a number (per second)",
    "--probe-rate": "must be a number (per second)",
    "--max-rate": "must be a number (per second)",
    "--budget": "must be a number",
    "--utilization": "must be a number",
    "--dose": "must be a number",
    "--max-utilization": "must be a number",
    "--max-amplification": "must be a number",
    "--seed": "must be a whole number",
    "--max-attempts-total": "must be a whole number",
}


def test_what_is_no_number_is_told_in_plain_words(capsys: pytest.CaptureFixture[str]) -> None:
    """Of every option with one, all at once."""
    typed = [word for option in NUMBERS for word in (option, "500ms")]
    assert told(capsys, "--url", URL, *typed) == NUMBERS


def test_a_host_without_an_entry_is_told_where_entries_stand(capsys: pytest.CaptureFixture[str]) -> None:
    """The file that was looked for, and the option that names another."""
    arguments = ["trigger", "--url", "http://10.1.2.3", "--dry-run"]
    assert main(arguments) == ExitCode.CONFIGURATION
    assert "there is no tipover-allow.toml here, and no --allow-file" in capsys.readouterr().err
    Path("mine.toml").write_text("")
    Path("mine.toml").chmod(0o644)
    assert main([*arguments, "--allow-file", "mine.toml"]) == ExitCode.CONFIGURATION
    assert "not allowed by mine.toml (--allow-file names another)" in capsys.readouterr().err
    assert main(["trigger", "--url", "http://169.254.169.254", "--dry-run"]) == ExitCode.CONFIGURATION
    assert "--allow-file" not in capsys.readouterr().err


@pytest.mark.parametrize("options", [("--out", "here", "--replace"), ("--dry-run",)])
@pytest.mark.parametrize("content", ["{", '{"schema_version": 1}', '{"schema_version": 99}', None])
def test_an_earlier_result_that_cannot_be_read_is_refused_first(
    content: str | None,
    options: tuple[str, ...],
    started: list[dict[str, Any]],
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Before the load, and before the directory that it may be in is emptied."""
    here = Path("here")
    here.mkdir()
    if content is not None:
        (here / "trigger.json").write_text(content)
    assert set(told(capsys, "--url", URL, *options, "--against", "here")) == {"--against"}
    assert not started


def test_an_earlier_result_is_read_before_its_directory_is_replaced(started: list[dict[str, Any]]) -> None:
    """It is given on as a value."""
    earlier = TriggerRecord(made_up.plan(), made_up.RECOVERS, 0, "1")
    Path("here").mkdir()
    write_record(Path("here"), earlier)
    planned(started, "--url", URL, "--out", "here", "--replace", "--against", "here")
    assert started[0]["publish_against"] == earlier


@pytest.mark.parametrize(
    ("arguments", "fields"),
    [
        ((), {"--url"}),
        (("--url", URL, "--har", "no.har", "--against", "no.json"), {"--har", "--against"}),
        (("--url", URL, "--attempts", "some", "--timeout", "0"), {"--attempts", "--timeout"}),
        (("--url", URL, "--backoff", "wild"), {"--backoff"}),
        (("--url", URL, "--backoff-base", "2", "--backoff-cap", "1"), {"--backoff-cap"}),
        (("--url", URL, "--budget", "2"), {"--budget"}),
        (("--url", URL, "--utilization", "50", "--dose", "1"), {"--utilization", "--dose"}),
        (("--url", URL, "--timeout", "2", "--patience", "9"), {"--patience"}),
        (("--url", URL, "--timeout", "60"), {"limits.duration_s"}),
        (("--url", f"{URL}/a", "--path", "/b"), {"--url"}),
        (("--url", URL, "--received", "x"), {"--received"}),
        (("--url", URL, "--stop-query", "x"), {"--stop-query"}),
        (("--url", URL, "--prometheus", "http://p"), {"--prometheus"}),
        (("--url", URL, "--success", "fine", "--expect-verdict", "fine"), {"--success", "--expect-verdict"}),
        (("--url", URL, "--preset", "mine"), {"--preset"}),
        (("--url", URL, "--locustfile", "no.py"), {"--locustfile"}),
        (("--url", URL, "--max-utilization", "60"), {"--max-utilization"}),
        (("no.toml",), {"PLAN"}),
        (("--url", URL, "--capacity", "1200", "--dry-run"), {"limits.rate_per_s"}),
        (("--url", "http://10.1.2.3", "--dry-run"), {"target"}),
    ],
)
def test_faults_are_told_under_what_was_typed(
    arguments: tuple[str, ...],
    fields: set[str],
    started: list[dict[str, Any]],
    capsys: pytest.CaptureFixture[str],
) -> None:
    """All at once, and nothing is started."""
    assert set(told(capsys, *arguments)) == fields
    assert not started


def test_a_dry_run_answers_in_json(capsys: pytest.CaptureFixture[str], started: list[dict[str, Any]]) -> None:
    """For a pipeline that wants to see the numbers first."""
    assert main(["trigger", "--url", URL, "--dry-run", "--json", "--capacity", "100"]) == ExitCode.CONFIRMED
    answer = json.loads(capsys.readouterr().out)
    assert (answer["exit_code"], answer["sent"], answer["capacity_per_s"]) == (0, 0, 100)
    assert answer["predicted"]["outcome"] == "trapped"
    assert not started


@pytest.mark.sockets
def test_a_dry_run_sends_nothing_and_leaves_nothing(tmp_path: Path) -> None:
    """Not even a connection is made, no directory, and no gevent is loaded."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://localhost:{server.getsockname()[1]}"
        program = (
            "import sys; from tipover.cli import main; main(sys.argv[1:]); print('gevent' in sys.modules)"
        )
        done = subprocess.run(
            [sys.executable, "-c", program, "trigger", "--url", url, "--dry-run", "--capacity", "50"],
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
        server.settimeout(0.2)
        with pytest.raises(TimeoutError):
            server.accept()
    assert done.stdout.splitlines()[-2:] == ["Nothing was sent.", "False"]
    assert list(tmp_path.iterdir()) == []


def test_help_is_in_groups(capsys: pytest.CaptureFixture[str]) -> None:
    """Every option stands in one, and says what it is."""
    assert main(["trigger", "--help"]) == ExitCode.CONFIRMED
    text = capsys.readouterr().out
    for group in ("What is sent:", "The client to imitate:", "What keeps it safe:", "What is answered:"):
        assert text.count(f"\n{group}\n") == 1
    assert text.index("--url") < text.index("--timeout") < text.index("--max-rate") < text.index("--dry-run")


def test_the_schema_of_plans_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    """Beside that of scenarios, which stays what is printed without being asked."""
    assert main(["schema", "--plan"]) == ExitCode.CONFIRMED
    assert json.loads(capsys.readouterr().out)["title"] == "Tipover trigger plan"
    assert main(["schema"]) == ExitCode.CONFIRMED
    assert json.loads(capsys.readouterr().out)["title"] == "Tipover scenario"


def test_clients_are_the_defaults(started: list[dict[str, Any]]) -> None:
    """A second, three attempts, no backoff."""
    assert planned(started, "--url", URL).client == Client(1.0, 3)
