"""Credentials: found by their names, replaced by names, and shown by nothing that anybody writes down."""

from __future__ import annotations

import copy
import json
import pickle
import shlex
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domain.errors import ConfigurationError
from domain.request_mix import RequestMix, RequestTemplate
from domain.value_json import encoded
from loadgen.mix import MixedRequests
from loadgen.request import Job
from tests.tipover.requests.sources import Requested, mix_from_options
from tipover.requests.redaction import redacted
from tipover.requests.secrets import (
    Secrets,
    is_sensitive,
    kept_body,
    kept_header,
    kept_path,
    missing_variables,
)

SECRET = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=8, max_size=24).map(
    lambda text: f"Zq7{text.replace('$', 'S')}"
)
"""Something that stands nowhere by chance."""
SENSITIVE = ("Authorization", "Proxy-Authorization", "X-Api-Key", "X-Auth-Token", "X-Client-Secret", "X-Csrf")


def shown(requested: Requested) -> str:
    """Everything that may be written of requests."""
    mix = requested.mix
    return "\n".join([json.dumps(encoded(mix), ensure_ascii=False), repr(requested), str(requested.secrets)])


@given(SECRET, st.sampled_from(SENSITIVE), st.booleans())
def test_a_header_given_as_an_option_is_not_written_down(secret: str, name: str, bearer: bool) -> None:
    value = f"Bearer {secret}" if bearer else secret
    line = f"{name}: {value}"
    requested = mix_from_options(url="http://h/", header=[line])
    assert secret not in shown(requested)
    assert list(requested.secrets.environment().values()) == [value]
    argv = ["tipover", "trigger", "-H", line, f"--header={line}", "--curl", f"curl -H {shlex.quote(line)} h"]
    assert secret not in " ".join(redacted(argv, requested.secrets))
    sent = MixedRequests(requested.mix, requested.secrets.environment(), 1).request(Job(1, 0.0, 0))
    assert dict(sent.headers) == {name: value}


@given(SECRET, st.sampled_from(["token", "api_key", "access-token", "sig", "session_id"]))
def test_a_parameter_of_a_url_is_not_written_down(secret: str, name: str) -> None:
    """And is sent as it was given."""
    url = f"http://h/x?a=1&{name}={quote(secret, safe='')}&b=2"
    requested = mix_from_options(url=url)
    assert secret not in shown(requested)
    assert quote(secret, safe="") not in shown(requested)
    recorded = " ".join(redacted(["--url", url, "--curl", f"curl '{url}'"], requested.secrets))
    assert quote(secret, safe="") not in recorded
    assert "a=1" in recorded
    sent = MixedRequests(requested.mix, requested.secrets.environment(), 1).request(Job(1, 0.0, 0))
    assert sent.path == url.removeprefix("http://h")


@settings(max_examples=60)
@given(SECRET, SECRET, SECRET, SECRET)
def test_no_credential_of_a_curl_command_is_written_down(
    user: str, cookie: str, query: str, body: str
) -> None:
    parts = [
        *("curl", f"http://h/?token={quote(query, safe='')}", "-u", f"me:{user}", "-b", f"a={cookie}"),
        *("--json", json.dumps({"password": body, "n": 1})),
    ]
    command = shlex.join(parts)
    requested = mix_from_options(curl=command)
    recorded = "\n".join(redacted(["--curl", command, *parts], requested.secrets))
    for secret in (user, cookie, query, body):
        assert secret not in shown(requested)
        assert secret not in recorded
    sent = MixedRequests(requested.mix, requested.secrets.environment(), 1).request(Job(1, 0.0, 0))
    assert json.loads(sent.body) == {"password": body, "n": 1}
    assert sent.headers["Cookie"] == f"a={cookie}"


@settings(max_examples=60)
@given(SECRET, SECRET, SECRET)
def test_no_credential_of_a_har_file_is_written_down(
    tmp_path_factory: pytest.TempPathFactory, header: str, cookie: str, query: str
) -> None:
    request = {
        "method": "GET",
        "url": f"http://h/?apikey={quote(query, safe='')}",
        "headers": [{"name": "authorization", "value": header}],
        "cookies": [{"name": "id", "value": cookie}],
    }
    path = Path(tmp_path_factory.getbasetemp() / "secret.har")
    path.write_text(json.dumps({"log": {"entries": [{"request": request}]}}))
    requested = mix_from_options(har=path)
    for secret in (header, cookie, query):
        assert secret not in shown(requested)
    sent = MixedRequests(requested.mix, requested.secrets.environment(), 1).request(Job(1, 0.0, 0))
    assert (sent.headers["authorization"], sent.headers["Cookie"]) == (header, f"id={cookie}")


