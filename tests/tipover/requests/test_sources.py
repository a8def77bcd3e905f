"""The options of a command line and one source of requests, together."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from domain.errors import ConfigurationError
from domain.request_mix import RequestMix, RequestTemplate, Success
from tipover.requests.files import mix_from_sources


def faults_of(**options: Any) -> list[str]:
    with pytest.raises(ConfigurationError) as caught:
        mix_from_sources(**options)
    return [fault.field for fault in caught.value.faults]


def test_without_options_it_is_the_default() -> None:
    base_url, mix, secrets, warnings = mix_from_sources()
    assert (base_url, mix, len(secrets), warnings) == (None, RequestMix(), 0, ())


def test_a_url_carries_a_path_or_the_path_is_given() -> None:
    found = mix_from_sources(url="localhost:8000/x?a=1")
    assert (found.base_url, found.mix.requests) == (
        "http://localhost:8000",
        (RequestTemplate(path="/x?a=1"),),
    )
    found = mix_from_sources(url="https://h:443/", path="/a b/ä")
    assert (found.base_url, found.mix.requests[0].path) == ("https://h:443", "/a%20b/%C3%A4")


def test_one_request_of_options_alone(tmp_path: Path) -> None:
    (tmp_path / "body").write_bytes(b"${x")
    found = mix_from_sources(
        method="put",
        path="/x",
        headers=["Accept: a", "accept:b", "X-Empty:"],
        body="@body",
        statuses=["2xx,404", "500-503"],
        body_match="ok",
        directory=tmp_path,
    )
    assert found.mix == RequestMix(
        (RequestTemplate("PUT", "/x", (("Accept", "a, b"), ("X-Empty", "")), b"$${x"),),
        Success(((200, 299), (404, 404), (500, 503)), "ok"),
    )
    assert mix_from_sources(body="${B}").mix.requests == (RequestTemplate("POST", body=b"${B}"),)


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
    found = mix_from_sources(har=har, headers=["Authorization: ${NEW}"])
    assert found.base_url == "http://h"
    assert [request.headers for request in found.mix.requests] == [(("Authorization", "${NEW}"),)] * 2


def test_a_curl_command_may_be_in_a_file_and_go_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "command").write_text("curl \\\n http://there/x -L\n")
    found = mix_from_sources(curl="@command", url="http://127.0.0.1:80", directory=tmp_path)
    assert (found.base_url, found.mix.requests[0].path) == ("http://127.0.0.1:80", "/x")
    assert len(found.warnings) == 1
    assert mix_from_sources(curl="@command", directory=tmp_path).base_url == "http://there"


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
    found = mix_from_sources(
        openapi=path, url="http://h/v2", operations=["y"], allow_writes=True, headers=["A: b"]
    )
    assert (found.base_url, found.mix.requests) == (
        "http://h",
        (RequestTemplate("POST", "/v2/x", (("A", "b"),), name="y"),),
    )
    assert found.warnings == ()
    assert "key" in mix_from_sources(openapi=path, url="http://h", operations=["x"]).warnings[0]


@pytest.mark.parametrize(
    ("options", "fields"),
    [
        ({"url": "ftp://h"}, ["--url"]),
        ({"url": "http://"}, ["--url"]),
        ({"url": "http://[x"}, ["--url"]),
        ({"url": "http://h:x"}, ["--url"]),
        ({"url": "http://me:pw@h"}, ["--url"]),
        ({"url": "http://h/x", "path": "/y"}, ["--path"]),
        ({"url": "http://h/x", "curl": "curl h"}, ["--url"]),
        ({"curl": "curl h", "har": Path("x")}, ["--har"]),
        ({"curl": "curl h", "method": "GET", "path": "/", "body": ""}, ["--method", "--path", "--body"]),
        ({"curl": "curl h", "operations": ["x"]}, ["--operation"]),
        ({"curl": "@missing"}, ["--curl"]),
        ({"har": Path("missing")}, ["har"]),
        ({"openapi": Path("missing")}, ["openapi"]),
        ({"body": "@missing"}, ["--body"]),
        ({"method": "A B", "path": "x"}, ["--method", "--path"]),
        ({"headers": ["x", "Host: y", "A: b\nc"]}, ["--header", "--header Host", "--header A"]),
        ({"statuses": ["2xx,9", "x"]}, ["--status", "--status"]),
        ({"body_match": "("}, ["--body-match"]),
        ({"body_match": "x", "method": "HEAD"}, ["request[0].method"]),
        (
            {"url": "ftp://h", "headers": ["x"], "statuses": ["1"], "body_match": "(", "curl": "curl -k h"},
            ["--url", "--header", "--status", "--body-match"],
        ),
        ({"statuses": ["1"], "curl": "curl -k -F a https://h"}, ["--status", "curl -F", "curl -k"]),
    ],
)
def test_all_faults_are_told_at_once(options: dict[str, Any], fields: list[str], tmp_path: Path) -> None:
    assert faults_of(**options, directory=tmp_path) == fields
