"""Which request a job sends, with which values in it, and what is told when one is missing."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.errors import ConfigurationError
from domain.request_mix import RequestMix, RequestTemplate, Success
from loadgen.mix import MixedRequests
from loadgen.request import Job, Request, RequestEncoder

SECRET = "s3cr3t-ZZZ"


def job(number: int) -> Job:
    return Job(number, 0.0, 0)


def mixed(*requests: RequestTemplate, seed: int = 1, **environ: str) -> MixedRequests:
    return MixedRequests(RequestMix(requests), environ, seed)


def test_requests_are_chosen_by_their_weights() -> None:
    """Each number within five standard deviations of what its weight says."""
    weights = (1.0, 2.0, 7.0)
    mix = mixed(*(RequestTemplate(path=f"/{weight:g}", weight=weight) for weight in weights))
    jobs = 20_000
    counts = Counter(mix.request(job(number)).path for number in range(jobs))
    for weight in weights:
        share = weight / sum(weights)
        assert abs(counts[f"/{weight:g}"] - jobs * share) < 5 * (jobs * share * (1 - share)) ** 0.5


def test_neighbouring_jobs_are_independent() -> None:
    """Of two equal requests, the next job's is the same as this one's in half of all cases."""
    mix = mixed(RequestTemplate(path="/a"), RequestTemplate(path="/b"))
    chosen = [mix.request(job(number)).path for number in range(10_000)]
    same = sum(this == following for this, following in pairwise(chosen))
    assert abs(same - 5000) < 250


@given(st.integers(0, 2**62), st.integers(0, 2**63 - 1))
def test_a_job_keeps_its_request(number: int, seed: int) -> None:
    """For every attempt, in another order, in another process with the seed."""
    templates = [RequestTemplate(path=f"/{index}", weight=index + 1) for index in range(5)]
    one, other = mixed(*templates, seed=seed), mixed(*templates, seed=seed)
    first = one.request(job(number))
    one.request(job(number + 1))
    assert one.request(job(number)) is first
    assert other.request(job(number)) == first


def test_another_seed_chooses_otherwise() -> None:
    templates = [RequestTemplate(path=f"/{index}") for index in range(4)]
    one, other = mixed(*templates, seed=1), mixed(*templates, seed=2)
    assert [one.request(job(n)).path for n in range(50)] != [other.request(job(n)).path for n in range(50)]


def test_values_come_from_the_environment() -> None:
    """Percent-encoded in a path, as UTF-8 in a header, as it is in a body."""
    template = RequestTemplate(
        "POST", "/x?q=${Q}", (("Authorization", "Bearer ${T}"), ("X-Not", "$${T}")), b'{"a":"${T}"}'
    )
    request = mixed(template, Q="a b&c/ä", T="grün").request(job(1))
    assert request.path == "/x?q=a%20b%26c%2F%C3%A4"
    assert request.headers["X-Not"] == "${T}"
    sent = RequestEncoder("host", "token").encode(request, 1, 1, 1.0)
    assert "Authorization: Bearer grün\r\n".encode() in sent
    assert sent.endswith('{"a":"grün"}'.encode())


def test_what_stood_literally_in_a_path_is_put_back_as_it_was() -> None:
    request = mixed(RequestTemplate(path="/?token=${TIPOVER_SECRET_1}"), TIPOVER_SECRET_1="a+b%2Fc").request(
        job(1)
    )
    assert request.path == "/?token=a+b%2Fc"


@pytest.mark.parametrize("bad", ["\r", "\n", "\0", "\x1b", "\x7f"])
@pytest.mark.parametrize(
    "template", [RequestTemplate(path="/${V}"), RequestTemplate(headers=(("A", "${V}"),))]
)
def test_a_value_cannot_add_a_header(template: RequestTemplate, bad: str) -> None:
    """The variable is named, its value is not."""
    with pytest.raises(ConfigurationError) as caught:
        mixed(template, V=f"{SECRET}{bad}X-Evil: 1")
    assert "variable V" in str(caught.value)
    assert SECRET not in str(caught.value)
    assert SECRET not in repr(caught.value.faults)


def test_every_missing_variable_is_told_at_once() -> None:
    with pytest.raises(ConfigurationError) as caught:
        mixed(RequestTemplate(path="/${A}${A}"), RequestTemplate(headers=(("X-B", "${B}"),)), B="")
    assert [str(fault) for fault in caught.value.faults] == [
        "request[0].path: needs the environment variable A, which is not set",
        "request[1].headers.X-B: needs the environment variable B, which is empty",
    ]


def test_a_literal_value_that_no_path_can_hold_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="percent-encoded"):
        mixed(RequestTemplate(path="/${TIPOVER_SECRET_1}"), TIPOVER_SECRET_1="a b")


def test_statuses_and_bodies_that_count() -> None:
    mix = MixedRequests(RequestMix(success=Success(((200, 204), (418, 418)), "grün")), {}, 1)
    assert [status for status in range(-5, 1100) if mix.is_success(status)] == [200, 201, 202, 203, 204, 418]
    assert mix.body_match is not None
    assert mix.body_match.search("alles grün".encode())
    assert MixedRequests(RequestMix(), {}, 1).body_match is None


@pytest.mark.parametrize(
    "settings",
    [
        {"method": "GET X"},
        {"method": ""},
        {"path": "/ä"},
        {"path": "/a\n"},
        {"headers": {"A": f"{SECRET}\n"}},
        {"headers": {"A b": "c"}},
        {"headers": {"A": "b", "a": "c"}},
        {"headers": {"Host": "elsewhere"}},
        {"headers": {"content-length": "7"}},
    ],
)
def test_a_request_that_would_be_another_on_the_wire_is_refused(settings: dict[str, object]) -> None:
    """And no header's value is told."""
    with pytest.raises(ValueError, match=r"request\.") as caught:
        Request(**settings)  # type: ignore[arg-type]
    assert SECRET not in str(caught.value)


def test_a_verb_of_ones_own_may_be_sent() -> None:
    assert (
        RequestEncoder("h", "t")
        .encode(Request("m-search", "/"), 1, 1, 1.0)
        .startswith(b"M-SEARCH / HTTP/1.1")
    )
