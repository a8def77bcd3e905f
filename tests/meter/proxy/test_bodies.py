"""Where bodies end, however they are cut into pieces."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from meter.proxy.bodies import ChunkedBody, FixedBody, UntilClosed, chunk, last_chunk
from meter.proxy.heads import BadMessage


def fed(body, pieces):
    payload, rest = b"", b""
    for piece in pieces:
        if body.done:
            rest += piece
        else:
            got, rest = body.feed(piece)
            payload += got
    return payload, rest


@given(st.lists(st.binary(min_size=1, max_size=40), max_size=8), st.data())
def test_chunks_in_any_pieces(contents, data):
    """Payload, trailers and what comes after them are the same wherever the cuts are."""
    message = b"".join(map(chunk, contents)) + last_chunk([(b"X-A", b"1"), (b"X-B", b"")]) + b"GET /"
    cuts = sorted(data.draw(st.lists(st.integers(0, len(message)), max_size=10)))
    pieces = [message[a:b] for a, b in zip([0, *cuts], [*cuts, len(message)], strict=True)]
    body = ChunkedBody()
    assert fed(body, pieces) == (b"".join(contents), b"GET /")
    assert body.done
    assert body.trailers == [(b"X-A", b"1"), (b"X-B", b"")]


def test_a_byte_at_a_time():
    """Nothing but a line that is not complete is held."""
    body = ChunkedBody()
    message = b"00A ; x=y\r\n0123456789\r\n0\r\n\r\n"
    assert fed(body, [bytes([byte]) for byte in message]) == (b"0123456789", b"")
    assert body.done


def test_fixed_and_until_closed():
    """A length of nothing is over at once; without a length it never is."""
    assert FixedBody(0).done
    body = FixedBody(5)
    assert fed(body, [b"ab", b"cdeGET"]) == (b"abcde", b"GET")
    assert fed(UntilClosed(), [b"ab", b"c"]) == (b"abc", b"")


@pytest.mark.parametrize(
    "data", [b"g\r\n", b"\r\n", b"1 \r\n", b"1\nx", b"1\r\nxx\r\n", b"0\r\nX\r\n\r\n", b"1\rx"]
)
def test_malformed(data):
    """At once, or with the next byte."""
    with pytest.raises(BadMessage):
        ChunkedBody().feed(data)
