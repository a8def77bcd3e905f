"""Scenarios too large for the fluid model are refused by what would have predicted them."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from analysis.fluid import fluid_trace, layers
from analysis.prediction import predict
from tests.analysis.fifo import kit
from tipover.cli import main

TOO_LARGE = "tipover: the scenario is too large for the fluid model"
TIMEOUT = "client.timeout_s: must be at least 1/312,499 of the run's"


def scenario(
    directory: Path,
    *,
    timeout_s: float = 10.0,
    max_attempts: int = 3,
    backoff: str = 'kind = "none"',
    durations_s: tuple[float, float, float] = (100, 300, 1200),
) -> str:
    """The four-pod kit with something out of proportion."""
    calm, spike, watch = durations_s
    path = directory / "extreme.toml"
    path.write_text(
        f"""
        [service]
        pods = 4
        rate_per_pod = 40.0
        [client]
        timeout_s = {timeout_s}
        max_attempts = {max_attempts}
        backoff = {{ {backoff} }}
        [demand]
        utilization = 0.3
        phases = [
            {{ name = "calm", duration_s = {calm} }},
            {{ name = "spike", duration_s = {spike}, factor = 5.0 }},
            {{ name = "watch", duration_s = {watch} }},
        ]
        [run]
        speedup = 50.0
        """
    )
    return str(path)


@pytest.mark.parametrize(
    "command", [["predict"], ["predict", "--seeds", "0"], ["simulate", "--seeds", "2"], ["run"]]
)
@pytest.mark.parametrize("timeout_s", [1e-4, 1e-6])
def test_a_timeout_that_is_nothing_beside_the_run(
    command: list[str], timeout_s: float, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit 2, with the field, the rule and the value, and no word of a bug."""
    path = scenario(tmp_path, timeout_s=timeout_s)
    assert main([command[0], path, *command[1:]]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert lines == [
        TOO_LARGE,
        f"  - {TIMEOUT} 1600 s for the fluid model, which steps in it (got {timeout_s!r})",
    ]


def test_phases_of_a_lifetime(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In JSON as well."""
    path = scenario(tmp_path, durations_s=(1e9, 1e9, 1e9))
    assert main(["predict", path, "--json"]) == 2
    answer = json.loads(capsys.readouterr().out)
    assert answer["error"] == TOO_LARGE.removeprefix("tipover: ")
    assert answer["faults"][0]["field"] == "client.timeout_s"
    assert main(["simulate", path]) == 2
    assert "bug" not in capsys.readouterr().err


def test_more_attempts_than_can_be_told_apart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """18,000 of the 36,000 that fit into the run are refused; 36,000 never run out and are no work."""
    phases = (600, 600, 2400)
    path = scenario(tmp_path, timeout_s=0.1, max_attempts=18_000, durations_s=phases)
    assert main(["predict", path]) == 2
    assert "client.max_attempts: must be at most 69, or inf," in capsys.readouterr().err
    path = scenario(tmp_path, timeout_s=0.1, max_attempts=36_000, durations_s=phases)
    begin = time.process_time()
    assert main(["predict", path, "--seeds", "0"]) == 0
    assert time.process_time() - begin < 5.0


def test_a_backoff_of_all_magnitudes(tmp_path: Path) -> None:
    """Sixty doublings from a nanosecond are followed."""
    path = scenario(tmp_path, backoff='kind = "full-jitter", base_s = 1e-9, cap_s = 1e9')
    assert main(["predict", path, "--seeds", "0"]) == 0


def test_a_recovery_too_far_off_for_the_model_has_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """The run itself is predicted; only the look beyond its end is left out."""
    experiment = kit(0.3, watch_s=100.0)
    expected = predict(experiment)
    assert expected.values["recovery_s"] is not None
    monkeypatch.setattr(layers, "MOST_STEPS", fluid_trace(experiment).t_s.size + 100)
    prediction = predict(experiment)
    assert prediction.outcome == expected.outcome == "undecided"
    assert prediction.values == {**expected.values, "recovery_s": None}
