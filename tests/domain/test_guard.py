"""Addresses that may be loaded, and hosts written in every way there is."""

from __future__ import annotations

import ipaddress
import json
import socket
from datetime import date, timedelta

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from domain.guard import (
    METADATA_ADDRESSES,
    AllowEntry,
    canonical_host,
    fault_in_address,
    fault_in_watched,
    is_public,
    never_loaded,
    plain_address,
)

TODAY = date(2026, 6, 1)
V4 = st.integers(0, 2**32 - 1).map(ipaddress.IPv4Address)
V6 = st.integers(0, 2**128 - 1).map(ipaddress.IPv6Address)
EVERYTHING = (ipaddress.ip_network("0.0.0.0/0"), ipaddress.ip_network("::/0"))
NEVER = (
    "0.0.0.0", "::", "224.0.0.1", "239.255.255.255", "ff02::1", "255.255.255.255", "240.0.0.1",
    "169.254.169.254", "169.254.1.1", "fe80::1", "fe80::1%eth0", "fd00:ec2::254", "100.100.100.200",
    "168.63.129.16", "192.0.0.192", "::ffff:169.254.169.254", "::ffff:224.0.0.1", "::ffff:0.0.0.0",
    "2002:a9fe:a9fe::1", "64:ff9b::a9fe:a9fe", "::a9fe:a9fe",
)  # fmt: skip


def entry(*networks: str, **settings: object) -> AllowEntry:
    """An entry for svc.example."""
    return AllowEntry("svc.example", tuple(map(ipaddress.ip_network, networks)), 100.0, **settings)  # type: ignore[arg-type]


@pytest.mark.parametrize("address", ["127.0.0.1", "127.255.255.254", "::1", "::ffff:127.0.0.1"])
def test_loopback_needs_no_entry(address: str) -> None:
    assert fault_in_address("localhost", address, None, TODAY) is None
    assert fault_in_watched("localhost", address) is None


@pytest.mark.parametrize("address", ["10.0.0.1", "192.168.1.1", "8.8.8.8", "fd00::1", "2606:4700::1111"])
def test_anything_else_needs_one(address: str) -> None:
    fault = fault_in_address("svc.example", address, None, TODAY)
    assert fault is not None
    assert "no entry" in fault.rule
    assert address in str(fault.value)
    assert fault_in_watched("svc.example", address) is None


@pytest.mark.parametrize("address", NEVER)
def test_some_addresses_are_refused_whatever_the_entry_says(address: str) -> None:
    """Metadata services, multicast, link-local, unspecified, reserved: mapped and tunnelled ones too."""
    allowing = AllowEntry("svc.example", EVERYTHING, 100.0, public=True)
    fault = fault_in_address("svc.example", address, allowing, TODAY)
    assert fault is not None
    assert "never" in fault.rule
    assert fault_in_watched("svc.example", address) is not None


@given(address=st.one_of(V4, V6, st.sampled_from(sorted(METADATA_ADDRESSES, key=str))))
def test_no_address_passes_that_no_rule_lets_pass(
    address: ipaddress.IPv4Address | ipaddress.IPv6Address,
) -> None:
    """Without an entry only loopback; with one for everything that is not public, no global and no other
    never-loaded address."""
    plain = plain_address(str(address))
    assert (fault_in_address("x", str(address), None, TODAY) is None) == plain.is_loopback
    everything = AllowEntry("x", EVERYTHING, 1.0)
    passes = fault_in_address("x", str(address), everything, TODAY) is None
    assert passes == (plain.is_loopback or (never_loaded(plain) is None and not is_public(plain)))
    if passes:
        assert not plain.is_global
        assert not plain.is_multicast


@given(inside=st.integers(0, 255), other=V4)
def test_an_address_must_be_inside_the_entrys_networks(inside: int, other: ipaddress.IPv4Address) -> None:
    allowing = entry("10.1.2.0/24")
    assert fault_in_address("svc.example", f"10.1.2.{inside}", allowing, TODAY) is None
    assert fault_in_address("svc.example", f"::ffff:10.1.2.{inside}", allowing, TODAY) is None
    assume(other not in allowing.networks[0] and not other.is_loopback)
    assert fault_in_address("svc.example", str(other), allowing, TODAY) is not None


def test_an_address_outside_is_refused_with_the_networks() -> None:
    fault = fault_in_address("svc.example", "10.1.3.1", entry("10.1.2.0/24", "fd00::/64"), TODAY)
    assert fault is not None
    assert "10.1.2.0/24, fd00::/64" in fault.rule
    assert "svc.example → 10.1.3.1" in str(fault)


