"""Many manifests or documents of one frame, decoded strictly a column at a time.

Most of what a pack says in words is said by these two kinds, and a column of values is checked several times faster
than each value by itself.
A batch says yes only where `arbor.objects.model` would accept each object alone; where it says
anything else, the objects are decoded one by one, and that decides.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, starmap
from typing import Any

import msgpack

from arbor.errors import IntegrityError
from arbor.objects import ledger, merkle, model
from arbor.objects.codec import MAX_ITEMS
from arbor.objects.ids import OID_BYTES, Kind
from arbor.objects.links import WIDTH, check_rows

Fields = tuple[int, bytes, int, bytes, int]
Manifest = tuple[Fields, bytes, bytes]
"""Passages, their root, pieces of the original, their root, bytes; the chunks' oids joined; their measures."""
DocumentRow = tuple[bytes, int, bytes, int, bytes, int, bytes, bytes, str]
"""Manifest, passages, their root, pieces of the original, their root, bytes, derivation (b"" for none), file hash,
encoding."""

_FAULTS = (
    ValueError,
    TypeError,
    LookupError,
    OverflowError,
    RecursionError,
    MemoryError,
    msgpack.UnpackException,
)


DOCUMENT_FILE_HASH, DOCUMENT_MANIFEST, DOCUMENT_DERIVATION = 7, 15, 17
"""Which fields of an encoded document hold the hash of its file, and name its manifest and its derivation."""


_MOST = (1 << 32) - 1


class _UnsoundError(ValueError):
    """Something in a batch is not as it must be."""


def decode_manifests(encoded: Sequence[bytes]) -> list[Manifest] | None:
    """What each manifest comes to, or None when one of them may be unsound."""
    try:
        rows = _unpack(encoded, 9, model.MANIFEST_SCHEMA)
        columns = list(zip(*rows, strict=True))
        for place in (2, 3, 4, 7):
            _counts(_joined(columns[place]))
        rests = _joined(columns[5])
        _only({tuple}, rests)
        _only({str}, chain.from_iterable(rests))
        links = columns[8]
        _only({tuple}, links)
        if any(len(row) % WIDTH for row in links):
            return None
        check_rows(list(chain.from_iterable(links)))
        return [_manifest(*row[1:8]) for row in rows]
    except _FAULTS:
        return None


def decode_documents(encoded: Sequence[bytes]) -> list[DocumentRow] | None:
    """What each document says, or None when one of them may be unsound."""
    try:
        rows = _unpack(encoded, 18, model.SCHEMA)
        columns = list(zip(*rows, strict=True))
        for place in (1, 2, 3, 4, 5, 8, 9, 10):
            _only({str}, columns[place])
        for place in (6, 11, 13):
            _counts(columns[place])
        for place in (7, 12, 15):
            _oids(columns[place])
        for place in (14, 17):
            _oids([value for value in columns[place] if value != b""])
        if not all(starmap(model.is_readable_as, set(zip(columns[2], columns[5], strict=True)))):
            return None
        kinds, front_matters = columns[1], columns[16]
        if not set(kinds) <= set(model.KINDS) or any(
            type(value) is not dict or value for value in front_matters
        ):
            return None  # the maps of front matter are checked one by one
        if any(bool(row[17]) != (row[1] == "core") or bool(row[13]) != bool(row[14]) for row in rows):
            return None
        return [
            (row[15], row[11], row[12], row[13], row[14], row[6], row[17], row[7], row[5]) for row in rows
        ]
    except _FAULTS:
        return None


def document_row(data: bytes) -> DocumentRow:
    """What one document says; raises IntegrityError when it is unsound."""
    d = model.decode_document(data)
    fields = d.manifest, d.passage_count, d.text_root, d.original_count, d.original_root, d.size
    return *fields, d.derivation, d.file_hash, d.encoding


def manifest_row(data: bytes) -> Manifest:
    """What one manifest comes to; raises IntegrityError when it is unsound."""
    found = model.decode_manifest(data)
    leaves = [ref.oid for ref in found.passages]
    pieces = [oid for oid, _ in found.original]
    leaf_sizes = [ref.size for ref in found.passages]
    piece_sizes = [size for _, size in found.original]
    try:
        return _summed(leaves, leaf_sizes, [ref.newlines for ref in found.passages], pieces, piece_sizes)
    except OverflowError as error:
        raise IntegrityError("a manifest has a passage that is larger than any may be") from error


def decode_all(kind: int, found: Sequence[tuple[bytes, bytes]]) -> Iterator[Any | IntegrityError]:
    """What each of these objects says, or the error that makes it unsound.

    Args:
        kind: The kind of all of them; any but chunks.
        found: (oid, bytes) of each.

    Yields:
        `Manifest`, `DocumentRow`, or what `arbor.objects.ledger` and `arbor.objects.model` decode.
    """
    batch = _BATCHES.get(kind)
    values = batch([data for _, data in found]) if batch else None
    if values is not None:
        yield from values
        return
    for _, data in found:
        try:
            yield _DECODERS[kind](data)
        except IntegrityError as error:
            yield error


