"""Requests from an OpenAPI document: one of each operation that changes nothing, filled with its examples."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from domain.errors import ConfigurationError, Fault
from domain.placeholders import literal
from domain.request_mix import MAX_REQUESTS, RequestTemplate
from tipover.requests.imported import NOT_CARRIED, Imported, origin, percent_encoded
from tipover.requests.openapi_document import Document, UnresolvedError
from tipover.requests.openapi_values import (
    NoValueError,
    body_example,
    parameter_value,
    path_part,
    plain_text,
    query_pairs,
)
from tipover.requests.secrets import Secrets, is_sensitive, kept_body, kept_path

_METHODS = ("get", "head", "options", "post", "put", "patch", "delete")
_SEGMENT = re.compile(r"\{([^{}]*)\}")


def from_openapi(
    path: Path,
    secrets: Secrets,
    *,
    url: str | None = None,
    operations: Sequence[str] = (),
    allow_writes: bool = False,
    given_headers: Collection[str] = (),
) -> Imported:
    """One request per GET operation; with ``allow_writes`` also per other one whose body has an example.

    ``url``: where it will go instead of the document's first server; a path in it replaces that server's.
    ``operations``: the operations wanted, by operationId. ``given_headers``: names in lower case of headers
    that will be added. Raises ``ConfigurationError`` with every fault.
    """
    importer = _Importer(Document(path), secrets, allow_writes, frozenset(map(str.lower, given_headers)))
    try:
        found = list(importer.operations())
        wanted = importer.wanted(found, operations)
        requests = tuple(importer.requests(wanted, _path_prefix(url), explicit=bool(operations)))
        base_url = None if url else importer.base_url()
    except UnresolvedError as error:
        raise _refused([Fault("openapi", str(error), None)]) from None
    if not requests and not importer.faults:
        rule = "has no operation left that can be sent" + "".join(f"; {text}" for text in importer.warnings)
        importer.faults.append(Fault("openapi", rule, None))
    if len(requests) > MAX_REQUESTS:
        importer.faults.append(
            Fault("openapi", f"must have at most {MAX_REQUESTS} operations", len(requests))
        )
    if importer.faults:
        raise _refused(importer.faults)
    return Imported(base_url, requests, tuple(importer.warnings))


def _refused(faults: list[Fault]) -> ConfigurationError:
    return ConfigurationError("the OpenAPI document cannot be used", faults)


def _path_prefix(url: str | None) -> str | None:
    path = urlsplit(url).path.rstrip("/") if url else ""
    return path or None


@dataclass(frozen=True, slots=True)
class _Operation:
    """One method of one path."""

    method: str
    path: str
    item: Mapping[str, Any]
    own: Mapping[str, Any]

    @property
    def name(self) -> str:
        """Its operationId, or method and path."""
        return str(self.own.get("operationId") or f"{self.method.upper()} {self.path}")


class _Importer:
    """Makes requests of operations, and notes what it leaves out and why."""

    def __init__(
        self, document: Document, secrets: Secrets, allow_writes: bool, given_headers: frozenset[str]
    ) -> None:
        self._document = document
        self._secrets = secrets
        self._allow_writes = allow_writes
        self._given = given_headers
        self.faults: list[Fault] = []
        self.warnings: list[str] = []

    def operations(self) -> Iterator[_Operation]:
        """Every operation of the document."""
        for path, reference in self._document.table(self._document.root.get("paths")).items():
            item = self._document.table(reference)
            for method in _METHODS:
                own = item.get(method)
                if isinstance(own, Mapping):
                    yield _Operation(method, str(path), item, own)

    def wanted(self, found: list[_Operation], names: Sequence[str]) -> list[_Operation]:
        """Those operations that are asked for; all of them if none is named."""
        if not names:
            return found
        known = {operation.name: operation for operation in found}
        for name in names:
            if name not in known:
                shown = ", ".join(list(known)[:20])
                self.faults.append(Fault("operation", f"must be one of the document's: {shown}", name))
        return [known[name] for name in dict.fromkeys(names) if name in known]

    def requests(
        self, operations: list[_Operation], prefix: str | None, explicit: bool
    ) -> Iterator[RequestTemplate]:
        """The requests of those operations that can be sent."""
        writes = [operation for operation in operations if operation.method != "get"]
        if writes and not self._allow_writes:
            self._refuse_writes(writes, explicit)
            operations = [operation for operation in operations if operation.method == "get"]
        for operation in operations:
            try:
                yield self._request(operation, prefix)
            except (NoValueError, UnresolvedError) as error:
                self.warnings.append(f"{operation.name} is left out: {error}")
            except (RecursionError, OverflowError):
                self.warnings.append(f"{operation.name} is left out: its values are too deep or too large")
            except ValueError as error:  # the request's own rules, which tell no values
                self.warnings.append(f"{operation.name} is left out: {error}")
        self._warn_of_security(operations)

    def base_url(self) -> str | None:
        """The origin of the document's first server, if it names one."""
        return origin(self._server(self._document.root.get("servers")))

    def _refuse_writes(self, writes: list[_Operation], explicit: bool) -> None:
        rule = "may change something; say --allow-writes to send it, many times over"
        if explicit:
            self.faults += [Fault("operation", rule, operation.name) for operation in writes]
            return
        count = f"{len(writes)} operation" + ("" if len(writes) == 1 else "s")
        self.warnings.append(f"{count} other than GET left out: only --allow-writes lets them be sent")

    def _request(self, operation: _Operation, prefix: str | None) -> RequestTemplate:
        parameters = list(self._parameters(operation))
        path = self._base_path(operation) if prefix is None else prefix
        path += self._filled_path(operation, parameters)
        query = [
            pair
            for parameter in self._sent(parameters, "query")
            for pair in query_pairs(
                str(parameter["name"]),
                self._value(parameter),
                str(parameter.get("style", "form")),
                bool(parameter.get("explode", parameter.get("style", "form") == "form")),
            )
        ]
        headers = self._headers(parameters)
        body = b""
        if operation.method not in {"get", "head", "options"}:
            media_type, body = self._body(operation)
            headers += [("Content-Type", media_type)] if media_type else []
        whole = literal(percent_encoded(path)) + (f"?{'&'.join(query)}" if query else "")
        content = literal(body.decode("latin-1")).encode("latin-1")
        return RequestTemplate(
            operation.method.upper(),
            kept_path(whole, self._secrets),
            tuple(headers),
            kept_body(content, dict(headers).get("Content-Type", ""), self._secrets),
            name=operation.name,
        )

    def _parameters(self, operation: _Operation) -> Iterator[Mapping[str, Any]]:
        """The path's parameters and the operation's own, which win."""
        found: dict[tuple[str, str], Mapping[str, Any]] = {}
        for holder in (operation.item, operation.own):
            for row in self._document.rows(holder.get("parameters")):
                parameter = self._document.table(row)
                if "name" in parameter and "in" in parameter:
                    found[str(parameter["in"]), str(parameter["name"])] = parameter
        yield from found.values()

    def _sent(self, parameters: list[Mapping[str, Any]], place: str) -> Iterator[Mapping[str, Any]]:
        """Required parameters, and those that come with an example."""
        for parameter in parameters:
            shown = "example" in parameter or "examples" in parameter
            if parameter["in"] == place and (parameter.get("required") is True or shown):
                yield parameter

    def _value(self, parameter: Mapping[str, Any]) -> Any:
        try:
            return parameter_value(self._document, parameter)
        except NoValueError as error:
            place = f"{parameter['in']} parameter {parameter['name']}"
            raise NoValueError(f"its {place} cannot be filled: {error}") from None

    def _filled_path(self, operation: _Operation, parameters: list[Mapping[str, Any]]) -> str:
        known = {str(parameter["name"]): parameter for parameter in parameters if parameter["in"] == "path"}

        def part(found: re.Match[str]) -> str:
            parameter = known.get(found[1])
            if parameter is None:
                raise NoValueError(f"its path has {{{found[1]}}}, and no parameter of that name")
            try:
                return path_part(self._value(parameter))
            except NoValueError as error:
                raise NoValueError(str(error)) from None

        return _SEGMENT.sub(part, operation.path)

    def _headers(self, parameters: list[Mapping[str, Any]]) -> list[tuple[str, str]]:
        headers = []
        for parameter in self._sent(parameters, "header"):
            name = str(parameter["name"])
            if name.lower() in self._given | {"accept", "content-type", "authorization"} | NOT_CARRIED:
                continue
            if is_sensitive(name):
                raise NoValueError(f"it needs a credential; say -H '{name}: ${{NAME}}'")
            headers.append((name, literal(plain_text(self._value(parameter)))))
        if "cookie" not in self._given and any(self._sent(parameters, "cookie")):
            raise NoValueError("it needs a cookie; say -H 'Cookie: ${NAME}'")
        return headers

    def _body(self, operation: _Operation) -> tuple[str, bytes]:
        body = self._document.table(operation.own.get("requestBody"))
        found = body_example(self._document, body)
        if found is not None:
            return found
        if body.get("required") is True:
            raise NoValueError("its body has no example")
        return "", b""

    def _base_path(self, operation: _Operation) -> str:
        """The path of the server that applies, which must not be another host than the document's."""
        root = self._document.root.get("servers")
        servers = operation.own.get("servers") or operation.item.get("servers") or root
        url = self._server(servers)
        if origin(url) and origin(url) != origin(self._server(root)):
            raise NoValueError(f"it is served elsewhere: {origin(url)}")
        return urlsplit(url).path.rstrip("/")

    def _server(self, servers: object) -> str:
        """The URL of the first server, its variables at their defaults."""
        rows = self._document.rows(servers)
        server = self._document.table(rows[0]) if rows else {}
        variables = self._document.table(server.get("variables"))

        def default(found: re.Match[str]) -> str:
            return str(self._document.table(variables.get(found[1])).get("default", found[0]))

        url = _SEGMENT.sub(default, str(server.get("url", "")))
        try:
            urlsplit(url)
        except ValueError:
            raise _refused([Fault("openapi.servers", "must be URLs", None)]) from None
        return url

    def _warn_of_security(self, operations: list[_Operation]) -> None:
        if self._given:
            return
        root = self._document.root.get("security")
        schemes = {
            str(name)
            for operation in operations
            for row in self._document.rows(operation.own.get("security", root))
            for name in self._document.table(row)
        }
        if schemes:
            names = ", ".join(sorted(schemes))
            self.warnings.append(
                f"the document asks for authorization ({names}): give it with -H and ${{NAME}}"
            )
