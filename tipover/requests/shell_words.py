"""A command line as a POSIX shell splits it, with bash's ``$'…'``, which browsers write."""

from __future__ import annotations

import re
import shlex

_PART = re.compile(
    r"""\$'(?P<ansi>(?:[^\\']|\\.)*)'
    |(?P<single>'[^']*')
    |(?P<double>"(?:[^\\"]|\\.)*")
    |(?P<joint>\\\n)
    |(?P<plain>\\.|[^\\'"$]+|\$(?!'))""",
    re.DOTALL | re.VERBOSE,
)
_ANSI = re.compile(
    r"""\\(?:u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|x([0-9a-fA-F]{1,2})|([0-7]{1,3})|(.))""", re.DOTALL
)
_SINGLE = {
    "n": "\n",
    "t": "\t",
    "r": "\r",
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "v": "\v",
    "e": "\x1b",
    "E": "\x1b",
}


def shell_words(text: str) -> list[str]:
    """The words; raises ``ValueError`` on a quote that is not closed. Nothing is expanded."""
    return shlex.split(_plain(text.replace("\r\n", "\n")))


def _plain(text: str) -> str:
    """The text with every ``$'…'`` in ordinary quotes, and lines that go on in one."""
    parts: list[str] = []
    at = 0
    while at < len(text):
        found = _PART.match(text, at)
        if found is None:
            raise ValueError("a quote is not closed")
        at = found.end()
        if found.lastgroup == "ansi":
            parts.append(shlex.quote(_ANSI.sub(_meant, found["ansi"])))
        elif found.lastgroup == "double":
            parts.append(found[0].replace("\\\n", ""))
        elif found.lastgroup != "joint":
            parts.append(found[0])
    return "".join(parts)


def _meant(found: re.Match[str]) -> str:
    short, long, byte, octal, single = found.groups()
    if single is not None:
        return _SINGLE.get(single, single)
    code = int(octal, 8) if octal else int(short or long or byte, 16)
    try:
        return chr(code)
    except (ValueError, OverflowError):
        raise ValueError("an escape names no character") from None
