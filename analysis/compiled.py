"""The one way functions are compiled to machine code here: by numba, kept on disk, free of the GIL.

numba looks only at a function's own file to see whether what it kept is out of date, not at the files
of the functions it calls. Compiled functions therefore call only compiled functions of their own file,
rules of ``domain`` and, in ``analysis/simulation``, one another, and each state of ``domain`` and of that
has a cache directory of its own: what runs is never an earlier state of a rule.
"""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import FunctionType
from typing import Any, TypeVar, cast

import numba
from numba.core.options import DefaultOptions

import domain

_KEPT_S = 30 * 86_400.0
_Function = TypeVar("_Function", bound=Callable[..., Any])


def _without_linear_algebra() -> None:
    # numba looks for a BLAS when it compiles its first function and so imports scipy.linalg: a fifth of
    # a second, and nothing here multiplies matrices.
    if "scipy.linalg" in sys.modules:
        return
    sys.modules["scipy.linalg"] = None  # type: ignore[assignment]
    try:
        import_module("numba.np.arraymath")
    finally:
        del sys.modules["scipy.linalg"]


_without_linear_algebra()


def compiled(function: _Function) -> _Function:
    """The function, compiled at its first call with arguments of new types."""
    return cast("_Function", numba.njit(cache=True, nogil=True)(function))


def compiled_uncounted(function: _Function) -> _Function:
    """The same for functions that make and return no array: they do not count references to their arguments.

    Whoever calls the outermost of them holds those arguments anyway. Functions that pass a dozen arrays on
    to one another would otherwise spend most of their time counting. The option is not a public one of numba.
    """
    options: dict[str, Any] = {"cache": True, "nogil": True, **_UNCOUNTED}
    return cast("_Function", numba.njit(**options)(function))


# A numba that no longer had the option would only be slower.
_UNCOUNTED: dict[str, Any] = {"_nrt": False} if hasattr(DefaultOptions, "_nrt") else {}


def compiled_rule(function: _Function) -> _Function:
    """A plain function of ``domain``, compiled together with every function of ``domain`` that it calls.

    It must call them by their own names, not as attributes of a module.
    """
    plain = cast("FunctionType", function)
    known = _RULES.get(plain)
    if known is None:
        names: dict[str, Any] = dict(plain.__globals__)
        for name in plain.__code__.co_names:
            found = plain.__globals__.get(name)
            if isinstance(found, FunctionType) and found.__module__.partition(".")[0] == domain.__name__:
                names[name] = compiled_rule(found)
        own = FunctionType(plain.__code__, names, plain.__name__, plain.__defaults__, plain.__closure__)
        own.__qualname__, own.__module__ = plain.__qualname__, plain.__module__
        known = _RULES[plain] = compiled(own)
    return cast("_Function", known)


_RULES: dict[FunctionType, Any] = {}


def _sources_digest() -> str:
    digest = hashlib.sha256(numba.__version__.encode())
    simulation = Path(__file__).parent / "simulation"
    for file in sorted([*Path(str(domain.__file__)).parent.rglob("*.py"), *simulation.glob("*.py")]):
        digest.update(file.name.encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()[:16]


def _cache_directory() -> Path:
    try:
        parent = _cache_home() / "tipover" / "compiled"
        directory = parent / _sources_digest()
        directory.mkdir(parents=True, exist_ok=True)
        directory.touch()
        _forget_old(parent)
    except (OSError, RuntimeError):  # RuntimeError: a user without a home
        # Nowhere of our own to keep it: compile for this process only.
        directory = Path(tempfile.mkdtemp(prefix="tipover-"))
        atexit.register(shutil.rmtree, directory, ignore_errors=True)
    return directory


def _cache_home() -> Path:
    given = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return given if given.is_absolute() else Path.home() / ".cache"


def _forget_old(parent: Path) -> None:
    for directory in parent.iterdir():
        with contextlib.suppress(OSError):
            if directory.lstat().st_mtime < time.time() - _KEPT_S:
                shutil.rmtree(directory, ignore_errors=True)


if not os.environ.get("NUMBA_CACHE_DIR"):
    numba.config.CACHE_DIR = str(_cache_directory())  # type: ignore[attr-defined]
