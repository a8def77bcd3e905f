"""Who loaded what, when, with what, and how it ended."""

from __future__ import annotations

import ipaddress
import json
import os
import stat
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.errors import ConfigurationError
from domain.guard import AllowEntry
from domain.trigger.plan import Ceiling
from tipover.requests.redaction import redacted, redacted_url
from tipover.trigger.guards.audit import (
    Audit,
    Undertaking,
    append_line,
    plan_hash,
    users_file,
)
from tipover.trigger.guards.resolution import Resolved

ENTRY = AllowEntry("svc.example", (ipaddress.ip_network("10.1.2.0/24"),), 100.0, "agreed", date(2026, 12, 31))
HERE = Resolved("localhost", "127.0.0.1", 80, None)
ELSEWHERE = Resolved("svc.example", "10.1.2.3", 80, ENTRY)


def undertaking(target: Resolved) -> Undertaking:
    """A test against this target."""
    url = f"http://{target.host}/?token=abc"
    return Undertaking(url, target, Ceiling(), {"name": "n", "dose": 2.0}, "--yes", "1.2.3")


def lines(path: Path) -> list[dict[str, Any]]:
    """What stands in a record."""
    return [json.loads(line) for line in path.read_text().splitlines()]


def places(tmp_path: Path) -> tuple[Path, dict[str, str]]:
    """A run directory and an environment whose state directory is elsewhere."""
    run = tmp_path / "run"
    run.mkdir()
    return run, {"XDG_STATE_HOME": str(tmp_path / "state"), "SUDO_USER": "alice"}


def test_both_records_hold_the_beginning_and_the_end(tmp_path: Path) -> None:
    run, environment = places(tmp_path)
    audit = Audit(
        run, command=["tipover", "trigger", "--url", "http://svc.example/"], environment=environment
    )
    before = datetime.now(UTC).replace(microsecond=0)
    audit.begin(undertaking(ELSEWHERE))
    own, users = run / "audit.jsonl", tmp_path / "state" / "tipover" / "audit.jsonl"
    assert lines(own) == lines(users)
    (begun,) = lines(own)
    assert begun["who"]["uid"] == os.getuid()
    assert begun["who"]["pid"] == os.getpid()
    assert begun["who"]["sudo_user"] == "alice"
    assert begun["who"]["user"]
    assert begun["who"]["host"]
    assert begun["command"] == ["tipover", "trigger", "--url", "http://svc.example/"]
    assert begun["target"] == {
        "url": "http://svc.example/?token=…", "host": "svc.example", "address": "10.1.2.3", "port": 80,
    }  # fmt: skip
    assert begun["allowed_by"] == ENTRY.to_json()
    assert begun["confirmed"] == "--yes"
    assert begun["ceiling"] == {"rate_per_s": 5000.0, "attempts": 200_000, "duration_s": 600.0}
    assert begun["plan_sha256"] == plan_hash({"dose": 2.0, "name": "n"})
    assert before <= datetime.fromisoformat(begun["started_at"]) <= datetime.now(UTC)

    audit.end("trapped, rescued", attempts=1234, peak_rate_per_s=99.5)
    assert lines(own) == lines(users)
    _, ended = lines(own)
    assert ended["id"] == begun["id"]
    assert ended["started_at"] == begun["started_at"] <= ended["ended_at"]
    assert ended["sent"] == {"attempts": 1234, "peak_rate_per_s": 99.5}
    assert ended["ended"] == "trapped, rescued"
    assert audit.warnings == []


def test_records_are_the_owners_alone_and_only_grow(tmp_path: Path) -> None:
    run, environment = places(tmp_path)
    for _ in range(2):
        audit = Audit(run, command=[], environment=environment)
        audit.begin(undertaking(HERE))
        audit.end("recovers", attempts=1, peak_rate_per_s=1.0)
    users = tmp_path / "state" / "tipover" / "audit.jsonl"
    for path in (run / "audit.jsonl", users):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert [line["audit"] for line in lines(path)] == ["begin", "end", "begin", "end"]
    assert stat.S_IMODE(users.parent.stat().st_mode) == 0o700


def test_the_beginning_is_on_the_disk_before_anything_is_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each record is synced after its line is written."""
    run, environment = places(tmp_path)
    synced: list[bytes] = []
    sync = os.fsync

    def watching(descriptor: int) -> None:
        synced.append(os.pread(descriptor, 1 << 20, 0))
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", watching)
    Audit(run, command=[], environment=environment).begin(undertaking(HERE))
    assert len(synced) == 2
    assert all(json.loads(data)["audit"] == "begin" for data in synced)


def unwritable(tmp_path: Path, kind: str) -> dict[str, str]:
    """An environment whose user's record cannot be written."""
    place = tmp_path / "record"
    if kind == "a directory":
        place.mkdir()
    elif kind == "a link":
        place.symlink_to(tmp_path / "target")
    elif kind == "a pipe":
        os.mkfifo(place)
    elif kind == "below a file":
        place.touch()
        place = place / "audit.jsonl"
    else:
        place = Path("/dev/null")
    return {"TIPOVER_AUDIT": str(place)}


