"""Laws are written for plain numbers; this makes them take arrays as well."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, TypeVar, cast, overload

if TYPE_CHECKING:
    from numpy.typing import NDArray

P = ParamSpec("P")
R_co = TypeVar("R_co", covariant=True)

_PLAIN = frozenset({float, int, bool})


class Law(Protocol[P, R_co]):
    """A function of numbers that, given arrays, broadcasts them and answers with an array."""

    __name__: str

    @overload
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co: ...
    @overload
    def __call__(self, *args: Any, **kwargs: Any) -> NDArray[Any]: ...


def elementwise(law: Callable[P, R_co]) -> Law[P, R_co]:
    """Let a law of plain numbers take arrays: numbers in, a float or bool out; arrays in, an array out.

    Every element is what the law gives for it alone, to the last bit, at one call per element; the error
    names the first element outside the domain.
    """

    @wraps(law)
    def lifted(*args: Any, **kwargs: Any) -> Any:
        for value in args:
            if type(value) not in _PLAIN:
                return _lifted(law, args, kwargs)
        for value in kwargs.values():
            if type(value) not in _PLAIN:
                return _lifted(law, args, kwargs)
        return law(*args, **kwargs)

    return cast("Law[P, R_co]", lifted)


def _lifted(law: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    import numpy as np

    arrays = np.broadcast_arrays(*args, *kwargs.values())
    positional, named = arrays[: len(args)], arrays[len(args) :]
    if arrays[0].ndim == 0:
        return law(
            *(a.item() for a in positional), **{k: a.item() for k, a in zip(kwargs, named, strict=True)}
        )
    rows = zip(*(a.ravel().tolist() for a in arrays), strict=True)
    answers = [law(*row[: len(args)], **dict(zip(kwargs, row[len(args) :], strict=True))) for row in rows]
    dtype = bool if law.__annotations__["return"] == "bool" else float
    return np.array(answers, dtype=dtype).reshape(arrays[0].shape)
