"""Lies in the conversation itself: refs, packets, redirects, drips, and files that change while they are read."""

from __future__ import annotations

import contextlib
import gzip
import os
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from arbor.errors import ArborError, RemoteError, UsageError
from arbor.objects.codec import encode
from arbor.remote.exchange.service import Service
from arbor.remote.protocol.limits import Limits
from arbor.remote.protocol.messages import RefUpdate, encode_updates
from arbor.remote.protocol.wire import (
    CONTENT_TYPE,
    Packet,
    PacketKind,
    Packets,
    decode_message,
    encode_packet,
    end_packet,
    error_packet,
    message_packet,
    open_packets,
    read_packets,
)
from arbor.remote.transports.bundle import BundleTransport
from arbor.remote.transports.connecting import ConnectOptions, connect
from arbor.repo.commits import branching, committing
from arbor.repo.repository import open_repository
from arbor.repo.staging import adding
from tests.hostile_remote.liars import MAIN, Liar, World, push_packets, shown, write_bundle
from tests.remote.people import assert_whole, clone_to, fetch_from, make_kb, notes

OID = b"\x01" * 32
NAMES = [
    "HEAD",
    "main",
    "refs/main",
    "refs/remotes/origin/main",
    "refs/heads/../../HEAD",
    "refs/heads/",
    "refs/heads/-x",
    "refs/heads/a..b",
    "refs/heads/a b",
    "refs/heads/a\nb",
    "refs/heads/.x",
    "refs/heads/x.lock",
    "refs/heads/x/",
    "refs//heads/x",
    "refs/heads/con",
    "refs/heads/a\\b",
    "refs/heads/a~1",
    "refs/heads/@{x}",
    "/refs/heads/x",
    "refs/heads/" + "x" * 300,
    "refs/notes/x",
    "refs/heads/\x1b[31m",
    "config.toml",
    "refs/heads/\ud800",
]


def truth() -> tuple[bytes, list[bytes]]:
    world = World()
    tip, _ = world.commit(world.ledger({"d/a.md": world.document()}))
    return tip, world.frames()


@pytest.mark.parametrize(
    "name", [name for name in NAMES if name.isprintable() or "\n" in name or "\x1b" in name]
)
def test_refs_outside_of_branches_and_tags_are_not_taken(tmp_path: Path, name: str) -> None:
    tip, frames = truth()
    with pytest.raises(RemoteError):
        clone_to(Liar(shown(tip, refs=[[name, tip, tip]]), frames), tmp_path / "b")
    assert not (tmp_path / "b").exists()


@pytest.mark.parametrize(
    "changes",
    [
        {"refs": [[MAIN, OID, OID], [MAIN, OID, OID]]},
        {"refs": [["refs/heads/z", OID, OID], ["refs/heads/a", OID, OID]]},
        {"refs": [["refs/heads/a", OID, OID], ["refs/heads/a/b", OID, OID]]},
        {"refs": [["refs/heads/a", OID, b"\x02" * 32]]},
        {"refs": [["refs/heads/a", OID[:20], OID]]},
        {"refs": [["refs/heads/a", OID]]},
        {"refs": [[1, OID, OID]]},
        {"refs": {"a": 1}},
        {"refs": None},
        {"head": "refs/../../x"},
        {"head": 5},
        {"version": 2},
        {"version": "1"},
        {"prerequisites": b"x"},
        {"prerequisites": OID},
    ],
)
def test_malformed_refs(tmp_path: Path, changes: dict[str, Any]) -> None:
    tip, frames = truth()
    with pytest.raises(RemoteError):
        clone_to(Liar(shown(tip, **changes), frames), tmp_path / "b")
    assert not (tmp_path / "b").exists()


def answers(*packets: Packet) -> list[Packet]:
    return list(packets)


