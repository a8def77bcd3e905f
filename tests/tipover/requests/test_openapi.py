"""OpenAPI documents: an example request of each operation that reads, and why others are left out."""

from __future__ import annotations

import json
from contextlib import suppress
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domain.errors import ConfigurationError
from tipover.requests.imported import Imported
from tipover.requests.openapi import from_openapi
from tipover.requests.secrets import Secrets

SHOP = """
openapi: 3.0.3
info: {title: Shop, version: "1"}
servers:
  - url: https://{region}.shop.test/v1/
    variables: {region: {default: eu}}
paths:
  /items/{id}:
    parameters:
      - {name: id, in: path, required: true, schema: {type: integer, minimum: 10}}
    get:
      operationId: getItem
      parameters:
        - {name: lang, in: query, required: true, schema: {type: string, enum: [de, en]}}
        - {name: since, in: query, example: 2024-05-01, schema: {type: string, format: date}}
        - {name: page, in: query, schema: {type: integer}}
        - {$ref: '#/components/parameters/tags'}
    delete:
      operationId: deleteItem
  /items:
    get: {operationId: listItems}
    post:
      operationId: addItem
      requestBody:
        required: true
        content:
          application/json:
            schema: {$ref: '#/components/schemas/Item'}
  /codes/{code}:
    get:
      operationId: getCode
      parameters:
        - {name: code, in: path, required: true, schema: {type: string, pattern: '[A-Z]{8}'}}
components:
  parameters:
    tags:
      {name: tags, in: query, required: true, schema: {type: array, items: {default: new & old}}}
  schemas:
    Item: {example: {name: "a${x}", price: 1.5}}
"""


def written(directory: Path, document: str | dict[str, Any]) -> Path:
    path = directory / "openapi.yaml"
    path.write_text(document if isinstance(document, str) else json.dumps(document, default=str))
    return path


def imported(directory: Path, document: str | dict[str, Any] = SHOP, **options: Any) -> Imported:
    return from_openapi(written(directory, document), Secrets(), **options)


def one(directory: Path, *parameters: Any, path: str = "/x", **more: Any) -> Imported:
    """A document of one GET with these parameters."""
    paths = {path: {"get": {"operationId": "op", "parameters": list(parameters)}}}
    return imported(directory, {"openapi": "3.1.0", "paths": paths, **more})


def test_operations_that_read_are_filled_with_their_examples(tmp_path: Path) -> None:
    found = imported(tmp_path)
    assert found.base_url == "https://eu.shop.test"
    assert [(request.name, request.method, request.path) for request in found.requests] == [
        ("getItem", "GET", "/v1/items/10?lang=de&since=2024-05-01&tags=new%20%26%20old"),
        ("listItems", "GET", "/v1/items"),
    ]
    assert found.warnings == (
        "2 operations other than GET left out: only --allow-writes lets them be sent",
        "getCode is left out: its path parameter code cannot be filled: it has a pattern and no example",
    )


def test_writes_are_sent_if_they_are_allowed_and_have_a_body(tmp_path: Path) -> None:
    found = {request.name: request for request in imported(tmp_path, allow_writes=True).requests}
    assert (found["deleteItem"].method, found["deleteItem"].body) == ("DELETE", b"")
    assert found["addItem"].body == b'{"name": "a$${x}", "price": 1.5}'
    assert dict(found["addItem"].headers) == {"Content-Type": "application/json"}
    without = SHOP.replace("example: {name", "properties: {name")
    again = imported(tmp_path, without, allow_writes=True)
    assert "addItem is left out: its body has no example" in again.warnings


def test_operations_can_be_chosen(tmp_path: Path) -> None:
    assert [request.name for request in imported(tmp_path, operations=["listItems"]).requests] == [
        "listItems"
    ]
    with pytest.raises(ConfigurationError) as caught:
        imported(tmp_path, operations=["nothing", "deleteItem"])
    assert [fault.value for fault in caught.value.faults] == ["nothing", "deleteItem"]
    assert "--allow-writes" in caught.value.faults[1].rule
    assert len(imported(tmp_path, operations=["deleteItem"], allow_writes=True).requests) == 1


