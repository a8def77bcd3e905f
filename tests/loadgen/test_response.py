"""Answers off a stream of bytes: what is kept of them is bounded, whatever they are."""

from __future__ import annotations

import re
import tracemalloc
from itertools import cycle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadgen.response import (
    MATCHED_BYTES,
    MAX_HEAD_BYTES,
    UNHEARD,
    AnswerOptions,
    AnswerTooLongError,
    AttentiveReader,
    HttpParserError,
    HttpParserUpgrade,
    ResponseReader,
)

READERS = [ResponseReader, lambda: AttentiveReader(AnswerOptions(True, re.compile(b"x"), True))]
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
ENDLESS = {
    "name": (b"HTTP/1.1 200 OK\r\nX", b"x" * 1000, "header"),
    "value": (b"HTTP/1.1 200 OK\r\nX: ", b"x" * 1000, "header"),
    "headers": (b"HTTP/1.1 200 OK\r\n", b"X: y\r\n" * 100, "header"),
    "reason": (b"HTTP/1.1 200 ", b"x" * 1000, "header"),
    "interim": (b"", b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" * 20, "interim"),
    "extension": (CHUNKED + b"2;x=", b"x" * 1000, "chunk extensions"),
    "trailer": (CHUNKED + b"2\r\nok\r\n0\r\nX: ", b"x" * 1000, "trailers"),
    "trailers": (CHUNKED + b"2\r\nok\r\n0\r\n", b"X: y\r\n" * 100, "trailers"),
}


@pytest.mark.parametrize("make", READERS)
@pytest.mark.parametrize("kind", ENDLESS)
def test_what_never_ends_is_cut_off_at_64_kib(kind: str, make: type[ResponseReader]) -> None:
    """Header, interim answers, chunk extensions, trailers."""
    start, piece, what = ENDLESS[kind]
    fed, why = fed_until_refused(make(), start, piece)
    assert what in why
    assert MAX_HEAD_BYTES < fed <= MAX_HEAD_BYTES + len(start) + len(piece)


def fed_until_refused(reader: ResponseReader, start: bytes, piece: bytes) -> tuple[int, str]:
    """How many bytes were fed in all when they were too many, and what was said then."""
    fed = 0
    for data in (start, *[piece] * 200):
        fed += len(data)
        try:
            assert not reader.feed(data)
        except AnswerTooLongError as error:
            return fed, str(error)
    raise AssertionError(f"{fed} bytes were not too many")


@pytest.mark.parametrize(
    "make", [ResponseReader, lambda most: AttentiveReader(AnswerOptions(False, None, True, most))]
)
@pytest.mark.parametrize("framing", ["length", "chunks", "close"])
def test_a_body_may_be_so_long_and_no_longer(framing: str, make: type[ResponseReader]) -> None:
    """Counted with its header, however it is delimited."""
    start, piece = {
        "length": (b"HTTP/1.1 200 OK\r\nContent-Length: 900000\r\n\r\n", bytes(10_000)),
        "chunks": (CHUNKED, b"2710\r\n" + bytes(10_000) + b"\r\n"),
        "close": (b"HTTP/1.1 200 OK\r\n\r\n", bytes(10_000)),
    }[framing]
    fed, why = fed_until_refused(make(100_000), start, piece)
    assert "longer than 100000 bytes" in why
    assert 100_000 < fed <= 100_000 + len(piece)


def test_a_long_body_in_many_chunks_is_no_framing() -> None:
    """Chunks' own headers may add up to any amount, as long as body comes with them."""
    reader = ResponseReader()
    reader.feed(CHUNKED)
    for _ in range(2000):
        assert not reader.feed(b"40\r\n" + bytes(64) + b"\r\n" + b"1;x=" + b"y" * 50 + b"\r\nz\r\n")
    assert reader.feed(b"0\r\n\r\n")
    assert reader.reusable


def test_bytes_are_counted_anew_for_every_answer() -> None:
    """Else a kept connection would break after its first thousand answers."""
    reader = ResponseReader()
    for _ in range(20):
        reader.expect(head_only=False)
        assert not reader.feed(b"HTTP/1.1 200 OK\r\nX: " + b"x" * 10_000 + b"\r\n")
        assert reader.feed(b"Content-Length: 2\r\n\r\nok")


@pytest.mark.parametrize(
    "chunks", [b"zz\r\nok\r\n", b"-1\r\nok\r\n", b"2\r\nokay\r\n", b"ffffffffffffffffff\r\n", b"\r\n\r\n"]
)
def test_invalid_chunks_are_no_answer(chunks: bytes) -> None:
    """A size that is none, or not the chunk's."""
    reader = ResponseReader()
    with pytest.raises(HttpParserError):
        reader.feed(CHUNKED + chunks)


def test_an_upgrade_is_no_answer() -> None:
    """Nobody asked for another protocol."""
    with pytest.raises(HttpParserUpgrade):
        ResponseReader().feed(
            b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n"
        )


@pytest.mark.parametrize(
    "second", [b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n", b"HTTP/1.1 100 C\r\n\r\n"]
)
def test_a_second_answer_changes_nothing_in_the_first(second: bytes) -> None:
    """The connection is out of step and not used again."""
    reader = ResponseReader()
    assert reader.feed(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok" + second)
    assert (reader.status, reader.reusable) == (200, False)


ANSWER = (
    b"HTTP/1.1 103 Early Hints\r\nServer: interim\r\n\r\n"
    b"HTTP/1.1 503 Busy\r\nServer: gunicorn\r\nRetry-After: 7\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"3\r\nall\r\n6;x=y\r\n is we\r\n2\r\nll\r\n0\r\nServer: trailer\r\n\r\n"
)


@given(st.lists(st.integers(1, 40), min_size=1))
def test_how_an_answer_is_cut_into_pieces_changes_nothing(sizes: list[int]) -> None:
    """What is found is what the whole answer says, not an interim one or a trailer."""
    reader = AttentiveReader(AnswerOptions(True, re.compile(b"all is well"), True))
    begin = 0
    for size in cycle(sizes):
        whole = reader.feed(ANSWER[begin : begin + size])
        begin += size
        if begin >= len(ANSWER):
            break
        assert not whole
    assert whole
    assert reader.status == 503
    assert reader.heard(0.0) == (7.0, True, "gunicorn")


@pytest.mark.parametrize(
    ("pattern", "body", "matches"),
    [
        (rb"o.k", b"xx o-k", True),
        (rb"^ok$", b"not ok", False),
        (rb"ok", b"", False),
        (rb"", b"", True),
        (rb"ok", b"\x1f\x8b\x08\x00" + bytes(20), False),
    ],
)
def test_a_body_is_searched(pattern: bytes, body: bytes, matches: bool) -> None:
    """As it is on the wire."""
    reader = AttentiveReader(AnswerOptions(body_match=re.compile(pattern)))
    assert reader.feed(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
    assert reader.heard(0.0).matches is matches


def test_only_the_first_mebibyte_is_searched_and_nothing_is_kept() -> None:
    """What ends within it is found, what ends beyond is not; the next answer begins with nothing."""
    for before, matches in ((MATCHED_BYTES - 2, True), (MATCHED_BYTES - 1, False)):
        reader = AttentiveReader(AnswerOptions(body_match=re.compile(b"ok")))
        reader.feed(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % (before + 60_002))
        body = bytes(before) + b"ok" + bytes(60_000)
        for begin in range(0, len(body), 50_000):
            reader.feed(body[begin : begin + 50_000])
        assert reader.complete
        assert reader.heard(0.0).matches is matches
        reader.expect(head_only=False)
        assert reader.feed(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        assert reader.heard(0.0).matches is False


def test_a_body_that_was_searched_is_let_go() -> None:
    """Thousands of idle connections must not each keep a mebibyte."""
    reader = AttentiveReader(AnswerOptions(body_match=re.compile(b"ok")))
    tracemalloc.start()
    try:
        reader.feed(b"HTTP/1.1 200 OK\r\nContent-Length: 600000\r\n\r\n")
        for _ in range(10):
            reader.feed(bytes(60_000))
        kept_bytes = tracemalloc.get_traced_memory()[0]
        reader.heard(0.0)
        left_bytes = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert kept_bytes > 600_000
    assert left_bytes < 10_000


def test_a_server_that_would_write_on_a_terminal_is_made_printable() -> None:
    """The parser refuses most control characters; those of C1 it lets pass, and CSI is one."""
    reader = AttentiveReader(AnswerOptions(keep_server=True))
    reader.feed(b"HTTP/1.1 200 OK\r\nServer: a\x9b31mb\xe2\x80\xae\r\nContent-Length: 0\r\n\r\n")
    assert reader.heard(0.0).server == "a?31mb\xe2?\xae"


def test_a_plain_reader_finds_nothing() -> None:
    """And says that all is as it should be."""
    reader = ResponseReader()
    assert reader.feed(b"HTTP/1.1 503 Busy\r\nServer: x\r\nRetry-After: 2\r\nContent-Length: 0\r\n\r\n")
    assert reader.heard(0.0) is UNHEARD


def test_a_success_asks_nobody_to_stay_away() -> None:
    """``Retry-After`` there means something else."""
    reader = AttentiveReader(AnswerOptions(patient=True))
    assert reader.feed(b"HTTP/1.1 200 OK\r\nRetry-After: 2\r\nContent-Length: 0\r\n\r\n")
    assert reader.heard(0.0).away_s == 0.0