@pytest.mark.parametrize(
    "packets",
    [
        [],
        [end_packet(0)],
        [Packet(PacketKind.FRAME, b"x")],
        [Packet(99, b"")],
        [Packet(PacketKind.MESSAGE, b"\xdf\x3b\x9a\xca\x00")],
        [Packet(PacketKind.MESSAGE, b"\x93\x01\x02\x03")],
        [Packet(PacketKind.MESSAGE, b"\x82\xa1b\x01\xa1a\x01")],
        [message_packet({"objects": 1})],
        [message_packet({"objects": -1, "cold": b""}), end_packet(0)],
        [message_packet({"objects": 1, "cold": b"x"}), end_packet(0)],
        [message_packet({"objects": 1, "cold": b""})],
        [message_packet({"objects": 1, "cold": b""}), message_packet({"objects": 1, "cold": b""})],
        [message_packet({"objects": 1, "cold": b""}), end_packet(7)],
        [message_packet({"objects": 1, "cold": b""}), Packet(PacketKind.END, b"")],
        [message_packet({"objects": 1, "cold": b""}), Packet(PacketKind.FRAME, b""), end_packet(1)],
        [
            message_packet({"objects": 1, "cold": b""}),
            Packet(PacketKind.FRAME, b"FRAM" + b"\x00" * 200),
            end_packet(1),
        ],
        [Packet(PacketKind.ERROR, b"")],
        [Packet(PacketKind.ERROR, encode({"message": 5}))],
        [error_packet("no")],
    ],
)
def test_packets_in_any_other_order(tmp_path: Path, packets: list[Packet]) -> None:
    tip, _ = truth()
    with pytest.raises(ArborError) as caught:
        clone_to(Liar(shown(tip), [], packets=packets), tmp_path / "b")
    assert caught.value.exit_code in (12, 14)
    assert not (tmp_path / "b").exists()


def test_a_packet_that_is_too_large_is_refused_before_it_is_read() -> None:
    asked: list[int] = []

    def read(size: int) -> bytes:
        asked.append(size)
        return struct.pack("<BI", PacketKind.MESSAGE, 2**32 - 1)[:size]

    with pytest.raises(RemoteError, match="impossible packet"):
        next(read_packets(read))
    assert asked == [5]


def test_what_the_other_side_says_cannot_draw_on_the_terminal(tmp_path: Path) -> None:
    tip, _ = truth()
    packet = error_packet("\x1b[2J\x1b]0;owned\x07 line\nhint: rm -rf ~ \u202e" + "x" * 5000)
    with pytest.raises(RemoteError) as caught:
        clone_to(Liar(shown(tip), [], packets=[packet]), tmp_path / "b")
    assert caught.value.message.startswith("the other side says: ")
    assert caught.value.message.isprintable()
    assert len(caught.value.message) < 700


@pytest.mark.parametrize(
    "name", ["\x00", "\u200brefs/heads/main", "refs/heads/\x1b[2J", "refs/heads/" + "x" * 8000 + "\n"]
)
def test_a_name_that_is_refused_is_quoted_in_print(tmp_path: Path, name: str) -> None:
    tip, frames = truth()
    with pytest.raises(RemoteError) as caught:
        clone_to(Liar(shown(tip, head=name), frames), tmp_path / "b")
    assert caught.value.message.isprintable()
    assert len(caught.value.message) < 800
    for field in ("head", "filter"):
        file = write_bundle(tmp_path / field, shown(tip), frames, **{field: name})
        with pytest.raises(ArborError) as refused:
            clone_to(file, tmp_path / "b")
        assert refused.value.message.isprintable()


# --- pushes


def pushed(folder: Path, packets: Packets) -> tuple[int, dict[str, Any]]:
    *_, last = Service(folder, may_push=True).answer(packets)
    return last.kind, decode_message(last.payload) if last.kind == PacketKind.ERROR else {}


@pytest.mark.parametrize("name", [name for name in NAMES if "\ud800" not in name])
def test_refs_that_may_not_be_pushed(tmp_path: Path, name: str) -> None:
    make_kb(tmp_path / "bare", bare=True)
    tip, frames = truth()
    kind, error = pushed(tmp_path / "bare", push_packets(tip, frames, [[name, b"", tip, True]]))
    assert kind == PacketKind.ERROR
    assert error["exit_code"] == 14
    assert not list((tmp_path / "bare").glob("incoming-*"))
    assert list((tmp_path / "bare/packs").iterdir()) == []


@pytest.mark.parametrize(
    "updates",
    [
        [[MAIN, b"", OID, False]],
        [[MAIN, b"", OID, False], [MAIN, b"", OID, False]],
        [[MAIN, b"", b"short", False]],
        [[MAIN, b"", OID, 1]],
        [[MAIN, b"", OID]],
        [MAIN],
        "x",
    ],
)
def test_malformed_updates(tmp_path: Path, updates: Any) -> None:
    make_kb(tmp_path / "bare", bare=True)
    _, frames = truth()
    kind, error = pushed(tmp_path / "bare", push_packets(OID, frames, updates))
    assert kind == PacketKind.ERROR
    assert error["exit_code"] in (12, 14)
    assert not list((tmp_path / "bare").glob("incoming-*"))


