"""curl commands: what a browser copies becomes a request, what cannot be imitated is refused in words."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.errors import ConfigurationError
from domain.request_mix import RequestTemplate
from tipover.requests.curl import from_curl
from tipover.requests.redaction import redacted
from tipover.requests.secrets import Secrets
from tipover.requests.shell_words import shell_words

COPIED = r"""curl 'https://shop.test:8443/api/cart?lang=de&access_token=abc%2F1' \
  -X 'PUT' \
  -H 'Accept: */*' \
  -H 'Authorization: Bearer eyJhbGciOi' \
  -H 'Accept-Encoding: gzip, br' \
  -H 'Content-Type: application/json' \
  -b 'sid=0123456789; theme=dark' \
  --data-raw $'{"note":"it\'s \u00fcber","password":"hunter2"}' \
  --compressed -L"""


def imported(text: str, directory: Path = Path()) -> tuple[str | None, RequestTemplate]:
    found = from_curl(text, Secrets(), directory)
    (request,) = found.requests
    return found.base_url, request


def test_a_command_copied_from_a_browser() -> None:
    """Its credentials are names in it, in headers, query, cookies and body."""
    secrets = Secrets()
    found = from_curl(COPIED, secrets)
    (request,) = found.requests
    assert found.base_url == "https://shop.test:8443"
    values = secrets.environment()
    filled = {f"${{{name}}}": value for name, value in values.items()}
    assert request.method == "PUT"
    path, _, token = request.path.rpartition("=")
    assert (path, filled[token]) == ("/api/cart?lang=de&access_token", "abc%2F1")
    headers = dict(request.headers)
    assert list(headers) == ["Accept", "Authorization", "Content-Type", "Cookie"]
    assert filled[headers["Authorization"]] == "Bearer eyJhbGciOi"
    assert filled[headers["Cookie"]] == "sid=0123456789; theme=dark"
    before, _, rest = request.body.decode().partition('"password":"')
    assert before == '{"note":"it\'s über",'
    assert filled[rest.removesuffix('"}')] == "hunter2"
    assert [text.split(" is ")[0] for text in found.warnings] == [
        "curl --compressed",
        "curl -L",
        "curl's header Accept-Encoding",
    ]


@pytest.mark.parametrize(
    ("command", "method", "path", "headers", "body"),
    [
        ("curl http://h", "GET", "/", {}, b""),
        ("curl h/x -sSvo /dev/null", "GET", "/x", {}, b""),
        ("curl -I http://h", "HEAD", "/", {}, b""),
        ("curl -XPURGE http://h/a#b", "PURGE", "/a", {}, b""),
        ("curl --request M-SEARCH --url http://h", "M-SEARCH", "/", {}, b""),
        ("curl http://h/ä?ö", "GET", "/%C3%A4?%C3%B6", {}, b""),
        (
            "curl -d a=1 -d b=2 h",
            "POST",
            "/",
            {"Content-Type": "application/x-www-form-urlencoded"},
            b"a=1&b=2",
        ),
        ("curl -da=1 -H content-type:x h", "POST", "/", {"content-type": "x"}, b"a=1"),
        ("curl -d a=1 -H Content-Type: h", "POST", "/", {}, b"a=1"),
        ("curl -G -d a=ä -d b=2 'h/?c'", "GET", "/?c&a=%C3%A4&b=2", {}, b""),
        ("curl -G --data-urlencode 'q=a b&c' h", "GET", "/?q=a+b%26c", {}, b""),
        ("curl -G --data-urlencode '=a=b' --data-urlencode 'c d' h", "GET", "/?a%3Db&c+d", {}, b""),
        (
            """curl --json '{"a":' --json '1}' h""",
            "POST",
            "/",
            {"Content-Type": "application/json", "Accept": "application/json"},
            b'{"a":1}',
        ),
        ("curl -A me -e http://x/ h", "GET", "/", {"User-Agent": "me", "Referer": "http://x/"}, b""),
        ("curl -A me -H 'user-agent: you' h", "GET", "/", {"user-agent": "you"}, b""),
        ("curl -H 'X-A: 1' -H 'x-a: 2' -H 'X-E;' h", "GET", "/", {"X-A": "1, 2", "X-E": ""}, b""),
        ("curl -H 'Host: h:80' http://h", "GET", "/", {}, b""),
        ("curl -H 'Authorization: Bearer ${T}' h", "GET", "/", {"Authorization": "Bearer ${T}"}, b""),
        ("curl -d 'x=${not one}' -H Content-Type: h", "POST", "/", {}, b"x=$${not one}"),
        ("curl -g 'h/[a]'", "GET", "/[a]", {}, b""),
        ("curl \\\n  -s \\\n h\\\n/x", "GET", "/x", {}, b""),
        ("curl -- h", "GET", "/", {}, b""),
    ],
)
def test_commands(command: str, method: str, path: str, headers: dict[str, str], body: bytes) -> None:
    base_url, request = imported(command)
    assert base_url == "http://h"
    assert (request.method, request.path, dict(request.headers), request.body) == (
        method,
        path,
        headers,
        body,
    )


def test_files_are_read_as_curl_reads_them(tmp_path: Path) -> None:
    """-d without line ends, --data-binary with them, nothing in them a placeholder."""
    (tmp_path / "body").write_bytes(b"a\r\n${B}\xff\n")
    assert imported("curl -d @body -H Content-Type: h", tmp_path)[1].body == b"a$${B}\xff"
    assert imported("curl --data-binary @body -H Content-Type: h", tmp_path)[1].body == b"a\r\n$${B}\xff\n"
    assert imported("curl --data-raw @body -H Content-Type: h", tmp_path)[1].body == b"@body"
    assert imported("curl -G --data-urlencode n@body h", tmp_path)[1].path == "/?n=a%0D%0A%24%7BB%7D%FF%0A"


@pytest.mark.parametrize(
    "command", ["curl -u me:geheim h", "curl --user me:geheim h", "curl http://me:geheim@h/"]
)
def test_a_password_becomes_a_secret_header(command: str) -> None:
    secrets = Secrets()
    (request,) = from_curl(command, secrets).requests
    assert dict(request.headers) == {"Authorization": "${TIPOVER_SECRET_1}"}
    assert secrets.environment() == {"TIPOVER_SECRET_1": "Basic bWU6Z2VoZWlt"}
    assert "geheim" not in " ".join(redacted(["--curl", command], secrets))


def test_a_password_that_is_not_sent_is_not_recorded_either() -> None:
    secrets = Secrets()
    command = "curl -u me:geheim -H 'Authorization: ${A}' h"
    from_curl(command, secrets)
    assert "geheim" not in " ".join(redacted([command], secrets))


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("", "must start with curl"),
        ("wget h", "must start with curl"),
        ("curl 'h", "quote that is not closed"),
        ("curl", "must have one URL, not 0"),
        ("curl a b", "must have one URL, not 2"),
        ("curl ftp://h", "http or https"),
        ("curl http://[::1", "http or https"),
        ("curl h:99999", "http or https"),
        ("curl 'h/[1-9]'", "not expanded"),
        ("curl 'h/{a,b}'", "not expanded"),
        ("curl -k https://h", "--ca-file"),
        ("curl -sk https://h", "curl -k: is refused: certificates are verified"),
        ("curl --insecure https://h", "curl --insecure: is refused"),
        ("curl -F a=b h", "curl -F: is not supported"),
        ("curl -x p h", "curl -x: is not supported"),
        ("curl --digest h", "curl --digest: is not supported"),
        ("curl --bogus=geheim h", "curl --bogus: is not an option"),
        ("curl -Z h", "curl -Z: is not an option"),
        ("curl h -H", "curl -H: needs a value"),
        ("curl -H geheim h", "must be Name: value"),
        ("curl -H @file h", "a file of headers is not read"),
        ("curl -b jar h", "a file of cookies is not read"),
        ("curl -u geheim h", "nobody is asked"),
        ("curl -u 'a:${B}' h", "must be literal"),
        ("curl -d @- h", "standard input is not read"),
        ("curl -d @missing h", "cannot be read"),
        ("curl -H 'Host: other' h", "another one is not sent"),
        ("curl -X 'A B' h", "curl method"),
        ("curl $'-H' $'A: geheim\\nX: y' h", "line break"),
        ("curl h | jq .", "must be one command"),
        ("curl ^\n h", "must be one command"),
        ("curl -H 'Authorization: ${' h --next", "is not supported: one command"),
        ("curl " + "x" * 1_000_001, "must be at most"),
    ],
)
def test_what_cannot_be_imitated_is_refused(command: str, said: str, tmp_path: Path) -> None:
    """In one line each, without a value that might be a credential."""
    with pytest.raises(ConfigurationError) as caught:
        from_curl(command, Secrets(), tmp_path)
    assert said in str(caught.value)
    assert "geheim" not in str(caught.value)


@pytest.mark.parametrize("command", ["curl -k h", "curl -sSk http://h", "curl http://h --insecure"])
def test_without_certificates_there_is_nothing_to_trust(command: str) -> None:
    """``-k`` of an http URL changes nothing, and the letters beside it count."""
    made = from_curl(command, Secrets())
    assert [warning.partition(" is ignored: ")[2] for warning in made.warnings] == [
        "http has no certificates"
    ]
    assert from_curl("curl -kI http://h", Secrets()).requests[0].method == "HEAD"


def test_all_faults_are_told_at_once() -> None:
    with pytest.raises(ConfigurationError) as caught:
        from_curl("curl -k -F a=b --what a b", Secrets())
    assert len(caught.value.faults) == 4  # two URLs, too


def test_words_of_a_shell() -> None:
    text = r"""a 'b c' "d \" e" f\ g $'h\'\t\x41\u00e4\101' 'i\
j' "k\
l" m\
n '$'x"""
    assert shell_words(text) == ["a", "b c", 'd " e', "f g", "h'\tAäA", "i\\\nj", "kl", "mn", "$x"]


@given(st.text(max_size=60))
def test_no_text_breaks_it(text: str) -> None:
    """A request, or a fault that is told; never anything else."""
    for command in (text, f"curl {text}", f"curl h -H {text}"):
        with suppress(ConfigurationError):
            assert len(from_curl(command, Secrets(), Path("/nowhere")).requests) == 1
