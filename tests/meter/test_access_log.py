"""Lines of access logs into requests, and what following a file comes to; nothing here waits."""

import contextlib
import json
import os
import random
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.errors import ConfigurationError
from domain.recognition import Recognition
from domain.sightings import Sightings
from meter.access_log.entry import MalformedLineError
from meter.access_log.followed import GRACE_S, FollowedFile
from meter.access_log.line import FORMATS, reader
from meter.access_log.lines import LONGEST_LINE, LineBuffer
from meter.access_log.stream import FollowedStream
from meter.access_log.tail import COMPLAINTS, LogTail
from meter.counting import AttemptCounts
from meter.edge import EdgeCounter

read = reader("auto")


def line(gateway="nginx", **fields):
    every = {"method": "GET", "path": "/work", "status": "200", "duration_s": "0.25", "ending": "0.2"}
    return json.dumps({"gateway": gateway, **every, "headers": {"x-attempt": "1"}, **fields})


@pytest.mark.parametrize(
    ("gateway", "status", "ending", "outcome"),
    [
        ("nginx", "200", "0.004", "ok"),
        ("nginx", "304", "0.004", "ok"),
        ("nginx", "200", "", "ok"),  # nginx itself has the page
        ("nginx", "503", "0.004", "rejected"),
        ("nginx", "504", "0.004", "rejected"),  # the service said so itself
        ("nginx", "504", "-", "timeout"),
        ("nginx", "504", "-, -", "timeout"),
        ("nginx", "502", "0.001, -", "error"),
        ("nginx", "404", "", "ok"),
        ("nginx", "429", "", "rejected"),
        ("nginx", "499", "-", "abandoned"),
        ("haproxy", "200", "--", "ok"),
        ("haproxy", "-1", "CD", "abandoned"),
        ("haproxy", "200", "CD", "abandoned"),
        ("haproxy", "200", "cD", "abandoned"),
        ("haproxy", "504", "sH", "timeout"),
        ("haproxy", "503", "sQ", "timeout"),
        ("haproxy", "503", "SC", "error"),
        ("haproxy", "502", "SH", "error"),
        ("haproxy", "200", "SD", "error"),
        ("haproxy", "403", "PR", "ok"),
        ("haproxy", "200", "LR", "ok"),
        ("haproxy", "504", "--", "rejected"),
        ("envoy", "200", "-", "ok"),
        ("envoy", "0", "DC", "abandoned"),
        ("envoy", "504", "UT", "timeout"),
        ("envoy", "504", "URX,UT", "timeout"),
        ("envoy", "503", "UF", "error"),
        ("envoy", "503", "UC", "error"),
        ("envoy", "503", "UO", "rejected"),
        ("envoy", "503", "URX", "rejected"),
        ("envoy", "0", "-", "error"),
    ],
)
def test_how_a_request_ended(gateway, status, ending, outcome):
    """By the words of each gateway."""
    assert read(line(gateway, status=status, ending=ending)).outcome == outcome


def test_a_line_of_json_says_all():
    """With what syslog puts before it; null, nothing and ``-`` are headers that are missing."""
    headers = {"X-Attempt": "2", "x-request-id": 'a"b', "idempotency-key": None, "a": "", "b": "-"}
    said = read("<134>Nov 30 21:41:02 edge haproxy[7]: " + line("haproxy", headers=headers, duration_ms=12.0))
    assert said.headers == {"x-attempt": "2", "x-request-id": 'a"b'}
    assert (said.path, said.status, said.duration_s) == ("/work", 200, 0.25)
    fields = json.loads(line("haproxy", ending="--"))
    del fields["duration_s"]
    assert read(json.dumps({**fields, "duration_ms": "1500"})).duration_s == 1.5
    assert read(json.dumps({**fields, "duration_ms": -1})).duration_s == 0.0


@pytest.mark.parametrize("method", ["", "-", "<BADREQ>", None])
def test_what_was_no_request_is_none(method):
    """Garbage that a gateway has answered with 400 was never asked of the service."""
    assert read(line(method=method, path="-")) is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        '{"gateway":"nginx"}',
        "[" * 100_000,
        '{"a":' * 100_000,
        line("apache"),
        line(path=""),
        line(path=7),
        line(status="abc"),
        line(status="9" * 5000),
        line(duration_s="soon"),
        line(duration_s=None),
        line(duration_s="nan"),
        line(headers=[]),
        line()[:-5],
        '127.0.0.1 - - [30/Nov/2026:21:41:02 +0000] "GET / HTTP/1.1" 200 5 "-" "curl"',
        'x: 1.2.3.4:5 [30/Nov/2026:21:41:02.1] f b/s 0/0/0/1/1 200 9 - - ---- 1/1/0/0/0 0/0 "GET / HTTP/1.1"',
    ],
)
def test_what_cannot_be_counted_is_said(text):
    """One kind of error, whatever is wrong."""
    for kind in FORMATS:
        with pytest.raises(MalformedLineError):
            reader(kind)(text)


