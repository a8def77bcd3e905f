"""The options of curl that may stand in a command line which becomes a request."""

from __future__ import annotations

HONOURED = {
    "X": "request",
    "H": "header",
    "d": "data",
    "u": "user",
    "A": "user-agent",
    "e": "referer",
    "b": "cookie",
}
HONOURED_LONG = frozenset(
    {
        *HONOURED.values(),
        "data-ascii",
        "data-raw",
        "data-binary",
        "data-urlencode",
        "json",
        "url",
        "oauth2-bearer",
    }
)
"""Options with a value that say what is sent."""

SWITCHES = {"G": "get", "I": "head", "g": "globoff"}

HARMLESS = {
    **{"s": "silent", "S": "show-error", "i": "include", "v": "verbose", "N": "no-buffer", "f": "fail"},
    **{"#": "progress-bar", "4": "ipv4", "6": "ipv6", "O": "remote-name", "j": "junk-session-cookies"},
    **{"q": "disable", "J": "remote-header-name", "0": "http1.0", "R": "remote-time"},
}
HARMLESS_LONG = frozenset(
    {
        *HARMLESS.values(),
        *(
            "fail-with-body",
            "no-progress-meter",
            "http1.1",
            "no-keepalive",
            "tcp-nodelay",
            "path-as-is",
            "basic",
        ),
        *(
            "styled-output",
            "no-styled-output",
            "tcp-fastopen",
            "raw",
            "no-sessionid",
            "no-alpn",
            "show-headers",
        ),
    }
)
"""Options without a value that change how curl shows what it does, not what is sent."""

HARMLESS_VALUED = {"o": "output", "w": "write-out", "D": "dump-header", "c": "cookie-jar"}
HARMLESS_VALUED_LONG = frozenset(
    {
        *HARMLESS_VALUED.values(),
        "stderr",
        "trace",
        "trace-ascii",
        "max-redirs",
        "keepalive-time",
        "output-dir",
    }
)

WARNED = {"L": "location"}
WARNED_LONG = {
    "location": "redirects are not followed: a redirect is an answer",
    "location-trusted": "redirects are not followed: a redirect is an answer",
    "compressed": "no Accept-Encoding is sent: answers come uncompressed",
    "http2": "HTTP/1.1 is spoken",
    "http2-prior-knowledge": "HTTP/1.1 is spoken",
    "http3": "HTTP/1.1 is spoken",
}
WARNED_VALUED = {"m": "max-time"}
_TIMES = "timeouts and attempts are those of the client to imitate"
WARNED_VALUED_LONG = {
    **dict.fromkeys(("max-time", "connect-timeout", "retry", "retry-delay", "retry-max-time"), _TIMES),
    "limit-rate": "answers are read as fast as they come",
}

REFUSED = {
    "k": "insecure",
    "F": "form",
    "T": "upload-file",
    "x": "proxy",
    "E": "cert",
    "K": "config",
    ":": "next",
}
_FILE = "is not supported: write the body to a file and give it with --data-binary @FILE and a Content-Type"
_PROXY = "is not supported: load goes to the target itself"
_SCHEME = "is not supported: an answer to a challenge cannot be sent again and again"
_CERTIFICATE = "is not supported: client certificates are not sent"
REFUSED_LONG = {
    "insecure": "is refused: certificates are verified; give the file of the service's own with --ca-file",
    "form": _FILE,
    "form-string": _FILE,
    "upload-file": _FILE,
    **dict.fromkeys(("proxy", "socks5", "socks5-hostname", "socks4", "preproxy"), _PROXY),
    **dict.fromkeys(
        ("resolve", "connect-to", "unix-socket"), "is not supported: give the address in the URL"
    ),
    **dict.fromkeys(("cert", "key", "pass", "cert-type"), _CERTIFICATE),
    **dict.fromkeys(("ntlm", "negotiate", "digest", "anyauth", "aws-sigv4"), _SCHEME),
    **dict.fromkeys(
        ("cacert", "capath"),
        "is not supported here: give the file of the certificates to trust with --ca-file",
    ),
    "config": "is not supported: write its options into the command",
    "next": "is not supported: one command is one request",
    "netrc": "is not supported: give the credentials with -u",
}
REFUSED_VALUED_LONG = frozenset(REFUSED_LONG) - {
    *("insecure", "next", "netrc", "ntlm", "negotiate", "digest", "anyauth"),
}
