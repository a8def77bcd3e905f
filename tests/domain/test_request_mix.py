"""What is sent, as a value: its rules, its JSON, and what a placeholder is."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.errors import Fault
from domain.placeholders import broken_rule, filled, literal, names_in_text
from domain.request_mix import MAX_BODY_BYTES, RequestMix, RequestTemplate, Success
from domain.value_json import decoded, encoded

TOKEN = st.from_regex(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,12}", fullmatch=True)
TEXT = st.text(st.characters(min_codepoint=32, exclude_characters="\x7f", exclude_categories=("Cs",)))
HEADERS = st.dictionaries(TOKEN.map(lambda name: f"X-A-{name.lower()}"), TEXT.map(literal), max_size=4).map(
    lambda headers: tuple(headers.items())
)
REQUEST = st.builds(
    RequestTemplate,
    method=TOKEN.map(str.upper).filter(lambda method: method != "HEAD"),
    path=st.from_regex(r"/[A-Za-z0-9?&=%._~-]{0,20}", fullmatch=True),
    headers=HEADERS,
    body=st.binary(max_size=50).map(lambda body: body.replace(b"${", b"$${")),
    weight=st.floats(1e-3, 1e6),
    name=TEXT,
)
SUCCESS = st.builds(
    Success,
    st.lists(st.tuples(st.integers(200, 400), st.integers(400, 999)), min_size=1, max_size=3).map(tuple),
    st.sampled_from([None, '"ok":\\s*true', "grün|blau"]),
)


def read(data: object) -> RequestMix:
    """The mix of JSON; raises ``ValueError`` with all that is wrong."""
    faults: list[Fault] = []
    mix: RequestMix = decoded(RequestMix, data, "mix", faults)
    if faults:
        raise ValueError("; ".join(map(str, faults)))
    return mix


@given(st.lists(REQUEST, min_size=1, max_size=4).map(tuple), SUCCESS)
def test_what_is_written_is_read_again(requests: tuple[RequestTemplate, ...], success: Success) -> None:
    """Bodies that are no text too."""
    mix = RequestMix(requests, success)
    assert read(json.loads(json.dumps(encoded(mix)))) == mix


def test_what_is_left_out_is_the_default() -> None:
    assert read({}) == RequestMix()
    assert read({"requests": [{"path": "/x"}]}) == RequestMix((RequestTemplate(path="/x"),))


def test_bytes_that_are_no_text_are_written_as_base64() -> None:
    mix = RequestMix((RequestTemplate("POST", body=b"\xff\x00"), RequestTemplate("POST", body="ä".encode())))
    assert [request["body"] for request in encoded(mix)["requests"]] == [{"base64": "/wA="}, "ä"]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ([], "mix: must be a JSON object"),
        ({"requests": {}}, "mix.requests: must be a list"),
        ({"requests": []}, "request: must have from 1 to"),
        ({"requests": [{"method": "GET", "paht": "/"}]}, "mix.requests[0].paht: is not one of"),
        ({"requests": [{"method": 1}]}, "mix.requests[0].method: must be text"),
        ({"requests": [{"headers": {"A": "b"}}]}, "mix.requests[0].headers: must be a list"),
        ({"requests": [{"headers": [["A"]]}]}, "mix.requests[0].headers[0]: must be a list of 2"),
        ({"requests": [{"body": {"base64": "!"}}]}, "mix.requests[0].body: must be text or"),
        ({"requests": [{"body": {"base64": "", "text": ""}}]}, "mix.requests[0].body: must be text or"),
        ({"requests": [{"body": "\ud800"}]}, "mix.requests[0].body: must be text or"),
        ({"requests": [{"weight": True}]}, "mix.requests[0].weight: must be a number"),
        ({"requests": [{"weight": float("nan")}]}, "mix.requests[0].weight: must be a number"),
        ({"success": {"statuses": [[200, True]]}}, "mix.success.statuses[0][1]: must be a whole number"),
        ({"success": {"statuses": [[300, 200]]}}, "statuses: must be HTTP statuses"),
        ({"success": {"body_match": "("}}, "body_match: must be a regular expression"),
    ],
)
def test_nonsense_is_refused(data: Any, said: str) -> None:
    with pytest.raises(ValueError, match=r".") as caught:
        read(data)
    assert said in str(caught.value)


def test_all_faults_of_a_file_are_told_at_once() -> None:
    with pytest.raises(ValueError, match=r".") as caught:
        read({"requests": [{"path": "x"}, {"weight": 0}], "success": {"statuses": []}})
    assert str(caught.value).count(";") == 2


@pytest.mark.parametrize(
    ("settings", "field"),
    [
        ({"method": ""}, "method"),
        ({"method": "GE T"}, "method"),
        ({"method": "GET\r\n"}, "method"),
        ({"method": "GÉT"}, "method"),
        ({"path": "x"}, "path"),
        ({"path": "/a b"}, "path"),
        ({"path": "/a\r\nX: y"}, "path"),
        ({"path": "/ä"}, "path"),
        ({"path": "/a#b"}, "path"),
        ({"path": "/${1}"}, "path"),
        ({"path": "/" + "x" * 70_000}, "path"),
        ({"headers": (("A b", "c"),)}, "headers"),
        ({"headers": (("A:", "c"),)}, "headers"),
        ({"headers": (("A", "b\nc"),)}, "headers.A"),
        ({"headers": (("A", "b\0"),)}, "headers.A"),
        ({"headers": (("A", "\ud800"),)}, "headers.A"),
        ({"headers": (("A", "b"), ("a", "c"))}, "headers.a"),
        ({"headers": (("A", "${"),)}, "headers.A"),
        ({"body": b"${not a name}"}, "body"),
        ({"body": b"x" * (MAX_BODY_BYTES + 1)}, "body"),
        ({"weight": 0}, "weight"),
        ({"weight": float("inf")}, "weight"),
        *(
            ({"headers": ((name, "x"),)}, f"headers.{name}")
            for name in (
                "host",
                "Content-Length",
                "Transfer-Encoding",
                "Connection",
                "X-Request-Id",
                "X-ATTEMPT",
            )
        ),
    ],
)
def test_a_request_that_cannot_be_sent_is_refused(settings: dict[str, Any], field: str) -> None:
    with pytest.raises(ValueError, match=r".") as caught:
        RequestTemplate(**settings)
    assert str(caught.value).startswith(f"{field}: ")


@pytest.mark.parametrize("method", ["GET", "M-SEARCH", "PROPFIND", "purge"])
def test_any_method_may_be_sent(method: str) -> None:
    assert RequestTemplate(method).method == method.upper()


@pytest.mark.parametrize("pattern", ["(", "(?u)a", "a{99999999999}", "(?<=a+)b"])
def test_a_pattern_that_bytes_cannot_be_searched_for_is_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match="body_match"):
        Success(body_match=pattern)


def test_a_body_that_nobody_could_search_is_refused() -> None:
    """No body answers HEAD, and a compressed one is not read."""
    success = Success(body_match="ok")
    with pytest.raises(ValueError, match="HEAD"):
        RequestMix((RequestTemplate("HEAD"),), success)
    with pytest.raises(ValueError, match="identity"):
        RequestMix((RequestTemplate(headers=(("Accept-Encoding", "gzip"),)),), success)
    RequestMix((RequestTemplate(headers=(("Accept-Encoding", "identity"),)),), success)


@given(st.text(st.sampled_from("${}AB_1 x"), max_size=30))
def test_literal_text_comes_out_as_it_went_in(text: str) -> None:
    """Whatever dollars and braces are in it."""
    assert broken_rule(literal(text)) is None
    assert names_in_text(literal(text)) == ()
    assert filled(literal(text), pytest.fail) == text


def test_values_are_put_in_the_place_of_names_and_not_read_again() -> None:
    assert filled("a${B}c$${D}$", {"B": "${E}$${F}"}.__getitem__) == "a${E}$${F}c${D}$"


def test_every_field_that_needs_a_variable_is_named() -> None:
    mix = RequestMix(
        (RequestTemplate(), RequestTemplate("POST", "/${P}", (("A", "x${H}"),), b"${B}${B}$${C}")),
    )
    assert list(mix.placeholders()) == [
        ("request[1].path", "P"),
        ("request[1].headers.A", "H"),
        ("request[1].body", "B"),
        ("request[1].body", "B"),
    ]
