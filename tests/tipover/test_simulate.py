"""``tipover simulate``, and the bands that ``tipover predict`` shows."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from itertools import takewhile
from pathlib import Path
from types import SimpleNamespace

import pytest

from analysis.chance import to_json
from analysis.result import QUANTITIES
from analysis.simulation.bands import simulate_bands
from tipover.cli import main
from tipover.commands.simulation import roughly
from tipover.scenario import load_scenario

NUMBER = re.compile(r"−?[\d,]+(\.\d+)?")
SMALL = ["--seeds", "4", "--speedup", "4"]
FOREIGN = (
    '[client]\ntimeout_s = 1\n[demand]\narrival_rate_per_s = 9\nphases = [{ name = "a", duration_s = 9 }]\n'
)
LONG = """
[service]
pods = 4
rate_per_pod = 40
[client]
timeout_s = 10
[demand]
utilization = 0.3
phases = [
    { name = "baseline", duration_s = 1000 },
    { name = "spike", duration_s = 2000, factor = 5 },
    { name = "watch", duration_s = 97000 },
]
"""


def said(capsys: pytest.CaptureFixture[str]) -> str:
    """What was printed, with single spaces."""
    return " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("name", "outcome", "after_shed"),
    [
        ("f2-40", "trapped", {}),
        ("f2-30", "recovered", {}),
        ("demo", "trapped", {"recovered": 10}),
        ("outage", "trapped", {"recovered": 10}),
        ("no-trigger", "healthy", {}),
    ],
)
def test_simulated_seeds_do_what_the_built_in_scenarios_expect(
    name: str, outcome: str, after_shed: dict[str, int]
) -> None:
    """All of ten seeds; the expected time of recovery, if there is one, lies in the band."""
    experiment = load_scenario(name)
    bands = simulate_bands(experiment, range(101, 111))
    assert (dict(bands.outcomes), dict(bands.after_shed)) == ({outcome: 10}, after_shed)
    assert experiment.expect is not None
    if experiment.expect.recover_s is not None:
        assert bands.values["recovery_s"].holds(experiment.expect.recover_s)


def test_the_answer_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    """Seeds by outcome, after shedding, the table, and what it means for a single run."""
    assert main(["simulate", "demo", *SMALL]) == 0
    out = said(capsys)
    for words in (
        "all 4 seeds are trapped (seeds 1 to 4)",
        "after shedding: all 4 seeds recover",
        "quantity fluid or law median seeds unit meaning",
        "shed_recovery_s 17.84",
        "All 4 seeds are trapped.",
        "4 seeds are too few for a band of chance; --seeds 10 or more give one.",
    ):
        assert words in out
    assert "One run in twenty" not in out
    assert "in any other way" not in out
    assert main(["simulate", "demo", "--seeds", "10", "--speedup", "4"]) == 0
    out = said(capsys)
    assert "quantity fluid or law 5% median 95% seeds unit meaning" in out
    assert "One run in twenty is freed in less than" in out
    assert "too few" not in out


def test_the_answer_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    """The same bands as the function gives, from the seed that was asked for on."""
    assert main(["simulate", "demo", *SMALL, "--seed", "7", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    bands = simulate_bands(load_scenario("demo", speedup=4, seed=7), range(7, 11))
    assert answer["bands"] == json.loads(json.dumps(to_json(bands)))
    assert answer["bands"]["seeds"] == [7, 8, 9, 10]
    assert answer["predicted_outcome"] == "trapped"
    assert answer["bands"]["values"]["shed_recovery_s"]["count"] == 4


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        (["simulate", "demo", "--seeds", "0"], "--seeds: must be at least 1 (got 0)"),
        (["simulate", "demo", "--plot", "x.pdf"], "--plot: must end in .png (got 'x.pdf')"),
        (["simulate", "demo", "--plot", "nowhere/x.png"], "--plot: must be in a directory that exists"),
        (["predict", "demo", "--seeds", "-1"], "--seeds: must be at least 0 (got -1)"),
        (["predict", "demo", "--plot", "x"], "--plot: must end in .png (got 'x')"),
    ],
)
def test_bad_options_are_refused(
    arguments: list[str], fault: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Field, rule and value, before anything is simulated."""
    assert main(arguments) == 2
    assert fault in capsys.readouterr().err