def test_a_url_takes_the_servers_place(tmp_path: Path) -> None:
    """Its path too, if it has one."""
    found = imported(tmp_path, url="http://127.0.0.1:8000", operations=["listItems"])
    assert (found.base_url, found.requests[0].path) == (None, "/v1/items")
    found = imported(tmp_path, url="http://127.0.0.1:8000/v2/", operations=["listItems"])
    assert found.requests[0].path == "/v2/items"


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "integer"}, "1"),
        ({"type": "integer", "minimum": 1.5}, "2"),
        ({"type": "integer", "exclusiveMinimum": 5}, "6"),
        ({"type": "integer", "minimum": 5, "exclusiveMinimum": True}, "6"),
        ({"type": "integer", "maximum": -3}, "-3"),
        ({"type": "integer", "multipleOf": 5}, "5"),
        ({"type": "boolean"}, "true"),
        ({"type": ["null", "string"]}, "example"),
        ({"type": "string", "maxLength": 3}, "exa"),
        ({"type": "string", "minLength": 9}, "examplexx"),
        ({"type": "string", "format": "uuid"}, "00000000-0000-4000-8000-000000000001"),
        ({"type": "string", "pattern": "x", "example": "xyz"}, "xyz"),
        ({"examples": ["a/b ${c}"]}, "a%2Fb%20%24%7Bc%7D"),
        ({"const": "only"}, "only"),
        ({"oneOf": [{"enum": [7, 8]}, {}]}, "7"),
        ({"type": "array", "items": {"enum": ["a"]}}, "a"),
    ],
)
def test_values_that_schemas_allow(tmp_path: Path, schema: dict[str, Any], value: str) -> None:
    found = one(tmp_path, {"name": "p", "in": "path", "required": True, "schema": schema}, path="/x/{p}")
    assert found.requests[0].path == f"/x/{value}"


@pytest.mark.parametrize(
    ("parameter", "query"),
    [
        ({"example": [1, 2]}, "p=1&p=2"),
        ({"example": [1, 2], "explode": False}, "p=1,2"),
        ({"example": [1, 2], "style": "pipeDelimited"}, "p=1%7C2"),
        ({"example": {"a": 1, "b": 2}}, "a=1&b=2"),
        ({"example": {"a": 1}, "style": "deepObject"}, "p%5Ba%5D=1"),
        ({"examples": {"one": {"value": "x y"}}}, "p=x%20y"),
        (
            {"content": {"application/json": {"example": {"a": 1}}}, "required": True},
            "p=%7B%22a%22%3A%201%7D",
        ),
    ],
)
def test_queries_are_written_as_the_document_says(
    tmp_path: Path, parameter: dict[str, Any], query: str
) -> None:
    found = one(tmp_path, {"name": "p", "in": "query", **parameter})
    assert found.requests[0].path == f"/x?{query}"


def test_headers_that_are_required_are_sent_and_credentials_asked_for(tmp_path: Path) -> None:
    shop = {"name": "X-Shop", "in": "header", "required": True, "schema": {"type": "integer"}}
    key = {"name": "X-Api-Key", "in": "header", "required": True, "schema": {"type": "string"}}
    assert one(tmp_path, shop).requests[0].headers == (("X-Shop", "1"),)
    with pytest.raises(ConfigurationError, match=r"say -H 'X-Api-Key: \$\{NAME\}'"):
        one(tmp_path, key)
    paths = {"/x": {"get": {"parameters": [key]}}}
    found = imported(tmp_path, {"openapi": "3.0.0", "paths": paths}, given_headers=["X-API-Key"])
    assert found.requests[0].headers == ()


