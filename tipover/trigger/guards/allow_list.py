"""The allow-list: a TOML file in which somebody has written down which hosts may be loaded.

::

    [[allow]]
    host = "checkout.staging.example"   # a name, a literal address or a network
    addresses = ["10.1.2.0/24"]         # what it may resolve to; of a literal host, itself if left out
    max_rate_per_s = 500                # attempts of any kind
    note = "agreed with the checkout team"
    until = 2026-12-31                  # optional: the last day
    public = false                      # true if an address of the public Internet is meant

Refused are: unknown keys; wildcards; networks wider than /16 (IPv4) or /48 (IPv6), ``0.0.0.0/0`` and ``::/0``
among them; addresses that are never loaded; public addresses without ``public = true``; a file that everybody
may write, or that lies in a directory in which everybody may replace it.
"""

from __future__ import annotations

import os
import stat
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import ip_network
from pathlib import Path
from typing import TYPE_CHECKING, Any

from domain.errors import ConfigurationError, Fault
from domain.guard import AllowEntry, Network, canonical_host, is_public, never_loaded

if TYPE_CHECKING:
    from pydantic import ValidationError

DEFAULT_FILE = "tipover-allow.toml"
WIDEST_PREFIX = {4: 16, 6: 48}
"""The shortest prefix of a network in an entry, by IP version."""
_LARGEST_FILE = 1 << 20


@dataclass(frozen=True, slots=True)
class AllowList:
    """The entries of a file (None: there is no file, so loopback only)."""

    entries: tuple[AllowEntry, ...] = ()
    file: str | None = None

    def entries_for(self, host: str) -> tuple[AllowEntry, ...]:
        """Those that name this host (as of ``canonical_host``)."""
        return tuple(entry for entry in self.entries if entry.names(host))


def load_allow_list(path: str | Path | None = None) -> AllowList:
    """The list in ``path``; None means ``tipover-allow.toml`` in the working directory, if it is there.

    Raises ``ConfigurationError`` with every fault at once.
    """
    file = Path(DEFAULT_FILE if path is None else path)
    if path is None and not os.path.lexists(file):
        return AllowList()
    text = _read(file)
    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationError(f"allow-list {file}: is not TOML: {error}") from None
    except RecursionError:
        raise ConfigurationError(f"allow-list {file}: is nested too deeply") from None
    return AllowList(_entries(raw, file), str(file))


