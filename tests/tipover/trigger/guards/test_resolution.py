"""From a URL to one address: what is judged is what is connected to."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Iterator
from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.errors import ConfigurationError, ExitCode
from domain.guard import AllowEntry
from tests.servers import friendly, serving
from tipover.trigger.guards.allow_list import AllowList
from tipover.trigger.guards.bounded_http import get
from tipover.trigger.guards.resolution import Resolved, resolve, resolve_watched

TODAY = date(2026, 6, 1)
NOBODY = AllowList()


def allowing(host: str, *networks: str, **settings: Any) -> AllowList:
    """A list with one entry."""
    entry = AllowEntry(host, tuple(map(ipaddress.ip_network, networks)), 100.0, **settings)
    return AllowList((entry,), "allow.toml")


class Resolver:
    """A made-up ``getaddrinfo`` that gives each answer in turn and stays at the last."""

    def __init__(self, *answers: list[str]) -> None:
        self.asked: list[str] = []
        self._answers: Iterator[list[str]] = iter(answers)
        self._last = answers[0]

    def __call__(self, name: str, port: int) -> list[tuple[Any, ...]]:
        self.asked.append(name)
        self._last = next(self._answers, self._last)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in self._last]


def refused(url: str, listed: AllowList = NOBODY, *answers: list[str]) -> str:
    """The message with which a target is refused."""
    with pytest.raises(ConfigurationError) as caught:
        resolve(url, listed, today=TODAY, lookup=Resolver(*(answers or (["10.1.2.3"],))))
    assert caught.value.exit_code == ExitCode.CONFIGURATION
    assert "nothing was sent" in str(caught.value)
    assert caught.value.faults
    return str(caught.value)


@pytest.mark.parametrize(
    ("url", "address", "port"),
    [
        ("http://127.0.0.1:8080", "127.0.0.1", 8080),
        ("http://127.0.0.1", "127.0.0.1", 80),
        ("https://127.9.9.9/", "127.9.9.9", 443),
        ("http://[::1]:81/", "::1", 81),
        ("http://[::ffff:127.0.0.1]/", "127.0.0.1", 80),
        ("http://127.1/", "127.0.0.1", 80),
        ("http://2130706433/", "127.0.0.1", 80),
        ("http://0177.0.0.1/", "127.0.0.1", 80),
        ("http://0x7f.0.0.1./", "127.0.0.1", 80),
    ],
)
def test_loopback_needs_no_entry_however_it_is_spelled(url: str, address: str, port: int) -> None:
    """And a literal address is never looked up."""
    lookup = Resolver(["8.8.8.8"])
    found = resolve(url, NOBODY, lookup=lookup)
    assert (found.address, found.port, found.entry, found.is_loopback) == (address, port, None, True)
    assert lookup.asked == []


def test_localhost_is_judged_by_its_address() -> None:
    """A localhost that points elsewhere is elsewhere."""
    assert resolve("http://localhost:1", NOBODY, lookup=Resolver(["127.0.0.1"])).is_loopback
    assert "no entry" in refused("http://localhost/", NOBODY, ["10.1.2.3"])


def test_an_allowed_name_is_pinned_to_its_address() -> None:
    listed = allowing("svc.example", "10.1.2.0/24")
    lookup = Resolver(["10.1.2.3"])
    found = resolve("https://SVC.example.:8443/", listed, today=TODAY, lookup=lookup)
    assert found == Resolved("svc.example", "10.1.2.3", 8443, listed.entries[0], "https")
    assert not found.is_loopback
    assert lookup.asked == ["svc.example."]


@pytest.mark.parametrize(
    "url", ["http://svc.example/", "http://10.1.2.3/", "http://167838211/", "http://8.8.8.8/"]
)
def test_private_and_public_hosts_without_an_entry_are_refused(url: str) -> None:
    assert "no entry" in refused(url)


def test_every_address_of_a_name_must_be_allowed() -> None:
    """One that is not makes the name one that somebody else controls."""
    listed = allowing("svc.example", "10.1.2.0/24")
    said = refused("http://svc.example/", listed, ["10.1.2.3", "10.9.9.9", "127.0.0.1", "8.8.8.8"])
    assert "10.9.9.9" in said
    assert "8.8.8.8" in said
    assert "→ 10.1.2.3" not in said
    assert "allow.toml" in said


def test_a_name_that_resolves_to_a_metadata_service_is_refused() -> None:
    """Even if the list names the network it is in."""
    listed = allowing("svc.example", "169.254.0.0/16", "10.0.0.0/16", public=True)
    assert "metadata" in refused("http://svc.example/", listed, ["10.0.0.1", "::ffff:169.254.169.254"])


@pytest.mark.parametrize(
    "host",
    [
        "169.254.169.254", "2852039166", "0xa9fea9fe", "0251.0376.0251.0376", "169.254.43518",
        "[::ffff:a9fe:a9fe]", "[fd00:ec2::254]", "0.0.0.0", "0", "[::]", "224.0.0.1", "[ff02::1]",
        "255.255.255.255", "169.254.7.7", "[fe80::1]", "[2002:a9fe:a9fe::]",
    ],
)  # fmt: skip
def test_what_is_never_loaded_is_refused_in_every_spelling(host: str) -> None:
    networks = (ipaddress.ip_network("0.0.0.0/0"), ipaddress.ip_network("::/0"))
    everything = AllowList(
        tuple(AllowEntry(name, networks, 1.0, public=True) for name in ("0.0.0.0/0", "::/0"))
    )
    assert "never" in refused(f"http://{host}/", everything)


def test_an_entry_for_an_address_counts_in_every_spelling() -> None:
    listed = allowing("10.1.2.3", "10.1.2.3/32")
    for host in ("10.1.2.3", "10.66051", "0x0a.1.2.3", "[::ffff:10.1.2.3]"):
        assert resolve(f"http://{host}/", listed, today=TODAY).address == "10.1.2.3"
    assert "no entry" in refused("http://10.1.2.4/", listed)


def test_the_ceiling_is_never_above_what_the_entry_grants() -> None:
    granted = resolve("http://10.1.2.3/", allowing("10.1.2.3", "10.1.2.3/32"), today=TODAY)
    assert [granted.most_rate_per_s(asked) for asked in (50.0, 100.0, 2000.0)] == [50.0, 100.0, 100.0]
    assert resolve("http://127.0.0.1/", NOBODY).most_rate_per_s(2000.0) == 2000.0


def test_an_expired_entry_is_refused() -> None:
    listed = allowing("svc.example", "10.1.2.0/24", until=date(2026, 5, 31))
    assert "allowed until 2026-05-31" in refused("http://svc.example/", listed)


def test_of_two_entries_one_that_allows_is_enough() -> None:
    """A network and the address in it."""
    over = allowing("10.1.0.0/16", "10.1.0.0/16", until=date(2020, 1, 1)).entries[0]
    holds = allowing("10.1.2.3", "10.1.2.3/32").entries[0]
    found = resolve("http://10.1.2.3/", AllowList((over, holds)), today=TODAY)
    assert found.entry is holds


def test_unicode_names_are_compared_as_the_resolver_sees_them() -> None:
    """A Cyrillic letter that looks like a Latin one is another host."""
    listed = allowing("xn--bcher-kva.example", "10.1.2.0/24")
    lookup = Resolver(["10.1.2.3"])
    assert (
        resolve("http://BÜCHER.example/", listed, today=TODAY, lookup=lookup).host == "xn--bcher-kva.example"
    )
    assert lookup.asked == ["xn--bcher-kva.example"]
    assert "no entry" in refused("http://svс.example/", allowing("svc.example", "10.1.2.0/24"))


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("ftp://127.0.0.1/", "http:// or https://"),
        ("127.0.0.1:80", "http:// or https://"),
        ("http:///path", "names no host"),
        ("http://user:secret@127.0.0.1/", "name or password"),
        ("http://127.0.0.1@svc.example/", "name or password"),
        ("http://127.0.0.1\\@svc.example/", "backslashes"),
        ("http://127.0.0.1\n.svc.example/", "control characters"),
        ("http://127.0.0.1 .svc.example/", "spaces"),
        ("http://127.0.0.1:0/", "port"),
        ("http://127.0.0.1:65536/", "port"),
        ("http://127.0.0.1:x/", "port"),
        ("http://[fe80::1%25eth0]/", "zone id"),
        ("http://[::1%25lo]/", "zone id"),
        ("http://[::1/", "not a URL"),
        ("http://%31%32%37.0.0.1/", "host"),
        ("http://256.1.1.1/", "not an IPv4 address"),
        ("http://*.example/", "wildcards"),
        ("", "http:// or https://"),
    ],
)
def test_urls_that_mislead_are_refused(url: str, said: str) -> None:
    shown = refused(url, NOBODY, ["127.0.0.1"])
    assert said in shown
    assert "secret" not in shown


def test_all_faults_of_a_url_are_said_at_once() -> None:
    with pytest.raises(ConfigurationError) as caught:
        resolve("gopher://me@256.0.0.1:0/", NOBODY)
    assert len(caught.value.faults) == 4


@pytest.mark.parametrize("error", [socket.gaierror(-2, "Name or service not known"), UnicodeError("label")])
def test_a_name_that_does_not_resolve_is_said(error: Exception) -> None:
    def lookup(name: str, port: int) -> list[tuple[Any, ...]]:
        raise error

    with pytest.raises(ConfigurationError, match=r"does not resolve: svc\.example"):
        resolve("http://svc.example/", NOBODY, lookup=lookup)
    with pytest.raises(ConfigurationError, match="no address"):
        resolve("http://svc.example/", NOBODY, lookup=lambda name, port: [])


@pytest.mark.sockets
def test_a_name_that_resolves_elsewhere_the_second_time_is_not_followed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The name is looked up once, and what is connected to is the address that was judged then."""
    answers = Resolver(["127.0.0.1"], ["10.255.255.1"])
    with serving(friendly) as log:
        monkeypatch.setattr(socket, "getaddrinfo", lambda name, port, *_, **__: answers(name, port))
        url = f"http://rebinding.example:{log.port}/"
        found = resolve(url, NOBODY)
        assert found.address == "127.0.0.1"
        assert answers("rebinding.example", log.port)[0][4][0] == "10.255.255.1"
        asked = list(answers.asked)
        # A connection by name would now ask the changed resolver, which would send it elsewhere.
        monkeypatch.setattr(socket, "getaddrinfo", _only_literals)
        assert get(url, found, 5.0).status == 200
    assert asked == ["rebinding.example", "rebinding.example"]
    assert b"Host: rebinding.example:" in log.requests[0][1]
    assert "no entry" in refused("http://rebinding.example/", NOBODY, ["10.255.255.1"])


