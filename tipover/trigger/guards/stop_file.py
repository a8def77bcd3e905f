"""A file whose existence ends the load: the brake for whoever has a shell and not our terminal."""

from __future__ import annotations

import os
from pathlib import Path

from domain.errors import ConfigurationError, Fault


class StopFile:
    """``path`` existing, as whatever kind of file, means stop. It is made absolute once, here."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path).absolute()

    def refuse_if_present(self) -> None:
        """Raise ``ConfigurationError`` if it is there before the start, or if it could never be seen."""
        if os.path.lexists(self.path):
            rule = "is there already; whoever put it there wants no load (remove it to start)"
            raise ConfigurationError("stopped by a STOP file; nothing was sent", [self._fault(rule)])
        if not self.path.parent.is_dir():
            rule = "lies in a directory that does not exist, so it could not stop anything"
            raise ConfigurationError("the STOP file is not usable; nothing was sent", [self._fault(rule)])
        said = self.tripped()
        if said is not None:
            raise ConfigurationError("the STOP file is not usable; nothing was sent", [self._fault(said)])

    def tripped(self) -> str | None:
        """Why to stop, in a sentence; None while the file is absent. A place that can no longer be looked at
        stops too: a brake that may be pulled unseen is none."""
        try:
            os.lstat(self.path)
        except FileNotFoundError:
            return None
        except OSError as error:
            return f"the STOP file {self.path} cannot be looked for: {error.strerror}"
        return f"the STOP file {self.path} is there"

    def _fault(self, rule: str) -> Fault:
        return Fault("stop_file", rule, str(self.path))
