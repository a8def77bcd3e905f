"""TLS without a socket: records in, records out (``ssl.MemoryBIO``), so that whoever owns the socket may wait
as it likes. Imports no gevent."""

from __future__ import annotations

import socket
import ssl
from typing import Any

from domain.errors import ConfigurationError, Fault

_MOST_SILENT_BYTES = 2**20
"""So much may come without a byte of content: tickets, key updates."""
_READ_BYTES = 65536


class TlsError(Exception):
    """The handshake failed, or what came is not TLS; the text says why."""


class TlsClient:
    """What all connections to one host share: TLS 1.2 or later, HTTP/1.1 by ALPN, and a certificate for
    ``hostname`` by an authority that is trusted: of the bundle ``ca_file``, or else of the system.

    Raises ``ConfigurationError`` if the bundle or the host's name cannot be used.
    """

    def __init__(self, hostname: str, ca_file: str | None = None) -> None:
        self.hostname = hostname
        try:
            self.context = ssl.create_default_context(cafile=ca_file)
        except (OSError, ValueError) as error:  # an SSLError is an OSError
            fault = Fault("ca_file", f"must be a file of certificates in PEM form: {error}", ca_file)
            raise ConfigurationError("the target cannot be used; nothing was sent", [fault]) from error
        self.context.minimum_version = ssl.TLSVersion.TLSv1_2
        self.context.options |= ssl.OP_NO_RENEGOTIATION
        self.context.set_alpn_protocols(["http/1.1"])
        try:
            self.stream()
        except ValueError as error:  # a UnicodeError is one too
            fault = Fault("target", f"names a host that no certificate can be for: {error}", hostname)
            raise ConfigurationError("the target cannot be used; nothing was sent", [fault]) from error

    def stream(self) -> TlsStream:
        """A new connection's."""
        return TlsStream(self.context, self.hostname)

    def wrap(self, connected: socket.socket) -> ssl.SSLSocket:
        """A connected blocking socket, hands shaken. Raises ``OSError``."""
        return self.context.wrap_socket(connected, server_hostname=self.hostname)


class TlsStream:
    """One connection's state. Whatever is called, ``outgoing`` may then have something to send."""

    __slots__ = ("_incoming", "_object", "_outgoing", "_silent_bytes", "established")

    def __init__(self, context: ssl.SSLContext, hostname: str) -> None:
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._object: Any = context.wrap_bio(self._incoming, self._outgoing, server_hostname=hostname)
        self._silent_bytes = 0
        self.established = False

    def take(self, data: bytes) -> None:
        """Bytes from the peer; empty if it has closed."""
        if not data:
            self._incoming.write_eof()
            return
        self._silent_bytes += len(data)
        if self._silent_bytes > _MOST_SILENT_BYTES:
            raise TlsError(f"TLS: more than {_MOST_SILENT_BYTES} bytes without any content")
        self._incoming.write(data)

    def outgoing(self) -> bytes:
        """What is to be sent to the peer now."""
        return self._outgoing.read()

    def shake_hands(self) -> bool:
        """Go on with the handshake; True once it is done. Raises ``TlsError``."""
        try:
            self._object.do_handshake()
        except ssl.SSLWantReadError:
            return False
        except (ssl.SSLError, ssl.CertificateError) as error:
            raise TlsError(_reason(error, "during the handshake")) from error
        self._silent_bytes = 0
        self.established = True
        return True

    def encrypt(self, content: bytes) -> bytes:
        """The records that carry ``content``; only once the handshake is done."""
        try:
            self._object.write(content)
        except ssl.SSLError as error:
            raise TlsError(_reason(error, "while sending")) from error
        return self._outgoing.read()

    def content(self) -> bytes | None:
        """What has come: None if nothing yet, empty if the peer says that it has ended.

        Raises ``TlsError``, also when the peer closed without saying so: what had come by then may have
        been cut off (RFC 9112 §9.8).
        """
        try:
            found: bytes = self._object.read(_READ_BYTES)
        except ssl.SSLWantReadError:
            return None
        except ssl.SSLZeroReturnError:
            return b""
        except ssl.SSLError as error:
            raise TlsError(_reason(error, "before the answer was whole")) from error
        self._silent_bytes = 0
        return found


def _reason(error: ssl.SSLError | ssl.CertificateError, when: str) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"TLS: the certificate is not accepted: {error.verify_message.rstrip('.')}"
    if isinstance(error, ssl.SSLEOFError):
        return f"TLS: closed {when}"
    reason = getattr(error, "reason", None) or str(error)
    if reason == "WRONG_VERSION_NUMBER":
        return "TLS: what came back is not TLS; is it plain http?"
    return f"TLS: {reason.lower().replace('_', ' ')} {when}"
