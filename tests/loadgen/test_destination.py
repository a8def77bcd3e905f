"""Where load may go: what is judged is what is connected to."""

from __future__ import annotations

import socket
from typing import Any

import pytest

from domain.errors import ConfigurationError
from loadgen.destination import Destination


def fault_in(url: str, address: str | None = None, allowed: tuple[str, ...] = ()) -> str:
    """The message that refuses it."""
    with pytest.raises(ConfigurationError) as refused:
        Destination(url, allowed, address=address)
    return str(refused.value)


@pytest.mark.parametrize(
    ("url", "tls", "port", "host_header", "base"),
    [
        ("http://127.0.0.1", False, 80, "127.0.0.1", "http://127.0.0.1"),
        ("127.0.0.1:8080", False, 8080, "127.0.0.1:8080", "http://127.0.0.1:8080"),
        ("https://127.0.0.1/", True, 443, "127.0.0.1", "https://127.0.0.1"),
        ("HTTPS://127.0.0.1:8443", True, 8443, "127.0.0.1:8443", "https://127.0.0.1:8443"),
    ],
)
def test_scheme_and_port(url: str, tls: bool, port: int, host_header: str, base: str) -> None:
    """Without a port it is the scheme's own."""
    found = Destination(url)
    assert (found.tls, found.port, found.host_header, found.url) == (tls, port, host_header, base)
    assert (found.hostname, found.ip, found.family) == ("127.0.0.1", "127.0.0.1", socket.AF_INET)
    assert found.address == ("127.0.0.1", port)


@pytest.mark.parametrize(
    ("url", "rule"),
    [
        ("ftp://127.0.0.1", "must be an http:// or https:// URL"),
        ("https://", "names no host"),
        ("https://127.0.0.1/path", "must be a base URL"),
        ("https://127.0.0.1:99999", "from 1 to 65535"),
        ("https://[::1", "is not a URL"),
        ("https://two words", "is not a host name"),
        ("https://..ü", "is not a host name"),
    ],
)
def test_unusable_urls(url: str, rule: str) -> None:
    """Each is refused with its rule and its value."""
    message = fault_in(url)
    assert rule in message
    assert url in message


def test_all_faults_of_a_url_are_told_at_once_and_no_password() -> None:
    """One message."""
    message = fault_in("ftp://me:secret@/path")
    for rule in ("must be an http://", "must not carry a name", "names no host", "must be a base URL"):
        assert rule in message
    assert "secret" not in message


def test_a_given_address_is_what_is_connected_to() -> None:
    """The name, which no resolver knows, only stands in the request and the certificate."""
    found = Destination("https://shop.invalid:8443", address="127.0.0.2")
    assert (found.ip, found.port, found.address) == ("127.0.0.2", 8443, ("127.0.0.2", 8443))
    assert (found.hostname, found.host_header) == ("shop.invalid", "shop.invalid:8443")


def test_a_given_address_may_be_ipv6() -> None:
    """Of its family."""
    found = Destination("http://shop.invalid", address="::1")
    assert (found.family, found.address[:2]) == (socket.AF_INET6, ("::1", 80))


def test_with_an_address_no_name_is_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name may resolve to something else the second time."""
    asked = []
    resolve = socket.getaddrinfo

    def getaddrinfo(host: Any, *arguments: Any, **keywords: Any) -> Any:
        asked.append(host)
        return resolve(host, *arguments, **keywords)

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    Destination("http://localhost", address="127.0.0.1")
    assert asked == ["127.0.0.1"]


@pytest.mark.parametrize("address", ["10.0.0.1", "8.8.8.8", "::ffff:8.8.8.8", "0.0.0.0", "fe80::1"])
def test_a_given_address_is_judged(address: str) -> None:
    """Whatever the name looks like."""
    message = fault_in("http://localhost", address)
    assert "not a loopback address" in message
    assert address in message


@pytest.mark.parametrize("allowed", ["shop.invalid", "10.0.0.1"])
def test_a_given_address_may_be_allowed(allowed: str) -> None:
    """By name or as such."""
    assert Destination("https://shop.invalid", (allowed,), address="10.0.0.1").ip == "10.0.0.1"


@pytest.mark.parametrize("address", ["localhost", "", "127.0.0.1:80", "127.1"])
def test_what_is_given_must_be_an_address(address: str) -> None:
    """A name there would be resolved again."""
    assert "must be the IP address" in fault_in("http://localhost", address)


def test_a_name_that_resolves_elsewhere_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """If any of its addresses does."""
    places = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (ip, 80)) for ip in ("127.0.0.1", "192.0.2.1")]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: places)
    assert "192.0.2.1" in fault_in("http://shop.test")


def test_a_name_in_other_letters_is_asked_for_as_dns_knows_it() -> None:
    """IDNA, in the request and in the certificate."""
    found = Destination("https://bücher.invalid", address="127.0.0.1")
    assert found.hostname == found.host_header == "xn--bcher-kva.invalid"