def _read(file: Path) -> str:
    """What is judged is what is read: the open file, not its name."""
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as stream:
            _refuse_if_anybody_may_write(file, os.fstat(descriptor))
            data = stream.read(_LARGEST_FILE + 1)
        if len(data) > _LARGEST_FILE:
            raise ConfigurationError(f"allow-list {file}: is larger than {_LARGEST_FILE} bytes")
        return data.decode()
    except OSError as error:
        raise ConfigurationError(f"allow-list {file}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"allow-list {file}: is not UTF-8 text") from error


def _refuse_if_anybody_may_write(file: Path, found: os.stat_result) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise ConfigurationError(f"allow-list {file}: is not a regular file")
    if found.st_mode & stat.S_IWOTH:
        mode = stat.S_IMODE(found.st_mode)
        fault = Fault("mode", "must not be writable by everybody (chmod o-w)", f"{mode:04o}")
        raise ConfigurationError(f"allow-list {file} is not trusted; nothing was sent", [fault])
    directory = file.resolve().parent
    mode = directory.stat().st_mode
    if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
        fault = Fault("directory", "everybody may replace files in it (chmod o-w)", str(directory))
        raise ConfigurationError(f"allow-list {file} is not trusted; nothing was sent", [fault])


def _entries(raw: dict[str, Any], file: Path) -> tuple[AllowEntry, ...]:
    from pydantic import ValidationError

    from tipover.trigger.guards.allow_tables import AllowFile

    faults: list[Fault] = []
    table = None
    try:
        table = AllowFile.model_validate(raw)
    except ValidationError as error:
        faults += _faults_in(error)
    faults += _faults_across(raw)
    if table is None or faults:
        count = "1 fault" if len(faults) == 1 else f"{len(faults)} faults"
        raise ConfigurationError(f"allow-list {file} has {count}; nothing was sent", faults)
    return tuple(
        AllowEntry(
            canonical_host_or_network(row.host),
            tuple(map(network_from, row.addresses or [row.host])),
            row.max_rate_per_s,
            row.note,
            row.until,
            row.public,
        )
        for row in table.allow
    )


def canonical_host_or_network(text: str) -> str:
    """The host as entries hold it; raises ``ValueError`` with the rule."""
    return str(network_from(text)) if "/" in text else canonical_host(text)


def network_from(text: str) -> Network:
    """A literal address or a network that an entry may hold; raises ``ValueError`` with the rule."""
    if "*" in text:
        raise ValueError("must be an address or a network; wildcards are refused")
    try:
        network = ip_network(text if "/" in text else canonical_host(text))
    except ValueError as error:
        bits = " (bits are set behind its prefix)" if "host bits" in str(error) else ""
        raise ValueError(f"is not an address or a network{bits}") from None
    widest = WIDEST_PREFIX[network.version]
    if network.prefixlen < widest:
        raise ValueError(f"must be a network of /{widest} or narrower")
    if network.version == 6 and network.network_address in ip_network("::ffff:0:0/96"):
        raise ValueError("must be written as IPv4")
    never = never_loaded(network[0]) and never_loaded(network[-1])
    if never:
        raise ValueError(never)
    return network


def _faults_across(raw: dict[str, Any]) -> list[Fault]:
    """Rules that join several keys; what is wrong by itself is left to the tables."""
    faults: list[Fault] = []
    seen: dict[str, int] = {}
    for index, row in _rows(raw):
        at, host = f"allow[{index}]", _made(canonical_host_or_network, row.get("host"))
        if host is not None and host in seen:
            faults.append(Fault(f"{at}.host", f"is in allow[{seen[host]}] already", row["host"]))
        elif host is not None:
            seen[host] = index
        given = row.get("addresses")
        literal = _made(network_from, row.get("host"))
        if given is None and literal is None and host is not None:
            faults.append(Fault(f"{at}.addresses", "is required for a name: where it may resolve to", None))
        listed = given if isinstance(given, list) else [row.get("host")]
        networks = [made for made in (_made(network_from, text) for text in listed) if made is not None]
        public = [str(network) for network in networks if is_public(network[0]) or is_public(network[-1])]
        if public and row.get("public") is not True:
            rule = "must be true for public addresses, to say that they are meant"
            faults.append(Fault(f"{at}.public", rule, ", ".join(public)))
    return faults


def _rows(raw: dict[str, Any]) -> Iterator[tuple[int, dict[str, Any]]]:
    rows = raw.get("allow")
    for index, row in enumerate(rows if isinstance(rows, list) else []):
        if isinstance(row, dict):
            yield index, row


def _made(make: Any, value: object) -> Any:
    """What ``make`` makes of it; None if it cannot."""
    try:
        return make(value) if isinstance(value, str) else None
    except ValueError:
        return None


_WORDS = {
    "string_type": "must be text",
    "float_type": "must be a number, such as 500",
    "finite_number": "must be a finite number",
    "bool_type": "must be true or false",
    "list_type": "must be a list",
    "too_short": "must have at least one entry",
    "model_type": "must be a table",
}


def _rule(kind: str, found: Any) -> str:
    """The rule in the file's words, and not in pydantic's."""
    if kind.startswith("date"):
        return "must be a date, such as 2026-12-31"
    if kind == "greater_than":
        return f"must be greater than {found['ctx']['gt']:g}"
    if kind == "less_than_equal":
        return f"must be at most {found['ctx']['le']:g}"
    said = str(found["msg"])
    return _WORDS.get(kind, said[:1].lower() + said[1:])


def _faults_in(error: ValidationError) -> list[Fault]:
    from tipover.scenario_faults import dotted, nearest_key
    from tipover.trigger.guards.allow_tables import AllowFile, AllowRow

    faults = []
    for found in error.errors(include_url=False):
        place, kind, value = found["loc"], found["type"], found["input"]
        rule = _rule(kind, found)
        if kind == "missing":
            rule, value = "is required", None
        elif kind == "value_error":
            rule = str(found["ctx"]["error"])
        elif kind == "extra_forbidden":
            known = list((AllowRow if len(place) > 1 else AllowFile).model_fields)
            meant = nearest_key(str(place[-1]), known)
            rule = "is not a known key; " + (
                f"did you mean {meant}?" if meant else f"known here: {', '.join(known)}"
            )
        faults.append(Fault(dotted(place), rule, value))
    return faults