_REAL_LOOKUP = socket.getaddrinfo


def _only_literals(name: Any, port: Any, *rest: Any, **named: Any) -> Any:
    ipaddress.ip_address(name)
    return _REAL_LOOKUP(name, port, *rest, **named)


@pytest.mark.sockets
def test_of_several_loopback_addresses_the_one_that_answers_is_picked() -> None:
    """And without connecting, the first."""
    with serving(friendly) as log:
        url, lookup = f"http://localhost:{log.port}", Resolver(["127.0.0.2", "127.0.0.1"])
        assert resolve(url, NOBODY, lookup=lookup).address == "127.0.0.1"
        seen = log.connections
        assert resolve(url, NOBODY, lookup=lookup, connect=False).address == "127.0.0.2"
        assert log.connections == seen


def test_a_watched_place_needs_no_entry_but_is_no_metadata_service() -> None:
    found = resolve_watched("http://prometheus.example:9090", "prometheus", lookup=Resolver(["10.9.9.9"]))
    assert (found.address, found.port, found.entry) == ("10.9.9.9", 9090, None)
    with pytest.raises(ConfigurationError, match=r"health_url: .*metadata") as caught:
        resolve_watched("http://x.example/", "health_url", lookup=Resolver(["10.0.0.1", "169.254.169.254"]))
    assert len(caught.value.faults) == 1


