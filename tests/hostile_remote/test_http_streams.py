"""Answers over http without an end: in their head, in interim answers, in chunks, and requests that nobody reads."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from pathlib import Path

import httpcore
import pytest

from arbor.errors import RemoteError
from arbor.remote.protocol.limits import Limits
from arbor.remote.protocol.wire import CONTENT_TYPE
from arbor.remote.transports.connecting import ConnectOptions, connect
from arbor.remote.transports.http_streams import MAX_HEAD_BYTES, PacedStream
from tests.hostile_remote.test_protocol import head, raw_server
from tests.remote.people import clone_to

LIMITS = Limits(idle_s=0.5, grace_s=0.5, min_bytes_per_s=1e9)
CHUNKED = head("200 OK", f"Content-Type: {CONTENT_TYPE}", "Transfer-Encoding: chunked")
HEAD, DRIP = "no end to the head", "bytes a second"


@pytest.mark.parametrize(
    ("start", "again", "words"),
    [
        (b"HTTP/1.1 200 OK\r\nX: ", b"x", HEAD),
        (b"", head("100 Continue"), HEAD),
        (b"", head("102 Processing"), HEAD),
        (CHUNKED + b"5;", b"x", DRIP),
        (CHUNKED, b"1\r\n\x01\r\n", DRIP),
        (CHUNKED + b"0\r\n", b"A: b\r\n", DRIP),
        (head("403 No", "Transfer-Encoding: chunked") + b"5;", b"x", DRIP),
        (b"", b"hello\n", HEAD),
    ],
)
def test_an_answer_without_an_end_is_ended(tmp_path: Path, start: bytes, again: bytes, words: str) -> None:
    with raw_server(dripping(start, again)) as (url, _), pytest.raises(RemoteError, match=words):
        clone_to(connect(url, ConnectOptions(limits=LIMITS)), tmp_path / "b")
    assert not (tmp_path / "b").exists()


def dripping(start: bytes, again: bytes) -> Callable[[socket.socket], None]:
    """Sends something, and then something else again and again, until nobody listens any more."""

    def answer(connection: socket.socket) -> None:
        connection.sendall(start)
        while True:
            connection.sendall(again)
            time.sleep(0.05)

    return answer


class Clock:
    """Time as a test wants it."""

    now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


class Pipe(httpcore.NetworkStream):
    """A connection over which everything takes its time."""

    def __init__(self, clock: Clock, takes_s: float, gives: bytes = b"x") -> None:
        self._clock, self._takes_s, self._gives = clock, takes_s, gives

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        self._clock.now_s += self._takes_s
        return self._gives[:max_bytes]

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._clock.now_s += self._takes_s


def paced(takes_s: float, gives: bytes = b"x") -> PacedStream:
    clock = Clock()
    return PacedStream(Pipe(clock, takes_s, gives), Limits(), clock)


def test_a_request_that_nobody_reads_is_ended() -> None:
    with pytest.raises(RemoteError, match="reads less than"):
        paced(100.0).write(bytes(1 << 20))
    paced(1.0).write(bytes(1 << 20))


def test_many_interim_answers_at_once_are_too_many() -> None:
    stream = paced(0.0, bytes(1 << 16))
    for _ in range(MAX_HEAD_BYTES >> 16):
        stream.read(1 << 16)
    stream.read(1 << 16)
    with pytest.raises(RemoteError, match=HEAD):
        stream.read(1 << 16)


def test_each_request_has_its_own_time() -> None:
    stream = paced(50.0)
    for _ in range(10):
        stream.write(b"a request")
        for _ in range(3):
            stream.read(1)
        stream.head_has_come()
        stream.read(1)
        stream.read(1)
    with pytest.raises(RemoteError, match=DRIP):
        stream.read(1)
