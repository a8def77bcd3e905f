"""``tipover validate``: the table, the files, the exit codes."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

from analysis.studies import registry
from analysis.studies.claims import Claim, Progress, StudyResult
from domain.errors import ExitCode
from tipover.cli import main
from tipover.commands.validate import _command


def put_study(
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    *agrees: bool | None,
    fitted: str = "",
    recomputed: bool = False,
) -> list[float]:
    """Put a made-up study with these verdicts in the registry; the list gets the efforts it is run with."""
    efforts: list[float] = []

    def run(effort: float, progress: Progress) -> StudyResult:
        efforts.append(effort)
        progress("thinking", 0.5)
        claims = tuple(
            Claim(
                f"claim {n} about something that takes a few words",
                "src",
                "10 s",
                "11 s",
                verdict,
                "because",
                fitted,
                recomputed,
            )
            for n, verdict in enumerate(agrees)
        )
        return StudyResult(name, f"Study {name}", claims, (), {"n": 1}, {"effort": effort})

    module = ModuleType(f"made_up_{name}")
    module.TITLE = f"Study {name}"  # type: ignore[attr-defined]
    module.run = run  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setitem(registry.STUDIES, name, module.__name__)
    return efforts


def only(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    """Leave only these studies in the registry."""
    monkeypatch.setattr(registry, "STUDIES", {name: registry.STUDIES[name] for name in names})


def test_all_confirmed_exits_0(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Claims that agree or cannot be compared are no finding; the answer is on stdout, progress on stderr."""
    efforts = put_study(monkeypatch, "good", True, None)
    assert main(["validate", "good", "--out", str(tmp_path), "--effort", "0.1"]) == ExitCode.CONFIRMED
    out = capsys.readouterr().out
    assert "Study good" in out
    assert "1 agree, 0 agree with a parameter fitted (≈), 0 disagree, 1 not comparable\n" in out
    assert "good.md" in out
    assert efforts == [0.1]
    page = (tmp_path / "good.md").read_text(encoding="utf-8")
    assert f"`tipover validate good --effort 0.1 --out {tmp_path}`" in page
    assert "No verdict here rests on a 95% interval over seeds, whatever the effort." in " ".join(out.split())


