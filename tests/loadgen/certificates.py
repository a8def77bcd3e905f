"""Certificates of servers, good and bad, made on the spot."""

from __future__ import annotations

import datetime
import ssl
from pathlib import Path

import trustme

HOST = "shop.invalid"


def server_context(certificate: trustme.LeafCert) -> ssl.SSLContext:
    """A server that shows it and speaks HTTP/1.1."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.set_alpn_protocols(["h2", "http/1.1"])
    certificate.configure_cert(context)
    return context


class Authority:
    """An authority whose bundle is in ``ca_file``, and certificates by it."""

    def __init__(self, folder: Path) -> None:
        self._ca = trustme.CA()
        path = folder / "ca.pem"
        self._ca.cert_pem.write_to_path(path)
        self.ca_file = str(path)

    def good(self, host: str = HOST) -> ssl.SSLContext:
        """A server with a certificate for ``host``."""
        return server_context(self._ca.issue_cert(host))

    def bad(self) -> dict[str, tuple[ssl.SSLContext, str]]:
        """Servers whose certificate must not be accepted for ``HOST``, and the reason why."""
        past = datetime.datetime.now(datetime.UTC) - datetime.timedelta(days=1)
        itself = trustme.CA()
        alone = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        with itself.private_key_pem.tempfile() as key, itself.cert_pem.tempfile() as shown:
            alone.load_cert_chain(shown, key)
        return {
            "expired": (server_context(self._ca.issue_cert(HOST, not_after=past)), "expired"),
            "for another host": (self.good("other.invalid"), "Hostname mismatch"),
            "by an authority nobody knows": (server_context(trustme.CA().issue_cert(HOST)), "issuer"),
            "by itself": (alone, "self-signed"),
        }
