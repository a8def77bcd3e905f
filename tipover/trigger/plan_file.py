"""Plans: from a TOML file and options, each of which wins over the file, to a ``TriggerPlan``."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from domain.errors import ConfigurationError, Fault
from domain.request_mix import RequestMix, RequestTemplate, faults_in_mix
from domain.trigger.assertions import Assertions
from domain.trigger.fit import duration_fault
from domain.trigger.guards_plan import Guards
from domain.trigger.plan import Ceiling, Probing, Target, TriggerPlan
from tipover.requests.tables import mix_from_tables, mix_of
from tipover.trigger.plan_faults import Setting, in_options, overlaid, validated
from tipover.trigger.plan_tables import TIMEOUT_S, PlanTable

PATIENCE_S, PATIENCE_TIMEOUTS = 60.0, 20.0
"""How long a probe waits unless it is said: the larger of these."""
_LARGEST_FILE = 16 * 2**20
_SET_BY_A_PRESET = ("max_attempts", "backoff", "budget", "breaker", "propagate", "on_refusal")
_FILES = (("target", "ca_file"), ("test", "locustfile"), ("guards", "allow_file"))
"""Keys that name a file: looked for beside the plan file."""


def load_plan(
    path: Path | None,
    settings: Sequence[Setting] = (),
    *,
    requests: tuple[RequestTemplate, ...] | None = None,
    yes: bool = False,
) -> TriggerPlan:
    """The plan in a file, or made of options alone; each option wins over the file.

    ``requests`` take the place of the file's, ``yes`` is the confirmation, which no file can give. Raises
    ``ConfigurationError`` with every fault at once.
    """
    if path is None:
        return parse_plan({}, settings=settings, requests=requests, yes=yes)
    raw = _beside(_read(path), path)
    return parse_plan(
        raw, name=path.stem, directory=path.parent, settings=settings, requests=requests, yes=yes
    )


def parse_plan(
    raw: Mapping[str, Any],
    *,
    name: str | None = None,
    directory: Path = Path(),
    settings: Sequence[Setting] = (),
    requests: tuple[RequestTemplate, ...] | None = None,
    yes: bool = False,
) -> TriggerPlan:
    """The plan in the tables of a plan file; ``name`` None: named after the target. Bodies are
    looked for in ``directory``. Raises ``ConfigurationError`` with every fault at once."""
    whole = _with_timeout(overlaid(_without_preset_keys(raw, settings), settings))
    made, faults = validated(whole)
    plan = mix = None
    if made is not None:
        mix, more = _mix(made, requests, directory)
        faults += more
    elif requests is None:
        faults += _request_faults(whole, directory, {fault.field for fault in faults})
    faults += _file_faults(whole)
    if made is not None and mix is not None and not faults:
        plan = _plan(made, name, mix, yes)
        faults += filter(None, [duration_fault(plan)])
    if plan is None or faults:
        count = "1 fault" if len(faults) == 1 else f"{len(faults)} faults"
        raise ConfigurationError(
            f"the trigger plan has {count}; nothing was sent", in_options(faults, settings)
        )
    return plan


def _read(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as stream:
            data = stream.read(_LARGEST_FILE + 1)
        if len(data) > _LARGEST_FILE:
            raise OSError(f"it is longer than {_LARGEST_FILE} bytes")
        return tomllib.loads(data.decode())
    except OSError as error:
        fault = Fault("PLAN", f"cannot be read: {error.strerror or error}", str(path))
    except UnicodeDecodeError as error:
        fault = Fault("PLAN", f"must be UTF-8 text: {error.reason} at byte {error.start}", str(path))
    except tomllib.TOMLDecodeError as error:
        fault = Fault(path.name, f"must be TOML: {error}", None)
    except RecursionError:
        fault = Fault(path.name, "must be TOML that a parser can follow: it is nested too deeply", None)
    raise ConfigurationError("cannot read the trigger plan; nothing was sent", [fault])


def _beside(raw: dict[str, Any], path: Path) -> dict[str, Any]:
    """The tables with the files they name taken from the plan file's directory."""
    found = [Setting("", place, raw[place[0]][place[1]]) for place in _FILES if _is_text(raw, place)]
    return overlaid(
        raw,
        [Setting("", setting.place, str(path.parent / setting.value)) for setting in found if setting.value],
    )


def _is_text(raw: Mapping[str, Any], place: tuple[str, str]) -> bool:
    table = raw.get(place[0])
    return isinstance(table, dict) and isinstance(table.get(place[1]), str)


def _without_preset_keys(raw: Mapping[str, Any], settings: Sequence[Setting]) -> dict[str, Any]:
    """A preset that was given as an option wins over the file's client; other options win over the preset."""
    client = raw.get("client")
    if not isinstance(client, dict) or not any(s.place == ("client", "preset") for s in settings):
        return dict(raw)
    return {**raw, "client": {key: value for key, value in client.items() if key not in _SET_BY_A_PRESET}}


def _with_timeout(raw: dict[str, Any]) -> dict[str, Any]:
    client = raw.setdefault("client", {})
    return {**raw, "client": {"timeout_s": TIMEOUT_S, **client}} if isinstance(client, dict) else raw


def _file_faults(raw: Mapping[str, Any]) -> list[Fault]:
    return [
        Fault(".".join(place), "must be a file", raw[place[0]][place[1]])
        for place in _FILES
        if _is_text(raw, place) and not Path(raw[place[0]][place[1]]).is_file()
    ]


def _plan(made: PlanTable, name: str | None, mix: RequestMix, yes: bool) -> TriggerPlan:
    test, asked = made.test, made.assertions
    client = made.client.value()
    patience_s = made.probes.patience_s or max(PATIENCE_S, PATIENCE_TIMEOUTS * client.timeout_s)
    name = name or _name(made.target.url)
    return TriggerPlan(
        name=name,
        title=made.title or name,
        target=Target(
            url=made.target.url.rstrip("/"), ca_file=made.target.ca_file, probe_url=made.target.probe_url
        ),
        client=client,
        mix=mix,
        **test.model_dump(),
        probing=Probing(made.probes.rate_per_s, patience_s, made.probes.most_open),
        ceiling=Ceiling(**made.limits.model_dump()),
        guards=_guards(made, yes),
        assertions=Assertions(
            asked.min_threshold, asked.max_amplification, asked.max_recovery_s, tuple(asked.verdict)
        ),
    )


def _mix(
    made: PlanTable, requests: tuple[RequestTemplate, ...] | None, directory: Path
) -> tuple[RequestMix | None, list[Fault]]:
    if requests is None:
        return mix_of(made.request, made.success, directory)
    success = made.success.value()
    faults = list(faults_in_mix(requests, success))
    return (None, faults) if faults else (RequestMix(requests, success), [])


def _request_faults(raw: Mapping[str, Any], directory: Path, told: set[str]) -> list[Fault]:
    """What is wrong with the requests besides what is told already, when something else is wrong, too."""
    try:
        mix_from_tables(raw, directory)
    except ConfigurationError as error:
        return [fault for fault in error.faults if fault.field not in told]
    return []


def _guards(made: PlanTable, yes: bool) -> Guards:
    settings = made.guards.model_dump(exclude={"max_error_rate", "prometheus"})
    return Guards(
        **settings,
        prometheus=made.probes.prometheus or made.guards.prometheus,
        received_query=made.probes.received,
        most_error_ratio=made.guards.max_error_rate,
        yes=yes,
    )


def _name(url: str) -> str:
    """Host and port, as far as they can stand in the name of a directory."""
    return re.sub(r"[^A-Za-z0-9.]+", "-", urlsplit(url).netloc).strip("-")