def test_a_refuted_claim_exits_1(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A disagreement is the finding, and the reason is said under the table."""
    put_study(monkeypatch, "bad", True, False)
    assert main(["validate", "bad", "--out", str(tmp_path)]) == ExitCode.FINDING
    assert "✗ claim 1 about something that takes a few words (src): because" in capsys.readouterr().out


def test_fitted_claims_are_marked_and_counted_apart(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """They confirm nothing and refute nothing."""
    put_study(monkeypatch, "fits", True, True, fitted="the window")
    assert main(["validate", "fits", "--out", str(tmp_path)]) == ExitCode.CONFIRMED
    out = capsys.readouterr().out
    assert "0 agree, 2 agree with a parameter fitted (≈), 0 disagree, 0 not comparable" in out
    assert "≈  claim 0" in out
    assert "✓" not in out


def test_own_checks_are_counted_apart(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One that fails is a finding too, but not one about the source, and it says so."""
    put_study(monkeypatch, "ours", True, False, recomputed=True)
    assert main(["validate", "ours", "--out", str(tmp_path)]) == ExitCode.FINDING
    out = capsys.readouterr().out
    assert "0 agree, 0 agree with" in out
    assert "0 disagree, 0 not comparable; own checks: 1 of 2 hold" in " ".join(out.split())
    assert "(own check, not the source): because" in " ".join(out.split())


def test_all_runs_every_study(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """``all`` is each study in turn, with one index."""
    first, second = put_study(monkeypatch, "first", True), put_study(monkeypatch, "second", False)
    only(monkeypatch, "first", "second")
    assert main(["validate", "all", "--out", str(tmp_path)]) == ExitCode.FINDING
    assert first == second == [1.0]
    text = (tmp_path / "README.md").read_text(encoding="utf-8")
    assert "[Study first](first.md)" in text
    assert "[Study second](second.md)" in text


def test_json(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """``--json`` answers with claims, counts, files and the exit code."""
    put_study(monkeypatch, "bad", True, False)
    assert main(["validate", "bad", "--out", str(tmp_path), "--json"]) == ExitCode.FINDING
    answer = json.loads(capsys.readouterr().out)
    assert answer["exit_code"] == 1
    (study,) = answer["studies"]
    assert {key: n for key, n in study["counts"].items() if n} == {"agree": 1, "disagree": 1}
    assert study["claims"][1]["fitted"] == ""
    assert study["claims"][1]["agrees"] is False
    assert Path(study["files"]["page"]).is_file()
    assert Path(study["files"]["numbers"]).is_file()


def test_the_table_fits_80_columns(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No line is wider than the terminal, and every word of the claims is there."""
    monkeypatch.setenv("COLUMNS", "80")
    main(["validate", "fixed-point", "--out", str(tmp_path)])
    lines = capsys.readouterr().out.splitlines()[:-1]  # the last one is a path
    assert max(map(len, lines)) <= 80
    assert any("1.72736" in line for line in lines)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nonsense"], "NAME: must be one of collapse-law, retry-storms,"),
        (["fixed-point", "--effort", "0"], "--effort: must be above 0 and at most 100 (got 0.0)"),
        (["fixed-point", "--effort", "nan"], "--effort: must be above 0 and at most 100 (got nan)"),
        (["fixed-point", "--effort", "lots"], "Invalid value for '--effort'"),
        ([], "Missing argument 'NAME'"),
    ],
)
def test_bad_input_exits_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    """One clear message, nothing written."""
    out = tmp_path / "results"
    assert main(["validate", *arguments, "--out", str(out)]) == ExitCode.CONFIGURATION
    assert words in capsys.readouterr().err
    assert not out.exists()


@pytest.mark.parametrize(
    ("effort", "out", "command"),
    [
        (1.0, "results", "tipover validate all"),
        (1.0, "docs/results", "tipover validate all --out docs/results"),
        (0.05, "my results", "tipover validate all --effort 0.05 --out 'my results'"),
    ],
)
def test_the_command_is_what_was_typed(effort: float, out: str, command: str) -> None:
    """Pages and the index name it with what is not the default."""
    assert _command("all", effort, Path(out)) == command


def test_same_statements_have_their_sections(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each line of the table says where its figure is from, the source or a check of our own."""
    put_study(monkeypatch, "good", True)
    main(["validate", "good", "--out", str(tmp_path)])
    assert "(src)" in capsys.readouterr().out
    put_study(monkeypatch, "ours", True, recomputed=True)
    main(["validate", "ours", "--out", str(tmp_path)])
    out = " ".join(capsys.readouterr().out.split())
    assert "(own check)" in out
    assert "(src)" not in out


def test_both_faults_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A bad name and a bad effort are told together."""
    code = main(["validate", "nonsense", "--effort", "-1", "--out", str(tmp_path), "--json"])
    assert code == ExitCode.CONFIGURATION
    answer = json.loads(capsys.readouterr().out)
    assert [fault["field"] for fault in answer["faults"]] == ["NAME", "--effort"]


def test_somebody_else_s_file_is_not_written_over(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is refused before the study is run."""
    efforts = put_study(monkeypatch, "good", True)
    (tmp_path / "README.md").write_text("mine")
    assert main(["validate", "good", "--out", str(tmp_path)]) == ExitCode.CONFIGURATION
    assert "README.md" in capsys.readouterr().err
    assert (tmp_path / "README.md").read_text() == "mine"
    assert efforts == []


def test_help_says_what_the_exit_codes_mean(capsys: pytest.CaptureFixture[str]) -> None:
    """A disagreement is about the source."""
    main(["validate", "--help"])
    out = " ".join(capsys.readouterr().out.split())
    assert "Exits 0 when no claim is refuted and 1 when at least one is" in out
