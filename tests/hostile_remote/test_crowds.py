"""Clients of `arbor serve` that only wait, drip or do not read: others are served meanwhile, and they are ended."""

from __future__ import annotations

import contextlib
import random
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from arbor.remote.exchange.negotiating import advertised
from arbor.remote.protocol.limits import Limits
from arbor.remote.protocol.messages import FetchRequest, encode_fetch_request
from arbor.remote.protocol.wire import CONTENT_TYPE, encode_packet, request_packets
from arbor.remote.transports import http_connections
from arbor.remote.transports.connecting import connect
from arbor.remote.transports.http_connections import Connections
from arbor.repo.repository import open_repository
from tests.remote.people import change, clone_to, fetch_from, make_kb, notes
from tests.remote.test_http import serving

HALF_A_LINE = b"POST /arbor HTTP/1.1\r\n"
HALF_A_BODY = (
    f"POST /arbor HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: {CONTENT_TYPE}\r\nContent-Length: 60000000\r\n\r\n"
).encode() + b"\x01\x00\x00\x00\x03"


def open_socket(url: str, sent: bytes) -> socket.socket:
    host, _, port = url.removeprefix("http://").partition(":")
    found = socket.create_connection((host, int(port)), timeout=20)
    found.sendall(sent)
    return found


@contextlib.contextmanager
def crowd(url: str, count: int, sent: bytes) -> Iterator[list[socket.socket]]:
    """Connections that have sent this and send no more."""
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(open_socket(url, sent)) for _ in range(count)]


def seconds_until_ended(client: socket.socket) -> float:
    began = time.monotonic()
    with contextlib.suppress(ConnectionError):
        while client.recv(65536):
            pass
    return time.monotonic() - began


def drips_until_ended(client: socket.socket) -> int:
    """How many single bytes could be sent, 50 ms from one to the next."""
    count = 0
    with contextlib.suppress(ConnectionError):
        for count in range(200):  # noqa: B007
            client.sendall(b"x")
            time.sleep(0.05)
    return count


@pytest.mark.parametrize("sent", [b"", HALF_A_LINE, HALF_A_BODY])
def test_a_crowd_that_only_waits_keeps_nobody_out(tmp_path: Path, sent: bytes) -> None:
    source = make_kb(tmp_path / "a", notes(5))
    with serving(tmp_path / "a") as url:
        clone_to(url, tmp_path / "b")
        kept = connect(url)
        advertised(kept)
        change(source, notes(2, 10))
        with crowd(url, 150, sent):
            time.sleep(0.2)
            began = time.monotonic()
            assert fetch_from(open_repository(tmp_path / "b"), url).changes[0].status == "forward"
            assert advertised(kept).refs[0].oid == source.refs.head_oid()
            kept.close()
            clone_to(url, tmp_path / "c")
            assert time.monotonic() - began < 20


def test_a_request_has_little_time_for_its_head(tmp_path: Path) -> None:
    make_kb(tmp_path / "a", notes(2))
    with serving(tmp_path / "a", limits=Limits(head_s=0.5)) as url:
        with open_socket(url, b"") as silent, open_socket(url, HALF_A_LINE) as half:
            assert seconds_until_ended(silent) < 15
            assert seconds_until_ended(half) < 15
        with open_socket(url, HALF_A_LINE) as dripping:
            assert drips_until_ended(dripping) < 100
        # The second head over one connection has no more time than the first.
        first = HALF_A_LINE + b"Host: 127.0.0.1\r\nContent-Length: 0\r\n\r\n"
        with open_socket(url, first) as again:
            assert again.recv(65536).startswith(b"HTTP/1.1 415")
            again.sendall(HALF_A_LINE)
            assert seconds_until_ended(again) < 12


def test_a_body_that_drips_is_ended(tmp_path: Path) -> None:
    make_kb(tmp_path / "a", notes(2))
    limits = Limits(grace_s=0.3, min_bytes_per_s=1000, head_s=0.5)
    with serving(tmp_path / "a", limits=limits) as url, open_socket(url, HALF_A_BODY) as client:
        for _ in range(12):
            client.sendall(b"x")
            time.sleep(0.05)
        assert b"bytes a second" in client.recv(65536)
        assert drips_until_ended(client) < 100


