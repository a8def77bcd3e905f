"""TLS in memory: both sides in one thread, no sockets."""

from __future__ import annotations

import ssl
import warnings
from pathlib import Path

import pytest

from domain.errors import ConfigurationError
from loadgen.tls import TlsClient, TlsError, TlsStream
from tests.loadgen.certificates import HOST, Authority


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """One for all tests: keys take time."""
    return Authority(tmp_path_factory.mktemp("authority"))


class Peer:
    """The server's end of a stream."""

    def __init__(self, context: ssl.SSLContext) -> None:
        self.incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.object = context.wrap_bio(self.incoming, self.outgoing, server_side=True)

    def shake_hands(self, stream: TlsStream) -> None:
        """Let both talk until the client is done."""
        done = False
        while not stream.shake_hands():
            self.incoming.write(stream.outgoing())
            done = self._answer() or done
            stream.take(self.outgoing.read())
        self.incoming.write(stream.outgoing())
        if not done:
            self.object.do_handshake()

    def _answer(self) -> bool:
        try:
            self.object.do_handshake()
        except ssl.SSLWantReadError:
            return False
        return True

    def say(self, content: bytes) -> bytes:
        """The records that carry it, and whatever else was to be sent."""
        self.object.write(content)
        return self.outgoing.read()


def connected(authority: Authority, context: ssl.SSLContext | None = None) -> tuple[TlsStream, Peer]:
    """A client and a server with hands shaken."""
    stream = TlsClient(HOST, authority.ca_file).stream()
    peer = Peer(context or authority.good())
    peer.shake_hands(stream)
    return stream, peer


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_both_sides_hear_each_other(version: ssl.TLSVersion, authority: Authority) -> None:
    """Every byte, in either version."""
    context = authority.good()
    context.minimum_version = context.maximum_version = version
    stream, peer = connected(authority, context)
    peer.incoming.write(stream.encrypt(b"question"))
    assert peer.object.read() == b"question"
    assert stream.content() is None
    answer = bytes(range(256)) * 400
    stream.take(peer.say(answer))
    heard = b""
    while (content := stream.content()) is not None:
        heard += content
    assert heard == answer


def test_the_server_is_told_the_host_and_the_protocol(authority: Authority) -> None:
    """SNI and ALPN: HTTP/1.1, though this server would rather speak HTTP/2."""
    context, told = authority.good(), []
    context.sni_callback = lambda _object, name, _context: told.append(name)
    _, peer = connected(authority, context)
    assert told == [HOST]
    assert peer.object.selected_alpn_protocol() == "http/1.1"


@pytest.mark.parametrize("kind", ["expired", "for another host", "by an authority nobody knows", "by itself"])
def test_a_bad_certificate_says_why(kind: str, authority: Authority) -> None:
    """And the server is told that it was not accepted."""
    context, why = authority.bad()[kind]
    stream, peer = TlsClient(HOST, authority.ca_file).stream(), Peer(context)
    with pytest.raises(TlsError, match=f"the certificate is not accepted: .*{why}"):
        peer.shake_hands(stream)
    assert not stream.established
    peer.incoming.write(stream.outgoing())
    with pytest.raises(ssl.SSLError, match=r"(?i)alert|bad certificate|unknown ca|expired"):
        peer.object.do_handshake()


def test_the_systems_authorities_are_the_default(authority: Authority) -> None:
    """Ours is not one of them."""
    with pytest.raises(TlsError, match="not accepted"):
        Peer(authority.good()).shake_hands(TlsClient(HOST).stream())


@pytest.mark.parametrize("ip", ["127.0.0.1", "::1"])
def test_an_address_needs_a_certificate_of_its_own(ip: str, authority: Authority) -> None:
    """One for a name does not do."""
    Peer(authority.good(ip)).shake_hands(TlsClient(ip, authority.ca_file).stream())
    with pytest.raises(TlsError, match=r"not accepted: .*mismatch"):
        Peer(authority.good()).shake_hands(TlsClient(ip, authority.ca_file).stream())


def test_an_old_server_is_refused(authority: Authority) -> None:
    """TLS 1.1 has been retired (RFC 8996)."""
    context = authority.good()
    context.set_ciphers("ALL:@SECLEVEL=0")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_1
    with pytest.raises((TlsError, ssl.SSLError), match=r"(?i)unsupported protocol"):
        Peer(context).shake_hands(TlsClient(HOST, authority.ca_file).stream())


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "not TLS"),
        (bytes(200), "TLS: "),
        (b"", "closed during the handshake"),
    ],
)
def test_what_is_not_tls_is_an_error(data: bytes, why: str, authority: Authority) -> None:
    """With its reason."""
    stream = TlsClient(HOST, authority.ca_file).stream()
    assert not stream.shake_hands()
    stream.take(data)
    with pytest.raises(TlsError, match=why):
        stream.shake_hands()


def test_an_end_that_is_announced_is_an_end(authority: Authority) -> None:
    """The closure alert."""
    stream, peer = connected(authority)
    with pytest.raises(ssl.SSLWantReadError):
        peer.object.unwrap()
    stream.take(peer.outgoing.read())
    assert stream.content() == b""


def test_an_end_that_is_not_announced_is_an_error(authority: Authority) -> None:
    """Somebody may have cut the answer off."""
    stream, _ = connected(authority)
    stream.take(b"")
    with pytest.raises(TlsError, match="closed before the answer was whole"):
        stream.content()


def test_a_spoilt_record_is_an_error(authority: Authority) -> None:
    """It is not what the server said."""
    stream, peer = connected(authority)
    records = bytearray(peer.say(b"answer"))
    records[-1] ^= 1
    stream.take(bytes(records))
    with pytest.raises(TlsError, match="bad record mac"):
        stream.content()


def test_tickets_are_no_content_and_have_an_end(authority: Authority) -> None:
    """A server that only ever renews its keys is not waited for without bound."""
    stream, peer = connected(authority)
    tickets = peer.outgoing.read()
    assert tickets
    stream.take(tickets)
    assert stream.content() is None
    for _ in range(2**20 // len(tickets) - 1):
        stream.take(tickets)
    with pytest.raises(TlsError, match="without any content"):
        stream.take(tickets)


@pytest.mark.parametrize("content", [None, "no certificate", ""])
def test_a_bundle_that_is_none_is_refused_by_name(content: str | None, tmp_path: Path) -> None:
    """Before anything is sent."""
    path = tmp_path / "bundle.pem"
    if content is not None:
        path.write_text(content)
    with pytest.raises(ConfigurationError, match="ca_file: must be a file of certificates") as refused:
        TlsClient(HOST, str(path))
    assert str(path) in str(refused.value)


@pytest.mark.parametrize("host", [".invalid", "a..invalid", "a" * 64 + ".invalid"])
def test_a_host_that_no_certificate_can_be_for_is_refused(host: str) -> None:
    """Before anything is sent."""
    with pytest.raises(ConfigurationError, match="no certificate can be for"):
        TlsClient(host)
