"""What may be written down of a command line.

Two rules, and both apply. By value: a secret that is known stands nowhere, in no notation. By place: what
stands where credentials stand (headers, bodies, whole curl commands, parameters whose names sound secret) is
left out even if nobody said that it is one.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from urllib.parse import unquote, unquote_plus

from domain.placeholders import LITERAL_PREFIX
from tipover.requests.secrets import REDACTED, Secrets, is_sensitive, notations_of

HIDDEN = "…"
_SHORT = 4
"""Secrets shorter than this are looked for as whole words only: in other words they stand by chance."""
_SECRET_OPTIONS = frozenset(
    ("-H", "--header", "--proxy-header", "-u", "--user", "-b", "--cookie", "-d", "--data", "--body", "--curl")
)
_SECRET_NAME = re.compile(
    "auth|token|secret|passw|pwd|cred|cookie|session|signature|sig$|api.?key|access.?key|private",
    re.IGNORECASE,
)
_CREDENTIALS = re.compile(r"//[^/@\s?#]*@")
_PAIR = re.compile(r"(?:(?<=[?&;#\s])|^)(?P<name>[\w.%\[\]-]+)=(?P<value>[^&\s#]*)")
_HEADER = re.compile(r"(?P<name>[A-Za-z0-9-]+):\s+\S.*", re.DOTALL)
_STAND_IN = re.compile(rf"\$\{{{LITERAL_PREFIX}\d+\}}|{REDACTED}|{HIDDEN}")


def redacted(command: Sequence[str], secrets: Secrets | Collection[str] = ()) -> list[str]:
    """A command line that may be kept: names of headers, options and parameters stay, values that may be
    secret go.

    ``secrets``: values that must not stand in it wherever they come from. A word that still gives one away
    when it is read as a shell or a server would is left out whole.
    """
    return _by_place(_by_value(command, secrets))


def redacted_url(url: str) -> str:
    """A URL without credentials, and without the values of parameters whose names sound secret."""
    return _PAIR.sub(_hidden_pair, _CREDENTIALS.sub(f"//{HIDDEN}@", url))


def _by_value(command: Sequence[str], secrets: Secrets | Collection[str]) -> list[str]:
    forms = sorted(set(_notations(secrets)), key=lambda form: (-len(form[0]), form[1]))
    if not forms:
        return list(command)
    shown = dict(reversed(forms))
    pattern = re.compile("|".join(_searched(text) for text, _ in forms))
    return [_without(word, pattern, shown) for word in command]


def _notations(secrets: Secrets | Collection[str]) -> Iterator[tuple[str, str]]:
    """Every text that gives a secret away, with what is shown instead."""
    if isinstance(secrets, Secrets):
        yield from (form for form in secrets.notations() if form[0])
    else:
        yield from ((form, HIDDEN) for text in secrets for form in notations_of(text) if form)


def _without(word: str, pattern: re.Pattern[str], shown: Mapping[str, str]) -> str:
    replaced = pattern.sub(lambda found: shown[found[0]], word)
    remains = _STAND_IN.sub(" ", replaced)
    return REDACTED if any(pattern.search(text) for text in _readings(remains)) else replaced


def _readings(text: str) -> Iterator[str]:
    """What a word may mean to whoever reads it."""
    yield text
    yield unquote(text)
    yield unquote_plus(text)
    yield text.replace("\\\n", "").replace("\\", "")
    yield re.sub(r"""["'^]""", "", text)
    try:
        yield from shlex.split(text)
    except ValueError:
        yield text.replace("'", "").replace('"', "")


def _searched(text: str) -> str:
    escaped = re.escape(text)
    return rf"(?<![A-Za-z0-9]){escaped}(?![A-Za-z0-9])" if len(text) < _SHORT else escaped


def _by_place(command: Sequence[str]) -> list[str]:
    kept, hide_next = [], False
    for word in command:
        option, equals, _ = word.partition("=")
        secret_option = option.startswith("-") and (
            option in _SECRET_OPTIONS or bool(_SECRET_NAME.search(option))
        )
        if hide_next:
            kept.append(_hidden_value(word))
            hide_next = False
        elif secret_option and equals:
            kept.append(f"{option}={HIDDEN}")
        elif not option.startswith("--") and option[:2] in _SECRET_OPTIONS and len(word) > 2:
            kept.append(word[:2] + (word[2:] if _STAND_IN.fullmatch(word[2:]) else HIDDEN))
        else:
            kept.append(_redacted_word(word))
            hide_next = secret_option
    return kept


def _redacted_word(word: str) -> str:
    header = _HEADER.fullmatch(word)
    if header:
        return f"{header['name']}: {HIDDEN}"
    option, equals, value = word.partition("=") if word.startswith("-") else ("", "", word)
    return option + equals + redacted_url(value)


def _hidden_value(word: str) -> str:
    header = _HEADER.fullmatch(word)
    return f"{header['name']}: {HIDDEN}" if header else HIDDEN


def _hidden_pair(pair: re.Match[str]) -> str:
    name, value = pair["name"], pair["value"]
    if _STAND_IN.fullmatch(value) or not (_SECRET_NAME.search(name) or is_sensitive(name, value)):
        return pair[0]
    return f"{name}={HIDDEN}"