def test_requests_that_are_none(tmp_path: Path) -> None:
    make_kb(tmp_path / "a", notes(2))
    service = Service(tmp_path / "a", may_push=True)
    requests = [
        {"command": "rm", "version": 1},
        {"command": "refs"},
        {"command": 5, "version": 1},
        {"version": 1},
        {"command": "fetch", "version": 1},
        {"command": "fetch", "version": 1, "wants": OID, "haves": b"", "filter": "", "held": b""},
        {"command": "fetch", "version": 1, "wants": b"", "haves": b"", "filter": "at:../x", "held": b""},
        {"command": "fetch", "version": 1, "wants": b"", "haves": b"", "filter": "", "held": b"x"},
        {"command": "known", "version": 1, "oids": b"x"},
        {"command": "chunks", "version": 1},
        {"command": "push", "version": 1, "updates": [], "key": b"x", "who": "", "objects": 0},
        {"command": "push", "version": 1, "updates": [], "key": b"k" * 12, "who": ""},
        {
            "command": "push",
            "version": 1,
            "updates": [],
            "key": b"../../../../x",
            "who": "\x1b[31m",
            "objects": 0,
        },
    ]
    for request in requests[:-1]:
        last = list(service.answer(iter([message_packet(request), end_packet(0)])))[-1]  # type: ignore[arg-type]
        assert last.kind == PacketKind.ERROR, request
    # Everything in a key is written as digits, so it is a name and nothing else.
    list(service.answer(iter([message_packet(requests[-1]), end_packet(0)])))  # type: ignore[arg-type]
    assert {path.name for path in tmp_path.iterdir()} == {"a"}


def test_what_no_ref_reaches_is_not_handed_out(tmp_path: Path) -> None:
    repo = make_kb(tmp_path / "a", notes(2))
    root = repo.head_root()
    service = Service(tmp_path / "a", may_push=False)
    request = {"command": "fetch", "version": 1, "wants": root, "haves": b"", "filter": "", "held": b""}
    *_, last = service.answer(iter([message_packet(request), end_packet(0)]))  # type: ignore[arg-type]
    assert "not one that a branch or tag reaches" in decode_message(last.payload)["message"]
    request = {"command": "chunks", "version": 1, "oids": root}
    *_, last = service.answer(iter([message_packet(request), end_packet(0)]))  # type: ignore[arg-type]
    assert "not a passage" in decode_message(last.payload)["message"]
    assert encode_updates([RefUpdate(MAIN, b"", OID)]) == [[MAIN, b"", OID, False]]


# --- over the network


@contextlib.contextmanager
def raw_server(answer: Callable[[socket.socket], None]) -> Iterator[tuple[str, list[int]]]:
    """A server that does what it likes with each connection; the number of connections so far."""
    listener = socket.create_server(("127.0.0.1", 0))
    listener.settimeout(10)
    seen: list[int] = []
    done = threading.Event()

    def run() -> None:
        while not done.is_set():
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            seen.append(1)
            with contextlib.suppress(OSError), connection:
                connection.settimeout(5)
                connection.recv(65536)
                answer(connection)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}", seen
    finally:
        done.set()
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(10)


def head(status: str, *lines: str) -> bytes:
    return "\r\n".join([f"HTTP/1.1 {status}", *lines, "", ""]).encode()


def redirecting(status: str, place: str) -> contextlib.AbstractContextManager[tuple[str, list[int]]]:
    answer = head(status, f"Location: {place}", "Content-Length: 0")
    return raw_server(lambda connection: connection.sendall(answer))


def test_a_redirect_is_not_followed_wherever_it_leads(tmp_path: Path) -> None:
    with raw_server(lambda c: c.sendall(head("200 OK", "Content-Length: 0"))) as (inner, inner_seen):
        for status in ("301 Moved", "302 Found", "303 See", "307 Temporary", "308 Permanent"):
            with (
                redirecting(status, f"{inner}/arbor") as (url, _),
                pytest.raises(RemoteError, match="redirects"),
            ):
                clone_to(url, tmp_path / "b")
        assert inner_seen == []
    shown = r"redirects to 'http://169\.254\.169\.254/', which is not followed"
    with (
        redirecting("302 Found", "http://169.254.169.254/") as (url, _),
        pytest.raises(RemoteError, match=shown),
    ):
        clone_to(url, tmp_path / "b")
    assert not (tmp_path / "b").exists()