@given(SECRET, st.sampled_from(["\r", "\n", "\0", "${"]))
def test_no_error_shows_a_credential(secret: str, broken: str) -> None:
    """Wherever it is and whatever is wrong with it."""
    bad = secret + broken
    wrong: list[dict[str, Any]] = [
        {"url": "http://h", "header": [f"Authorization: x{bad}y"]},
        {"url": "http://h", "header": [f"Bad Name: {bad}"], "path": "/x"},
        {"url": "http://h", "path": f"/?token={bad}"},
        {"url": "http://h", "header": [secret.replace(":", "")]},
        {"url": f"http://me:{quote(secret, safe='')}@h/"},
        {"url": f"nonsense://h/?token={secret}"},
        {"curl": shlex.join(["curl", "https://h", "-H", f"X-Token: a{bad}y", "-k"])},
        {"curl": shlex.join(["curl", f"ftp://{quote(secret)}@h", "-u", secret])},
        {"curl": "curl '" + secret.replace("'", "")},
    ]
    for options in wrong:
        with pytest.raises(ConfigurationError) as caught:
            mix_from_options(**options)
        assert secret not in str(caught.value)
        assert secret not in repr(caught.value.faults)


@pytest.mark.parametrize(
    "name", ["X-Request-Source", "Accept", "page", "author", "monkey", "design", "keys", "passage"]
)
def test_ordinary_names_are_left_alone(name: str) -> None:
    assert not is_sensitive(name, "1")


def test_a_bare_key_is_a_credential_if_it_looks_like_one() -> None:
    assert is_sensitive("key", "AIzaSyA0123456789abcdefghijk")
    assert not is_sensitive("key", "colour")


def test_secrets_show_names_only_and_are_not_written_down() -> None:
    secrets = Secrets()
    assert [secrets.keep("geheim"), secrets.keep("anders"), secrets.keep("geheim")] == [
        "${TIPOVER_SECRET_1}",
        "${TIPOVER_SECRET_2}",
        "${TIPOVER_SECRET_1}",
    ]
    assert repr(secrets) == str(secrets) == "Secrets(TIPOVER_SECRET_1, TIPOVER_SECRET_2)"
    assert len(secrets) == 2
    for write in (pickle.dumps, copy.copy, json.dumps):
        with pytest.raises(TypeError):
            write(secrets)  # type: ignore[operator]


def test_names_are_kept_beside_credentials() -> None:
    """Only the literal pairs of a cookie become secrets, and nothing that is a name already."""
    secrets = Secrets()
    assert kept_header("Cookie", "a=${A}; b=literal", secrets) == "a=${A}; b=${TIPOVER_SECRET_1}"
    assert kept_header("Authorization", "Bearer ${A}", secrets) == "Bearer ${A}"
    assert kept_header("Accept", "x", secrets) == "x"
    assert kept_header("Referer", "http://h/?token=x", secrets) == "http://h/?token=${TIPOVER_SECRET_2}"
    assert kept_path("/?token=${A}&a=b", secrets) == "/?token=${A}&a=b"


def test_bodies_that_are_neither_form_nor_json_are_left_alone() -> None:
    secrets = Secrets()
    for body in (b"\xff token=x", b"token=x", b"<password>x</password>"):
        assert kept_body(body, "text/plain", secrets) == body
    assert len(secrets) == 0
    assert kept_body(b'[{"a":"token", "to\\u006ben": "x\\"y" }]', "", secrets).endswith(
        b'"${TIPOVER_SECRET_1}" }]'
    )
    assert secrets.environment() == {"TIPOVER_SECRET_1": 'x\\"y'}


def test_a_command_line_without_secrets_is_recorded_as_it_is() -> None:
    assert redacted(["a", "b c"], Secrets()) == ["a", "b c"]


@pytest.mark.parametrize(
    ("argument", "recorded"),
    [
        ("-Hgeheim!x", "-H${TIPOVER_SECRET_1}"),
        ("x=geheim%21x", "x=${TIPOVER_SECRET_1}"),
        (r"curl -H A:geheim\!x", "<redacted>"),
        ("curl -H A:ge'heim!x'", "<redacted>"),
        ("x=%67eheim!x", "<redacted>"),
        ("geheim", "geheim"),
    ],
)
def test_other_notations_of_a_secret_are_not_recorded(argument: str, recorded: str) -> None:
    """What cannot be replaced inside an argument takes the argument with it."""
    secrets = Secrets()
    secrets.keep("geheim!x")
    assert redacted([argument], secrets) == [recorded]


def test_a_short_secret_is_replaced_where_it_is_a_word() -> None:
    secrets = Secrets()
    secrets.keep("1")
    assert redacted(["--rate=100", "?token=1&a"], secrets) == ["--rate=100", "?token=${TIPOVER_SECRET_1}&a"]


def test_missing_variables_are_told_with_their_fields() -> None:
    mix = RequestMix((RequestTemplate(path="/${A}${A}", headers=(("X", "${B}${C}"),)),))
    assert [str(fault) for fault in missing_variables(mix, {"B": "x", "C": ""})] == [
        "request[0].path: needs the environment variable A, which is not set or is empty",
        "request[0].headers.X: needs the environment variable C, which is not set or is empty",
    ]
