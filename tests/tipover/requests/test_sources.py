"""The options of the command line and one source of requests, together."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from domain.errors import ConfigurationError
from domain.request_mix import RequestMix, RequestTemplate, Success
from tests.tipover.requests.sources import mix_from_options


def faults_of(**options: Any) -> list[str]:
    with pytest.raises(ConfigurationError) as caught:
        mix_from_options(**options)
    return [fault.field for fault in caught.value.faults]


def test_a_url_alone_is_the_default() -> None:
    base_url, mix, secrets, warnings = mix_from_options(url="http://h")
    assert (base_url, mix, len(secrets), warnings) == ("http://h", RequestMix(), 0, ())


def test_a_url_carries_a_path_or_the_path_is_given() -> None:
    found = mix_from_options(url="http://localhost:8000/x?a=1")
    assert (found.base_url, found.mix.requests) == (
        "http://localhost:8000",
        (RequestTemplate(path="/x?a=1"),),
    )
    found = mix_from_options(url="https://h:443/", path="/a%20b")
    assert (found.base_url, found.mix.requests[0].path) == ("https://h:443", "/a%20b")


def test_one_request_of_options_alone(tmp_path: Path) -> None:
    (tmp_path / "body").write_bytes(b"${x")
    found = mix_from_options(
        url="http://h",
        method="PUT",
        path="/x",
        header=["Accept: a", "X-Empty:"],
        body=f"@{tmp_path / 'body'}",
        success=["2xx", "404", "500-503"],
        body_match="ok",
    )
    assert found.mix == RequestMix(
        (RequestTemplate("PUT", "/x", (("Accept", "a"), ("X-Empty", "")), b"$${x"),),
        Success(((200, 299), (404, 404), (500, 503)), "ok"),
    )
    posted = mix_from_options(url="http://h", body="${B}")
    assert posted.mix.requests == (RequestTemplate("POST", body=b"${B}"),)


def test_headers_are_added_to_what_a_source_says_and_win(tmp_path: Path) -> None:
    har = tmp_path / "x.har"
    entries = [
        {
            "request": {
                "method": "GET",
                "url": f"http://h/{n}",
                "headers": [{"name": "authorization", "value": "old"}],
            }
        }
        for n in range(2)
    ]
    har.write_text(json.dumps({"log": {"entries": entries}}))
    found = mix_from_options(har=har, header=["Authorization: ${NEW}"])
    assert found.base_url == "http://h"
    assert [request.headers for request in found.mix.requests] == [(("Authorization", "${NEW}"),)] * 2


def test_a_curl_command_may_go_elsewhere() -> None:
    command = "curl \\\n http://there/x -L\n"
    found = mix_from_options(curl=command, url="http://127.0.0.1:80")
    assert (found.base_url, found.mix.requests[0].path) == ("http://127.0.0.1:80", "/x")
    assert len(found.warnings) == 1
    assert mix_from_options(curl=command).base_url == "http://there"


def test_options_change_the_one_request_of_a_curl_command() -> None:
    found = mix_from_options(curl="curl http://h/x", method="PUT", path="/y", body="b")
    assert found.mix.requests == (RequestTemplate("PUT", "/y", found.mix.requests[0].headers, b"b"),)


def test_an_openapi_document_with_its_options(tmp_path: Path) -> None:
    path = tmp_path / "api.json"
    operation = {"operationId": "x", "security": [{"key": []}]}
    path.write_text(
        json.dumps(
            {
                "openapi": "3.0.0",
                "paths": {"/x": {"get": operation, "post": operation | {"operationId": "y"}}},
            }
        )
    )
    found = mix_from_options(
        openapi=path, url="http://h/v2", operation=["y"], allow_writes=True, header=["A: b"]
    )
    assert (found.base_url, found.mix.requests) == (
        "http://h",
        (RequestTemplate("POST", "/v2/x", (("A", "b"),), name="y"),),
    )
    assert found.warnings == ()
    assert "key" in mix_from_options(openapi=path, url="http://h", operation=["x"]).warnings[0]


@pytest.mark.parametrize(
    ("options", "fields"),
    [
        ({"url": None}, ["--url"]),
        ({"url": "ftp://h"}, ["--url"]),
        ({"url": "localhost:8000"}, ["--url"]),
        ({"url": "http://"}, ["--url"]),
        ({"url": "http://[x"}, ["--url"]),
        ({"url": "http://h:x"}, ["--url"]),
        ({"url": "http://me:pw@h"}, ["--url"]),
        ({"url": "http://h/x", "path": "/y"}, ["--url"]),
        ({"url": "http://h/x", "curl": "curl h"}, ["--url"]),
        ({"curl": "curl h", "har": Path("missing")}, ["--har", "--har"]),
        ({"curl": "curl h", "operation": ["x"], "allow_writes": True}, ["--operation", "--allow-writes"]),
        ({"har": Path("missing")}, ["--har"]),
        ({"openapi": Path("missing")}, ["--openapi"]),
        ({"body": "@missing"}, ["--body"]),
        ({"method": "A B", "path": "x"}, ["--method", "--path"]),
        ({"path": "/a b"}, ["--path"]),
        ({"header": ["x"]}, ["--header"]),
        (
            {"header": ["x", "Host: y", "A: b\nc"], "path": "x"},
            ["--header", "--header Host", "--header A", "--path"],
        ),
        ({"success": ["2xx", "9", "x"]}, ["--success"]),
        ({"body_match": "("}, ["--body-match"]),
        ({"body_match": "x", "method": "HEAD"}, ["request[0].method"]),
        (
            {"url": "ftp://h", "success": ["1"], "body_match": "(", "timeout": -1.0},
            ["--success", "--body-match", "--timeout", "--url"],
        ),
        ({"curl": "curl -k -F a https://h"}, ["curl -F", "curl -k"]),
    ],
)
def test_faults_are_told_under_their_options(options: dict[str, Any], fields: list[str]) -> None:
    sources = {"curl", "har", "openapi"}
    url = {} if options.keys() & sources else {"url": "http://h"}
    assert sorted(faults_of(**url | options)) == sorted(fields)