def test_other_answers_than_packets_are_refused(tmp_path: Path) -> None:
    bomb = gzip.compress(b"\0" * 20_000_000)
    cases = [
        head("200 OK", "Content-Type: text/html", "Content-Length: 2") + b"hi",
        head(
            "200 OK",
            f"Content-Type: {CONTENT_TYPE}",
            "Content-Encoding: gzip",
            f"Content-Length: {len(bomb)}",
        )
        + bomb,
        head("404 Not Found", "Content-Length: 0"),
        head("500 Oh", "Content-Length: 0"),
        head("401 No", "Content-Length: 0"),
        head("200 OK", f"Content-Type: {CONTENT_TYPE}", "Content-Length: 0"),
        b"not http at all\r\n\r\n",
        b"",
    ]
    for case in cases:
        with raw_server(lambda c, data=case: c.sendall(data)) as (url, _), pytest.raises(RemoteError):  # type: ignore[misc]
            clone_to(url, tmp_path / "b")
        assert not (tmp_path / "b").exists()


def test_a_slow_drip_is_ended(tmp_path: Path) -> None:
    tip, _ = truth()
    start = b"".join(map(encode_packet, [message_packet(shown(tip))]))

    def drip(connection: socket.socket) -> None:
        connection.sendall(head("200 OK", f"Content-Type: {CONTENT_TYPE}", "Content-Length: 1000000"))
        connection.sendall(struct.pack("<BI", PacketKind.MESSAGE, 900_000))
        for place in range(200):
            connection.sendall(start[place % len(start) :][:1])
            time.sleep(0.02)

    limits = Limits(grace_s=0.3, min_bytes_per_s=1000.0)
    began = time.monotonic()
    with raw_server(drip) as (url, _), pytest.raises(RemoteError, match="bytes a second"):
        clone_to(connect(url, ConnectOptions(limits=limits)), tmp_path / "b")
    assert time.monotonic() - began < 30
    assert not (tmp_path / "b").exists()


def test_silence_is_ended(tmp_path: Path) -> None:
    with raw_server(lambda c: time.sleep(1)) as (url, _), pytest.raises(RemoteError, match="in time"):
        clone_to(connect(url, ConnectOptions(limits=Limits(idle_s=0.2))), tmp_path / "b")
    assert not (tmp_path / "b").exists()


# --- files that change while they are read


def test_a_bundle_that_grows_while_it_is_read(tmp_path: Path) -> None:
    tip, frames = truth()
    file = write_bundle(tmp_path / "x", shown(tip), frames * 3)

    class Growing(BundleTransport):
        def call(self, command: str, arguments: dict[str, Any], frames: Any = ()) -> Packets:
            for packet in super().call(command, arguments, frames):
                if packet.kind == PacketKind.FRAME:
                    with file.open("ab") as grown:
                        grown.write(b"FRAM" * 100)
                yield packet

    transport = Growing(file)
    try:
        with pytest.raises(ArborError, match="goes on after its end"):
            clone_to(transport, tmp_path / "b")
    finally:
        transport.close()
    assert not (tmp_path / "b").exists()


