"""What is sent, from the options of a command line and at most one source of requests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from domain.errors import ConfigurationError, Fault
from domain.placeholders import literal
from domain.request_mix import (
    MAX_BODY_BYTES,
    RequestMix,
    RequestTemplate,
    Success,
    faults_in_mix,
    faults_in_request,
    faults_in_success,
)
from tipover.requests.curl import from_curl
from tipover.requests.har import from_har
from tipover.requests.imported import (
    Imported,
    merged,
    origin,
    path_of,
    percent_encoded,
    read_bytes,
    value_of,
)
from tipover.requests.openapi import from_openapi
from tipover.requests.secrets import Secrets, credentials_in_url, kept_body, kept_header, kept_path
from tipover.requests.tables import status_span, status_spans

_LONGEST_COMMAND = 1_000_000


class Requested(NamedTuple):
    """What is sent, and where: ``base_url`` is an origin, None if nothing names one.

    ``secrets`` holds what must go to the generator through its environment; ``warnings`` say what was left
    out, in words.
    """

    base_url: str | None
    mix: RequestMix
    secrets: Secrets
    warnings: tuple[str, ...]


def mix_from_sources(
    *,
    url: str | None = None,
    curl: str | None = None,
    har: Path | None = None,
    openapi: Path | None = None,
    operations: Sequence[str] = (),
    method: str | None = None,
    path: str | None = None,
    headers: Sequence[str] = (),
    body: str | None = None,
    statuses: Sequence[str] = (),
    body_match: str | None = None,
    allow_writes: bool = False,
    directory: Path = Path(),
) -> Requested:
    """The requests that options describe: ``GET /`` if none says anything.

    ``url`` may carry the request's path when there is no source, and with an OpenAPI document the path that
    stands before its own. ``curl`` is a command or ``@FILE``; ``headers`` (``Name: value``) are added to all
    requests and win; ``body`` is text or ``@FILE``; ``statuses`` are such as ``2xx,404``. Files are in
    ``directory``. Raises ``ConfigurationError`` with every fault at once, and no credential.
    """
    options = _Options(directory, url, path)
    sources = {"--curl": curl, "--har": har, "--openapi": openapi}
    given = [name for name, source in sources.items() if source is not None]
    options.check_url(given)
    options.check_combination(given, {"--method": method, "--path": path, "--body": body})
    if operations and openapi is None:
        options.fault("--operation", "is only for the operations of --openapi")
    added = options.headers(headers)
    success = options.success(statuses, body_match)
    names = [name for name, _ in added]
    imported = Imported(None, ())
    try:
        if given and options.faults_of_source():
            pass
        elif curl is not None:
            imported = from_curl(options.command(curl), options.secrets, directory)
        elif har is not None:
            imported = from_har(directory / har, options.secrets, options.url, allow_writes)
        elif openapi is not None:
            imported = from_openapi(
                directory / openapi,
                options.secrets,
                url=options.url,
                operations=operations,
                allow_writes=allow_writes,
                given_headers=names,
            )
        else:
            imported = Imported(None, options.request(method, body, added))
    except ConfigurationError as error:
        options.faults += error.faults
    return options.requested(imported, added, success)


@dataclass(slots=True)
class _Options:
    """Reads options and notes what is wrong with them."""

    directory: Path
    given_url: str | None
    path: str | None
    secrets: Secrets = field(default_factory=Secrets)
    faults: list[Fault] = field(default_factory=list)
    _source_faults: int = 0

    @property
    def url(self) -> str | None:
        """The URL with its scheme."""
        if self.given_url is None or "://" in self.given_url:
            return self.given_url
        return f"http://{self.given_url}"

    def fault(self, option: str, rule: str, value: object = None) -> None:
        self.faults.append(Fault(option, rule, value))

    def faults_of_source(self) -> bool:
        """Whether the sources or the URL are at fault, so that reading one would make no sense."""
        return self._source_faults > 0

    def check_url(self, sources: Sequence[str]) -> None:
        if self.url is None:
            return
        before = len(self.faults)
        if origin(self.url) is None:
            self.fault("--url", "must be an http or https URL with a host")
        elif credentials_in_url(self.url):
            self.fault("--url", "must not carry a name or password: say -H 'Authorization: ${NAME}'")
        elif sources and sources != ["--openapi"] and path_of(self.url) != "/":
            self.fault("--url", f"must have no path beside {sources[0]}, which has paths of its own")
        elif path_of(self.url) != "/" and self.path is not None:
            self.fault("--path", "must not be said beside a --url with a path")
        self._source_faults += len(self.faults) - before

    def check_combination(self, sources: Sequence[str], others: dict[str, str | None]) -> None:
        if len(sources) > 1:
            self.fault(sources[1], f"must not be said beside {sources[0]}: there is one source of requests")
            self._source_faults += 1
        for name, value in others.items() if sources else ():
            if value is not None:
                self.fault(name, f"must not be said beside {sources[0]}, which says it")

    def headers(self, lines: Sequence[str]) -> tuple[tuple[str, str], ...]:
        """The headers that are added, with their credentials kept."""
        found = []
        for line in lines:
            name, colon, value = line.partition(":")
            if colon and name.strip():
                found.append((name.strip(), value.strip()))
            else:
                self.fault("--header", "must be Name: value")
        pairs = merged(found)
        faults = list(faults_in_request("GET", "/", pairs, b"", 1.0))
        self.faults += [Fault(f"--header {f.field.removeprefix('headers.')}", f.rule, None) for f in faults]
        return (
            () if faults else tuple((name, kept_header(name, value, self.secrets)) for name, value in pairs)
        )

    def success(self, statuses: Sequence[str], body_match: str | None) -> Success:
        entries = []
        for entry in (part for text in statuses for part in text.split(",")):
            try:
                status_span(entry)
                entries.append(entry)
            except ValueError as error:
                self.fault("--status", str(error))
        ranges = status_spans(entries) or Success().statuses
        faults = list(faults_in_success(ranges, body_match))
        self.faults += [Fault("--body-match", fault.rule, fault.value) for fault in faults]
        return Success() if faults else Success(ranges, body_match)

    def command(self, curl: str) -> str:
        """The curl command, from its file if it is in one."""
        if not curl.startswith("@"):
            return curl
        try:
            return read_bytes(self.directory / curl[1:], "--curl", _LONGEST_COMMAND).decode()
        except UnicodeDecodeError:
            fault = Fault("--curl", "must be UTF-8 text", curl)
            raise ConfigurationError("the curl command cannot be used", [fault]) from None

    def request(
        self, method: str | None, body: str | None, added: tuple[tuple[str, str], ...]
    ) -> tuple[RequestTemplate, ...]:
        """The one request that options alone describe."""
        if self.faults_of_source():
            return ()
        path = percent_encoded(self.path) if self.path is not None else path_of(self.url or "http://x")
        content = self._body(body)
        method = method if method is not None else ("GET" if body is None else "POST")
        faults = list(faults_in_request(method, path, (), content, 1.0))
        self.faults += [Fault(f"--{fault.field}", fault.rule, fault.value) for fault in faults]
        if faults:
            return ()
        kept = kept_body(content, value_of(added, "content-type"), self.secrets)
        return (RequestTemplate(method, kept_path(path, self.secrets), (), kept),)

    def _body(self, body: str | None) -> bytes:
        if body is None:
            return b""
        if body.startswith("@"):
            content = read_bytes(self.directory / body[1:], "--body", MAX_BODY_BYTES)
            return literal(content.decode("latin-1")).encode("latin-1")
        return body.encode("utf-8", "surrogateescape")

    def requested(
        self, imported: Imported, added: tuple[tuple[str, str], ...], success: Success
    ) -> Requested:
        """All of it; raises ``ConfigurationError`` if anything was wrong."""
        requests = tuple(_with_headers(request, added) for request in imported.requests)
        if not self.faults:
            self.faults += faults_in_mix(requests, success)
        if self.faults:
            count = "1 fault" if len(self.faults) == 1 else f"{len(self.faults)} faults"
            raise ConfigurationError(f"the requests have {count}; nothing was sent", self.faults)
        base_url = imported.base_url
        if self.url is not None:
            parts = urlsplit(self.url)
            base_url = f"{parts.scheme}://{parts.netloc}"
        return Requested(base_url, RequestMix(requests, success), self.secrets, imported.warnings)


def _with_headers(request: RequestTemplate, added: tuple[tuple[str, str], ...]) -> RequestTemplate:
    replaced = {name.lower() for name, _ in added}
    own = tuple(header for header in request.headers if header[0].lower() not in replaced)
    return replace(request, headers=(*own, *added))
