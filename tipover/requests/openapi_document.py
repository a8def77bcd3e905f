"""An OpenAPI 3.x document in JSON or YAML, with its references resolved where they are followed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from domain.errors import ConfigurationError, Fault
from tipover.requests.imported import read_bytes

MAX_DOCUMENT_BYTES = 20_000_000
_LONGEST_CHAIN = 50


class UnresolvedError(Exception):
    """A reference that leads nowhere: in words."""


class Document:
    """The parts of a document, followed through ``$ref`` within it; another document is never opened."""

    def __init__(self, path: Path) -> None:
        """Raise ``ConfigurationError`` if it cannot be read or is no OpenAPI 3.x."""
        self._path = path
        self.root = self._checked(_parsed(path))

    def resolved(self, value: object) -> Any:
        """The value, or what it refers to; raises ``UnresolvedError``, on a circle of references too."""
        for _ in range(_LONGEST_CHAIN):
            if not isinstance(value, Mapping) or "$ref" not in value:
                return value
            value = self._target(value["$ref"])
        raise UnresolvedError("its $ref goes round in a circle")

    def table(self, value: object) -> Mapping[str, Any]:
        """The object there; empty if there is none, or something else."""
        found = self.resolved(value)
        return found if isinstance(found, Mapping) else {}

    def rows(self, value: object) -> list[Any]:
        """The list there; empty if there is none, or something else."""
        found = self.resolved(value)
        return found if isinstance(found, list) else []

    def _target(self, reference: object) -> object:
        if not isinstance(reference, str) or not reference.startswith("#"):
            rule = "is refused: it leads out of the document; bundle it into one file"
            raise ConfigurationError(
                "the OpenAPI document cannot be used", [Fault("openapi.$ref", rule, reference)]
            )
        at: Any = self.root
        for part in reference[1:].split("/")[1:]:
            key = unquote(part).replace("~1", "/").replace("~0", "~")
            if isinstance(at, Mapping) and key in at:
                at = at[key]
            elif isinstance(at, list) and key.isdecimal() and int(key) < len(at):
                at = at[int(key)]
            else:
                raise UnresolvedError(f"its $ref {reference} leads nowhere")
        return at

    def _checked(self, data: object) -> Mapping[str, Any]:
        if isinstance(data, Mapping) and str(data.get("openapi", "")).startswith("3."):
            return data
        version = data.get("openapi", data.get("swagger")) if isinstance(data, Mapping) else None
        rule = "must be an OpenAPI 3.x document; one of Swagger 2.0 can be converted"
        raise ConfigurationError("the OpenAPI document cannot be used", [Fault("openapi", rule, version)])


def _parsed(path: Path) -> object:
    content = read_bytes(path, "openapi", MAX_DOCUMENT_BYTES)
    try:
        text = content.decode("utf-8-sig")
        return json.loads(text) if text.lstrip().startswith("{") else _yaml(text)
    except _NotYamlError as error:
        rule = str(error)
    except json.JSONDecodeError as error:
        rule = f"must be JSON: {error.msg} in line {error.lineno}, column {error.colno}"
    except (ValueError, RecursionError):
        rule = "must be JSON or YAML in UTF-8, not too deeply nested, with dates that exist"
    raise ConfigurationError("the OpenAPI document cannot be used", [Fault("openapi", rule, str(path))])


class _NotYamlError(Exception):
    pass


def _yaml(text: str) -> object:
    import yaml

    try:
        return yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = f" in line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        raise _NotYamlError(f"must be YAML: {error.problem or 'it is malformed'}{where}") from None
    except (yaml.YAMLError, TypeError) as error:
        raise _NotYamlError(f"must be YAML: {str(error).splitlines()[0]}") from None
