"""A world of objects that may be wrong in any way, and the vehicles that bring it: a server, a bundle, a push."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from blake3 import blake3

from arbor.objects import ledger, merkle, model
from arbor.objects.codec import encode
from arbor.objects.ids import Kind, object_id
from arbor.objects.model import ChunkRef, Commit, Document, Manifest, Signature
from arbor.remote.protocol.messages import (
    Advertisement,
    FetchAnswer,
    RemoteRef,
    encode_advertisement,
    encode_fetch_answer,
)
from arbor.remote.protocol.wire import (
    Message,
    Packet,
    PacketKind,
    Packets,
    answer_packets,
    end_packet,
    message_packet,
)
from arbor.store import pack_format as fmt

WHO = Signature("Mallory", "mallory@example.org", 1_700_000_000, 0)
MAIN = "refs/heads/main"


@dataclass
class World:
    """Objects to be sent, in order."""

    objects: list[tuple[int, bytes]] = field(default_factory=list)

    def put(self, kind: int, data: bytes) -> bytes:
        """Add an object as it is."""
        self.objects.append((kind, data))
        return object_id(kind, data)

    def drop(self, oid: bytes) -> None:
        """Leave an object out."""
        self.objects = [(kind, data) for kind, data in self.objects if object_id(kind, data) != oid]

    def document(
        self, text: str = "# A\n", manifest_changes: dict[str, Any] | None = None, **changes: Any
    ) -> bytes:
        """A document of one passage, with fields replaced."""
        data = text.encode()
        chunk = self.put(Kind.CHUNK, data)
        manifest = replace(
            Manifest((ChunkRef(chunk, len(data), data.count(b"\n"), ()),), (), ()), **(manifest_changes or {})
        )
        manifest_oid = self.put(Kind.MANIFEST, model.encode_manifest(manifest))
        document = Document(
            "surface",
            "text/markdown",
            "A",
            "",
            "utf-8",
            len(data),
            blake3(data).digest(),
            "markdown/3",
            "structural/1",
            "bytes/1",
            1,
            merkle.tree_root([chunk]),
            0,
            b"",
            manifest_oid,
        )
        return self.put(Kind.DOCUMENT, model.encode_document(replace(document, **changes)))

    def ledger(self, entries: dict[str, bytes]) -> bytes:
        """A ledger as the builder makes it, whatever the keys are."""
        return ledger.build(sorted(entries.items()), lambda oid, data: self.objects.append((Kind.NODE, data)))

    def node(self, level: int, rows: Sequence[tuple[Any, ...]]) -> bytes:
        """A ledger node of any shape."""
        return self.put(Kind.NODE, encode([level, [value for row in rows for value in row]]))

    def commit(
        self, root: bytes, parents: Sequence[tuple[bytes, Commit]] = (), **changes: Any
    ) -> tuple[bytes, Commit]:
        """A commit with the right log, with fields replaced."""
        size, peaks = 0, []
        if parents:
            oid, first = parents[0]
            size, peaks = first.log_size + 1, merkle.append_leaf(first.log_size, first.log_peaks, oid)
        made = Commit(
            root, tuple(oid for oid, _ in parents), WHO, WHO, "m", {"chunker": "x"}, size, tuple(peaks)
        )
        made = replace(made, **changes)
        return self.put(Kind.COMMIT, model.encode_commit(made)), made

    def frames(self) -> list[bytes]:
        """All objects in one frame."""
        return [fmt.encode_frame(self.objects)] if self.objects else []


def frame(raw: bytes, payload: bytes, count: int, raw_bytes: int | None = None) -> bytes:
    """A frame whose header says anything."""
    head = struct.pack(
        "<4sIII8s",
        fmt.FRAME_MAGIC,
        count,
        len(raw) if raw_bytes is None else raw_bytes,
        len(payload),
        blake3(payload).digest(8),
    )
    return head + blake3(head).digest(8) + payload


def shown(tip: bytes, **changes: Any) -> Message:
    """What the liar advertises."""
    message = encode_advertisement(Advertisement(MAIN, (RemoteRef(MAIN, tip, tip),)))
    return {**message, **changes}


def count(frames: Iterable[bytes]) -> int:
    """How many objects the headers of frames speak of."""
    headers = [fmt.decode_frame_header(each[: fmt.HEADER_BYTES]) for each in frames]
    return sum(header.count for header in headers if header is not None)


class Liar:
    """A transport that answers what it was given; how many objects come is true where nothing else is given."""

    url = "liar://"
    is_peer = True

    def __init__(
        self,
        refs: Message,
        frames: Iterable[bytes],
        answer: Message | None = None,
        packets: Sequence[Packet] | None = None,
    ) -> None:
        self._refs = refs
        self._frames = frames
        self._answer = answer
        self._packets = packets

    def call(self, command: str, arguments: Message, frames: Iterable[bytes] = ()) -> Packets:
        if command == "refs":
            return answer_packets(self._refs)
        if command == "known":
            return answer_packets({"oids": b""})
        if self._packets is not None:
            return (packet for packet in self._packets)
        frames = list(self._frames)
        answer = encode_fetch_answer(FetchAnswer(count(frames)))
        return answer_packets(answer if self._answer is None else self._answer, frames)

    def close(self) -> None:
        pass


def write_bundle(
    fs_path: Path, refs: Message, frames: Sequence[bytes], objects: int | None = None, **changes: str
) -> Path:
    """A bundle file with a right header check and trailer around wrong things."""
    objects = count(frames) if objects is None else objects
    header = encode(dict(sorted({**refs, "filter": "", "cold": b"", "objects": objects, **changes}.items())))
    body = b"ARBBNDL1" + struct.pack("<I", len(header)) + header + blake3(header).digest(8) + b"".join(frames)
    body += fmt.encode_trailer(len(frames), objects)
    fs_path.write_bytes(body + blake3(body).digest())
    return fs_path


def push_packets(
    tip: bytes, frames: Sequence[bytes], updates: list[list[Any]] | None = None, objects: int | None = None
) -> Packets:
    """The request of somebody who pushes lies."""
    rows = updates if updates is not None else [[MAIN, b"", tip, False]]
    yield message_packet(
        {
            "command": "push",
            "version": 1,
            "updates": rows,
            "key": b"k" * 12,
            "who": "Mallory",
            "objects": count(frames) if objects is None else objects,
        }
    )
    for each in frames:
        yield Packet(PacketKind.FRAME, each)
    yield end_packet(len(frames))
