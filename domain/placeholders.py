"""``${NAME}`` in a text: the place of a value that is known only to the process that sends.

``$${`` is a literal ``${``. A lone ``$`` means itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable

LITERAL_PREFIX = "TIPOVER_SECRET_"
"""Variables of this prefix hold what stood literally in a request: in a path they are put back as they are,
while any other value is percent-encoded there."""

_MARK = re.compile(r"\$\$\{|\$\{([A-Za-z_][A-Za-z0-9_]{0,127})\}|\$\{")
_BROKEN = "holds ${ without a NAME}; write ${NAME} for a variable of the environment, $${ for a literal ${"


def names_in_text(text: str) -> tuple[str, ...]:
    """The names in a text, in order, each as often as it stands there."""
    return tuple(found[1] for found in _MARK.finditer(text) if found[1])


def broken_rule(text: str) -> str | None:
    """The rule that a text breaks which holds ``${`` and no name after it."""
    return _BROKEN if any(found[0] == "${" for found in _MARK.finditer(text)) else None


def literal(text: str) -> str:
    """The text that means ``text`` to the letter."""
    return text.replace("${", "$${")


def filled(text: str, value_of: Callable[[str], str]) -> str:
    """The text with every name's value in its place, and nothing in the values replaced again."""

    def put(found: re.Match[str]) -> str:
        return value_of(found[1]) if found[1] else "${"

    return _MARK.sub(put, text)