def test_a_public_address_must_be_meant() -> None:
    fault = fault_in_address("svc.example", "8.8.8.8", entry("8.8.8.0/24"), TODAY)
    assert fault is not None
    assert "public = true" in fault.rule
    assert fault_in_address("svc.example", "8.8.8.8", entry("8.8.8.0/24", public=True), TODAY) is None


def test_an_entry_holds_through_its_last_day() -> None:
    allowing = entry("10.0.0.0/16", until=TODAY)
    assert fault_in_address("svc.example", "10.0.0.1", allowing, TODAY) is None
    fault = fault_in_address("svc.example", "10.0.0.1", allowing, TODAY + timedelta(days=1))
    assert fault is not None
    assert "until 2026-06-01" in fault.rule


def test_an_entry_names_a_name_an_address_or_a_network() -> None:
    networks = (ipaddress.ip_network("10.1.0.0/16"),)
    assert AllowEntry("svc.example", networks, 1.0).names("svc.example")
    assert not AllowEntry("svc.example", networks, 1.0).names("a.svc.example")
    assert not AllowEntry("svc.example", networks, 1.0).names("10.1.0.1")
    assert AllowEntry("10.1.0.0/16", networks, 1.0).names("10.1.255.255")
    assert not AllowEntry("10.1.0.0/16", networks, 1.0).names("10.2.0.0")
    assert not AllowEntry("10.1.0.0/16", networks, 1.0).names("svc.example")
    assert AllowEntry("fd00::1", networks, 1.0).names("fd00::1")


def test_an_entry_can_be_written_down() -> None:
    made = entry("10.0.0.0/16", until=TODAY, note="agreed").to_json()
    assert json.loads(json.dumps(made)) == {
        "host": "svc.example",
        "addresses": ["10.0.0.0/16"],
        "max_rate_per_s": 100.0,
        "note": "agreed",
        "until": "2026-06-01",
        "public": False,
    }


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("127.1", "127.0.0.1"),
        ("2130706433", "127.0.0.1"),
        ("0177.0.0.1", "127.0.0.1"),
        ("0x7f.1", "127.0.0.1"),
        ("0X7F000001", "127.0.0.1"),
        ("127.0.0.1.", "127.0.0.1"),
        ("2852039166", "169.254.169.254"),
        ("0xa9.0xfe.0xa9.0xfe", "169.254.169.254"),
        ("１２７。0．0．1", "127.0.0.1"),
        ("0", "0.0.0.0"),
        ("::FFFF:10.0.0.1", "10.0.0.1"),
        ("::ffff:a00:1", "10.0.0.1"),
        ("0:0:0:0:0:0:0:1", "::1"),
        ("Checkout.Staging.Example.", "checkout.staging.example"),
        ("BÜCHER.example", "xn--bcher-kva.example"),
        ("xn--bcher-kva.example", "xn--bcher-kva.example"),
        ("my_service", "my_service"),
    ],
)
def test_a_host_has_one_form(written: str, meant: str) -> None:
    """Spellings of one host are one host."""
    assert canonical_host(written) == meant
    assert canonical_host(meant) == meant


@pytest.mark.parametrize(
    "written",
    [
        "", ".", "..", "a..b", "*", "*.example", "a b", "a/b", "a@b", "a%00b", "-a.example", "fe80::1%eth0",
        "::1%lo", ":::", "1.2.3.4.5", "256.0.0.1", "1.2.3.256", "127.0.0.09", "0x", "4294967296",
        "1..2", "example.1", "a" * 64, "a." * 127 + "ab", "[::1]",
    ],
)  # fmt: skip
def test_what_is_no_host_is_refused(written: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        canonical_host(written)


@given(
    address=V4,
    bases=st.lists(st.sampled_from(["d", "o", "x"]), min_size=4, max_size=4),
    parts=st.integers(1, 4),
)
def test_numeric_spellings_mean_what_the_resolver_takes_them_for(
    address: ipaddress.IPv4Address, bases: list[str], parts: int
) -> None:
    """Decimal, octal, hexadecimal and shortened, against ``inet_aton``."""
    octets = list(address.packed)
    numbers = [*octets[: parts - 1], int.from_bytes(bytes(octets[parts - 1 :]), "big")]
    forms = {"d": "{:d}", "o": "0{:o}", "x": "0x{:x}"}
    spelled = ".".join(forms[base].format(number) for base, number in zip(bases, numbers, strict=False))
    assert socket.inet_ntoa(socket.inet_aton(spelled)) == str(address)
    assert canonical_host(spelled) == str(address)


@given(text=st.text(alphabet="0123456789abcdefx.:%*-_ /@é。", max_size=24))
def test_a_canonical_host_is_its_own_canonical_form(text: str) -> None:
    """Anything else is a ``ValueError`` and nothing worse."""
    try:
        host = canonical_host(text)
    except ValueError:
        return
    assert canonical_host(host) == host
    assert host.isascii()