@pytest.mark.parametrize("command", [["simulate"], ["predict", "--seeds", "5"]])
def test_a_foreign_service_cannot_be_simulated(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its capacity is not known; without seeds asked for, predict says so and succeeds."""
    file = tmp_path / "theirs.toml"
    file.write_text(FOREIGN)
    assert main([*command, str(file)]) == 2
    refused = capsys.readouterr().err
    assert "service: is required to simulate it: how many pods there are" in refused
    assert "--target" not in refused
    assert main(["predict", str(file)]) == 0


@pytest.mark.parametrize("command", ["predict", "simulate"])
def test_the_plot_is_a_picture(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A PNG of some size, with and without bands."""
    file = tmp_path / "forecast.png"
    for seeds in ("3", "1"):
        assert main([command, "demo", "--speedup", "4", "--seeds", seeds, "--plot", str(file)]) == 0
        assert file.read_bytes().startswith(b"\x89PNG")
        assert file.stat().st_size > 20_000
        file.unlink()


def test_a_prediction_without_simulation_still_has_a_plot(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """``--seeds 0``: the fluid line alone. Of a foreign service there is nothing to draw: refused."""
    foreign, file = tmp_path / "theirs.toml", tmp_path / "forecast.png"
    foreign.write_text(FOREIGN)
    assert main(["predict", "f2-30", "--seeds", "0", "--plot", str(file)]) == 0
    assert file.read_bytes().startswith(b"\x89PNG")
    assert "simulated" not in said(capsys)
    file.unlink()
    assert main(["predict", str(foreign), "--plot", str(file)]) == 2
    assert "--plot: needs a scenario with a [service]" in capsys.readouterr().err
    assert not file.exists()


@pytest.mark.parametrize("columns", [40, 80, 100, 120])
@pytest.mark.parametrize(
    "command",
    [
        ["predict", "outage", "--seeds", "12"],
        ["predict", "no-trigger", "--seeds", "0"],
        ["predict", "patient-recovery", "--seeds", "0"],
        ["simulate", "demo", "--seeds", "2"],
    ],
    ids=" ".join,
)
def test_no_name_and_no_number_is_cut_at_any_width(
    columns: int, command: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The meanings are a column of 30 letters or more, or below the table, whose rows are one line each."""
    monkeypatch.setenv("COLUMNS", str(columns))
    assert main(command) == 0
    out = capsys.readouterr().out
    assert "…" not in out
    lines = out.splitlines()
    header = next(index for index, line in enumerate(lines) if line.startswith("quantity "))
    beside = lines[header].find("meaning")
    rows = list(
        takewhile(lambda line: line[:1] == " " or line.split("  ")[0] in QUANTITIES, lines[header + 1 :])
    )
    named = [row for row in rows if not row.startswith(" ")]
    assert len(named) >= 7
    assert len(rows) <= (3 * len(named) if beside >= 0 else len(named))
    if beside >= 0:
        assert columns - beside >= 30
    else:
        legend = [line for line in lines[header + len(rows) + 1 :] if line.split(" ")[0] in QUANTITIES]
        assert [line.split(" ")[0] for line in legend[: len(named)]] == [row.split(" ")[0] for row in named]
    cells = {cell for row in named for cell in row[: beside if beside >= 0 else None].split()[1:]}
    assert cells - {"attempts/s", "jobs/s", "s", "–"} == set(filter(NUMBER.fullmatch, cells))


def test_seeds_that_contradict_the_fluid_model_come_first(capsys: pytest.CaptureFixture[str]) -> None:
    """Before its figure, which then has no band of the four seeds that recover."""
    assert main(["predict", "f2-30", "--speedup", "2000"]) == 0
    out = said(capsys)
    assert "chance decides how a single run ends. What follows is the fluid model" in out
    assert out.index("chance decides") < out.index("it recovers by itself, 9,710 s or 2 h 42 min after")
    assert re.search(r"the fluid model agrees, \d of 40 seeds end so\.", out)
    assert "Trust the band" not in out


def test_one_seed_is_no_band(capsys: pytest.CaptureFixture[str]) -> None:
    """Its value is in the table, and that is all it says."""
    assert main(["predict", "f2-30", "--seeds", "1"]) == 0
    out = said(capsys)
    assert "recovers by itself, 9,710 s or 2 h 42 min after" in out
    assert "One seed is too few for a band" in out
    assert "the only seed recovers (seed 1)" in out


def test_where_the_diffusion_says_nothing_it_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Noise at an absurd speed-up; no band for services without a variance."""
    assert main(["predict", "f2-30", "--speedup", "1e9", "--seeds", "0"]) == 0
    out = said(capsys)
    assert "(which is noise: one standard deviation is 5,000,330 s)" in out
    assert "95%" not in out
    heavy = 'rate_per_pod = 40\nservice_time = { kind = "pareto", shape = 1.5 }'
    (tmp_path / "heavy.toml").write_text(LONG.replace("rate_per_pod = 40", heavy))
    assert main(["predict", str(tmp_path / "heavy.toml"), "--seeds", "0"]) == 0
    out = said(capsys)
    assert "The variance of the service times is infinite (α ≤ 2), so there is no diffusion band" in out
    assert "standard deviation" not in out


def test_an_attempt_before_the_trigger_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    """Where ``failed_after_s`` is negative, and nowhere else."""
    assert main(["predict", "outage", "--seeds", "12"]) == 0
    assert "failed_after_s counts from the start of the trigger" in said(capsys)
    assert main(["predict", "f2-40", "--seeds", "0"]) == 0
    assert "failed_after_s counts" not in said(capsys)


@pytest.mark.parametrize(
    ("seconds", "words"), [(0.3, "1 s"), (7.6, "8 s"), (19.8, "20 s"), (58, "1 min"), (400, "7 min")]
)
def test_estimates_of_time_are_round(seconds: float, words: str) -> None:
    """Nobody knows the tenth of a second."""
    assert roughly(seconds) == words


def test_predict_shows_laws_fluid_and_band_in_one_table(capsys: pytest.CaptureFixture[str]) -> None:
    """By default a quick scenario is simulated over forty seeds, and says so."""
    assert main(["predict", "demo"]) == 0
    out = said(capsys)
    assert "quantity fluid or law 5% median 95% seeds unit meaning" in out
    assert "Simulated request by request: all 40 seeds are trapped (seeds 1 to 40)." in out


def test_the_law_says_of_a_defended_scenario_what_needs_no_seed(capsys: pytest.CaptureFixture[str]) -> None:
    """A = 1 + 10% under the budget, Aρ = 0.44, λ and C; of a service that drops work no A is known."""
    assert main(["predict", "f2-40-budget", "--seeds", "10"]) == 0
    out = said(capsys)
    for line in ("utilization 0.4 ", "amplification 1.1 ", "amplified_utilization 0.44 "):
        assert line in out
    for line in ("capacity_per_s 160 ", "demand_per_s 64 ", "ingress_per_s – "):
        assert line in out
    assert main(["predict", "f2-40-drop-expired", "--seeds", "10"]) == 0
    out = said(capsys)
    assert "utilization 0.4 " in out
    assert "amplification 1.1 " not in out
    assert " s) or " not in out, "a short time is not said twice"


def test_predict_json_has_the_bands(capsys: pytest.CaptureFixture[str]) -> None:
    """None with ``--seeds 0``."""
    assert main(["predict", "demo", "--seeds", "2", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["bands"]["seeds"] == [1, 2]
    assert main(["predict", "demo", "--seeds", "0", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["bands"] is None


def test_a_scenario_too_long_to_simulate_is_predicted_without_the_heavy_libraries(tmp_path: Path) -> None:
    """100,000 s: the diffusion's band, what a simulation would take, and neither pandas nor matplotlib."""
    (tmp_path / "long.toml").write_text(LONG)
    code = (
        "import sys; from tipover.cli import main; code = main(sys.argv[1:]); "
        "print([m for m in ('pandas', 'matplotlib', 'pyarrow') if m in sys.modules]); sys.exit(code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "predict", str(tmp_path / "long.toml")],
        capture_output=True, text=True, timeout=60, check=True, encoding="utf-8",
    )  # fmt: skip
    out = " ".join(done.stdout.split())
    assert out.endswith("[]")
    assert "recovery_s 69,210 68,516 69,210 69,904" in out
    assert "5% and 95% are those of the diffusion approximation" in out
    assert "Not simulated: too long for a quick answer. `--seeds 10` does it in about" in out


def test_seeds_that_disagree_are_a_warning(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """At 33% a quick run may end either way: chance decides, says the answer."""
    text = (
        LONG.replace("0.3\n", "0.335\n")
        .replace("97000", "2000")
        .replace("1000", "100")
        .replace("2000, factor", "30, factor")
    )
    (tmp_path / "edge.toml").write_text(text + "[run]\nspeedup = 40\n")
    assert main(["simulate", str(tmp_path / "edge.toml"), "--seeds", "30"]) == 0
    assert "Note: Chance decides how a single run ends:" in said(capsys)


@pytest.mark.parametrize("command", ["simulate", "predict"])
def test_what_memory_does_not_hold_is_refused(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the arithmetic, before anything is simulated."""
    monkeypatch.setattr("psutil.virtual_memory", lambda: SimpleNamespace(available=1e5))
    assert main([command, "demo", "--seeds", "5"]) == 2
    assert "scenario: must fit into memory to be simulated: 0.0 GB are free" in capsys.readouterr().err


def test_long_work_is_announced_and_its_progress_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """On stderr, so that the answer can be piped."""
    monkeypatch.setattr("tipover.commands.simulation.LONG_S", 0.0)
    monkeypatch.setattr("tipover.commands.seed_progress._LINE_EVERY_S", 0.0)
    assert main(["simulate", "demo", *SMALL]) == 0
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("simulating 4 seeds: about ")
    assert lines[1:] == [f"simulating: {done} of 4 seeds done" for done in (1, 2, 3)]