@pytest.mark.parametrize("kind", ["a directory", "a link", "a pipe", "below a file", "/dev/null"])
def test_without_the_users_record_only_loopback_is_loaded(tmp_path: Path, kind: str) -> None:
    """There it is a warning; /dev/null is no record."""
    run, _ = places(tmp_path)
    environment = unwritable(tmp_path, kind)
    with pytest.raises(ConfigurationError, match="without an audit record nothing is sent"):
        Audit(run, command=[], environment=environment).begin(undertaking(ELSEWHERE))
    audit = Audit(run, command=[], environment=environment)
    audit.begin(undertaking(HERE))
    assert environment["TIPOVER_AUDIT"] in audit.warnings[0]
    assert ("is not a regular file" in audit.warnings[0]) == (kind in {"a pipe", "/dev/null"})
    audit.end("recovers", attempts=1, peak_rate_per_s=1.0)
    assert len(audit.warnings) == 1
    assert [line["audit"] for line in lines(run / "audit.jsonl")] == ["begin", "begin", "end"]


def test_without_the_runs_own_record_nothing_is_loaded(tmp_path: Path) -> None:
    run, environment = places(tmp_path)
    (run / "audit.jsonl").mkdir()
    with pytest.raises(ConfigurationError, match="nothing is sent"):
        Audit(run, command=[], environment=environment).begin(undertaking(HERE))
    assert not (tmp_path / "state").exists()


def test_an_end_that_cannot_be_written_is_a_warning(tmp_path: Path) -> None:
    """The load is over; the finding must not be lost for it."""
    run, environment = places(tmp_path)
    audit = Audit(run, command=[], environment=environment)
    audit.begin(undertaking(ELSEWHERE))
    (run / "audit.jsonl").unlink()
    (run / "audit.jsonl").mkdir()
    audit.end("trapped", attempts=1, peak_rate_per_s=1.0)
    assert "lacks the end" in audit.warnings[0]
    assert [line["audit"] for line in lines(tmp_path / "state" / "tipover" / "audit.jsonl")] == [
        "begin",
        "end",
    ]


def test_an_end_needs_a_beginning(tmp_path: Path) -> None:
    run, environment = places(tmp_path)
    with pytest.raises(RuntimeError):
        Audit(run, command=[], environment=environment).end("", attempts=0, peak_rate_per_s=0.0)


def test_a_line_cut_short_does_not_swallow_the_next(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    path.write_text('{"audit": "beg')
    append_line(path, {"audit": "begin", "text": "two\nlines"})
    assert json.loads(path.read_text().splitlines()[1]) == {"audit": "begin", "text": "two\nlines"}
    assert len(path.read_text().splitlines()) == 2


@pytest.mark.parametrize(
    ("environment", "place"),
    [
        ({"HOME": "/home/a"}, "/home/a/.local/state/tipover/audit.jsonl"),
        ({"HOME": "/home/a", "XDG_STATE_HOME": "/state"}, "/state/tipover/audit.jsonl"),
        ({"HOME": "/home/a", "XDG_STATE_HOME": "relative"}, "/home/a/.local/state/tipover/audit.jsonl"),
        ({"HOME": "/home/a", "XDG_STATE_HOME": ""}, "/home/a/.local/state/tipover/audit.jsonl"),
        ({"HOME": "/home/a", "XDG_STATE_HOME": "/state", "TIPOVER_AUDIT": "/log/x"}, "/log/x"),
        ({"HOME": "/home/a", "TIPOVER_AUDIT": ""}, "/home/a/.local/state/tipover/audit.jsonl"),
    ],
)
def test_where_the_users_record_is(environment: dict[str, str], place: str) -> None:
    assert users_file(environment) == Path(place)


@pytest.mark.parametrize(
    ("command", "kept"),
    [
        (["-H", "Authorization: Bearer SECRET"], ["-H", "Authorization: …"]),
        (["--header", "X-Key: SECRET"], ["--header", "X-Key: …"]),
        (["--header=X-Key: SECRET"], ["--header=…"]),
        (["-HX-Key: SECRET"], ["-H…"]),
        (["-u", "me:SECRET", "next"], ["-u", "…", "next"]),
        (["--body", '{"password": "SECRET"}'], ["--body", "…"]),
        (["--curl", "curl -H 'A: SECRET' http://x/"], ["--curl", "…"]),
        (["--api-key", "SECRET"], ["--api-key", "…"]),
        (["--api-key=SECRET"], ["--api-key=…"]),
        (["http://me:SECRET@x/p"], ["http://…@x/p"]),
        (["--url", "http://x/?a=1&access_token=SECRET#f"], ["--url", "http://x/?a=1&access_token=…#f"]),
        (["--url=http://me:SECRET@x/?sig=SECRET"], ["--url=http://…@x/?sig=…"]),
        (["plain.toml", "literal-SECRET-inside"], ["plain.toml", "literal-…-inside"]),
        (["trigger", "--utilization", "0.6", "--yes"], ["trigger", "--utilization", "0.6", "--yes"]),
    ],
)
def test_a_command_is_kept_without_its_secrets(command: list[str], kept: list[str]) -> None:
    assert redacted(command, ["SECRET"] if "literal" in command[-1] else []) == kept


@given(
    name=st.sampled_from(["token", "api_key", "X-Amz-Signature", "password", "client_secret", "session"]),
    value=st.text(alphabet="abcdef0123456789%-._~", min_size=8, max_size=20),
)
def test_no_parameter_that_sounds_secret_is_kept(name: str, value: str) -> None:
    url = redacted_url(f"https://svc.example/a?x=1&{name}={value}&y=2")
    assert url == f"https://svc.example/a?x=1&{name}=…&y=2"


def test_the_hash_is_of_the_plan_and_not_of_its_order() -> None:
    assert plan_hash({"a": 1, "b": [1.5, None]}) == plan_hash({"b": [1.5, None], "a": 1})
    assert plan_hash({"a": 1}) != plan_hash({"a": 2})
    assert plan_hash({}) == "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
