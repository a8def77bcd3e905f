"""``[[request]]`` and ``[success]``: what is taken, what is refused and in which words, and no credential."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from domain.errors import ConfigurationError
from domain.request_mix import RequestMix, RequestTemplate, Success
from tipover.requests.tables import RequestTable, SuccessTable, mix_from_tables, mix_of

GOOD = """
[[request]]
path = "/items?page=${PAGE}"
weight = 3
name = "list"
headers = { Authorization = "Bearer ${TOKEN}", Accept = "text/html" }

[[request]]
method = "PATCH"
path = "/items/1"
json = { price = 1.5, note = "grün" }

[[request]]
method = "PUT"
path = "/picture"
body_file = "picture.bin"

[success]
statuses = ["2xx", 418, "300-304", "404"]
body_match = "ok|done"
"""


def test_requests_and_what_counts_as_an_answer(tmp_path: Path) -> None:
    (tmp_path / "picture.bin").write_bytes(b"\xff${\n")
    assert mix_from_tables(tomllib.loads(GOOD), tmp_path) == RequestMix(
        (
            RequestTemplate(
                path="/items?page=${PAGE}",
                headers=(("Authorization", "Bearer ${TOKEN}"), ("Accept", "text/html")),
                weight=3.0,
                name="list",
            ),
            RequestTemplate(
                "PATCH",
                "/items/1",
                (("Content-Type", "application/json"),),
                '{"price": 1.5, "note": "grün"}'.encode(),
            ),
            RequestTemplate("PUT", "/picture", body=b"\xff$${\n"),
        ),
        Success(((200, 304), (404, 404), (418, 418)), "ok|done"),
    )


def test_a_file_that_says_nothing_sends_the_default() -> None:
    assert mix_from_tables({}) == RequestMix()
    assert mix_of([], SuccessTable()) == (RequestMix(), [])


@pytest.mark.parametrize(
    ("text", "field", "rule"),
    [
        ("request = 1", "request", "must be a list of tables"),
        ("request = [1]", "request[0]", "must be a table"),
        ("[[request]]\nmethd = 'GET'", "request[0].methd", "is not a known key; did you mean method?"),
        ("[[request]]\nmethod = 5", "request[0].method", "must be text"),
        ("[[request]]\nmethod = 'A B'", "request[0].method", "must be letters"),
        ("[[request]]\npath = 'x'", "request[0].path", "must start with /"),
        ("[[request]]\nweight = 0", "request[0].weight", "must be greater than 0"),
        ("[[request]]\nweight = '1'", "request[0].weight", "must be a number"),
        ("[[request]]\nheaders = 1", "request[0].headers", "must be a table"),
        ("[[request]]\nheaders = { A = 1 }", "request[0].headers.A", "must be text"),
        ("[[request]]\nheaders = { Host = 'x' }", "request[0].headers.Host", "must not be set"),
        ("[[request]]\nheaders = { A = '1', a = '2' }", "request[0].headers.a", "must be given once"),
        ("[[request]]\nbody = 'x'\njson = 1", "request[0].body", "must be given once, not as body and json"),
        ("[[request]]\nbody = 1", "request[0].body", "must be text"),
        ("[[request]]\nbody = '${'", "request[0].body", "holds ${ without a NAME}"),
        ("[[request]]\njson = 2024-01-01", "request[0].json", "must be a value that JSON has"),
        ("[[request]]\njson = nan", "request[0].json", "must be a value that JSON has"),
        ("[[request]]\nbody_file = 'missing'", "request[0].body_file", "cannot be read"),
        ("success = 1", "success", "must be a table"),
        ("success = { status = [] }", "success.status", "did you mean statuses?"),
        ("success = { statuses = [] }", "success.statuses", "must be a list; each must be HTTP statuses"),
        ("success = { statuses = 200 }", "success.statuses", "must be a list"),
        ("success = { statuses = [100] }", "success.statuses", "must be a list; each"),
        ("success = { statuses = ['204-200'] }", "success.statuses", "must be a list; each"),
        ("success = { statuses = [true] }", "success.statuses", "must be a list; each"),
        ("success = { body_match = '(' }", "success.body_match", "must be a regular expression"),
        (
            "request = [{ method = 'HEAD' }]\nsuccess = { body_match = 'x' }",
            "request[0].method",
            "must not be HEAD",
        ),
    ],
)
def test_what_cannot_be_sent_is_refused(text: str, field: str, rule: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError) as caught:
        mix_from_tables(tomllib.loads(text), tmp_path)
    (fault,) = caught.value.faults
    assert fault.field == field
    assert rule in fault.rule


def test_all_faults_are_told_at_once_under_their_numbers() -> None:
    """Those that pydantic finds, those of the domain, and those of the mix."""
    raw = tomllib.loads(
        "request = [{ path = 'x' }, { weight = -1 }, { method = ' ', pth = 1 }]\n"
        "success = { statuses = ['x'] }"
    )
    with pytest.raises(ConfigurationError, match="the requests have 5 faults") as caught:
        mix_from_tables(raw)
    assert {fault.field for fault in caught.value.faults} == {
        "request[0].path",
        "request[1].weight",
        "request[2].method",
        "request[2].pth",
        "success.statuses",
    }


@pytest.mark.parametrize(
    ("line", "field"),
    [
        ("headers = { Authorization = 'Bearer geheim' }", "headers.Authorization"),
        ("headers = { X-Api-Key = 'geheim' }", "headers.X-Api-Key"),
        ("headers = { x-auth-token = 'geheim' }", "headers.x-auth-token"),
        ("headers = { Cookie = 'a=geheim' }", "headers.Cookie"),
        ("headers = { Whatever = 'Basic geheim' }", "headers.Whatever"),
        ("path = '/?a=1&access_token=geheim'", "path"),
        ("path = '/?a%70i_key=geheim'", "path"),
        ("json = { user = 'me', password = 'geheim' }", "body"),
        (
            "body = 'a=1&client_secret=geheim'\n"
            "headers = { Content-Type = 'application/x-www-form-urlencoded' }",
            "body",
        ),
    ],
)
def test_a_credential_in_a_file_is_refused_and_not_shown(line: str, field: str) -> None:
    """It belongs into the environment."""
    with pytest.raises(ConfigurationError) as caught:
        mix_from_tables(tomllib.loads(f"[[request]]\n{line}"))
    (fault,) = caught.value.faults
    assert fault.field == f"request[0].{field}"
    assert "put it in the environment and write ${NAME}" in fault.rule
    assert "geheim" not in str(caught.value)
    assert mix_from_tables(tomllib.loads(f"[[request]]\n{line.replace('geheim', '${X}')}"))


@pytest.mark.parametrize(
    "line",
    [
        "headers = { Authorization = 1234567 }",
        "headers = [ 'Authorization: 1234567' ]",
        "headers = { Authorization = ['1234567'] }",
        "headers = { '1234567 x' = '1234567', A = '1234567\\u000a' }",
        "header = { Authorization = '1234567' }",
        'body = ["1234567"]',
        'body = "${1234567"',
        'path = "?key=1234567"',
    ],
)
def test_what_a_credential_was_put_into_wrongly_is_not_shown(line: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        mix_from_tables(tomllib.loads(f"[[request]]\n{line}"))
    assert "'1234567'" not in str(caught.value)
    assert all(fault.value is None or "1234567 x" in str(fault.value) for fault in caught.value.faults)


def test_one_table_makes_one_request() -> None:
    assert RequestTable.model_validate({"path": "/x"}).value() == RequestTemplate(path="/x")
    with pytest.raises(ConfigurationError, match="path: must start with /"):
        RequestTable.model_validate({"path": "x"}).value()
    assert SuccessTable.model_validate({"statuses": ["5xx"]}).value() == Success(((500, 599),))
    assert SuccessTable().value() == Success()


def test_the_schema_has_the_keys_of_the_file() -> None:
    properties = RequestTable.model_json_schema(by_alias=True)["properties"]
    assert set(properties) == {"method", "path", "headers", "body", "json", "body_file", "weight", "name"}
