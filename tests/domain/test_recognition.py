import pytest

from domain.errors import ConfigurationError
from domain.recognition import Recognised, Recognition

GRPC = {"content-type": "application/grpc+proto"}
ANY = [
    ({}, (None, None, None)),
    ({"x-attempt": "1", "x-request-id": "a"}, (True, "a", "ours")),
    ({"x-attempt": "2", "x-request-id": "a"}, (False, "a", "ours")),
    ({"x-attempt": "17"}, (False, None, "ours")),
    ({"amz-sdk-request": "attempt=1; max=3", "amz-sdk-invocation-id": "i"}, (True, "i", "aws")),
    ({"amz-sdk-request": "ttl=20300101T000000Z; attempt=2; max=3"}, (False, None, "aws")),
    ({"amz-sdk-request": "attempt=3"}, (False, None, "aws")),
    ({"x-envoy-attempt-count": "1", "x-request-id": "e"}, (True, "e", "envoy")),
    ({"x-envoy-attempt-count": "2"}, (False, None, "envoy")),
    ({"grpc-previous-rpc-attempts": "1", **GRPC}, (False, None, "grpc")),
    (GRPC, (True, None, "grpc")),
    ({"content-type": "application/json"}, (None, None, None)),
    ({"x-stainless-retry-count": "0", "idempotency-key": "k"}, (True, "k", "stainless")),
    ({"x-stainless-retry-count": "2"}, (False, None, "stainless")),
    ({"idempotency-key": "k", "x-request-id": "a"}, (None, "k", "id")),
    ({"x-request-id": "a"}, (None, "a", "id")),
    ({"x-request-id": ""}, (None, None, None)),
    # A retry in any layer is one.
    ({"x-attempt": "1", "x-envoy-attempt-count": "2", "x-request-id": "a"}, (False, "a", "envoy")),
    ({"x-attempt": "2", "x-envoy-attempt-count": "1"}, (False, None, "ours")),
    ({"x-attempt": "1", "x-stainless-retry-count": "0"}, (True, None, "ours")),
]
NONSENSE = ["", "0", "-1", "+2", "1.5", "two", "2, 2", "²", "1" * 7, " 2", "0x2"]


@pytest.mark.parametrize(("headers", "said"), ANY)
def test_any_convention(headers, said):
    """What each convention's headers say, and which comes first."""
    assert Recognition().recognised(headers) == Recognised(*said)


@pytest.mark.parametrize("value", NONSENSE)
@pytest.mark.parametrize("name", ["x-attempt", "x-envoy-attempt-count", "grpc-previous-rpc-attempts"])
def test_a_value_that_makes_no_sense_falls_through_to_the_id(name, value):
    """Neither first nor retry: the id decides."""
    if (name, value) == ("grpc-previous-rpc-attempts", "0"):
        name = "x-attempt"  # zero earlier attempts make sense
    assert Recognition().recognised({name: value, "x-request-id": "a"}) == Recognised(None, "a", "id")


@pytest.mark.parametrize(
    "value", ["", "attempt=", "attempt=0", "max=3", "attempts=2", "xattempt=2", "attempt=2x"]
)
def test_aws_nonsense_falls_through_to_its_own_id(value):
    """The invocation id is remembered then."""
    headers = {"amz-sdk-request": value, "amz-sdk-invocation-id": "i", "x-request-id": "a"}
    assert Recognition().recognised(headers) == Recognised(None, "i", "id")


def test_one_convention_believes_no_other():
    """With --convention envoy an X-Attempt means nothing; with grpc its absence means first."""
    headers = {"x-attempt": "2", "x-request-id": "a"}
    assert Recognition("envoy").recognised(headers) == Recognised(None, "a", "id")
    assert Recognition("grpc").recognised({}) == Recognised(True, None, "grpc")
    assert Recognition("id").recognised(headers) == Recognised(None, "a", "id")


def test_id_headers_can_be_named_in_any_case():
    """And are read in their order."""
    recognition = Recognition("id", ("X-Correlation", "X-Order"))
    assert recognition.recognised({"x-order": "2", "x-correlation": "1"}).job_id == "1"
    assert recognition.recognised({"x-order": "2"}).job_id == "2"
    assert recognition.recognised({"x-request-id": "a"}).job_id is None
    assert {"x-correlation", "x-order", "x-attempt"} <= recognition.headers_read


def test_bad_names_are_refused_together():
    """One message for both."""
    with pytest.raises(ConfigurationError) as raised:
        Recognition("theirs", ("a b",))
    assert [fault.field for fault in raised.value.faults] == ["convention", "id header"]
