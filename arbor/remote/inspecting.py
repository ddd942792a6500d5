"""Every byte of a pack that arrived, unpacked, hashed and decoded strictly, over several processes where it is safe."""

from __future__ import annotations

import contextlib
import gc
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, NamedTuple, Protocol

from arbor.errors import IntegrityError
from arbor.objects import codec, ledger, merkle, model
from arbor.objects.ids import OID_BYTES, Kind, object_id
from arbor.objects.links import check_rows
from arbor.processes import map_forked
from arbor.store.pack_format import Frame, FrameHeader
from arbor.store.pack_index import encode_row

_FRAMES_A_TASK = 16

DocumentRow = tuple[bytes, bytes, int, bytes, int, bytes, int, bytes]
"""oid, manifest, passages, their root, pieces of the original, their root, bytes, derivation (b"" for none)."""


class FrameSource(Protocol):
    """Where frames are read from."""

    def frame_at(self, offset: int, header: FrameHeader) -> Frame:
        """The frame at an offset; raises IntegrityError when it is damaged."""


class ManifestFacts(NamedTuple):
    """What a manifest comes to: the fields 2 to 6 of the document that fits it, and its chunks with their sizes."""

    fields: tuple[int, bytes, int, bytes, int]
    chunks: bytes
    sizes: bytes

    def parts(self) -> Iterator[tuple[bytes, int]]:
        """(oid, bytes) of each chunk."""
        sizes = array("I", self.sizes)
        chunks = self.chunks
        return zip((chunks[i : i + OID_BYTES] for i in range(0, len(chunks), OID_BYTES)), sizes, strict=True)


@dataclass(slots=True)
class Inspection:
    """What a pack holds, every object hashed and of a sound form.

    Attributes:
        rows: Index rows of all objects.
        chunks: Oid to bytes of each chunk.
        documents, manifests: What documents and manifests say, by oid.
        nodes, commits, tags: Encodings by oid.
        derivations: Oids of derivations.
    """

    rows: list[bytes] = field(default_factory=list)
    chunks: dict[bytes, int] = field(default_factory=dict)
    documents: dict[bytes, DocumentRow] = field(default_factory=dict)
    manifests: dict[bytes, ManifestFacts] = field(default_factory=dict)
    nodes: dict[bytes, bytes] = field(default_factory=dict)
    commits: dict[bytes, bytes] = field(default_factory=dict)
    tags: dict[bytes, bytes] = field(default_factory=dict)
    derivations: set[bytes] = field(default_factory=set)

    def oids(self) -> Iterator[bytes]:
        """Every oid."""
        return chain(self.chunks, self.documents, self.manifests, self.nodes, self.commits, self.tags, self.derivations)


@dataclass(slots=True)
class _Part:
    """What one task found; travels between processes, so it is made of plain values."""

    rows: list[bytes] = field(default_factory=list)
    chunk_oids: list[bytes] = field(default_factory=list)
    chunk_sizes: list[int] = field(default_factory=list)
    documents: list[DocumentRow] = field(default_factory=list)
    manifests: list[tuple[bytes, tuple[Any, ...]]] = field(default_factory=list)
    others: tuple[list[tuple[bytes, bytes]], ...] = field(default_factory=lambda: ([], [], []))
    derivations: list[bytes] = field(default_factory=list)


def inspect_frames(source: FrameSource, frames: Sequence[tuple[int, FrameHeader]]) -> Inspection:
    """Look at the frames of a pack: (offset, header) in order.

    Raises:
        IntegrityError: at the first frame or object that is damaged or not of a sound form.
    """
    tasks = [(i, frames[i : i + _FRAMES_A_TASK]) for i in range(0, len(frames), _FRAMES_A_TASK)]

    def work(task: tuple[int, Sequence[tuple[int, FrameHeader]]]) -> _Part:
        with _collector_paused():
            return _inspect_task(source, *task)

    found = Inspection()
    for part in map_forked(work, tasks):
        found.rows += part.rows
        found.chunks.update(zip(part.chunk_oids, part.chunk_sizes, strict=True))
        found.documents.update((row[0], row) for row in part.documents)
        found.manifests.update((oid, ManifestFacts(*facts)) for oid, facts in part.manifests)
        for known, fresh in zip((found.nodes, found.commits, found.tags), part.others, strict=True):
            known.update(fresh)
        found.derivations.update(part.derivations)
    return found


