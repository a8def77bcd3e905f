"""How every page is made: from a template of ``analysis/templates``, with its pictures inside."""

from __future__ import annotations

import base64
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape


def rendered(template: str, **values: Any) -> str:
    """The page as text; everything is escaped, and a name the template does not get is an error."""
    environment = Environment(
        loader=PackageLoader("analysis", "templates"),
        autoescape=select_autoescape(default=True, default_for_string=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(template).render(**values)


def picture_uri(png: bytes) -> str:
    """A PNG as something an ``img`` can show without another file."""
    return "data:image/png;base64," + base64.b64encode(png).decode("ascii")
