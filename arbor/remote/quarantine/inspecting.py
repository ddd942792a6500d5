"""Every byte of a pack that arrived, unpacked, hashed and decoded strictly, over several processes where it is safe."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import field
from itertools import chain, pairwise
from typing import Any, NamedTuple, Protocol

from blake3 import blake3

from arbor.errors import IntegrityError
from arbor.memory import collector_paused
from arbor.objects.columns import decode_all, measure
from arbor.objects.ids import OID_BYTES, Kind
from arbor.objects.model import split_oids
from arbor.processes import map_forked
from arbor.records import dataclass
from arbor.store.pack_format import Frame, FrameHeader
from arbor.store.pack_index import encode_row

_FRAMES_A_TASK = 48
_HELD_BYTES = 32 * 1024 * 1024
_REPEATS = 4
"""How many times the bytes at hand may be hashed as parts of files: a manifest can name one passage any number of
times. What is left is read again later, where it is counted."""

DocumentRow = tuple[bytes, bytes, int, bytes, int, bytes, int, bytes, bytes, str]
"""Its oid, and what `arbor.objects.columns.DocumentRow` has."""


class FrameSource(Protocol):
    """Where frames are read from."""

    def frame_at(self, offset: int, header: FrameHeader) -> Frame:
        """The frame at an offset; raises IntegrityError when it is damaged."""


class ManifestFacts(NamedTuple):
    """What a manifest comes to: the fields 2 to 6 of the document that fits it, and its chunks with their measures."""

    fields: tuple[int, bytes, int, bytes, int]
    chunks: bytes
    measures: bytes

    def columns(self) -> tuple[list[bytes], list[int]]:
        """The oids and the measures of its chunks, see `arbor.objects.columns.measure`."""
        return split_oids(self.chunks), array("Q", self.measures).tolist()


@dataclass(slots=True)
class Inspection:
    """What a pack holds, every object hashed and of a sound form.

    Attributes:
        rows: Index rows of all objects.
        chunks: Oid to measure of each chunk, the bytes 0x0A being its lines.
        documents, manifests: What documents and manifests say, by oid.
        nodes, commits, tags: Encodings by oid.
        derivations: Oids of derivations.
        false_files: Documents that do not hold the file whose hash they record.
        unread_files: Documents whose files were not put together, since not all of their pieces were at hand.
    """

    rows: list[bytes] = field(default_factory=list)
    chunks: dict[bytes, int] = field(default_factory=dict)
    documents: dict[bytes, DocumentRow] = field(default_factory=dict)
    manifests: dict[bytes, ManifestFacts] = field(default_factory=dict)
    nodes: dict[bytes, bytes] = field(default_factory=dict)
    commits: dict[bytes, bytes] = field(default_factory=dict)
    tags: dict[bytes, bytes] = field(default_factory=dict)
    derivations: set[bytes] = field(default_factory=set)
    false_files: list[bytes] = field(default_factory=list)
    unread_files: list[bytes] = field(default_factory=list)

    def oids(self) -> Iterator[bytes]:
        """Every oid."""
        return chain(
            self.chunks, self.documents, self.manifests, self.nodes, self.commits, self.tags, self.derivations
        )


@dataclass(slots=True)
class _Part:
    """What one task found; travels between processes, so it is made of plain values."""

    rows: list[bytes] = field(default_factory=list)
    chunk_oids: list[bytes] = field(default_factory=list)
    chunk_measures: list[int] = field(default_factory=list)
    documents: list[DocumentRow] = field(default_factory=list)
    manifests: list[tuple[bytes, tuple[Any, ...]]] = field(default_factory=list)
    false_files: list[bytes] = field(default_factory=list)
    unread_files: list[bytes] = field(default_factory=list)
    others: dict[int, list[tuple[bytes, bytes]]] = field(
        default_factory=lambda: {
            int(kind): [] for kind in (Kind.NODE, Kind.COMMIT, Kind.TAG, Kind.DERIVATION)
        }
    )


def inspect_frames(source: FrameSource, frames: Sequence[tuple[int, FrameHeader]]) -> Inspection:
    """Look at the frames of a pack: (offset, header) in order.

    Raises:
        IntegrityError: at the first frame or object that is damaged or not of a sound form.
    """
    tasks = [(i, frames[i : i + _FRAMES_A_TASK]) for i in range(0, len(frames), _FRAMES_A_TASK)]

    def work(task: tuple[int, Sequence[tuple[int, FrameHeader]]]) -> _Part:
        with collector_paused():
            return _inspect_task(source, *task)

    found = Inspection()
    for part in map_forked(work, tasks):
        found.rows += part.rows
        found.chunks.update(zip(part.chunk_oids, part.chunk_measures, strict=True))
        found.documents.update((row[0], row) for row in part.documents)
        found.manifests.update((oid, ManifestFacts(*facts)) for oid, facts in part.manifests)
        found.nodes.update(part.others[Kind.NODE])
        found.commits.update(part.others[Kind.COMMIT])
        found.tags.update(part.others[Kind.TAG])
        found.derivations.update(oid for oid, _ in part.others[Kind.DERIVATION])
        found.false_files += part.false_files
        found.unread_files += part.unread_files
    return found


def _inspect_task(source: FrameSource, first: int, frames: Sequence[tuple[int, FrameHeader]]) -> _Part:
    part, at_hand = _Part(), _Pieces()
    for number, (offset, header) in enumerate(frames, first):
        frame = source.frame_at(offset, header)
        held = frame.oids()
        _inspect_frame(part, number, frame, held)
        at_hand.take(frame, held)
    _compare_files(part, at_hand)
    return part


def _inspect_frame(part: _Part, number: int, frame: Frame, held: list[bytes]) -> None:
    bounds, count = frame.bounds, frame.raw.count
    part.rows += [encode_row(oid, number, slot) for slot, oid in enumerate(held)]
    words = frame.words(held)
    if not words:
        part.chunk_oids += held
        part.chunk_measures += [
            (end - start) << 32 | count(b"\n", start, end) for start, end in pairwise(bounds)
        ]
    else:
        chunks = [slot for slot, kind in enumerate(frame.kinds) if kind == Kind.CHUNK]
        part.chunk_oids += [held[slot] for slot in chunks]
        spans = [(bounds[slot], bounds[slot + 1]) for slot in chunks]
        part.chunk_measures += [measure(end - start, count(b"\n", start, end)) for start, end in spans]
    for kind, found in words.items():
        oids, values = [oid for oid, _ in found], _sound(kind, found)
        if kind == Kind.MANIFEST:
            part.manifests += zip(oids, values, strict=True)
        elif kind == Kind.DOCUMENT:
            part.documents += [(oid, *row) for oid, row in zip(oids, values, strict=True)]
        else:
            part.others[kind].extend(found)


class _Pieces:
    """The objects of the frames that were read last, as far as they are not too large to be kept."""

    def __init__(self) -> None:
        self._places: dict[bytes, tuple[memoryview, int, int]] = {}
        self._left = _HELD_BYTES
        self._to_hash = 0

    def take(self, frame: Frame, held: list[bytes]) -> None:
        self._left -= len(frame.raw)
        if self._left >= 0:
            self._to_hash += _REPEATS * len(frame.raw)
            raw = memoryview(frame.raw)
            spans = zip(frame.bounds, frame.bounds[1:], strict=False)
            self._places.update(
                (oid, (raw, start, end)) for oid, (start, end) in zip(held, spans, strict=True)
            )

    def hash_of(self, oids: Sequence[bytes]) -> bytes | None:
        """The plain BLAKE3 of objects one after the other; None where one is not at hand, or they are too many."""
        hasher = blake3()
        for oid in oids:
            place = self._places.get(oid)
            if place is None:
                return None
            raw, start, end = place
            self._to_hash -= end - start
            if self._to_hash < 0:
                return None
            hasher.update(raw[start:end])
        return hasher.digest()


def _compare_files(part: _Part, at_hand: _Pieces) -> None:
    """Put the files of documents together whose manifest and pieces came in the same frames."""
    manifests = dict(part.manifests)
    hashes: dict[bytes, bytes | None] = {}  # any number of documents can have one manifest
    for row in part.documents:
        facts = manifests.get(row[1])
        if facts is None:
            part.unread_files.append(row[0])
            continue
        if row[1] not in hashes:
            (passages, _, originals, _, _), chunks, _ = facts
            pieces = split_oids(chunks[passages * OID_BYTES :] if originals else chunks)
            hashes[row[1]] = at_hand.hash_of(pieces)
        found = hashes[row[1]]
        if found is None:
            part.unread_files.append(row[0])
        elif found != row[8]:
            part.false_files.append(row[0])


def _sound(kind: int, found: list[tuple[bytes, bytes]]) -> list[Any]:
    """What the objects say, decoded strictly; the first unsound one is named."""
    values = list(decode_all(kind, found))
    for (oid, _), value in zip(found, values, strict=True):
        if isinstance(value, IntegrityError):
            raise IntegrityError(
                f"{Kind(kind).label} {oid.hex()[:12]}: {value.message}", value.hint
            ) from value
    return values
