"""Values of the domain as JSON: each is an object of its fields, and is checked when it is read.

A rule that comes in kinds has its ``kind`` first; infinity is the text ``"inf"``; bytes are text where they
are UTF-8, and ``{"base64": …}`` where not. Fields that are left out are the domain's defaults, so that what
an older version wrote can still be read.
"""

from __future__ import annotations

import base64
import binascii
import math
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from domain.autoscaler import Doubling, Policies, ScaleUpLimit, Unlimited
from domain.backoff import (
    Backoff,
    DecorrelatedJitterBackoff,
    EnvoyBackoff,
    EqualJitterBackoff,
    ExponentialBackoff,
    FinagleJitterBackoff,
    FixedBackoff,
    FullJitterBackoff,
    GrpcBackoff,
    NoBackoff,
)
from domain.breakers.adaptive_throttle import AdaptiveThrottle
from domain.breakers.circuit_breaker import CircuitBreaker
from domain.breakers.decide import Breaker
from domain.breakers.none import NoBreaker
from domain.budgets.aws import AwsTokenBucket
from domain.budgets.decide import RetryBudget
from domain.budgets.envoy import EnvoyBudget
from domain.budgets.finagle import FinagleBudget
from domain.budgets.grpc import GrpcThrottle
from domain.budgets.none import NoBudget
from domain.budgets.ratio import RatioBudget
from domain.budgets.window_ratio import WindowRatioBudget
from domain.errors import Fault
from domain.limits.aimd import AimdLimit
from domain.limits.decide import ConcurrencyLimit
from domain.limits.envoy_gradient import EnvoyGradientLimit
from domain.limits.gradient2 import Gradient2Limit
from domain.limits.vegas import VegasLimit

BACKOFFS: dict[str, type[Backoff]] = {
    rule.kind: rule
    for rule in (
        NoBackoff,
        FixedBackoff,
        ExponentialBackoff,
        FullJitterBackoff,
        EqualJitterBackoff,
        DecorrelatedJitterBackoff,
        FinagleJitterBackoff,
        GrpcBackoff,
        EnvoyBackoff,
    )
}
BUDGETS: dict[str, type[RetryBudget]] = {
    rule.kind: rule
    for rule in (
        NoBudget,
        RatioBudget,
        WindowRatioBudget,
        AwsTokenBucket,
        GrpcThrottle,
        FinagleBudget,
        EnvoyBudget,
    )
}
BREAKERS: dict[str, type[Breaker]] = {
    rule.kind: rule for rule in (NoBreaker, AdaptiveThrottle, CircuitBreaker)
}
LIMITS: dict[str, type[ConcurrencyLimit]] = {
    rule.kind: rule for rule in (AimdLimit, VegasLimit, Gradient2Limit, EnvoyGradientLimit)
}

SCALE_UPS: dict[str, type[ScaleUpLimit]] = {rule.kind: rule for rule in (Unlimited, Doubling, Policies)}

_FAMILIES: dict[str, Mapping[str, type]] = {
    "backoff": BACKOFFS,
    "budget": BUDGETS,
    "breaker": BREAKERS,
    "limit": LIMITS,
    "scale_up": SCALE_UPS,
}
"""The rules to choose from, by the name of the field that holds one."""

_SHARES = frozenset({"error_rate", "floor", "backoff_ratio", "failure_ratio", "smoothing"})
"""Fields that are at most 1, wherever they are."""

_POSITIVE = frozenset({"timeout_s", "deadline_s", "pods", "rate_per_pod", "clients", "speedup"})
"""Fields that something is divided by, or that nothing would come of at 0."""

_TOO_LARGE = 2**63
"""Whole numbers beyond this have no place anywhere, and some are too large for a float."""

FAULTY: Any = object()
"""What decoding returns when it has noted a fault instead of making a value."""


def encoded(value: Any) -> Any:
    """What ``json.dumps`` takes and ``decoded`` turns back into an equal value."""
    if is_dataclass(value) and not isinstance(value, type):
        own = {field.name: encoded(getattr(value, field.name)) for field in fields(value)}
        most = own.get("max_attempts")
        if isinstance(most, float):
            own["max_attempts"] = int(most)
        kind = getattr(value, "kind", None)
        return own if kind is None or "kind" in own else {"kind": kind, **own}
    if isinstance(value, tuple):
        return [encoded(entry) for entry in value]
    if isinstance(value, bytes):
        return _encoded_bytes(value)
    return "inf" if isinstance(value, float) and value == math.inf else value


def _encoded_bytes(value: bytes) -> Any:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(value).decode()}