def test_authorization_that_nobody_gave_is_told(tmp_path: Path) -> None:
    assert one(tmp_path, security=[{"oauth": []}]).warnings == (
        "the document asks for authorization (oauth): give it with -H and ${NAME}",
    )


def test_references_that_go_round_are_survived(tmp_path: Path) -> None:
    """As a circle of references, as a schema that contains itself, as YAML that contains itself."""
    schemas: dict[str, Any] = {
        "A": {"$ref": "#/components/schemas/B"},
        "B": {"$ref": "#/components/schemas/A"},
        "C": {"allOf": [{"$ref": "#/components/schemas/C"}]},
        "~/%": {"enum": ["found"]},
    }
    for name, said in (("A", "round in a circle"), ("C", "contains itself"), ("D", "leads nowhere")):
        parameter = {
            "name": "p",
            "in": "query",
            "required": True,
            "schema": {"$ref": f"#/components/schemas/{name}"},
        }
        with pytest.raises(ConfigurationError, match=said):
            one(tmp_path, parameter, components={"schemas": schemas})
    parameter = {
        "name": "p",
        "in": "query",
        "required": True,
        "schema": {"$ref": "#/components/schemas/~0~1%25"},
    }
    assert one(tmp_path, parameter, components={"schemas": schemas}).requests[0].path == "/x?p=found"
    itself = "openapi: 3.0.0\npaths:\n  /x: {get: {parameters: [{name: p, in: query, example: &a [*a]}]}}"
    with pytest.raises(ConfigurationError, match="too deep"):
        imported(tmp_path, itself)


@pytest.mark.parametrize("reference", ["other.yaml#/x", "http://elsewhere/x", "file:///etc/passwd", 5])
def test_references_out_of_the_document_are_refused(tmp_path: Path, reference: object) -> None:
    with pytest.raises(ConfigurationError, match="leads out of the document"):
        one(tmp_path, {"$ref": reference})


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        ("", "must be an OpenAPI 3.x document"),
        ("swagger: '2.0'", "Swagger 2.0 can be converted"),
        ("{", "must be JSON"),
        ("a: [", "must be YAML"),
        ("a: 2024-99-99", "dates that exist"),
        ("a: !!python/object/apply:os.system [true]", "must be YAML"),
        ("[" * 100_000, "must be "),
        ("{" + '"a": [' * 100_000, "must be "),
        ("openapi: 3.0.0", "has no operation left"),
        ("openapi: 3.0.0\npaths: {/x: {get: 5}, /y: 7}", "has no operation left"),
        ("openapi: 3.0.0\nservers: [{url: 'http://[x'}]\npaths: {/x: {get: {}}}", "must be URLs"),
    ],
)
def test_what_is_no_document_is_refused(tmp_path: Path, broken: str, said: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        imported(tmp_path, broken)
    assert said in str(caught.value)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.just("string"),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "type",
                    "enum",
                    "items",
                    "minimum",
                    "maxLength",
                    "multipleOf",
                    "example",
                    "examples",
                    "allOf",
                    "$ref",
                ]
            ),
            inner,
            max_size=3,
        )
    ),
    max_leaves=8,
)
PLACES = ("name", "in", "schema", "example", "examples", "style", "explode", "content", "required")


@settings(max_examples=80, deadline=None)
@given(st.dictionaries(st.sampled_from(PLACES), JSON), st.sampled_from(["path", "query", "header", "cookie"]))
def test_no_parameter_breaks_it(
    tmp_path_factory: pytest.TempPathFactory, more: dict[str, Any], place: str
) -> None:
    """A request, or a fault that is told; never anything else."""
    parameter = {"name": "p", "in": place, "required": True, "schema": {"type": "integer"}, **deepcopy(more)}
    with suppress(ConfigurationError):
        assert one(tmp_path_factory.getbasetemp(), parameter, path="/x/{p}").requests