@contextlib.contextmanager
def _collector_paused() -> Iterator[None]:
    """The cycle collector would walk the many small values of a task again and again; none of them is cyclic."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _inspect_task(source: FrameSource, first: int, frames: Sequence[tuple[int, FrameHeader]]) -> _Part:
    part = _Part()
    for number, (offset, header) in enumerate(frames, first):
        _inspect_frame(part, number, source.frame_at(offset, header))
    return part


def _inspect_frame(part: _Part, number: int, frame: Frame) -> None:
    view, bounds = memoryview(frame.raw), frame.bounds
    chunk = int(Kind.CHUNK)
    for slot, kind in enumerate(frame.kinds):
        data = view[bounds[slot] : bounds[slot + 1]]
        oid = object_id(kind, data)
        part.rows.append(encode_row(oid, number, slot))
        if kind == chunk:
            part.chunk_oids.append(oid)
            part.chunk_sizes.append(len(data))
            continue
        try:
            _INSPECT[kind](part, oid, bytes(data))
        except IntegrityError as error:
            raise IntegrityError(f"{Kind(kind).label} {oid.hex()[:12]}: {error.message}", error.hint) from error


def _document(part: _Part, oid: bytes, data: bytes) -> None:
    d = model.decode_document(data)
    part.documents.append((oid, d.manifest, d.passage_count, d.text_root, d.original_count, d.original_root, d.size,
                           d.derivation))  # fmt: skip


def _node(part: _Part, oid: bytes, data: bytes) -> None:
    ledger.decode_node(data)
    part.others[0].append((oid, data))


def _commit(part: _Part, oid: bytes, data: bytes) -> None:
    model.decode_commit(data)
    part.others[1].append((oid, data))


def _tag(part: _Part, oid: bytes, data: bytes) -> None:
    model.decode_tag(data)
    part.others[2].append((oid, data))


def _derivation(part: _Part, oid: bytes, data: bytes) -> None:
    model.decode_derivation(data)
    part.derivations.append(oid)


def _manifest(part: _Part, oid: bytes, data: bytes) -> None:
    part.manifests.append((oid, manifest_facts(data)))


def manifest_facts(data: bytes) -> tuple[tuple[int, bytes, int, bytes, int], bytes, bytes]:
    """The fields of `ManifestFacts`, with the same checks as `model.decode_manifest`, a column at a time.

    Manifests are most of what a pack says in words, and building the values that nobody will read takes three times
    as long as checking them.

    Raises:
        IntegrityError: when the bytes are not the canonical encoding of a manifest.
    """
    value = codec.decode(data, trusted=True)
    try:
        schema, passages, original, links = value
        if schema != model.SCHEMA or type(value) is not list or type(schema) is not int or codec.encode(value) != data:
            raise ValueError("encoding")
        leaves, leaf_sizes = _columns(passages, 5)
        _check_headings(passages)
        pieces, piece_sizes = _columns(original, 2)
        if type(links) is not list:
            raise ValueError("links")
        check_rows(links)
        sizes = array("I", leaf_sizes + piece_sizes).tobytes()
    except (ValueError, TypeError, IndexError, OverflowError) as error:
        raise IntegrityError("a manifest has a field of the wrong type, or is not in its canonical encoding") from error
    fields = (len(leaves), merkle.tree_root(leaves), len(pieces), merkle.tree_root(pieces) if pieces else b"",
              sum(piece_sizes or leaf_sizes))  # fmt: skip
    return fields, b"".join(leaves) + b"".join(pieces), sizes


def _columns(rows: Any, width: int) -> tuple[tuple[bytes, ...], tuple[int, ...]]:
    """The oids and sizes of rows that begin with them."""
    if type(rows) is not list or not all(type(row) is list for row in rows):
        raise ValueError("rows")
    if not rows:
        return (), ()
    oids, sizes, *_ = zip(*rows, strict=True)
    if len(rows[0]) != width or set(map(type, oids)) != {bytes} or set(map(len, oids)) != {OID_BYTES}:
        raise ValueError("oid")
    if set(map(type, sizes)) != {int} or min(sizes) < 0:
        raise ValueError("size")
    return oids, sizes


def _check_headings(passages: list[list[Any]]) -> None:
    """Newline counts and heading paths; each path says how much it shares with the one before, no more and no less."""
    before: list[str] = []
    for _, _, newlines, shared, rest in passages:
        if type(newlines) is not int or newlines < 0 or type(shared) is not int or type(rest) is not list:
            raise ValueError("passage")
        if not rest and shared == len(before):
            continue
        if not 0 <= shared <= len(before) or not all(type(text) is str for text in rest):
            raise ValueError("headings")
        headings = before[:shared] + rest
        if rest and shared < len(before) and before[shared] == rest[0]:
            raise ValueError("headings")
        before = headings


_INSPECT = {
    int(Kind.MANIFEST): _manifest,
    int(Kind.DOCUMENT): _document,
    int(Kind.NODE): _node,
    int(Kind.COMMIT): _commit,
    int(Kind.TAG): _tag,
    int(Kind.DERIVATION): _derivation,
}
