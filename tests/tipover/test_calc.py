"""``tipover calc``: every law from the command line, its working, its JSON and its faults."""

from __future__ import annotations

import json

import pytest

from domain.errors import ExitCode
from tipover.cli import main
from tipover.commands.calc import CALCULATIONS
from tipover.commands.calc.calculation import counted, figure, told_apart

SPIKE = "--utilization .3 --spike-factor 5 --spike-duration-s 300 --timeout-s 10"
CASES = [
    ("ceiling --timeout-slack 5", {"ceiling_utilization": 0.5438}, ["(ω(6) − 1)/5 = 0.6993", "54.4% of cap"]),
    ("ceiling --timeout-slack 2 --max-attempts 4", {"ceiling_utilization": 0.3486}, ["g_4(0.6644) = 0.3486"]),
    (
        "kernel --offered-utilization .46 --timeout-slack 5",
        {"timeout_probability": 0.0672},
        ["q = e^(−θ(1 − x)) = e^(−5·(1 − 0.46)) = 0.06721"],
    ),
    (
        "curve --utilization .27193818 --timeout-slack 5 --max-attempts 6",
        {"separatrix_depth": 18.7345, "separatrix_offered_utilization": 0.9493},
        ["g_6(x) = 0.2719 → x = 0.9493", "about 5 attempts queued", "beyond 18.7 attempts"],
    ),
    (
        "curve --utilization .1 --timeout-slack 5 --max-attempts 6",
        {"healthy_offered_utilization": 0.1011},
        ["up to 16.7% of capacity (1/m) there is no other state"],
    ),
    (
        "trap --utilization .4 --max-attempts 3",
        {"trapped": True, "amplified_utilization": 1.2},
        ["A = m = 3", "Aρ ≥ 1: 1.2 ≥ 1 → yes", "until demand falls below 33.3%"],
    ),
    (
        "trap --utilization .8 --budget .2",
        {"trapped": False, "threshold_utilization": 0.8333},
        ["A = 1 + β = 1 + 0.2 = 1.2", "comes back from any trigger by itself"],
    ),
    ("trap --utilization 0 --amplification inf", {"trapped": False}, ["1/∞ = 0"]),
    (
        "trigger --utilization .25 --timeout-s 10 --spike-factor 5 --spike-duration-s 300",
        {"triggers": True, "first_timeout_s": 40.0, "wait_s": 75.0},
        ["w > T: 75 > 10 → yes", "attempts time out from 40 s into it on"],
    ),
    (
        "trigger --utilization .2 --timeout-s 10 --spike-factor 5 --spike-duration-s 300",
        {"triggers": False, "first_timeout_s": "inf"},
        ["kρ ≤ 1 → t0 = ∞ s", "no trigger"],
    ),
    (
        "trigger --utilization .4 --timeout-s 10 --cut-factor 5 --cut-duration-s 300",
        {"triggers": True, "wait_s": 60.0},
        ["(0.4 − 1/5)·300) = 60 s", "The cut is a trigger"],
    ),
    (
        "trigger --utilization .4 --timeout-s 10 --cut-factor inf --cut-duration-s 20",
        {"triggers": True, "wait_s": 8.0, "first_timeout_s": 0.0, "last_timeout_s": 16.667},
        ["1/∞", "4 > 0 → yes", "attempts sent from 0 s into it on time out, although only 8 s"],
    ),
    (
        "trigger --utilization .4 --timeout-s 10 --cut-factor 5 --cut-duration-s 15",
        {"triggers": False, "wait_s": 3.0},
        ["2 > 3 → no", "no attempt times out"],
    ),
    (
        f"recovery {SPIKE} --max-attempts 3",
        {"recovery_s": 9814.3, "long_spike_recovery_s": 10_500.0, "first_timeout_s": 20.0},
        ["(3·5·0.3 − 1)·(300 − 20)/(1 − 3·0.3) + 10/(1 − 0.3)", "2 h 44 min", "33 times as long"],
    ),
    (
        f"recovery {SPIKE} --amplification 4",
        {"recovery_s": "inf"},
        ["4·0.3 = 1.2 ≥ 1 → T_rec = ∞", "never recovers"],
    ),
    (
        "recovery --utilization .1 --spike-factor 5 --spike-duration-s 300 --timeout-s 10 --budget .2",
        {"recovery_s": 0.0},
        ["no trigger"],
    ),
    (
        "drain --depth 1800 --capacity-per-s 1 --arrival-rate-per-s .05 --max-attempts 6",
        {"drain_s": 2571.4, "drain_rate_per_s": 0.7, "recovery_demand_per_s": 0.1667},
        ["1,800/0.7 = 2,571 s", "42 min 51 s"],
    ),
    (
        "drain --depth 1 --capacity-per-s 1 --arrival-rate-per-s .5 --max-attempts 6",
        {"drain_s": "inf"},
        ["shed demand below 0.1667 jobs/s"],
    ),
    (
        "drain --depth 1 --capacity-per-s 1 --arrival-rate-per-s .5 --max-attempts inf",
        {"drain_s": "inf", "drain_rate_per_s": "-inf"},
        ["at no demand"],
    ),
    (
        "scaler --target-utilization .5 --arrival-rate-per-s 5000 --max-attempts 3",
        {
            "first_attempt_scaler_trapped": True,
            "ingress_scaler_escapes": True,
            "ingress_scaler_capacity_per_s": 30_000.0,
        },
        ["15,000 ≥ min(10,000, ∞) → yes", "15,000 < min(30,000, ∞) → yes", "stays failed at its own target"],
    ),
    (
        "scaler --target-utilization .3 --arrival-rate-per-s 5000 --max-attempts 3 "
        "--capacity-ceiling-per-s 15000",
        {"first_attempt_scaler_trapped": True, "ingress_scaler_escapes": False},
        ["15,000 ≥ min(16,667, 15,000) → yes", "Whatever its signal it stays failed after a trigger"],
    ),
    (
        "bistability --timeout-slack 5 --max-attempts 6",
        {"bistable": True, "hysteresis_width": 0.3772, "recovery_utilization": 0.1667},
        ["25 > 2 → yes", "does not come back before demand is below 16.7%"],
    ),
    (
        "bistability --timeout-slack 2 --max-attempts 2",
        {"bistable": False},
        ["2 > 2 → no", "without a cliff"],
    ),
    ("bistability --timeout-slack 2", {"hysteresis_width": 0.3304}, ["shedding does not help"]),
    (
        "amplification --failure-probability .7 --max-attempts 3",
        {"amplification": 2.19},
        ["(1 − 0.7^3)/(1 − 0.7) = 2.19"],
    ),
    ("amplification --failure-probability 1 --max-attempts inf", {"amplification": "inf"}, ["∞ times"]),
    ("stack --layer 3 --layer 3", {"amplification": 9.0, "threshold_utilization": 0.1111}, ["3 × 3 = 9"]),
    ("stack --layer 3 --budget .2", {"amplification": 3.6}, ["3 × 1.2 = 3.6", "from 27.8%"]),
    (
        "fanout --max-attempts 4 --hops 4 --slack 3",
        {"fan_out": 256.0, "fits": False, "verdict": "do not ship"},
        ["4^4 = 256", "row 4 of 4 → do not ship"],
    ),
    ("fanout --max-attempts 4 --hops 4 --slack 256", {"verdict": "degraded"}, ["row 3 of 4", "Degraded: "]),
    ("fanout --max-attempts 4 --hops 4 --slack 3 --deadline", {"verdict": "safe"}, ["deadline = yes"]),
    ("fanout --max-attempts 4 --hops 4 --slack 3 --shared-budget", {"verdict": "safe"}, ["row 2 of 4"]),
    (
        "tree --failure-probability .7 --max-attempts 3 --services 5",
        {"load": 23.0026, "success": 0.1224, "last_service_load": 3.3333},
        ["2.19^4 = 23", "(1 − 0.7^3)^5 = 0.1224", "12.2% of them get an answer"],
    ),
    (
        "fixed-point --load 0.95 --max-attempts 4 --base 0.1 --width 1e-4",
        {
            "low": "56601/32768",
            "high": "113207/65536",
            "load": 1.72736,
            "failure_probability": 0.4790,
            "first_overload_utilization": 0.90009,
        },
        ["0.95 → 1.055 → 1.114 → 1.174 → 1.235 → 1.297 → …", "settles at 173% with 47.9%"],
    ),
    (
        "fixed-point --load 0.8 --max-attempts 4 --base 0.1",
        {"low": "1111/1250", "high": "1111/1250", "load": 0.8888},
        ["settles within capacity, and retries cost 8.88% of it"],
    ),
    (
        "cap --queue-cap 2 --timeout-slack 5 --max-attempts 6",
        {
            "timeout_probability": 0.1247,
            "loop_gain": 0.7479,
            "breaks_loop": True,
            "largest_breaking_cap": 2.0,
        },
        ["P(Erlang(3) > 5) = 0.1247", "does not collapse"],
    ),
    (
        "cap --queue-cap 5 --timeout-slack 1 --max-attempts 6",
        {"breaks_loop": False},
        ["No cap would: --timeout-slack must be above ln m"],
    ),
    ("cap --queue-cap 5 --timeout-slack 1 --max-attempts 1", {"breaks_loop": True}, ["does not collapse."]),
    ("drain-point", {"drain_failure_probability": 0.2149}, ["1 − p = 14·(p² + p³) → p = 0.2149"]),
    ("drain-point --retry-cost 5", {"drain_failure_probability": 0.3207}, ["Above 32.1% failed attempts"]),
    ("drain-point --max-attempts inf", {"drain_failure_probability": 0.2109}, ["p² + … + p^m"]),
    ("drain-point --bucket grpc", {"drain_failure_probability": 0.0909}, ["0.1/(1 + 0.1) = 0.09091"]),
    (
        "drain-point --bucket budget --budget .2",
        {"drain_failure_probability": 0.1708},
        ["p + … + p^(m−1) = β"],
    ),
]


