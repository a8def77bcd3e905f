"""HAR files: the target's requests with their weights, and nothing that only the recorded client knew."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domain.errors import ConfigurationError
from tipover.requests import har
from tipover.requests.har import from_har
from tipover.requests.imported import Imported
from tipover.requests.secrets import Secrets

Entry = dict[str, Any]


def entry(url: str, method: str = "GET", headers: dict[str, str] | None = None, **more: Any) -> Entry:
    pairs = [{"name": name, "value": value} for name, value in (headers or {}).items()]
    return {"request": {"method": method, "url": url, "headers": pairs, **more}}


def written(directory: Path, *entries: Entry) -> Path:
    path = directory / "recorded.har"
    path.write_text(json.dumps({"log": {"version": "1.2", "entries": list(entries)}}))
    return path


def imported(directory: Path, *entries: Entry, **options: Any) -> Imported:
    return from_har(written(directory, *entries), Secrets(), **options)


def test_the_origin_with_most_requests_is_the_target(tmp_path: Path) -> None:
    """What went elsewhere is left out and counted; equal requests become one."""
    shop, cdn = "https://shop.test", "https://cdn.test"
    found = imported(
        tmp_path,
        entry(f"{shop}/a?b=1#c"),
        entry(f"{shop}:443/a?b=1"),
        entry(f"{cdn}/x.js"),
        entry("data:text/plain,x"),
        entry(f"{shop}/b"),
    )
    assert found.base_url == shop
    assert [(request.path, request.weight) for request in found.requests] == [("/a?b=1", 2.0), ("/b", 1.0)]
    assert found.warnings == ("2 of the HAR file's 5 requests went elsewhere and are left out",)


def test_a_url_names_the_target(tmp_path: Path) -> None:
    entries = (entry("http://a/1"), entry("http://a/2"), entry("http://b:81/3"))
    assert [r.path for r in imported(tmp_path, *entries, url="http://b:81").requests] == ["/3"]
    with pytest.raises(ConfigurationError, match="has no request to http://c; it has some to http://a"):
        imported(tmp_path, *entries, url="http://c")


def test_only_headers_of_the_request_itself_are_sent(tmp_path: Path) -> None:
    names = (":authority", ":path", "Host", "Connection", "Content-Length", "Accept-Encoding", "Accept", "TE")
    (request,) = imported(tmp_path, entry("http://h/", headers=dict.fromkeys(names, "x"))).requests
    assert request.headers == (("Accept", "x"),)


def test_credentials_become_names_that_equal_requests_share(tmp_path: Path) -> None:
    secrets = Secrets()
    one = entry(
        "http://h/?api_key=geheim1", headers={"authorization": "Bearer geheim2", "Cookie": "a=geheim3"}
    )
    other = entry("http://h/", cookies=[{"name": "a", "value": "geheim3"}])
    found = from_har(written(tmp_path, one, one, other), secrets)
    assert [request.weight for request in found.requests] == [2.0, 1.0]
    assert "geheim" not in repr(found)
    assert sorted(secrets.environment().values()) == ["Bearer geheim2", "a=geheim3", "geheim1"]


def test_a_dollar_that_was_recorded_is_a_dollar(tmp_path: Path) -> None:
    (request,) = imported(tmp_path, entry("http://h/${A}", headers={"X": "${B}"})).requests
    assert (request.path, request.headers) == ("/$${A}", (("X", "$${B}"),))


@pytest.mark.parametrize(
    ("posted", "body"),
    [
        ({"mimeType": "text/plain", "text": "grün ${x}"}, "grün $${x}".encode()),
        ({"mimeType": "image/png", "text": "/wA=", "encoding": "base64"}, b"\xff\x00"),
        (
            {"mimeType": "application/x-www-form-urlencoded", "params": [{"name": "a", "value": "b c"}]},
            b"a=b+c",
        ),
        ({"mimeType": "", "text": ""}, b""),
    ],
)
def test_bodies(tmp_path: Path, posted: dict[str, Any], body: bytes) -> None:
    (request,) = imported(tmp_path, entry("http://h/", "POST", postData=posted), unsafe=True).requests
    assert request.body == body
    assert dict(request.headers).get("Content-Type", "") == posted["mimeType"]


def test_writes_need_a_flag(tmp_path: Path) -> None:
    """A load test sends each thousands of times."""
    entries = (
        entry("http://h/", "POST"),
        entry("http://h/", "POST"),
        entry("http://h/", "DELETE"),
        entry("http://h/"),
    )
    with pytest.raises(ConfigurationError) as caught:
        imported(tmp_path, *entries)
    (fault,) = caught.value.faults
    assert "--allow-writes" in fault.rule
    assert fault.value == "POST ×2, DELETE ×1"
    assert len(imported(tmp_path, *entries, unsafe=True).requests) == 3


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        (b"", "must be JSON"),
        (b"{", "must be JSON: Expecting property name"),
        (b"\xff", "must be JSON in UTF-8"),
        (b"[" * 200_000, "not too deeply nested"),
        (b"[" + b"9" * 5000 + b"]", "must be JSON"),
        (b"[]", "log.entries"),
        (b'{"log": {"entries": {}}}', "log.entries"),
        (b'{"log": {"entries": []}}', "must hold a request"),
        (b'{"log": {"entries": [1]}}', "har.entries[0]: must have a request with a url"),
        (b'{"log": {"entries": [{"request": {"url": 1}}]}}', "har.entries[0]"),
        (b'{"log": {"entries": [{"request": {"url": "http://[::1"}}]}}', "must hold a request"),
        (b'{"log": {"entries": [{"request": {"url": "http://h"}}]}}', "har.entries[0].method: must be text"),
    ],
)
def test_what_is_no_har_is_refused(tmp_path: Path, broken: bytes, said: str) -> None:
    path = tmp_path / "x.har"
    path.write_bytes(broken)
    with pytest.raises(ConfigurationError) as caught:
        from_har(path, Secrets())
    assert said in str(caught.value)


@pytest.mark.parametrize(
    "more",
    [
        {"method": "A B"},
        {"headers": {}, "cookies": 1},
        {"headers": [1]},
        {"headers": [{"name": "A", "value": "geheim\nX: y"}]},
        {"headers": [{"name": "A B", "value": "geheim"}]},
        {"headers": [{"name": "A", "value": 1}]},
        {"postData": 1},
        {"postData": {"text": "geheim!", "encoding": "base64"}},
        {"postData": {"mimeType": "multipart/form-data", "params": [{"name": "a", "value": "geheim"}]}},
    ],
)
def test_a_broken_entry_is_named_and_not_shown(tmp_path: Path, more: dict[str, Any]) -> None:
    broken = entry("http://h/?q=geheim")
    broken["request"].update(more)
    with pytest.raises(ConfigurationError) as caught:
        imported(tmp_path, entry("http://h/"), broken, unsafe=True)
    assert "har.entries[1]" in str(caught.value)
    assert "geheim" not in str(caught.value)


def test_a_file_that_is_too_large_or_missing_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(har, "MAX_HAR_BYTES", 100)
    with pytest.raises(ConfigurationError, match="at most 100 bytes"):
        imported(tmp_path, entry("http://h/" + "x" * 100))
    with pytest.raises(ConfigurationError, match="cannot be read"):
        from_har(tmp_path / "none.har", Secrets())


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.just("http://h/"),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["name", "value", "text", "params", "mimeType", "encoding", "method", "url"]),
            inner,
        )
    ),
    max_leaves=6,
)


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(st.sampled_from(["method", "headers", "cookies", "postData"]), JSON))
def test_no_entry_breaks_it(tmp_path_factory: pytest.TempPathFactory, more: dict[str, Any]) -> None:
    """A request, or a fault that is told; never anything else."""
    broken = entry("http://h/")
    broken["request"].update(more)
    path = written(tmp_path_factory.getbasetemp(), broken)
    with suppress(ConfigurationError):
        assert len(from_har(path, Secrets(), unsafe=True).requests) == 1
