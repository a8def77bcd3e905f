"""The headers that the options of a curl command come to, authorization included."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from domain.placeholders import broken_rule, literal
from tipover.requests.imported import NOT_CARRIED, merged, origin
from tipover.requests.secrets import basic, credentials_in_url

Header = tuple[str, str]
Refuse = Callable[[str, str], None]
"""Is told an option and the rule that it breaks."""


@dataclass(slots=True)
class GivenHeaders:
    """What ``-H`` gave, and took away from what curl would send by itself."""

    refuse: Refuse
    headers: list[Header] = field(default_factory=list)
    removed: set[str] = field(default_factory=set)

    def add(self, shown: str, line: str) -> None:
        """``Name: value``, ``Name;`` for one without a value, ``Name:`` for one that is not to be sent."""
        if line.startswith("@"):
            self.refuse(shown, "must be a header: a file of headers is not read")
            return
        name, colon, value = line.partition(":")
        if not colon and line.endswith(";"):
            self.headers.append((line[:-1].strip(), ""))
        elif not colon:
            self.refuse(shown, "must be Name: value")
        elif not value.strip():
            self.removed.add(name.strip().lower())
        else:
            self.headers.append((name.strip(), value.strip()))

    def carried(self, url: str, implied: list[Header], warnings: list[str]) -> tuple[Header, ...]:
        """All headers of the request: these, and of the ``implied`` ones what these say nothing of."""
        given = [(name, forgiving(value)) for name, value in self.headers]
        named = {name.lower() for name, _ in given} | self.removed
        given += [header for header in implied if header[0].lower() not in named or header[0] == "Cookie"]
        carried = []
        for name, value in merged(given):
            if name.lower() == "host" and not _is_host_of(value, url):
                self.refuse("Host", "must be the URL's: another one is not sent")
            elif name.lower() in NOT_CARRIED:
                if name.lower() != "host":
                    warnings.append(f"curl's header {name} is left out: whoever sends the request sets it")
            else:
                carried.append((name, value))
        return tuple(carried)


def option_headers(values: Mapping[str, str], url: str, refuse: Refuse) -> list[Header]:
    """The headers of ``-A``, ``-e``, ``-b``, ``-u`` and ``--oauth2-bearer``, by their long names in
    ``values``."""
    headers = []
    for option, name in (("user-agent", "User-Agent"), ("referer", "Referer"), ("cookie", "Cookie")):
        value = values.get(option, "")
        if option == "cookie" and value and "=" not in value:
            refuse("-b", "must be cookies, NAME=VALUE: a file of cookies is not read")
        elif value:
            headers.append((name, forgiving(value)))
    authorization = _authorization(values, url, refuse)
    if authorization:
        headers.append(("Authorization", authorization))
    return headers


def credentials(values: Mapping[str, str]) -> list[str]:
    """What stands in the command to authenticate, whether or not it is sent in the end."""
    user = values.get("user", "")
    return [user, user.partition(":")[2], values.get("oauth2-bearer", "")]


def forgiving(text: str) -> str:
    """Text with its placeholders, in which a ``${`` that names nothing is meant literally."""
    return literal(text) if broken_rule(text) else text


def _authorization(values: Mapping[str, str], url: str, refuse: Refuse) -> str | None:
    if "oauth2-bearer" in values:
        return "Bearer " + values["oauth2-bearer"]
    pair = credentials_in_url(url)
    if "user" in values:
        user, colon, password = values["user"].partition(":")
        if not colon:
            refuse("-u", "must be NAME:PASSWORD: nobody is asked for a password")
            return None
        pair = user, password
    if pair is None:
        return None
    if any("${" in part for part in pair):
        rule = "must be literal, or one variable: -H 'Authorization: Basic ${NAME}', in base64 already"
        refuse("-u", rule)
        return None
    return basic(*pair)


def _is_host_of(host: str, url: str) -> bool:
    return origin(f"{url.partition('://')[0]}://{host}") == origin(url)
