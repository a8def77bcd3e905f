"""The requests that options ask for, be they from a curl command, a HAR file or an OpenAPI document."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

from domain.errors import ConfigurationError, Fault
from domain.placeholders import literal
from domain.request_mix import MAX_BODY_BYTES, RequestMix, faults_in_mix, faults_in_request
from tipover.requests.imported import Imported, origin, path_of, read_bytes, value_of
from tipover.requests.secrets import Secrets, kept_body, kept_header, kept_path

_LARGEST_HAR = 200_000_000
SUMMARY = "these requests cannot be sent; nothing was sent"


@dataclass(frozen=True, slots=True)
class RequestOptions:
    """The options that say what is sent. ``headers`` go into every request; method, path and body are those
    of the only one. ``server`` is ``--url`` as it was given, with the path below which an OpenAPI document's
    operations are."""

    url: str | None = None
    method: str | None = None
    path: str | None = None
    headers: tuple[str, ...] = ()
    body: str | None = None
    curl: str | None = None
    har: Path | None = None
    openapi: Path | None = None
    operations: tuple[str, ...] = ()
    allow_writes: bool = False
    server: str | None = None

    @property
    def sources(self) -> tuple[str, ...]:
        """The options given that each say everything; more than one contradict each other."""
        given = {"--curl": self.curl, "--har": self.har, "--openapi": self.openapi}
        return tuple(option for option, value in given.items() if value is not None)

    @property
    def faults(self) -> list[Fault]:
        """Options that contradict each other."""
        faults = []
        if len(self.sources) > 1:
            faults.append(Fault(self.sources[1], f"does not go with {self.sources[0]}", None))
        for option, value in (("--operation", self.operations), ("--allow-writes", self.allow_writes)):
            if value and self.openapi is None and not (option == "--allow-writes" and self.har is not None):
                faults.append(Fault(option, "needs --openapi", None))
        return faults

    def with_path_of_url(self) -> RequestOptions:
        """``--url http://host/path`` is that base URL with that ``--path``, if nothing else says a path."""
        if self.url is None or self.path is not None or self.curl is not None or self.har is not None:
            return self
        try:
            parts, base = urlsplit(self.url), origin(self.url)
        except ValueError:
            return self
        if base is None or "@" in parts.netloc or (parts.path in ("", "/") and not parts.query):
            return self
        if self.openapi is not None:
            return replace(self, url=base, server=self.url)
        return replace(self, url=base, path=path_of(self.url))


def imported(options: RequestOptions, secrets: Secrets) -> Imported | None:
    """What the source among the options gives; None if there is none. Credentials go into ``secrets``."""
    if options.curl is not None:
        from tipover.requests.curl import from_curl

        return from_curl(options.curl, secrets)
    if options.har is not None:
        from tipover.requests.har import from_har

        wanted = options.url if options.url and _names(options.har, origin(options.url)) else None
        return from_har(options.har, secrets, wanted, options.allow_writes)
    if options.openapi is not None:
        from tipover.requests.openapi import from_openapi

        return from_openapi(
            options.openapi,
            secrets,
            url=options.server or options.url,
            operations=options.operations,
            allow_writes=options.allow_writes,
            given_headers=[line.partition(":")[0].strip().lower() for line in options.headers],
        )
    return None


def _names(har: Path, place: str | None) -> bool:
    """Whether a recording speaks of this origin at all; one made elsewhere may be sent here too."""
    return place is not None and f"{place}/".encode() in read_bytes(har, "--har", _LARGEST_HAR)


def changed(mix: RequestMix, options: RequestOptions, secrets: Secrets) -> RequestMix:
    """The mix with method, path, headers and body as the options say; raises ``ConfigurationError``."""
    headers, faults = _headers(options.headers)
    own = {"--method": options.method, "--path": options.path, "--body": options.body}
    given = {option for option, value in own.items() if value is not None}
    if given and len(mix.requests) > 1:
        faults += [
            Fault(o, f"is of one request, and there are {len(mix.requests)}", None) for o in sorted(given)
        ]
        _refuse(faults)
    if not given and not headers:
        _refuse(faults)
        return mix
    body = None if options.body is None else _body(options.body)
    made = []
    for request in mix.requests:
        method = options.method or ("POST" if body and request.method == "GET" else request.method)
        path = request.path if options.path is None else options.path
        whole = _joined(request.headers, headers)
        content = request.body if body is None else body
        # Checked as given: a name that stands for a credential would hide what is wrong with it.
        faults += _in_options(faults_in_request(method, path, whole, content, request.weight))
        if not faults:
            whole = _joined(request.headers, [(n, kept_header(n, value, secrets)) for n, value in headers])
            path = path if options.path is None else kept_path(path, secrets)
            if body is not None:
                content = kept_body(body, value_of(whole, "content-type"), secrets)
            made.append(replace(request, method=method, path=path, headers=whole, body=content))
    _refuse(list(dict.fromkeys(faults)))
    _refuse(list(faults_in_mix(tuple(made), mix.success)))
    return RequestMix(tuple(made), mix.success)


def untyped_json(mix: RequestMix) -> tuple[str, ...]:
    """A warning if bodies are JSON and no header says so: many services refuse, or misread, those."""
    count = sum(
        not value_of(request.headers, "content-type") and _is_json(request.body) for request in mix.requests
    )
    if not count:
        return ()
    which = "the body is" if len(mix.requests) == 1 else f"{count} of {len(mix.requests)} bodies are"
    return (f"{which} JSON, and no Content-Type is sent: add -H 'Content-Type: application/json'",)


def _is_json(body: bytes) -> bool:
    """Whether it is an object or a list of JSON."""
    if not body.lstrip().startswith((b"{", b"[")):
        return False
    try:
        json.loads(body)
    except (ValueError, RecursionError):
        return False
    return True


def _refuse(faults: list[Fault]) -> None:
    if faults:
        raise ConfigurationError(SUMMARY, faults)


def _headers(lines: Sequence[str]) -> tuple[list[tuple[str, str]], list[Fault]]:
    """``Name: value`` each. No value is told in a fault."""
    faults = [Fault("--header", "must be 'Name: value'", None) for line in lines if ":" not in line]
    pairs = [line.partition(":") for line in lines if ":" in line]
    return [(name.strip(), value.strip()) for name, _, value in pairs], faults


def _joined(
    headers: tuple[tuple[str, str], ...], own: Sequence[tuple[str, str]]
) -> tuple[tuple[str, str], ...]:
    """The headers with those of the options, which win over others of their name."""
    names = {name.lower() for name, _ in own}
    return (*((name, value) for name, value in headers if name.lower() not in names), *own)


def _body(text: str) -> bytes:
    """The text, or the content of the file after an @, which is sent as it is."""
    if not text.startswith("@"):
        return text.encode(errors="surrogateescape")
    content = read_bytes(Path(text[1:]), "--body", MAX_BODY_BYTES)
    return literal(content.decode("latin-1")).encode("latin-1")


def _in_options(faults: Iterable[Fault]) -> list[Fault]:
    """Faults of a request, under the options that made it what it is."""
    return [replace(fault, field=_option(fault.field)) for fault in faults]


def _option(field: str) -> str:
    part, _, name = field.partition(".")
    option = {"method": "--method", "path": "--path", "headers": "--header", "body": "--body"}.get(part, part)
    return f"{option} {name}" if name else option