def bulky_fetch(folder: Path, url: str) -> socket.socket:
    """A client that has asked for a lot and has read nothing of it."""
    tip = open_repository(folder).refs.head_oid()
    assert tip is not None
    body = b"".join(map(encode_packet, request_packets("fetch", encode_fetch_request(FetchRequest((tip,))))))
    head = f"POST /arbor HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: {CONTENT_TYPE}\r\n"
    return open_socket(url, f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)


@pytest.fixture(scope="module")
def bulky(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int]:
    """A KB, and the bytes that a clone of it receives: more than the system takes in between two ends."""
    folder, noise = tmp_path_factory.mktemp("bulky"), random.Random(1)
    make_kb(folder / "a", {f"{number}.md": noise.randbytes(1_000_000).hex() for number in range(24)})
    whole = clone_to(folder / "a", folder / "whole", bare=True).received_bytes
    assert whole > 12_000_000
    return folder / "a", whole


@pytest.mark.parametrize("reads", [False, True])
def test_an_answer_that_is_not_read_is_ended(bulky: tuple[Path, int], reads: bool) -> None:
    fs_path, whole = bulky
    limits = Limits(grace_s=0.5, min_bytes_per_s=20_000_000) if reads else Limits(idle_s=0.5)
    with serving(fs_path, limits=limits) as url, bulky_fetch(fs_path, url) as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 18)
        came = 0
        time.sleep(0 if reads else 5)
        with contextlib.suppress(ConnectionError):
            while data := client.recv(100_000):
                came += len(data)
                time.sleep(0.05 if reads else 0)
        assert came < whole


def test_requests_are_counted_while_they_are_answered() -> None:
    connections = Connections(1)
    with contextlib.ExitStack() as stack:
        taken = [stack.enter_context(connections.answering("10.0.0.1")) for _ in range(40)]
        assert taken.count(True) == http_connections.MAX_REQUESTS_AN_ADDRESS
        # Whoever has a network of IPv6 has it whole, and has one share.
        taken = [stack.enter_context(connections.answering(f"2001:db8::{n:x}")) for n in range(40)]
        assert taken.count(True) == http_connections.MAX_REQUESTS_AN_ADDRESS
        assert not stack.enter_context(connections.answering("10.0.0.2"))
    with connections.answering("10.0.0.1") as fits:
        assert fits


def test_bodies_on_their_way_share_the_memory() -> None:
    connections, most = Connections(1), http_connections.MAX_WAITING_BYTES
    with connections.receiving("large"), connections.receiving("small"):
        assert connections.has_room("large", most - 10)
        assert connections.has_room("small", 1000)  # no more than its share, whatever others hold
        assert not connections.has_room("large", most)
        assert not connections.has_room("small", most // 2 + 1)
    with connections.receiving("small"):
        assert connections.has_room("small", most // 2 + 1)


def test_requests_far_ahead_of_the_answers_end_the_connection(tmp_path: Path) -> None:
    """One small request after another, no answer read: what was sent ahead would be held in memory."""
    make_kb(tmp_path / "a", notes(2))
    body = b"".join(map(encode_packet, request_packets("refs", {}, ())))
    head = f"POST /arbor HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: {CONTENT_TYPE}\r\nContent-Length: {len(body)}"
    request = head.encode() + b"\r\n\r\n" + body
    with serving(tmp_path / "a") as url:
        with open_socket(url, request * 3) as few:
            answers = b""
            while answers.count(b"HTTP/1.1 200 OK") < 3:
                answers += few.recv(65536)
        with open_socket(url, b"") as flood, pytest.raises(ConnectionError):
            flood.sendall(request * 500_000)


def test_a_body_in_the_smallest_chunks_ends_the_connection_and_larger_ones_do_not(tmp_path: Path) -> None:
    make_kb(tmp_path / "a", notes(2))
    head = f"POST /arbor HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: {CONTENT_TYPE}\r\nTransfer-Encoding: chunked"
    # A message of more bytes than are sent, so that the server goes on waiting for it.
    begun = head.encode() + b"\r\n\r\n5\r\n\x01\x00\x00\x00\x03\r\n"
    with serving(tmp_path / "a") as url:
        with open_socket(url, begun) as tiny, pytest.raises(ConnectionError):
            tiny.sendall(b"1\r\nx\r\n" * 2_000_000)
        with open_socket(url, begun) as small:
            small.sendall((b"64\r\n" + b"x" * 100 + b"\r\n") * 40_000 + b"0\r\n\r\n")
            assert small.recv(15) == b"HTTP/1.1 200 OK"
