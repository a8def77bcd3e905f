"""What an instant query says, and what must never be seen of the token."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.errors import ConfigurationError, ExitCode
from tests.servers import Behaviour, serving
from tests.tipover.trigger.guards.answers import answering, said, saying
from tipover.trigger.guards.bounded_http import Answer
from tipover.trigger.guards.prometheus import TOKEN_VARIABLE, PrometheusClient, reading_of

SECRET = "s3cr3t-t0ken"


def vector(*values: str) -> list[object]:
    """Samples of an instant vector."""
    return [{"metric": {"pod": str(n)}, "value": [1700000000.1, value]} for n, value in enumerate(values)]


def test_a_scalar_and_a_vector_of_one_sample_are_numbers() -> None:
    assert reading_of(Answer(200, said("scalar", [1.0, "2.5"]))).value == 2.5
    assert reading_of(Answer(200, said("vector", vector("17")))).value == 17.0


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (Answer(200, said("vector", [])), "empty vector"),
        (Answer(200, said("vector", vector("1", "2"))), "2 samples where one was expected"),
        (Answer(200, said("matrix", [])), "a matrix where"),
        (Answer(200, said("string", [1.0, "7"])), "a string where"),
        (Answer(200, said("vector", [{"metric": {}}])), "not an answer of Prometheus"),
        (Answer(200, said("scalar", [1.0, "many"])), "not an answer of Prometheus"),
        (Answer(200, said("scalar", None)), "not an answer of Prometheus"),
        (Answer(200, b'{"status": "success"}'), "not an answer of Prometheus"),
        (Answer(200, b"<html>"), "status 200, not an answer of Prometheus"),
        (Answer(200, b"[1]"), "status 200, not an answer of Prometheus"),
        (Answer(200, b"[" * 100_000), "not an answer of Prometheus"),
        (Answer(400, b'{"status":"error","error":"parse\\nerror"}'), "status 400: parse error"),
        (Answer(200, b'{"status":"error","error":"timeout"}'), "status 200: timeout"),
        (Answer(503, b""), "status 503"),
        (Answer(302, said("scalar", [1.0, "0"])), "status 302"),
        (Answer(None, error="no answer within 1 s"), "no answer within 1 s"),
    ],
)
def test_everything_else_is_no_value_and_says_why(answer: Answer, why: str) -> None:
    reading = reading_of(answer)
    assert reading.value is None
    assert why in reading.error


@given(
    body=st.one_of(
        st.binary(max_size=60),
        st.recursive(
            st.none() | st.booleans() | st.floats() | st.text(max_size=5),
            lambda inner: (
                st.lists(inner, max_size=3)
                | st.dictionaries(
                    st.sampled_from(["status", "data", "resultType", "result", "value", "error"]),
                    inner,
                    max_size=4,
                )
            ),
            max_leaves=8,
        ).map(lambda made: json.dumps(made).encode()),
    )
)
def test_no_answer_breaks_it(body: bytes) -> None:
    """Only something that says success has a value."""
    reading = reading_of(Answer(200, body))
    assert (reading.value is None) == bool(reading.error)


@pytest.mark.sockets
@pytest.mark.parametrize(
    ("behaviour", "value"),
    [
        (saying("vector", vector("3")), 3.0),
        (saying("vector", []), None),
        (saying("scalar", [1.0, "NaN"]), None),
        (saying("scalar", [1.0, "+Inf"]), None),
        (answering(500), None),
    ],
)
def test_an_instant_query_gives_a_finite_number_or_none(behaviour: Behaviour, value: float | None) -> None:
    with serving(behaviour) as log:
        assert PrometheusClient(f"http://127.0.0.1:{log.port}", environment={}).instant("up") == value


@pytest.mark.sockets
def test_not_a_number_can_be_told_from_no_value() -> None:
    with serving(saying("scalar", [1.0, "NaN"])) as log:
        value = PrometheusClient(f"http://127.0.0.1:{log.port}", environment={}).read("x").value
    assert value is not None
    assert math.isnan(value)


@pytest.mark.sockets
def test_the_query_is_escaped_and_the_prefix_kept() -> None:
    with serving(saying("scalar", [1.0, "0"])) as log:
        PrometheusClient(f"http://127.0.0.1:{log.port}/prom/", environment={}).instant(
            'sum(a{b="c d"}) > 1&x=2'
        )
    line = log.requests[0][1].split(b"\r\n")[0]
    assert line == (b"GET /prom/api/v1/query?query=sum%28a%7Bb%3D%22c+d%22%7D%29+%3E+1%26x%3D2 HTTP/1.1")
    assert b"Authorization" not in log.requests[0][1]


@pytest.mark.sockets
def test_the_token_is_sent_and_shown_nowhere() -> None:
    with serving(answering(401, b'{"status":"error","error":"no"}')) as log:
        client = PrometheusClient(f"http://127.0.0.1:{log.port}", environment={TOKEN_VARIABLE: SECRET})
        error = client.read("up").error
    assert f"Authorization: Bearer {SECRET}\r\n".encode() in log.requests[0][1]
    assert SECRET not in error + repr(client) + str(client)


@pytest.mark.sockets
def test_the_token_does_not_follow_a_redirect() -> None:
    with serving(saying("scalar", [1.0, "0"])) as other:
        location = f"Location: http://127.0.0.1:{other.port}/"
        with serving(answering(307, b"", location)) as log:
            client = PrometheusClient(f"http://127.0.0.1:{log.port}", environment={TOKEN_VARIABLE: SECRET})
            assert client.instant("up") is None
        assert other.connections == 0


@pytest.mark.parametrize(
    ("url", "token", "said"),
    [
        ("http://me:pass@127.0.0.1:9090", "", "name or password"),
        ("http://127.0.0.1:9090/?query=up", "", "base URL"),
        ("http://169.254.169.254/", "", "metadata"),
        ("http://10.1.2.3:9090", SECRET, "in the clear"),
        ("http://127.0.0.1:9090", f"{SECRET}\r\nX: y", "printable"),
    ],
)
def test_what_cannot_be_asked_is_refused(url: str, token: str, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said) as caught:
        PrometheusClient(url, environment={TOKEN_VARIABLE: token})
    assert caught.value.exit_code == ExitCode.CONFIGURATION
    assert "pass@" not in str(caught.value)
    assert SECRET not in str(caught.value)