@given(st.text())
def test_no_text_is_anything_but_read_or_malformed(text):
    """Whatever a client gets into a log, the reader does not fall over it."""
    for kind in FORMATS:
        for whole in (text, line(path=text or "/"), line()[: len(text)] + text):
            with contextlib.suppress(MalformedLineError):
                reader(kind)(whole)


@pytest.mark.parametrize("piece", ["[", "[1] ", '"', "a ", '{"', "1/", "{|", ' "'])
def test_no_line_takes_long(piece):
    """The longest line of one piece over and over, by whoever likes to keep a reader busy."""
    start = time.process_time()
    for kind in FORMATS:
        with pytest.raises(MalformedLineError):
            reader(kind)(piece * (LONGEST_LINE // len(piece)))
    assert time.process_time() - start < 1.0


def test_haproxys_stock_format_with_captures():
    """``option httplog`` and two ``capture request header``; HAProxy writes odd characters as #XX."""
    said = read(
        "Nov 30 21:41:02 edge haproxy[14389]: 10.0.1.2:33317 [30/Nov/2026:21:41:02.655] front back/one "
        '10/0/30/69/1109 504 2750 - - sH-- 1/1/1/1/0 0/0 {2|a#22b#7Cc} {} "GET /work?x=1 HTTP/1.1"'
    )
    assert (said.path, said.status, said.duration_s, said.outcome) == ("/work?x=1", 504, 1.109, "timeout")
    assert said.headers == {"x-attempt": "2", "x-request-id": 'a"b|c'}
    bad = (
        "x[1]: 1.2.3.4:5 [30/Nov/2026:21:41:02.1] f f/<NOSRV> -1/-1/-1/-1/0 400 0 - - PR-- 1/1/0/0/0 0/0 "
        '{|} "<BADREQ>"'
    )
    assert read(bad) is None


def test_envoys_default_format():
    """It has the request id, and so first sight decides."""
    said = read(
        '[2026-11-30T21:41:02.310Z] "POST /orders/7 HTTP/2" 204 - 154 0 226 100 "10.0.35.28" '
        '"a "quoted" agent" "cc21d9b0" "locations" "10.0.2.1:80"'
    )
    assert (said.path, said.outcome, said.duration_s) == ("/orders/7", "ok", 0.226)
    assert said.headers == {"x-request-id": "cc21d9b0"}


def test_a_format_that_is_asked_for_is_the_only_one():
    """``--format json`` takes no stock line for granted."""
    with pytest.raises(MalformedLineError):
        reader("haproxy")(line("haproxy"))


@given(
    st.lists(st.binary(max_size=30).map(lambda data: data.replace(b"\n", b"").replace(b"\r", b""))), st.data()
)
def test_lines_come_whole_however_they_are_cut(lines, data):
    """Pieces of any size give the same lines."""
    whole = b"".join(line + b"\n" for line in lines)
    buffer, found, at = LineBuffer(), [], 0
    while at < len(whole):
        step = data.draw(st.integers(1, 20))
        found += buffer.fed(whole[at : at + step])
        at += step
    assert found == lines


def test_an_overlong_line_is_cut_and_the_next_is_whole():
    """A megabyte without an end does not stay in memory."""
    buffer = LineBuffer()
    found = []
    for _ in range(16):
        found += buffer.fed(b"x" * LONGEST_LINE)
    assert found == [b"x" * LONGEST_LINE]
    assert len(buffer._piece) == 0
    assert buffer.fed(b"xx\nnext\n") == [b"next"]


class Log:
    """A file and whoever follows it."""

    def __init__(self, path, **options):
        self.path = path
        self.followed = FollowedFile(path, **options)

    def write(self, text, path=None):
        with (path or self.path).open("a") as stream:
            stream.write(text)

    def read(self, now_s=0.0):
        return [line.decode() for line in self.followed.read(now_s)]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "access.log"


def test_a_file_is_followed_from_its_end(path):
    """What was there is passed over, the piece of a line at its end with it."""
    path.write_text("old\nhalf of a li")
    log = Log(path)
    assert log.read() == []
    log.write("ne\nnew\npie")
    assert log.read() == ["new"]
    log.write("ce\n")
    assert log.read() == ["piece"]


def test_or_from_its_start(path):
    path.write_text("old\n")
    log = Log(path, from_start=True)
    assert log.read() == ["old"]


def test_a_file_that_is_not_there_yet_is_read_from_its_start(path):
    log = Log(path)
    assert not log.followed.is_open
    assert log.read() == []
    log.write("first\n")
    assert log.read() == ["first"]
    assert log.followed.is_open


def test_a_rotated_file_is_read_to_its_end_and_its_writer_may_be_slow(path):
    """Lines in the old file after the new one is there count; once it has been silent it is let go."""
    path.touch()
    log = Log(path)
    log.write("1\n")
    old = path.with_suffix(".1")
    path.rename(old)
    log.write("2\n", old)
    assert log.read(0.0) == ["1", "2"]
    log.write("3\n")
    log.write("4\n", old)
    assert sorted(log.read(1.0)) == ["3", "4"]
    log.write("5\n", old)
    log.write("6\n")
    assert sorted(log.read(1.0 + GRACE_S)) == ["5", "6"]
    assert log.read(1.0 + 2 * GRACE_S) == []
    log.write("7\n", old)
    log.write("8\n")
    assert log.read(2.0 + 2 * GRACE_S) == ["8"]


def test_a_truncated_file_is_read_from_its_new_start(path):
    """As copytruncate leaves it; the piece of a line that was kept is no beginning of the new one."""
    path.touch()
    log = Log(path)
    log.write("a long line before\npiece")
    assert log.read() == ["a long line before"]
    os.truncate(path, 0)
    log.write("new\n")
    assert log.read() == ["new"]


def test_a_file_that_is_taken_away_and_comes_back(path):
    path.touch()
    log = Log(path)
    log.write("1\n")
    path.unlink()
    assert log.read() == ["1"]
    log.write("2\n")
    assert log.read() == ["2"]


def open_descriptors():
    return len(list(Path("/proc/self/fd").iterdir()))


def test_no_file_descriptor_is_left_over(path):
    """A hundred rotations leave the one that is open."""
    path.touch()
    before = open_descriptors()
    log = Log(path)
    for turn in range(100):
        path.rename(path.with_suffix(".old"))
        path.touch()
        log.read(turn * (GRACE_S + 1))
    log.read(1e6)
    assert open_descriptors() == before + 1
    log.followed.close()
    assert open_descriptors() == before


def test_a_directory_cannot_be_followed(tmp_path):
    with pytest.raises(ConfigurationError, match=r"--tail: .*directory"):
        FollowedFile(tmp_path)


def test_a_pipe_is_read_without_waiting(path):
    """A FIFO that has no writer yet, then has one, then another."""
    os.mkfifo(path)
    log = Log(path)
    assert log.read() == []
    for text in ("one", "two"):
        writer = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
        assert log.read() == []
        os.write(writer, text.encode() + b"\n")
        assert log.read() == [text]
        os.close(writer)
        assert log.read() == []


def test_a_stream_ends():
    """Standard input: nothing yet, a line, and at its end the line that lacks its newline."""
    reading, writing = os.pipe()
    stream = FollowedStream(reading)
    assert stream.read(0.0) == []
    os.write(writing, b"one\ntw")
    assert stream.read(0.0) == [b"one"]
    os.close(writing)
    assert stream.read(0.0) == [b"tw"]
    assert not stream.is_open
    assert stream.read(0.0) == []
    os.close(reading)


class Lines:
    """A source of what it is given."""

    is_open = True

    def __init__(self, lines):
        self.lines = lines

    def read(self, now_s):
        found, self.lines = [text.encode() for text in self.lines], []
        return found

    def close(self):
        pass


def counted(lines, **options):
    counts, said = AttemptCounts(), []
    counter = EdgeCounter(Recognition(), Sightings(100, 60.0), counts)
    tail = LogTail([Lines(lines)], read, counter, complain=said.append, **options)
    assert tail.poll(0.0) == len(lines)
    return counts, tail, said


def test_counts_are_the_same_in_any_order():
    """Lines come in the order of endings: a first attempt that hangs may come after its retry."""
    lines = [line(headers={"x-request-id": f"job{number // 3}"}) for number in range(90)]
    random.Random(1).shuffle(lines)
    counts, tail, _ = counted(lines)
    assert (counts.first, counts.retries, counts.inflight) == (30, 60, 0)
    assert counts.outcomes == {"ok": 90}
    assert counts.duration_sum_s == pytest.approx(90 * 0.25)
    assert tail.lines == {"counted": 90, "ignored": 0, "malformed": 0}


def test_what_is_not_covered_is_ignored():
    counts, tail, _ = counted(
        [line(path="/work"), line(path="/healthz"), line(method="-")],
        covers=lambda path: path.startswith("/work"),
    )
    assert counts.ingress == 1
    assert tail.lines == {"counted": 1, "ignored": 2, "malformed": 0}


def test_lines_that_cannot_be_read_are_said_at_first_and_all_counted():
    """A wrong log format fills no other log."""
    counts, tail, said = counted([f"nonsense {number}" * 100 for number in range(50)])
    assert tail.lines["malformed"] == 50
    assert counts.ingress == 0
    assert len(said) == COMPLAINTS + 1
    assert "nonsense 0" in said[0]
    assert all(len(sentence) < 300 for sentence in said)