@pytest.mark.parametrize(("command", "results", "words"), CASES, ids=[case[0] for case in CASES])
def test_the_working_is_shown(
    command: str, results: dict[str, object], words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Formula, numbers put in, value, meaning and source, on lines that fit."""
    assert main(["calc", *command.split()]) == 0
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 120
    text = " ".join(out.split())
    for expected in [*words, "Source: "]:
        assert expected in text
    assert "nan" not in text


@pytest.mark.parametrize(("command", "results", "words"), CASES, ids=[case[0] for case in CASES])
def test_the_same_as_json(
    command: str, results: dict[str, object], words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """One structure for all, and the numbers to four figures."""
    assert main(["calc", *command.split(), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert set(answer) == {"title", "inputs", "steps", "results", "meaning", "source"}
    assert all(
        set(step) == {"what", "symbol", "formula", "numbers", "value", "unit"} for step in answer["steps"]
    )
    for key, value in results.items():
        got = answer["results"][key]["value"]
        assert got == (pytest.approx(value, rel=5e-4) if type(value) is float else value), key


CURVE = "curve --utilization .4 --timeout-slack 50 --max-attempts 3"
SCALER = "scaler --arrival-rate-per-s 100 --max-attempts 3"
SAID = [
    (CURVE, ["about 50 attempts queued (θ: a wait of one timeout)", "beyond 250 attempts, the mean-field"]),
    (
        "curve --utilization .4 --timeout-slack 5 --max-attempts 3",
        ["chance alone queues that many 1.37% of the time"],
    ),
    (
        "curve --utilization .5 --timeout-slack 5",
        ["separatrix is only 4.17 attempts deep, less than the θ = 5"],
    ),
    ("curve --utilization .3333335 --timeout-slack 5 --max-attempts 3", ["1/(1.25·10^−7) = 7,999,999"]),
    (
        f"{SCALER} --target-utilization .3 --capacity-ceiling-per-s 250",
        ["Whatever its signal it stays failed after a trigger"],
    ),
    (
        f"{SCALER} --target-utilization .3 --capacity-ceiling-per-s 50",
        ["no more than the demand of 100 jobs/s: it is overloaded without any trigger"],
    ),
    (f"{SCALER} --target-utilization .3", ["first attempts it recovers; counting every attempt it recovers"]),
    (
        "scaler --arrival-rate-per-s 0 --target-utilization .5 --max-attempts 3",
        ["Without demand nothing keeps it failed"],
    ),
    (
        "scaler --arrival-rate-per-s 1 --target-utilization .5 --max-attempts inf",
        ["Clients that never give up keep it failed at any capacity"],
    ),
    ("ceiling --timeout-slack 5 --max-attempts 6", ["From 16.7% (1/m) to 54.4% a burst can tip it over"]),
    ("ceiling --timeout-slack 5", ["Below 54.4%, however far, a burst can tip it over"]),
    ("ceiling --timeout-slack 1 --max-attempts 3", ["There is no loop", "no burst can tip it over for good"]),
    ("ceiling --timeout-slack 1 --max-attempts 1", ["Without retries nothing feeds on itself"]),
    ("ceiling --timeout-slack 1e6", ["1 − 0.999985185 = 1.482·10^−5", "Above 99.999% of capacity"]),
    ("bistability --timeout-slack 1.0001 --max-attempts 3", ["2.0002 > 2 → yes", "below 33.3333333%"]),
    ("bistability --timeout-slack 5 --max-attempts 1", ["it is overloaded above capacity and only there"]),
    ("trap --utilization 1.2 --max-attempts 1", ["overloaded without any trigger"]),
    ("trap --utilization .2 --max-attempts inf", ["no demand is low enough"]),
    ("trap --utilization 0 --max-attempts inf", ["at any demand it would not"]),
    ("trap --utilization .1 --amplification 1e300", ["1/(1·10^300)"]),
    (
        "recovery --utilization .3 --spike-factor 5 --spike-duration-s 20.5 --timeout-s 10 --max-attempts 3",
        ["14.3 s earlier", "only 500 ms after its first late attempt", "this overstates"],
    ),
    (
        "recovery --utilization .4 --spike-factor 5 --spike-duration-s 12 --timeout-s 10 --max-attempts 3",
        ["it may come back all the same"],
    ),
    (
        "recovery --utilization .33333333 --spike-factor 5 --spike-duration-s 300 --timeout-s 10 "
        "--max-attempts 3",
        ["(1 − 3·0.33333333)", "31,666,666 h"],
    ),
    (
        "trigger --utilization .4 --timeout-s 10 --spike-factor 5 --spike-duration-s 12",
        ["so near the least trigger"],
    ),
    (
        "drain --depth 0 --capacity-per-s 1 --arrival-rate-per-s .5 --max-attempts 6",
        ["should attempts begin to fail the queue grows by 2 attempts/s"],
    ),
    (
        "drain --depth 0 --capacity-per-s 1 --arrival-rate-per-s 2 --max-attempts 6",
        ["overloaded without any trigger: the queue grows by 11 attempts/s"],
    ),
    (
        "cap --queue-cap 5 --timeout-slack 1 --max-attempts inf",
        ["endless clients send it again", "no cap prevents"],
    ),
    ("cap --queue-cap 5 --timeout-slack 1 --max-attempts 1", ["with 1 attempt per job"]),
    ("stack --layer inf", ["at any demand"]),
    ("amplification --failure-probability .1 --max-attempts 1", ["just the demand"]),
    ("tree --failure-probability 1 --max-attempts 3 --services 3", ["load = m^(N − 1) = 3^2 = 9"]),
    (
        "tree --failure-probability .1 --max-attempts 3 --services 1000",
        ["(1 − 0.1^(3^999))/(1 − 0.1) = 1.111"],
    ),
    (
        "fixed-point --load .95 --max-attempts 4 --base .1",
        ["At least, exactly (1.72735977265)", "At most, exactly (1.72735977313)"],
    ),
]


@pytest.mark.parametrize(("command", "words"), SAID, ids=[case[0] for case in SAID])
def test_what_is_said_holds_for_the_case(
    command: str, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Sentences that were once the same for all cases, and working that did not add up."""
    assert main(["calc", *command.split()]) == 0
    text = " ".join(capsys.readouterr().out.split())
    for expected in words:
        assert expected in text


def test_a_scaler_short_of_its_ceiling_says_nothing_of_it(capsys: pytest.CaptureFixture[str]) -> None:
    """Between Aλ and λ/u* the ceiling still lets it out."""
    ceiling = "--target-utilization .3 --capacity-ceiling-per-s 301 --json"
    assert main(["calc", *SCALER.split(), *ceiling.split()]) == 0
    results = json.loads(capsys.readouterr().out)["results"]
    assert results["first_attempt_scaler_trapped"]["value"] is False
    assert results["ingress_scaler_escapes"]["value"] is True


def test_the_turns_of_the_loop_are_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    """In JSON a list, one for each step asked for."""
    command = "fixed-point --load .95 --max-attempts 4 --base .1 --steps 2 --json"
    assert main(["calc", *command.split()]) == 0
    iterates = json.loads(capsys.readouterr().out)["results"]["iterates"]["value"]
    assert iterates == pytest.approx([1.05545, 1.11356], abs=1e-5)


@pytest.mark.parametrize("group", ["calc", "serve"])
def test_a_group_alone_prints_its_help(group: str, capsys: pytest.CaptureFixture[str]) -> None:
    """As bare ``tipover`` does: on stderr, exit code 2, nothing else around it."""
    assert main([group]) == ExitCode.CONFIGURATION
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(f"Usage: tipover {group} ")
    assert "says more" not in captured.err


def test_every_calculation_is_tried() -> None:
    """No subcommand is missing from the table above."""
    assert {case[0].split()[0] for case in CASES} == set(CALCULATIONS)


def test_inputs_are_told_with_their_option(capsys: pytest.CaptureFixture[str]) -> None:
    """In JSON under the law's field, in the text under the option, defaults included."""
    assert main(["calc", "ceiling", "--timeout-slack", "5", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["inputs"] == {"timeout_slack": 5.0, "max_attempts": "inf"}
    assert main(["calc", "ceiling", "--timeout-slack", "5"]) == 0
    out = capsys.readouterr().out
    assert "  θ = 5  --timeout-slack\n  m = ∞  --max-attempts\n" in out


@pytest.mark.parametrize("width", [60, 80, 200])
def test_lines_are_broken_to_the_terminal(
    width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A long equation goes on below its equals sign."""
    monkeypatch.setenv("COLUMNS", str(width))
    assert main(["calc", "recovery", *SPIKE.split(), "--max-attempts", "3"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= width
    assert ("        = 9,814 s" in lines) == (width < 100)


@pytest.mark.parametrize(
    ("command", "faults"),
    [
        (
            "ceiling --timeout-slack -1 --max-attempts 2.5",
            [
                "--timeout-slack: must be positive and finite (got -1.0)",
                "--max-attempts: must be a whole number or inf (got 2.5)",
            ],
        ),
        (
            "trap --utilization nan --max-attempts 0",
            [
                "--max-attempts: must be at least 1 (got 0.0)",
                "--utilization: must be finite and at least 0 (got nan)",
            ],
        ),
        ("trap --utilization .4", ["--amplification, --max-attempts, --budget: give exactly one of them"]),
        (
            "trap --utilization .4 --max-attempts 3 --budget .2",
            [
                "--amplification, --max-attempts, --budget: give exactly one of them, "
                "not --max-attempts and --budget"
            ],
        ),
        (
            "fixed-point --load x --max-attempts inf --base 1 --steps -1",
            [
                "--steps: must be a whole number of at least 0 (got -1)",
                "--load: must be a finite number (got 'x')",
                "--base: must lie in [0, 1) (got '1')",
                "--max-attempts: must be a whole number from 1 to 10,000 to be computed exactly (got inf)",
            ],
        ),
        (
            "curve --utilization .9 --timeout-slack 5",
            [
                "--utilization: must be at most the ceiling 0.54381: "
                "above it there is no healthy steady state (got 0.9)"
            ],
        ),
        ("stack", ["--layer, --budget: give at least one of them"]),
        (
            "stack --layer .5 --budget -1",
            ["--layer: must be at least 1 (got 0.5)", "--budget: must be finite and at least 0 (got -1.0)"],
        ),
        (
            "trigger --utilization .4 --timeout-s 10 --spike-factor 5",
            ["--spike-duration-s: is required with --spike-factor"],
        ),
        (
            "trigger --utilization .4 --timeout-s 10 --cut-factor 5 --cut-duration-s 1 --spike-duration-s 2",
            ["--spike-duration-s: does not go with --cut-factor (got 2.0)"],
        ),
        (
            "drain-point --bucket grpc --retry-cost 3",
            ["--retry-cost: does not go with --bucket grpc (got 3.0)"],
        ),
        (
            "drain-point --bucket budget --budget 2",
            ["--budget: must be below m − 1 = 2: more retries than that are never asked for (got 2.0)"],
        ),
        (
            "fanout --max-attempts 9 --hops 1000 --slack 2",
            ["--hops: must be smaller: 9^1000 is more than a float can hold (got 1000)"],
        ),
        (
            "fanout --max-attempts 3 --hops 1000000 --slack 2",
            ["--hops: must be smaller: 3^1000000 is more than a float can hold (got 1000000)"],
        ),
        (
            "fixed-point --load 1e400 --max-attempts 4 --base .1 --width 1e-5000",
            [
                "--width: must be at least 1e-60, and at most 1e60 to be computed exactly (got '1e-5000')",
                "--load: must be at most 1e60 and have at most 60 decimals to be computed exactly "
                "(got '1e400')",
            ],
        ),
        (
            "cap --queue-cap -1 --timeout-slack 0 --max-attempts .5",
            [
                "--queue-cap: must be a whole number of at least 0 (got -1)",
                "--timeout-slack: must be positive and finite (got 0.0)",
                "--max-attempts: must be at least 1 (got 0.5)",
            ],
        ),
        (
            "scaler --target-utilization 1 --arrival-rate-per-s -1 --max-attempts 3",
            [
                "--target-utilization: must lie in (0, 1) (got 1.0)",
                "--arrival-rate-per-s: must be finite and at least 0 (got -1.0)",
            ],
        ),
    ],
)
def test_faults_name_the_option_that_was_typed(
    command: str, faults: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """All at once, exit code 2, and the same as JSON."""
    assert main(["calc", *command.split()]) == ExitCode.CONFIGURATION
    captured = capsys.readouterr()
    assert captured.out == ""
    count = "a fault" if len(faults) == 1 else f"{len(faults)} faults"
    assert captured.err.splitlines() == [
        f"tipover: the options have {count}",
        *(f"  - {fault}" for fault in faults),
    ]
    assert main(["calc", *command.split(), "--json"]) == ExitCode.CONFIGURATION
    answer = json.loads(capsys.readouterr().out)
    assert [fault["field"] for fault in answer["faults"]] == [fault.split(": ")[0] for fault in faults]


def test_missing_and_unreadable_options_are_usage_errors(capsys: pytest.CaptureFixture[str]) -> None:
    """As in every command."""
    assert main(["calc", "ceiling"]) == ExitCode.CONFIGURATION
    assert "Missing option '--timeout-slack'" in capsys.readouterr().err
    assert main(["calc", "ceiling", "--timeout-slack", "long"]) == ExitCode.CONFIGURATION
    assert "Invalid value for '--timeout-slack'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.54381024, "0.5438"),
        (9814.3, "9,814"),
        (float("inf"), "∞"),
        (True, "yes"),
        (False, "no"),
        ("safe", "safe"),
        (0.0, "0"),
        (1.5e-7, "1.5·10^−7"),
        (-2e12, "−2·10^12"),
    ],
)
def test_figures(value: float | bool | str, text: str) -> None:
    """Four digits, and powers of ten where zeros would hide them."""
    assert figure(value) == text


@pytest.mark.parametrize(
    ("left", "right", "texts"),
    [
        (2.0, 2.0, ("2", "2")),
        (2.0002, 2.0, ("2.0002", "2")),
        (0.1, 3.0, ("0.1", "3")),
        (1 + 1e-15, 1.0, ("1.000000000000001", "1")),
        (float("inf"), 1.0, ("∞", "1")),
    ],
)
def test_what_is_compared_is_told_apart(left: float, right: float, texts: tuple[str, str]) -> None:
    """By as many figures as it takes."""
    assert told_apart(left, right) == texts


def test_one_is_singular() -> None:
    """But rates and seconds keep their unit."""
    assert counted(1, "attempts") == "1 attempt"
    assert counted(2, "attempts") == "2 attempts"
    assert counted(1, "s") == "1 s"
    assert counted(1, "attempts/s") == "1 attempts/s"
