"""The files in examples/ are what they say: a plan with every key, and a list of hosts."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from domain.errors import ExitCode
from tipover.cli import main
from tipover.trigger.guards.allow_list import load_allow_list
from tipover.trigger.plan_file import load_plan
from tipover.trigger.plan_tables import TABLES

EXAMPLES = Path(__file__).parents[3] / "examples"
PLAN, ALLOW = EXAMPLES / "trigger-plan.toml", EXAMPLES / "tipover-allow.toml"
_COMMENTED_OUT = re.compile(r"^# (?=[a-z_]+ = |\[)", re.MULTILINE)


def test_the_plan_is_accepted_and_nothing_is_sent(capsys: pytest.CaptureFixture[str]) -> None:
    """By the command itself, as its first lines say."""
    assert main(["trigger", str(PLAN), "--dry-run"]) == ExitCode.CONFIRMED
    said = capsys.readouterr().out
    assert "http://127.0.0.1:8000 → 127.0.0.1" in said
    assert "Nothing was sent." in said


def test_what_is_commented_out_is_accepted_too(tmp_path: Path) -> None:
    """Each key at once, beside files of the names that it gives."""
    text, count = _COMMENTED_OUT.subn("", PLAN.read_text(encoding="utf-8"))
    assert count > 15
    whole = tmp_path / PLAN.name
    whole.write_text(text, encoding="utf-8")
    for name in ("staging-ca.pem", "checkout.py", ALLOW.name):
        (tmp_path / name).touch()
    plan = load_plan(whole)
    assert [request.name for request in plan.mix.requests] == ["list", "count", "order"]
    assert plan.find_threshold
    assert plan.assertions.max_utilization == 0.6
    assert plan.guards.received_query is not None


@pytest.mark.parametrize("place", [place for place in TABLES if place != ("client",)])
def test_the_plan_shows_every_key(place: tuple[str, ...]) -> None:
    """A key that is new is shown, too; those of the client are a scenario's."""
    text = PLAN.read_text(encoding="utf-8")
    if place:
        text = "\n".join(re.findall(rf"^(?:# )?\[+{place[0]}\]+.*?(?=^(?:# )?\[|\Z)", text, re.M | re.S))
    keys = [field.alias or name for name, field in TABLES[place].model_fields.items()]
    assert [key for key in keys if not re.search(rf"\b{key}\b", text)] == []


def test_the_list_of_hosts_is_accepted() -> None:
    """It names one host, at addresses that are not public."""
    (entry,) = load_allow_list(ALLOW).entries
    assert entry.host == "catalogue.staging.example"
    assert not entry.public