def decoded(kind: type, data: object, at: str, faults: list[Fault]) -> Any:
    """A value of the dataclass ``kind``, or ``FAULTY`` after noting all that is wrong with ``data``, which is
    found at ``at``."""
    if not isinstance(data, Mapping):
        return _fault(faults, at or kind.__name__.lower(), "must be a JSON object", data)
    known = {field.name: field for field in fields(kind)}
    before = len(faults)
    for key in data:
        if key not in known:
            _fault(faults, _under(at, str(key)), f"is not one of {', '.join(known)}", data[key])
    values = {}
    for name, field in known.items():
        if name in data:
            values[name] = _field_value(name, _hints(kind)[name], data[name], _under(at, name), faults)
        elif _is_required(field):
            _fault(faults, _under(at, name), "is required", None)
    if len(faults) > before:
        return FAULTY
    try:
        return kind(**values)
    except ValueError as error:  # the value's own rule, in its own words
        return _fault(faults, at, str(error), None)


@cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


def _is_required(field: Field[Any]) -> bool:
    return field.default is MISSING and field.default_factory is MISSING


def _under(at: str, key: str) -> str:
    return f"{at}.{key}" if at else key


def _fault(faults: list[Fault], at: str, rule: str, value: object) -> Any:
    faults.append(Fault(at, rule, value))
    return FAULTY


def _field_value(name: str, hint: Any, data: object, at: str, faults: list[Fault]) -> Any:
    if get_origin(hint) in (Union, UnionType):
        if data is None:
            return None
        (hint,) = (option for option in get_args(hint) if option is not NoneType)
    if name in _FAMILIES:
        return _rule(_FAMILIES[name], data, at, faults)
    if get_origin(hint) is tuple:
        return _entries(name, get_args(hint), data, at, faults)
    if is_dataclass(hint):
        return decoded(hint, data, at, faults)  # type: ignore[arg-type]  # no instance: hints are types
    if hint is bytes:
        return _bytes(data, at, faults)
    return _plain(name, hint, data, at, faults)


def _rule(kinds: Mapping[str, type], data: object, at: str, faults: list[Fault]) -> Any:
    """One of a family of rules, by its ``kind``."""
    if not isinstance(data, Mapping):
        return _fault(faults, at, "must be a JSON object", data)
    kind = data.get("kind")
    if not isinstance(kind, str) or kind not in kinds:
        return _fault(faults, f"{at}.kind", f"must be one of {', '.join(kinds)}", kind)
    return decoded(kinds[kind], {key: data[key] for key in data if key != "kind"}, at, faults)


def _entries(name: str, hints: tuple[Any, ...], data: object, at: str, faults: list[Fault]) -> Any:
    """A tuple of any length of one type, or one of a type for each place."""
    if not isinstance(data, list | tuple):
        return _fault(faults, at, "must be a list", data)
    if hints[-1] is Ellipsis:
        hints = hints[:1] * len(data)
    elif len(data) != len(hints):
        return _fault(faults, at, f"must be a list of {len(hints)}", data)
    return tuple(
        _field_value(name, hint, entry, f"{at}[{index}]", faults)
        for index, (hint, entry) in enumerate(zip(hints, data, strict=True))
    )


def _bytes(data: object, at: str, faults: list[Fault]) -> Any:
    try:
        if isinstance(data, str):
            return data.encode()
        if isinstance(data, Mapping) and set(data) == {"base64"}:
            return base64.b64decode(data["base64"], validate=True)
    except (binascii.Error, TypeError, ValueError):
        pass
    return _fault(faults, at, 'must be text or {"base64": …}', data)


def _plain(name: str, hint: Any, data: object, at: str, faults: list[Fault]) -> Any:
    """A number, text, truth value or one of several words."""
    if get_origin(hint) is Literal:
        words = get_args(hint)
        return data if data in words else _fault(faults, at, f"must be one of {', '.join(words)}", data)
    if hint in (bool, str):
        expected = "true or false" if hint is bool else "text"
        return data if isinstance(data, hint) else _fault(faults, at, f"must be {expected}", data)
    if hint is float and data == "inf":
        data = math.inf
    rule = _broken_rule(name, int if hint is int else float, data)
    return hint(data) if rule is None else _fault(faults, at, rule, data)


def _broken_rule(name: str, kind: type, data: Any) -> str | None:
    """What a number of this name must be and is not."""
    whole = kind is int
    if not isinstance(data, int if whole else (int, float)) or isinstance(data, bool) or not data >= 0:
        return f"must be a {'whole ' if whole else ''}number of at least 0"
    if isinstance(data, int) and data >= _TOO_LARGE:
        return "must be less than 2^63"
    if name in _POSITIVE and data == 0:
        return "must be above 0"
    if name == "max_attempts" and data < 1:
        return "must be at least 1, the first attempt included"
    return "must be at most 1" if name in _SHARES and data > 1 else None
