"""Which hosts may be loaded: loopback, unless the user has named another address himself.

A name can resolve to anything and an address can be written in many ways, so it is always the address that is
judged, in its plain form: ``::ffff:10.0.0.1``, ``0xa.1`` and ``167772161`` are all 10.0.0.1.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from datetime import date
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Any

from domain.errors import Fault

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

METADATA_ADDRESSES = frozenset(
    ip_address(text)
    for text in (
        "169.254.169.254", "169.254.170.2", "fd00:ec2::254", "fd20:ce::254",
        "100.100.100.200", "192.0.0.192", "168.63.129.16",
    )
)  # fmt: skip
"""Where clouds hand credentials and settings to a machine: AWS, GCP and Azure, ECS, AWS and GCP over IPv6,
Alibaba, Oracle, Azure's wire server."""

_NAME = re.compile(r"(?!-)[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})*")
_NUMERIC_LABEL = re.compile(r"[0-9]+|0x[0-9a-f]*")


def fault_in_target(host: str, address: str, allowed: Collection[str] = ()) -> Fault | None:
    """Why the resolved ``address`` of ``host`` must not be loaded; None if it may be.

    The address is judged, not the name: a name can resolve to anything.
    """
    if ip_address(address).is_loopback or address in allowed or host in allowed:
        return None
    return Fault(
        "target",
        "is not a loopback address; nothing is sent elsewhere unless the host is named (--allow-host)",
        host if host == address else f"{host} → {address}",
    )


@dataclass(frozen=True, slots=True)
class AllowEntry:
    """A host that its owner lets be loaded, at which addresses, how hard and until when.

    ``host`` is in the form of ``canonical_host``, or a network, which stands for every literal address in it.
    The name alone allows nothing: every address it resolves to must be in ``networks``. ``public`` says that
    addresses of the public Internet among them are meant. ``until`` is the last day it holds.
    """

    host: str
    networks: tuple[Network, ...]
    max_rate_per_s: float
    note: str = ""
    until: date | None = None
    public: bool = False

    def names(self, host: str) -> bool:
        """Whether it speaks of this host (as of ``canonical_host``)."""
        network, address = _network_or_none(self.host), _address_or_none(host)
        if network is None or address is None:
            return self.host == host
        return address in network

    def to_json(self) -> dict[str, Any]:
        """What ``json.dumps`` takes."""
        return {
            "host": self.host,
            "addresses": [str(network) for network in self.networks],
            "max_rate_per_s": self.max_rate_per_s,
            "note": self.note,
            "until": self.until.isoformat() if self.until else None,
            "public": self.public,
        }


def fault_in_address(host: str, address: str, entry: AllowEntry | None, today: date) -> Fault | None:
    """Why ``address``, to which ``host`` resolved, must not be loaded; None if it may be.

    Loopback always may. Metadata services, multicast, broadcast, link-local, reserved and unspecified
    addresses never may, whatever the entry says. Any other must be inside the entry's networks, the entry
    must not be over, and a public address needs an entry that says ``public``.
    """
    judged = plain_address(address)
    if judged.is_loopback:
        return None
    return Fault("target", rule, f"{host} → {judged}") if (rule := _refusal(judged, entry, today)) else None


def fault_in_watched(host: str, address: str) -> Fault | None:
    """Why ``address`` must not even be asked how a service is (twice a second): what is never loaded."""
    judged = plain_address(address)
    rule = None if judged.is_loopback else never_loaded(judged)
    return Fault("watch", rule, f"{host} → {judged}") if rule else None


def never_loaded(address: Address) -> str | None:
    """The rule that keeps this address from ever being loaded or asked; None if there is none."""
    for judged in (address, *_inside(address)):
        if judged in METADATA_ADDRESSES:
            return "is the metadata service of a cloud, which is never loaded"
        if judged.is_unspecified:
            return "is the unspecified address, which is never loaded: name the host itself"
        if judged.is_multicast:
            return "is a multicast address, which is never loaded"
        if judged.is_link_local:
            return "is a link-local address, which is never loaded"
        if judged.is_reserved:
            return "is a reserved or broadcast address, which is never loaded"
    return None


