"""The audit record: who loaded what, when, with what, and how it ended.

Two lines of JSON a test, one before anything is sent and one at the end, appended to ``audit.jsonl`` in the
run directory and to the user's own (``$XDG_STATE_HOME/tipover/audit.jsonl``, by default below
``~/.local/state``; ``TIPOVER_AUDIT`` names another file). The first line is on the disk before the load
begins, so a test that was killed has left one without its end. If the user's record cannot be written,
loopback is loaded with a warning and any other host not at all.
"""

from __future__ import annotations

import hashlib
import json
import os
import pwd
import socket
import stat
import sys
import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from domain.errors import ConfigurationError, Fault
from domain.trigger.plan import Ceiling
from tipover.requests.redaction import redacted, redacted_url
from tipover.trigger.guards.resolution import Resolved

FILE_NAME = "audit.jsonl"
FILE_VARIABLE = "TIPOVER_AUDIT"


@dataclass(frozen=True, slots=True)
class Undertaking:
    """What is about to be done. ``plan`` is what ``json.dumps`` takes; only its hash is written down.
    ``confirmed``: how (as of ``confirm``)."""

    url: str
    target: Resolved
    ceiling: Ceiling
    plan: Any
    confirmed: str
    version: str = ""


class Audit:
    """The record of one test. ``warnings`` has a sentence for what could not be written where that is
    allowed."""

    def __init__(
        self,
        run_directory: Path,
        *,
        command: Sequence[str] | None = None,
        environment: Mapping[str, str] | None = None,
        secrets: Collection[str] = (),
    ) -> None:
        """``secrets``: values that must not stand in the record wherever they come from."""
        self.warnings: list[str] = []
        self._environment = os.environ if environment is None else environment
        self._own = run_directory / FILE_NAME
        self._users = users_file(self._environment)
        self._command = redacted(sys.argv if command is None else command, secrets)
        self._id = uuid.uuid4().hex
        self._begun: dict[str, Any] | None = None
        self._writes_users = True

    def begin(self, undertaking: Undertaking) -> None:
        """Write the first line to both files and to the disk; raise ``ConfigurationError`` if that fails
        where it must not. Nothing may be sent before this returns."""
        target = undertaking.target
        line = {
            "audit": "begin",
            "id": self._id,
            "started_at": _utc_now(),
            "who": _who(self._environment),
            "command": self._command,
            "version": undertaking.version,
            "plan_sha256": plan_hash(undertaking.plan),
            "target": {
                "url": redacted_url(undertaking.url),
                "host": target.host,
                "address": target.address,
                "port": target.port,
            },
            "allowed_by": target.entry.to_json() if target.entry else "loopback",
            "confirmed": undertaking.confirmed,
            "ceiling": asdict(undertaking.ceiling),
        }
        try:
            append_line(self._own, line)
        except OSError as error:
            raise _unwritable(self._own, error) from error
        try:
            append_line(self._users, line)
        except OSError as error:
            if not target.is_loopback:
                raise _unwritable(self._users, error) from error
            self._writes_users = False
            self.warnings.append(f"the audit record {self._users} cannot be written: {_why(error)}")
        self._begun = line

    def end(self, ended: str, *, attempts: int, peak_rate_per_s: float) -> None:
        """Write the last line: how it ended and what was sent. What cannot be written is a warning: the load
        is over, and there is nothing left to refuse. Raises ``RuntimeError`` before ``begin``."""
        if self._begun is None:
            raise RuntimeError("an audit record ends only after it has begun")
        line = {
            "audit": "end",
            "id": self._id,
            "started_at": self._begun["started_at"],
            "ended_at": _utc_now(),
            "plan_sha256": self._begun["plan_sha256"],
            "target": self._begun["target"],
            "sent": {"attempts": attempts, "peak_rate_per_s": peak_rate_per_s},
            "ended": ended,
        }
        for path in (self._own, self._users) if self._writes_users else (self._own,):
            try:
                append_line(path, line)
            except OSError as error:
                self.warnings.append(f"the audit record {path} lacks the end: {_why(error)}")


def users_file(environment: Mapping[str, str]) -> Path:
    """Where the user's own record is. A relative ``XDG_STATE_HOME`` is ignored, as its specification asks."""
    if environment.get(FILE_VARIABLE):
        return Path(environment[FILE_VARIABLE]).expanduser().absolute()
    stated = environment.get("XDG_STATE_HOME", "")
    home = Path(environment.get("HOME") or pwd.getpwuid(os.getuid()).pw_dir)
    state = Path(stated) if stated.startswith("/") else home / ".local" / "state"
    return state / "tipover" / FILE_NAME


def plan_hash(plan: Any) -> str:
    """SHA-256 of the plan's JSON with sorted keys and no spaces, in hexadecimal."""
    text = json.dumps(plan, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def append_line(path: Path, line: Mapping[str, Any]) -> None:
    """Append one line of JSON and see it onto the disk; the file is made for its owner alone (0600).

    A line that a kill cut short is ended first. Raises ``OSError``, also if the path is no regular file."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    descriptor = os.open(path, flags, 0o600)
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise OSError("is not a regular file")
        cut_short = found.st_size > 0 and os.pread(descriptor, 1, found.st_size - 1) != b"\n"
        data = (b"\n" if cut_short else b"") + json.dumps(line).encode() + b"\n"
        while data:
            data = data[os.write(descriptor, data) :]
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _who(environment: Mapping[str, str]) -> dict[str, Any]:
    uid = os.getuid()
    try:
        user = pwd.getpwuid(uid).pw_name
    except KeyError:
        user = environment.get("USER", "")
    return {
        "user": user,
        "uid": uid,
        "sudo_user": environment.get("SUDO_USER"),
        "host": socket.gethostname(),
        "pid": os.getpid(),
    }


def _unwritable(path: Path, error: OSError) -> ConfigurationError:
    fault = Fault("audit", f"cannot be written: {_why(error)}", str(path))
    return ConfigurationError("without an audit record nothing is sent", [fault])


def _why(error: OSError) -> str:
    return error.strerror or str(error)


def _utc_now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
