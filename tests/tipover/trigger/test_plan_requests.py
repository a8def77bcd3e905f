"""Options that say what is sent."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from domain.errors import ConfigurationError
from domain.request_mix import RequestMix, RequestTemplate
from tipover.requests.secrets import Secrets
from tipover.trigger.plan_requests import RequestOptions, changed, imported

TWO = RequestMix((RequestTemplate(path="/a", headers=(("X", "1"), ("Y", "2"))), RequestTemplate(path="/b")))


@pytest.mark.parametrize(
    ("url", "base", "path"),
    [
        ("http://h:1", "http://h:1", None),
        ("http://h:1/", "http://h:1/", None),
        ("http://h:1/work?x=1", "http://h:1", "/work?x=1"),
        ("https://[::1]:8443/é", "https://[::1]:8443", "/%C3%A9"),
        ("http://u:p@h/a", "http://u:p@h/a", None),
        ("h:1/a", "h:1/a", None),
    ],
)
def test_the_path_of_a_url_is_the_requests(url: str, base: str, path: str | None) -> None:
    """What is no URL, or carries credentials, is left as it is, to be refused."""
    options = RequestOptions(url=url).with_path_of_url()
    assert (options.url, options.path) == (base, path)


def test_a_path_that_is_given_stays() -> None:
    """Then the URL must be a base, which the plan's rules say."""
    assert RequestOptions(url="http://h/a", path="/b").with_path_of_url().url == "http://h/a"
    assert RequestOptions(url="http://h/a", curl="curl x").with_path_of_url().url == "http://h/a"


def test_headers_go_into_every_request() -> None:
    """They win over others of their name, whatever its case; credentials become names."""
    secrets = Secrets()
    mix = changed(TWO, RequestOptions(headers=("x: 3", "Authorization: Bearer abcdef")), secrets)
    own = (("x", "3"), ("Authorization", "${TIPOVER_SECRET_1}"))
    assert [request.headers for request in mix.requests] == [(("Y", "2"), *own), own]
    assert secrets.environment() == {"TIPOVER_SECRET_1": "Bearer abcdef"}


def test_method_path_and_body_are_those_of_the_only_request(tmp_path: Path) -> None:
    """A body makes it a POST; after an @ it is a file's, sent to the letter."""
    file = tmp_path / "body"
    file.write_bytes(b"\xff${x")
    one = changed(RequestMix(), RequestOptions(path="/p", body=f"@{file}"), Secrets()).requests[0]
    assert (one.method, one.path, one.body) == ("POST", "/p", b"\xff$${x")
    put = changed(RequestMix(), RequestOptions(method="PUT", body="ρ"), Secrets()).requests[0]
    assert (put.method, put.body) == ("PUT", "ρ".encode())


def test_nothing_asked_changes_nothing() -> None:
    """The mix of the file is then the mix."""
    assert changed(TWO, RequestOptions(), Secrets()) is TWO


@pytest.mark.parametrize(
    ("options", "fields"),
    [
        (RequestOptions(method="PUT", path="/x"), ["--method", "--path"]),
        (RequestOptions(headers=("nothing",)), ["--header"]),
        (RequestOptions(headers=("Host: x",)), ["--header Host"]),
    ],
)
def test_what_cannot_be_sent_is_told_under_its_option(options: RequestOptions, fields: list[str]) -> None:
    """A header that is wrong in both requests is told once; its value is not told."""
    with pytest.raises(ConfigurationError) as refused:
        changed(TWO, options, Secrets())
    assert [fault.field for fault in refused.value.faults] == fields


def test_sources_contradict_each_other() -> None:
    """One of them says everything; what is of an OpenAPI document needs one."""
    both = RequestOptions(curl="curl x", har=Path("x"), operations=("a",), allow_writes=True)
    assert [fault.field for fault in both.faults] == ["--har", "--operation"]
    assert [fault.field for fault in RequestOptions(allow_writes=True).faults] == ["--allow-writes"]


def test_a_curl_command_says_what_and_where() -> None:
    """Without a source there is nothing to import."""
    found = imported(RequestOptions(curl="curl http://h:1/a -X DELETE"), Secrets())
    assert found is not None
    assert (found.base_url, found.requests) == ("http://h:1", (RequestTemplate("DELETE", "/a"),))
    assert imported(RequestOptions(), Secrets()) is None


def test_a_recording_of_production_may_be_sent_to_staging(tmp_path: Path) -> None:
    """Its most frequent origin then; the target's own if it was recorded."""
    urls = ["http://a/1", "http://a/2", "http://b/3"]
    entries = [{"request": {"method": "GET", "url": url, "headers": [], "queryString": []}} for url in urls]
    har = tmp_path / "x.har"
    har.write_text(json.dumps({"log": {"version": "1.2", "entries": entries}}))
    paths = {}
    for url in (None, "http://b", "http://staging"):
        found = imported(RequestOptions(url=url, har=har), Secrets())
        assert found is not None
        paths[url] = [request.path for request in found.requests]
    assert paths == {None: ["/1", "/2"], "http://b": ["/3"], "http://staging": ["/1", "/2"]}
