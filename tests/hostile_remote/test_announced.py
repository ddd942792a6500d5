"""What comes is what was announced: not more, not less, and nothing of it twice."""

from __future__ import annotations

import itertools
import random
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from blake3 import blake3

from arbor.errors import ArborError, IntegrityError, RemoteError
from arbor.objects import merkle
from arbor.objects.ids import Kind
from arbor.objects.model import ChunkRef
from arbor.remote.exchange.chunks import fetch_chunks
from arbor.remote.exchange.service import Service
from arbor.remote.exchange.transfer import TransferOptions
from arbor.remote.protocol.limits import Limits
from arbor.remote.protocol.messages import FetchAnswer, encode_fetch_answer
from arbor.remote.protocol.wire import (
    Interrupted,
    Message,
    Packet,
    PacketKind,
    Packets,
    answer_packets,
    decode_message,
    message_packet,
)
from arbor.repo.repository import open_repository
from arbor.repo.trust.verify import verify
from arbor.store import pack_format as fmt
from tests.hostile_remote.liars import Liar, World, frame, push_packets, shown, write_bundle
from tests.remote.people import clone_to, fetch_from, make_kb, notes

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd


def truth() -> tuple[bytes, list[bytes], int]:
    """(tip, frames, objects) of a sound KB."""
    world = World()
    tip, _ = world.commit(world.ledger({"d/a.md": world.document()}))
    return tip, world.frames(), len(world.objects)


class Counted:
    """Frames without end; how many were taken."""

    def __init__(self, frames: Iterable[bytes]) -> None:
        self._frames = itertools.cycle(frames)
        self.taken = 0

    def __iter__(self) -> Iterator[bytes]:
        for each in self._frames:
            self.taken += 1
            yield each


class Streaming(Liar):
    """Sends frames as they are asked for."""

    def call(self, command: str, arguments: Message, frames: Iterable[bytes] = ()) -> Packets:
        if command != "fetch":
            return super().call(command, arguments, frames)
        assert self._answer is not None
        return answer_packets(self._answer, self._frames)


def test_more_than_was_announced_is_refused_as_soon_as_it_comes(tmp_path: Path) -> None:
    tip, frames, objects = truth()
    source = Counted(frames)
    liar = Streaming(shown(tip), source, encode_fetch_answer(FetchAnswer(3 * objects)))
    with pytest.raises(IntegrityError, match=f"more than the {3 * objects} objects"):
        clone_to(liar, tmp_path / "b")
    assert source.taken == 4
    assert not (tmp_path / "b").exists()
    repo = make_kb(tmp_path / "c", notes(2))
    with pytest.raises(IntegrityError, match="announced"):
        fetch_from(repo, liar)
    assert not list(repo.folder.glob("incoming-*"))


@pytest.mark.parametrize("announced", [5000, 2**63])
def test_fewer_than_were_announced_are_refused(tmp_path: Path, announced: int) -> None:
    tip, frames, objects = truth()
    with pytest.raises(IntegrityError, match=f"{objects} of the 5000 objects|more than 200000000 objects"):
        clone_to(Liar(shown(tip), frames, encode_fetch_answer(FetchAnswer(announced))), tmp_path / "b")
    assert not (tmp_path / "b").exists()


@pytest.mark.parametrize("has_kb", [False, True])
def test_what_comes_twice_is_kept_once(tmp_path: Path, has_kb: bool) -> None:
    tip, frames, objects = truth()
    if has_kb:
        repo = make_kb(tmp_path / "b", notes(2))
        fetch_from(repo, Liar(shown(tip), frames * 500), "evil")
    else:
        clone_to(Liar(shown(tip), frames * 500), tmp_path / "b")
        repo = open_repository(tmp_path / "b")
    repo.store.refresh()
    packs = [pack for pack in repo.store.packs() if pack.index.find(tip)]
    [pack] = packs
    assert sum(pack.frame_count(number) for number in range(len(pack.index.frame_offsets))) == objects
    assert pack.size_bytes < 2 * sum(map(len, frames))


def test_a_push_of_more_or_less_than_it_announces(tmp_path: Path) -> None:
    make_kb(tmp_path / "bare", bare=True)
    tip, frames, objects = truth()
    for sent, announced in ((frames * 3, objects), (frames, objects + 1), (frames * 2, 2**63)):
        *_, last = Service(tmp_path / "bare", may_push=True).answer(
            push_packets(tip, sent, objects=announced)
        )
        assert last.kind == PacketKind.ERROR
        assert "objects" in decode_message(last.payload)["message"]
        assert not list((tmp_path / "bare").glob("incoming-*"))
    assert list((tmp_path / "bare/packs").iterdir()) == []


def test_a_bundle_of_more_or_less_than_it_says(tmp_path: Path) -> None:
    tip, frames, objects = truth()
    for sent, announced in ((frames * 3, objects), (frames, objects + 1)):
        file = write_bundle(tmp_path / "x", shown(tip), sent, announced)
        with pytest.raises(IntegrityError, match="announced"):
            clone_to(file, tmp_path / "b")
        assert not (tmp_path / "b").exists()