_BATCHES: dict[int, Callable[[list[bytes]], Sequence[Any] | None]] = {
    int(Kind.MANIFEST): decode_manifests,
    int(Kind.DOCUMENT): decode_documents,
}
_DECODERS: dict[int, Callable[[bytes], Any]] = {
    int(Kind.MANIFEST): manifest_row,
    int(Kind.DOCUMENT): document_row,
    int(Kind.NODE): ledger.decode_node,
    int(Kind.COMMIT): model.decode_commit,
    int(Kind.TAG): model.decode_tag,
    int(Kind.DERIVATION): model.decode_derivation,
}


def _unpack(encoded: Sequence[bytes], width: int, schema: int) -> list[tuple[Any, ...]]:
    """The objects' fields, when every encoding is the shortest one of what it holds and ends where its object does."""
    joined = b"".join(encoded)
    size = min(len(joined), MAX_ITEMS)
    unpacker = msgpack.Unpacker(
        None, use_list=False, raw=False, strict_map_key=True, max_buffer_size=0, read_size=len(joined) + 1,
        max_array_len=size, max_map_len=size, max_str_len=len(joined), max_bin_len=len(joined), max_ext_len=0,
    )  # fmt: skip
    unpacker.feed(joined)
    rows, end = [], 0
    for data in encoded:
        rows.append(unpacker.unpack())
        end += len(data)
        if unpacker.tell() != end:
            raise _UnsoundError("length")
    _only({tuple}, rows)
    if set(map(len, rows)) != {width} or any(type(row[0]) is not int or row[0] != schema for row in rows):
        raise _UnsoundError("schema")
    if msgpack.packb(rows, use_bin_type=True) != msgpack.Packer().pack_array_header(len(rows)) + joined:
        raise _UnsoundError("encoding")
    return rows


def _only(kinds: set[type], values: Iterable[Any]) -> None:
    if not kinds.issuperset(map(type, values)):
        raise _UnsoundError("type")


def _counts(values: Sequence[Any]) -> None:
    _only({int}, values)
    if values and min(values) < 0:
        raise _UnsoundError("count")


def _oids(values: Sequence[Any]) -> None:
    _only({bytes}, values)
    if {OID_BYTES, *map(len, values)} != {OID_BYTES}:
        raise _UnsoundError("oid")


def _joined(values: Sequence[Any]) -> list[Any]:
    _only({tuple}, values)
    return list(chain.from_iterable(values))


def _manifest(
    joined: bytes, sizes: tuple[int, ...], newlines: tuple[int, ...], shared: tuple[int, ...],
    rests: tuple[tuple[str, ...], ...], joined_pieces: bytes, piece_sizes: tuple[int, ...],
) -> Manifest:  # fmt: skip
    """The sums over one manifest; raises ValueError where its columns do not fit each other."""
    before: tuple[str, ...] = ()
    for same, rest in zip(shared, rests, strict=True):
        if not rest and same == len(before):
            continue
        if same > len(before) or (rest and same < len(before) and before[same] == rest[0]):
            raise _UnsoundError("headings")
        before = before[:same] + rest
        if len(before) > model.MAX_HEADINGS:
            raise _UnsoundError("headings")
    leaves, pieces = model.split_oids(joined), model.split_oids(joined_pieces)
    if not len(leaves) == len(sizes) == len(newlines) == len(shared) or len(pieces) != len(piece_sizes):
        raise _UnsoundError("columns")
    return _summed(leaves, sizes, newlines, pieces, piece_sizes)


def _summed(
    leaves: list[bytes],
    sizes: Sequence[int],
    newlines: Sequence[int],
    pieces: list[bytes],
    piece_sizes: Sequence[int],
) -> Manifest:
    """Raises OverflowError where a size or a number of newlines does not fit 32 bits."""
    fields = (len(leaves), merkle.tree_root(leaves), len(pieces), merkle.tree_root(pieces) if pieces else b"",
              sum(piece_sizes if pieces else sizes))  # fmt: skip
    if newlines and max(newlines) > _MOST:
        raise OverflowError
    measures = [measure(size, lines) for size, lines in zip(sizes, newlines, strict=True)]
    measures += [measure(size, 0) for size in piece_sizes]
    return fields, b"".join(leaves + pieces), array("Q", measures).tobytes()


def measure(size: int, newlines: int) -> int:
    """How long a passage is, in bytes and in line feeds, as one number, since both are nearly always compared."""
    return size << 32 | newlines
