"""Stand-ins for ``docker`` and ``kubectl`` that write down how they were called."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

_PROGRAM = """#!{python}
import json, os, sys, time
here = {here!r}
with open(os.path.join(here, "calls.jsonl"), "a") as calls:
    calls.write(json.dumps([os.path.basename(sys.argv[0]), *sys.argv[1:]]) + "\\n")
words = " ".join([os.path.basename(sys.argv[0]), *sys.argv[1:]])
with open(os.path.join(here, "answers.json")) as answers:
    for key, (code, out, err, seconds) in json.load(answers).items():
        if key in words:
            time.sleep(seconds)
            sys.stdout.write(out)
            sys.stderr.write(err)
            sys.exit(code)
"""


class Programs:
    """Programs in a directory that is the whole ``PATH``."""

    def __init__(self, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._here = here
        self._answers: dict[str, tuple[int, str, str, float]] = {}
        self._save()
        monkeypatch.setenv("PATH", str(here))

    def have(self, *names: str) -> None:
        """These can be run."""
        for name in names:
            file = self._here / name
            file.write_text(_PROGRAM.format(python=sys.executable, here=str(self._here)))
            file.chmod(0o755)

    def answer(self, part: str, out: str = "", *, code: int = 0, err: str = "", seconds: float = 0.0) -> None:
        """What a command that has ``part`` in it says; the first that fits."""
        self._answers[part] = (code, out, err, seconds)
        self._save()

    def calls(self) -> list[list[str]]:
        """All that were made, with the name of the program first."""
        file = self._here / "calls.jsonl"
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []

    def _save(self) -> None:
        (self._here / "answers.json").write_text(json.dumps(self._answers))
