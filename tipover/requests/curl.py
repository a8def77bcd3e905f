"""A request from a curl command line, such as browsers copy it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote_plus

from domain.errors import ConfigurationError, Fault
from domain.placeholders import literal
from domain.request_mix import MAX_BODY_BYTES, RequestTemplate, faults_in_request
from tipover.requests.curl_headers import GivenHeaders, credentials, forgiving, option_headers
from tipover.requests.curl_options import (
    HARMLESS,
    HARMLESS_LONG,
    HARMLESS_VALUED,
    HARMLESS_VALUED_LONG,
    HONOURED,
    HONOURED_LONG,
    REFUSED,
    REFUSED_LONG,
    REFUSED_VALUED_LONG,
    SWITCHES,
    WARNED,
    WARNED_LONG,
    WARNED_VALUED,
    WARNED_VALUED_LONG,
)
from tipover.requests.imported import Imported, origin, path_of, percent_encoded, read_bytes, value_of
from tipover.requests.secrets import Secrets, kept_body, kept_header, kept_path
from tipover.requests.shell_words import shell_words

_LONG = {**HONOURED, **SWITCHES, **HARMLESS, **HARMLESS_VALUED, **WARNED, **WARNED_VALUED, **REFUSED}
_VALUED = HONOURED_LONG | HARMLESS_VALUED_LONG | set(WARNED_VALUED_LONG) | REFUSED_VALUED_LONG
_DATA = {"data", "data-ascii", "data-raw", "data-binary", "data-urlencode", "json"}
_FORM = "application/x-www-form-urlencoded"
_LONGEST = 1_000_000


def from_curl(text: str, secrets: Secrets, directory: Path = Path()) -> Imported:
    """The request that a curl command sends; its credentials go into ``secrets``.

    ``${NAME}`` in the command is a placeholder. Files (``@FILE``) are read from ``directory``. Raises
    ``ConfigurationError`` with every fault and no credential.
    """
    command = _Command(directory)
    command.read(text)
    secrets.hide(*credentials(command.values))
    request = command.request(secrets) if not command.faults else None
    if request is None or command.faults:
        raise ConfigurationError("the curl command cannot be used", command.faults)
    return Imported(origin(command.url), (request,), tuple(command.warnings))


@dataclass(slots=True)
class _Command:
    """What the options of a command come to."""

    directory: Path
    faults: list[Fault] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    urls: list[str] = field(default_factory=list)
    data: list[bytes] = field(default_factory=list)
    values: dict[str, str] = field(default_factory=dict)
    switches: set[str] = field(default_factory=set)
    is_json: bool = False
    insecure: str | None = None
    given: GivenHeaders = field(init=False)

    def __post_init__(self) -> None:
        self.given = GivenHeaders(self._fault)

    @property
    def url(self) -> str:
        """Its URL; curl adds the scheme."""
        url = self.urls[0]
        return url if "://" in url else f"http://{url}"

    def read(self, text: str) -> None:
        """Take every word of the command."""
        if len(text) > _LONGEST:
            self._fault("", f"must be at most {_LONGEST} characters long; a long body can be a file, @FILE")
            return
        try:
            words = shell_words(text.strip())
        except ValueError:
            self._fault("", "has a quote that is not closed, or an escape that names no character")
            return
        if not words or Path(words[0]).name not in {"curl", "curl.exe"}:
            self._fault("", "must start with curl")
            return
        rest = iter(words[1:])
        for word in rest:
            if word == "--":
                self.urls.extend(rest)
            elif word.startswith("--"):
                self._long(word[2:], rest)
            elif word.startswith("-") and len(word) > 1:
                self._short(word[1:], rest)
            elif word in {"|", "&&", ";", "||", ">", "&", "^"}:
                self._fault("", f"must be one command in the notation of a POSIX shell, without {word}")
            else:
                self.urls.append(word)
        self._check_url()
        self._check_certificates()

    def _short(self, letters: str, rest: Iterator[str]) -> None:
        for index, letter in enumerate(letters):
            name = _LONG.get(letter)
            if name is None:
                self._fault(f"-{letter}", "is not an option that is understood here")
                return
            if name in _VALUED:
                attached = letters[index + 1 :]
                self._valued(name, f"-{letter}", attached or next(rest, None))
                return
            self._plain(name, f"-{letter}")
            if name in REFUSED_LONG and name != "insecure":
                return

    def _long(self, name: str, rest: Iterator[str]) -> None:
        if name in _VALUED:
            self._valued(name, f"--{name}", next(rest, None))
        else:
            self._plain(name, f"--{name}")

    def _plain(self, name: str, shown: str) -> None:
        if name == "insecure":
            self.insecure = shown
        elif name in REFUSED_LONG:
            self._fault(shown, REFUSED_LONG[name])
        elif name in WARNED_LONG:
            self.warnings.append(f"curl {shown} is ignored: {WARNED_LONG[name]}")
        elif name in SWITCHES.values():
            self.switches.add(name)
        elif name not in HARMLESS_LONG:
            # What follows = may be a credential.
            self._fault(shown.partition("=")[0], "is not an option that is understood here")

    def _valued(self, name: str, shown: str, value: str | None) -> None:
        if name in REFUSED_LONG:
            self._fault(shown, REFUSED_LONG[name])
        elif value is None:
            self._fault(shown, "needs a value")
        elif name in WARNED_VALUED_LONG:
            self.warnings.append(f"curl {shown} is ignored: {WARNED_VALUED_LONG[name]}")
        elif name in _DATA:
            self._add_data(name, shown, value)
        elif name == "header":
            self.given.add(shown, value)
        elif name == "url":
            self.urls.append(value)
        elif name in HONOURED_LONG:
            self.values[name] = value

    def _add_data(self, name: str, shown: str, value: str) -> None:
        try:
            content = self._content(name, shown, value)
        except ConfigurationError as error:
            self.faults += error.faults
            return
        except UnicodeEncodeError:
            self._fault(shown, "must be text that UTF-8 can hold")
            return
        if name == "json":
            self.is_json = True
        joint = b"" if name == "json" or not self.data else b"&"
        self.data.append(joint + content)

    def _content(self, name: str, shown: str, value: str) -> bytes:
        if name == "data-urlencode":
            return self._url_encoded(shown, value)
        if name == "data-raw" or not value.startswith("@"):
            return forgiving(value).encode()
        content = self._file(shown, value[1:])
        if name in {"data", "data-ascii"}:
            content = content.translate(None, b"\r\n\0")
        return literal(content.decode("latin-1")).encode("latin-1")

    def _url_encoded(self, shown: str, value: str) -> bytes:
        """``content``, ``=content``, ``name=content``, ``@file`` or ``name@file``; the content is encoded."""
        marks = [index for index in (value.find("="), value.find("@")) if index >= 0]
        at = min(marks, default=-1)
        name = value[: max(at, 0)]
        if at >= 0 and value[at] == "@":
            content = self._file(shown, value[at + 1 :])
            return (f"{name}=" if name else "").encode() + quote_plus(content).encode()
        text = value[at + 1 :]
        # A placeholder cannot be encoded before its value is known.
        encoded = text if text.startswith("${") and text.endswith("}") else quote_plus(text)
        return ((f"{name}=" if name else "") + encoded).encode()

    def _file(self, shown: str, name: str) -> bytes:
        if name == "-":
            self._fault(shown, "must name a file: the standard input is not read")
            return b""
        return read_bytes(self.directory / name, f"curl {shown}", MAX_BODY_BYTES)

    def _check_url(self) -> None:
        if len(self.urls) != 1:
            self._fault("", f"must have one URL, not {len(self.urls)}")
        elif origin(self.url) is None:
            self._fault("url", "must be an http or https URL")
        elif "globoff" not in self.switches and any(
            mark in path_of(self.url).replace("${", "") for mark in "[{"
        ):
            self._fault(
                "url", "must be one URL: curl's [..] and {..} are not expanded (say -g if they are meant)"
            )

    def _check_certificates(self) -> None:
        """``-k`` says nothing where there are no certificates."""
        if self.insecure is None:
            return
        if len(self.urls) == 1 and (origin(self.url) or "").startswith("http:"):
            self.warnings.append(f"curl {self.insecure} is ignored: http has no certificates")
        else:
            self._fault(self.insecure, REFUSED_LONG["insecure"])

    def request(self, secrets: Secrets) -> RequestTemplate | None:
        """The request; None if it cannot be one, which is noted."""
        path, body = forgiving(path_of(self.url)), b"".join(self.data)
        if "get" in self.switches and body:
            path += ("&" if "?" in path else "?") + percent_encoded(body)
            body = b""
        headers = self.given.carried(self.url, self._implied_headers(), self.warnings)
        method = self.values.get("request") or ("HEAD" if "head" in self.switches else self._usual_method())
        self.faults += [
            Fault(f"curl {fault.field}", fault.rule, None if fault.field != "method" else fault.value)
            for fault in faults_in_request(method, path, headers, body, 1.0)
        ]
        if self.faults:
            return None
        body = kept_body(body, value_of(headers, "content-type"), secrets)
        kept = tuple((name, kept_header(name, value, secrets)) for name, value in headers)
        return RequestTemplate(method, kept_path(path, secrets), kept, body)

    def _usual_method(self) -> str:
        return "POST" if self.data and "get" not in self.switches else "GET"

    def _implied_headers(self) -> list[tuple[str, str]]:
        """What curl sends by itself, or because of other options than ``-H``."""
        implied = option_headers(self.values, self.url, self._fault)
        if self.is_json:
            implied += [("Content-Type", "application/json"), ("Accept", "application/json")]
        elif self.data and "get" not in self.switches:
            implied.append(("Content-Type", _FORM))
        return implied

    def _fault(self, option: str, rule: str) -> None:
        self.faults.append(Fault(f"curl {option}".strip(), rule, None))