def is_public(address: Address) -> bool:
    """Whether it, or an IPv4 address it carries, is of the public Internet."""
    return any(judged.is_global for judged in (address, *_inside(address)))


def plain_address(text: str) -> Address:
    """The address itself, out of its IPv4-mapped form; raises ``ValueError`` on anything else."""
    address = ip_address(text)
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return address if mapped is None else mapped


def canonical_host(text: str) -> str:
    """A host in the one form in which hosts are compared and shown; raises ``ValueError`` with the rule.

    Names are lower case, in ASCII (punycode), without the trailing dot. Literal addresses are in their usual
    form; IPv4 is read as ``inet_aton`` does, so ``127.1``, ``2130706433`` and ``0177.0.0.1`` are 127.0.0.1.
    """
    if ":" in text:
        return _canonical_v6(text)
    try:
        name = text.encode("idna").decode("ascii").lower().removesuffix(".")
    except UnicodeError:
        raise ValueError("is not a host name") from None
    if _NUMERIC_LABEL.fullmatch(name.rpartition(".")[2]):
        return str(_as_inet_aton(name))
    if "*" in name:
        raise ValueError("must name one host; wildcards are refused")
    if not _NAME.fullmatch(name) or len(name) > 253:
        raise ValueError("is not a host name")
    return name


def _canonical_v6(text: str) -> str:
    if "%" in text:
        raise ValueError("must not carry a zone id: link-local addresses are never loaded")
    try:
        return str(plain_address(text))
    except ValueError:
        raise ValueError("is not an IPv6 address") from None


def _as_inet_aton(text: str) -> IPv4Address:
    """One to four numbers, decimal, octal (0…) or hexadecimal (0x…); the last fills the bytes left."""
    parts = text.split(".")
    if len(parts) > 4 or not all(_NUMERIC_LABEL.fullmatch(part) for part in parts):
        raise ValueError("is not an IPv4 address, and no name ends in a number")
    try:
        *leading, last = (_number(part) for part in parts)
    except ValueError:
        raise ValueError("is not an IPv4 address: 0… is octal, 0x… hexadecimal") from None
    room = 256 ** (4 - len(leading))
    if any(part > 255 for part in leading) or last >= room:
        raise ValueError("is not an IPv4 address: a number in it is too large")
    return IPv4Address(sum(part << (24 - 8 * index) for index, part in enumerate(leading)) + last)


def _number(text: str) -> int:
    if text.startswith("0x"):
        return int(text, 16)
    return int(text, 8 if text.startswith("0") else 10)


def _refusal(address: Address, entry: AllowEntry | None, today: date) -> str | None:
    never = never_loaded(address)
    if never:
        return never
    if entry is None:
        return "is not a loopback address and the allow-list has no entry for it"
    if entry.until is not None and today > entry.until:
        return f"was allowed until {entry.until.isoformat()} only"
    if not any(address in network for network in entry.networks):
        inside = ", ".join(map(str, entry.networks))
        return f"resolves outside the addresses that the allow-list names for it ({inside})"
    if is_public(address) and not entry.public:
        return "is a public address and its entry in the allow-list does not say public = true"
    return None


def _inside(address: Address) -> tuple[IPv4Address, ...]:
    """IPv4 addresses that an IPv6 one is a tunnel to (6to4, Teredo)."""
    if isinstance(address, IPv4Address):
        return ()
    found = [address.sixtofour, *(address.teredo or ())]
    return tuple(inner for inner in found if inner is not None)


def _address_or_none(text: str) -> Address | None:
    try:
        return plain_address(text)
    except ValueError:
        return None


def _network_or_none(text: str) -> Network | None:
    try:
        return IPv6Network(text) if ":" in text else IPv4Network(text)
    except ValueError:
        return None