def test_frames_that_hold_nothing_or_little_are_refused(tmp_path: Path) -> None:
    tip, frames, _ = truth()
    padded = random.Random(1).randbytes(500_000)
    skippable = b"\x50\x2a\x4d\x18" + len(padded).to_bytes(4, "little") + padded
    raw = b"\x01" + (1).to_bytes(4, "little") + b"x"
    for bad in (frame(b"", zstd.compress(b""), 0), frame(raw, skippable + zstd.compress(raw), 1)):
        with pytest.raises(IntegrityError, match="larger than what is in it"):
            clone_to(Liar(shown(tip), [*frames, bad]), tmp_path / "b")
        assert not (tmp_path / "b").exists()


def test_few_objects_cannot_be_many_bytes(tmp_path: Path) -> None:
    world = World()
    tip, _ = world.commit(world.ledger({"d/a.md": world.document()}))
    noise = random.Random(1)
    junk = [fmt.encode_frame([(Kind.CHUNK, noise.randbytes(40_000))]) for _ in range(4)]
    limits = Limits(free_raw_bytes=10_000, max_mean_bytes=10_000)
    with pytest.raises(IntegrityError, match="larger than its 9 objects can be"):
        clone_to(Liar(shown(tip), [*world.frames(), *junk]), tmp_path / "b", TransferOptions(limits=limits))


def test_half_of_a_lie_does_not_stay_either(tmp_path: Path) -> None:
    tip, frames, objects = truth()
    raw = b"\x01" + (3).to_bytes(4, "little") + b"xyz"
    unsound = frame(raw, zstd.compress(raw), 2)
    for sent in (frames * 100, [*frames, unsound]):
        packets = [message_packet(encode_fetch_answer(FetchAnswer(objects * 1000)))]
        packets += [Packet(PacketKind.FRAME, each) for each in sent]
        with pytest.raises(Interrupted):
            clone_to(Liar(shown(tip), [], packets=packets), tmp_path / "b")
        assert not (tmp_path / "b").exists()


def test_answers_without_objects_bring_none(tmp_path: Path) -> None:
    tip, frames, _ = truth()

    class Talkative(Liar):
        def call(self, command: str, arguments: Message, frames: Iterable[bytes] = ()) -> Packets:
            return answer_packets(shown(tip) if command == "refs" else {"oids": b""}, source)

    source = Counted(frames)
    with pytest.raises(RemoteError, match="not asked for"):
        clone_to(Talkative(shown(tip), []), tmp_path / "b")
    assert source.taken == 1


def test_passages_that_were_not_asked_for(tmp_path: Path) -> None:
    _, frames, _ = truth()
    source = Counted(frames)

    class Generous(Liar):
        def call(self, command: str, arguments: Message, frames: Iterable[bytes] = ()) -> Packets:
            return answer_packets({"objects": 1}, source)

    with pytest.raises(ArborError, match="more than the 1 objects"):
        list(fetch_chunks(Generous(shown(b"\x01" * 32), []), [b"\x01" * 32]))
    assert source.taken == 1


def repeating(passages: int, documents: int) -> tuple[bytes, list[bytes]]:
    """(tip, frames) of documents that all have one manifest, which names one passage again and again."""
    world, data = World(), b"x" * 60_000
    ref = ChunkRef(world.put(Kind.CHUNK, data), len(data), 0, ())
    changes = {
        "size": len(data) * passages,
        "file_hash": blake3(data * passages).digest(),
        "passage_count": passages,
        "text_root": merkle.tree_root([ref.oid] * passages),
    }
    entries = {
        f"d/{number}.md": world.document("", {"passages": (ref,) * passages}, title=f"{number}", **changes)
        for number in range(documents)
    }
    world.objects = list(dict.fromkeys(world.objects))
    tip, _ = world.commit(world.ledger(entries))
    return tip, world.frames()


def test_a_small_transfer_does_not_come_to_files_without_end(tmp_path: Path) -> None:
    """What is hashed is counted once for each manifest, however many documents have it, and is bounded."""
    limits = Limits(free_file_bytes=6_000_000, max_ratio=1)
    tip, frames = repeating(passages=90, documents=300)
    clone_to(Liar(shown(tip), frames), tmp_path / "a", TransferOptions(limits=limits), bare=True)
    assert verify(open_repository(tmp_path / "a"), tip).ok
    tip, frames = repeating(passages=900, documents=1)
    with pytest.raises(IntegrityError, match=r"larger than \d+ bytes in all"):
        clone_to(Liar(shown(tip), frames), tmp_path / "b", TransferOptions(limits=limits), bare=True)
    assert not (tmp_path / "b").exists()


def test_a_file_that_repeats_its_passages_is_compared(tmp_path: Path) -> None:
    world = World()
    ref = ChunkRef(world.put(Kind.CHUNK, b"y" * 60_000), 60_000, 0, ())
    false = {
        "size": 60_000 * 90,
        "passage_count": 90,
        "text_root": merkle.tree_root([ref.oid] * 90),
        "file_hash": b"\x07" * 32,
    }
    document = world.document("", {"passages": (ref,) * 90}, **false)
    tip, _ = world.commit(world.ledger({"d/a.md": document}))
    with pytest.raises(IntegrityError, match="does not hold the file whose hash it records"):
        clone_to(Liar(shown(tip), world.frames()), tmp_path / "b", bare=True)