@given(
    addresses=st.lists(
        st.one_of(
            st.integers(0, 2**32 - 1).map(ipaddress.IPv4Address),
            st.integers(0, 255).map(lambda last: ipaddress.ip_address(f"10.1.2.{last}")),
            st.integers(0, 2**128 - 1).map(ipaddress.IPv6Address),
            st.just(ipaddress.ip_address("127.0.0.1")),
        ),
        min_size=1,
        max_size=4,
    )
)
def test_what_is_picked_is_always_allowed(
    addresses: list[ipaddress.IPv4Address | ipaddress.IPv6Address],
) -> None:
    """Whatever the resolver says, the pinned address is loopback or inside the entry, or nothing is."""
    listed = allowing("svc.example", "10.1.2.0/24")
    inside = ipaddress.ip_network("10.1.2.0/24")
    lookup = Resolver([str(address) for address in addresses])
    fine = [
        (plain := getattr(address, "ipv4_mapped", None) or address).is_loopback or plain in inside
        for address in addresses
    ]
    try:
        found = resolve("http://svc.example/", listed, today=TODAY, lookup=lookup, connect=False)
    except ConfigurationError:
        assert not all(fine)
    else:
        assert all(fine)
        assert found.is_loopback or ipaddress.ip_address(found.address) in inside
        assert (found.entry is None) == found.is_loopback
