"""Many manifests or documents of one frame, decoded strictly a column at a time.

Most of what a pack says in words is said by these two kinds, and a column of values is checked several times faster
than each value by itself.
A batch says yes only where `arbor.objects.model` would accept each object alone; where it says
anything else, the objects are decoded one by one, and that decides.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

import msgpack

from arbor.errors import IntegrityError
from arbor.objects import merkle, model
from arbor.objects.codec import MAX_ITEMS
from arbor.objects.ids import OID_BYTES
from arbor.objects.links import KINDS as LINK_KINDS
from arbor.objects.links import WINDOW_BYTES

Fields = tuple[int, bytes, int, bytes, int]
Manifest = tuple[Fields, bytes, bytes]
"""Passages, their root, pieces of the original, their root, bytes; the chunks' oids joined; their sizes as numbers."""
DocumentRow = tuple[bytes, int, bytes, int, bytes, int, bytes]
"""Manifest, passages, their root, pieces of the original, their root, bytes, derivation (b"" for none)."""

_FAULTS = (
    ValueError,
    TypeError,
    IndexError,
    OverflowError,
    RecursionError,
    MemoryError,
    msgpack.UnpackException,
)


DOCUMENT_MANIFEST, DOCUMENT_DERIVATION = 15, 17
"""Which fields of an encoded document name its manifest and its derivation."""


class _UnsoundError(ValueError):
    """Something in a batch is not as it must be."""


def chunk_oids(data: bytes) -> tuple[list[bytes], list[bytes]]:
    """(passages, pieces of the original) of a manifest whose hash was just checked.

    The links, most of its bytes, are not read.

    Raises:
        IntegrityError: when it does not decode.
    """
    unpacker = msgpack.Unpacker(None, use_list=False, max_buffer_size=0, read_size=len(data) + 1)
    unpacker.feed(data)
    try:
        unpacker.read_array_header()
        unpacker.skip()
        return [row[0] for row in unpacker.unpack()], [row[0] for row in unpacker.unpack()]
    except _FAULTS as error:
        raise IntegrityError("a manifest does not decode") from error


def decode_manifests(encoded: Sequence[bytes]) -> list[Manifest] | None:
    """What each manifest comes to, or None when one of them may be unsound."""
    try:
        rows = _unpack(encoded, 4)
        _check_links(list(chain.from_iterable(_tuples(row[3] for row in rows))))
        passages = _tuples(row[1] for row in rows)
        originals = _tuples(row[2] for row in rows)
        _check_passages(list(chain.from_iterable(passages)))
        _check_pieces(list(chain.from_iterable(originals)))
        return [_manifest(*row) for row in zip(passages, originals, strict=True)]
    except _FAULTS:
        return None


def decode_documents(encoded: Sequence[bytes]) -> list[DocumentRow] | None:
    """What each document says, or None when one of them may be unsound."""
    try:
        rows = _unpack(encoded, 18)
        columns = list(zip(*rows, strict=True))
        for place in (1, 2, 3, 4, 5, 8, 9, 10):
            _only({str}, columns[place])
        for place in (6, 11, 13):
            _counts(columns[place])
        for place in (7, 12, 15):
            _oids(columns[place])
        for place in (14, 17):
            _oids([value for value in columns[place] if value != b""])
        kinds, front_matters = columns[1], columns[16]
        if not set(kinds) <= set(model.KINDS) or any(
            type(value) is not dict or value for value in front_matters
        ):
            return None  # the maps of front matter are checked one by one
        if any(bool(row[17]) != (row[1] == "core") or bool(row[13]) != bool(row[14]) for row in rows):
            return None
        return [(row[15], row[11], row[12], row[13], row[14], row[6], row[17]) for row in rows]
    except _FAULTS:
        return None


def _unpack(encoded: Sequence[bytes], width: int) -> list[tuple[Any, ...]]:
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
    if set(map(len, rows)) != {width} or any(
        type(row[0]) is not int or row[0] != model.SCHEMA for row in rows
    ):
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


def _tuples(values: Iterable[Any]) -> list[tuple[Any, ...]]:
    found = list(values)
    _only({tuple}, found)
    return found


def _columns(rows: list[tuple[Any, ...]], width: int) -> list[tuple[Any, ...]]:
    _only({tuple}, rows)
    columns = list(zip(*rows, strict=True)) if rows else [()] * width
    if len(columns) != width:
        raise _UnsoundError("width")
    return columns


def _check_passages(rows: list[tuple[Any, ...]]) -> None:
    oids, sizes, newlines, shared, rests = _columns(rows, 5)
    _oids(oids)
    for numbers in (sizes, newlines, shared):
        _counts(numbers)
    _only({tuple}, rests)
    _only({str}, chain.from_iterable(rests))


def _check_pieces(rows: list[tuple[Any, ...]]) -> None:
    oids, sizes = _columns(rows, 2)
    _oids(oids)
    _counts(sizes)


def _check_links(rows: list[tuple[Any, ...]]) -> None:
    """There are more links than anything else, so their six columns are slices of one list."""
    _only({tuple}, rows)
    if not rows:
        return
    if set(map(len, rows)) != {6}:
        raise _UnsoundError("width")
    flat = list(chain.from_iterable(rows))
    kinds = flat[0::6]
    _only({int, str}, kinds)
    numbers = {kind for kind in set(kinds) if type(kind) is int}
    if numbers and not 0 <= min(numbers) <= max(numbers) < len(LINK_KINDS):
        raise _UnsoundError("link")
    _only({str}, flat[1::6])
    _only({int}, flat[2::6])
    for column in (3, 4, 5):
        values = flat[column::6]
        if set(map(type, values)) == {str}:
            continue
        _only({str, tuple}, values)
        starts, lengths = zip(*[value for value in values if type(value) is tuple], strict=True)
        _only({int}, starts)
        _counts(lengths)
        if max(lengths) > WINDOW_BYTES:
            raise _UnsoundError("span")


def _manifest(passages: tuple[Any, ...], original: tuple[Any, ...]) -> Manifest:
    """The sums over one manifest; raises _UnsoundError where a heading path does not go on from the one before."""
    before: tuple[str, ...] = ()
    for _, _, _, shared, rest in passages:
        if not rest and shared == len(before):
            continue
        if shared > len(before) or (rest and shared < len(before) and before[shared] == rest[0]):
            raise _UnsoundError("headings")
        before = before[:shared] + rest
    leaves = [row[0] for row in passages]
    pieces = [row[0] for row in original]
    leaf_sizes = [row[1] for row in passages]
    piece_sizes = [row[1] for row in original]
    fields = (len(leaves), merkle.tree_root(leaves), len(pieces), merkle.tree_root(pieces) if pieces else b"",
              sum(piece_sizes if pieces else leaf_sizes))  # fmt: skip
    return fields, b"".join(leaves + pieces), array("I", leaf_sizes + piece_sizes).tobytes()