def test_a_pack_of_a_local_kb_that_changes_while_it_is_read(tmp_path: Path) -> None:
    source = make_kb(tmp_path / "a", notes(40))
    [pack] = [path for path in source.store.folder.glob("*.pack") if path.stat().st_size > 5000]
    data = pack.read_bytes()
    pack.chmod(0o600)
    for place in range(100, len(data) - 100, len(data) // 9):
        pack.write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
        with pytest.raises(ArborError) as caught:
            clone_to(tmp_path / "a", tmp_path / "b")
        assert caught.value.exit_code in (12, 14)
        assert not (tmp_path / "b").exists()
    pack.write_bytes(data[: len(data) // 2])
    with pytest.raises(ArborError):
        clone_to(tmp_path / "a", tmp_path / "b")
    assert not (tmp_path / "b").exists()


def test_a_local_kb_whose_packs_are_links_elsewhere_gives_nothing_away(tmp_path: Path) -> None:
    source = make_kb(tmp_path / "a", notes(3))
    secret = tmp_path / "secret"
    secret.write_text("the secret\n" * 100)
    for path in list(source.store.folder.glob("*")):
        path.unlink()
        path.symlink_to(secret)
    with pytest.raises(ArborError):
        clone_to(tmp_path / "a", tmp_path / "b")
    assert not (tmp_path / "b").exists()


SMALL_FILES = ["HEAD", "format", "refs/heads/main", "refs/heads/x", "tiers"]


def refused_with(folder: Path, name: str, change: Callable[[Path], object]) -> None:
    """A clone of a KB with one file changed is refused, names the file, and leaves nothing."""
    make_kb(folder / "a", notes(2))
    kb = folder / "a" / ".arbor"
    place = next((kb / "packs").glob(name)) if "*" in name else kb / name
    place.unlink(missing_ok=True)
    change(place)
    with pytest.raises(ArborError) as caught:
        clone_to(folder / "a", folder / "b")
    assert caught.value.exit_code in (12, 14)
    assert place.name in caught.value.message
    assert not (folder / "b").exists()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
@pytest.mark.parametrize("name", [*SMALL_FILES, "*.pack"])
def test_a_local_kb_with_a_pipe_in_it_is_not_waited_for(tmp_path: Path, name: str) -> None:
    refused_with(tmp_path, name, os.mkfifo)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
def test_an_index_that_is_a_pipe_is_made_again(tmp_path: Path) -> None:
    make_kb(tmp_path / "a", notes(2))
    index = next((tmp_path / "a" / ".arbor" / "packs").glob("*.idx"))
    index.unlink()
    os.mkfifo(index)
    clone_to(tmp_path / "a", tmp_path / "b")
    assert_whole(open_repository(tmp_path / "b"))


@pytest.mark.skipif(sys.platform == "win32", reason="a file has room on the disk for all of its size there")
@pytest.mark.parametrize("name", SMALL_FILES)
def test_a_file_of_a_local_kb_that_is_larger_than_memory_is_not_read(tmp_path: Path, name: str) -> None:
    def stretch(place: Path) -> None:
        place.touch()
        os.truncate(place, 1 << 40)

    refused_with(tmp_path, name, stretch)


def test_settings_and_hooks_of_the_source_do_not_come_along(tmp_path: Path) -> None:
    source = make_kb(tmp_path / "a", notes(3))
    source.settings.set("user.name", "Mallory")
    source.settings.set("remote.origin.url", "ssh://-oProxyCommand=touch x/")
    (source.folder / "hooks/post-checkout").write_text("#!/bin/sh\ntouch ran\n")
    (source.folder / "hooks/post-checkout").chmod(0o755)
    clone_to(tmp_path / "a", tmp_path / "b")
    repo = open_repository(tmp_path / "b")
    assert repo.settings.get("user.name") is None
    assert repo.settings.get("remote.origin.url") == str(tmp_path / "a")
    assert list((repo.folder / "hooks").iterdir()) == []


def test_a_link_in_the_work_tree_is_not_followed_by_a_pull(tmp_path: Path) -> None:
    source = make_kb(tmp_path / "a", {"a.md": "a\n"})
    clone_to(tmp_path / "a", tmp_path / "b")
    repo = open_repository(tmp_path / "b")
    (tmp_path / "outside").mkdir()
    (tmp_path / "b/folder").symlink_to(tmp_path / "outside")
    (tmp_path / "a/folder").mkdir()
    (tmp_path / "a/folder/x.md").write_text("x\n")
    adding.add(source, [""])
    committing.commit(source, "folder")
    fetch_from(repo, tmp_path / "a")
    with contextlib.suppress(ArborError):
        branching.reset(repo, "origin/main", "hard")
    assert list((tmp_path / "outside").iterdir()) == []


def test_an_address_from_settings_is_checked_like_a_typed_one(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        connect("ssh://-oProxyCommand=touch%20x/kb")


@pytest.mark.parametrize("said", [0, 2])
def test_frames_are_as_many_as_the_end_says(said: int) -> None:
    packets = [message_packet({}), Packet(PacketKind.FRAME, b"frame"), end_packet(said)]
    _, frames = open_packets(iter(packets))
    with pytest.raises(RemoteError, match="another number of frames"):
        list(frames)
