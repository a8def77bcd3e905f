"""The machine in general terms: nothing that names it."""

from __future__ import annotations

import os
import platform
import re
from importlib.metadata import version
from pathlib import Path


def describe(packages: tuple[str, ...]) -> dict[str, str]:
    """CPU, kernel, Python, and the versions of these packages."""
    versions = ", ".join(f"{name} {version(name)}" for name in packages)
    return {
        "CPU": f"{os.cpu_count()} cores of {_cpu_model()}",
        "kernel": f"{platform.system()} {_leading_number(platform.release())}",
        "Python": f"{platform.python_implementation()} {platform.python_version()}",
        "packages": versions,
    }


def _cpu_model() -> str:
    try:
        found = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    except OSError:
        found = None
    return found.group(1).strip() if found else platform.machine()


def _leading_number(text: str) -> str:
    found = re.match(r"[\d.]+", text)
    return found.group(0) if found else text
