"""Large files, read and stored piece by piece in flat memory."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from blake3 import blake3

from arbor.errors import UsageError
from arbor.objects.ids import Kind, object_id
from arbor.objects.model import ChunkRef, Manifest, encode_document, encode_manifest
from arbor.repo.staging.ingest import ORIGINAL_PIECE_BYTES, document_of
from arbor.repo.work_tree.file_states import FileState, state_of
from arbor.repo.work_tree.worktree import READ_FLAGS
from arbor.store.pack_writer import PackWriter
from arbor.text.encodings import can_decode
from arbor.text.extraction import ChunkPolicy
from arbor.text.reading import open_stream


def store_large_file(
    writer: PackWriter, fs_path: Path, name: str, policy: ChunkPolicy, source_uri: str = ""
) -> tuple[bytes, FileState, tuple[str, ...]]:
    """Store a file without holding it in memory; (document oid, state, warnings).

    Text becomes passages; anything else is kept as pieces of the original. Its kind and encoding are told from its
    beginning alone, and links are not looked for.

    Raises:
        UsageError: when it is no regular file or changes while it is read.
        OSError: as the system says.
    """
    with os.fdopen(os.open(fs_path, READ_FLAGS), "rb") as file:
        before = os.fstat(file.fileno())
        if not stat.S_ISREG(before.st_mode):
            raise UsageError(f"'{name}' is not a regular file")
        hasher = blake3()
        stream = open_stream(file, name, policy)
        passages: list[ChunkRef] = []
        unreadable = 0
        for data, newlines, headings in stream.passages:
            hasher.update(data)
            unreadable += not can_decode(data, stream.extraction.encoding)
            oid = object_id(Kind.CHUNK, data)
            passages.append(ChunkRef(writer.add(Kind.CHUNK, data, oid), len(data), newlines, headings))
        pieces = [] if stream.is_text else [_piece(writer, data, hasher) for data in _pieces(file)]
        after = os.fstat(file.fileno())
    size = sum(ref.size for ref in passages) + sum(length for _, length in pieces)
    if state_of(before) != state_of(after) or size != after.st_size:
        raise UsageError(f"'{name}' keeps changing while it is read", "add it again when its writer is done")
    manifest = writer.add(Kind.MANIFEST, encode_manifest(Manifest(tuple(passages), tuple(pieces), ())))
    document = document_of(stream.extraction, [ref.oid for ref in passages], [oid for oid, _ in pieces], manifest,
                           size, hasher.digest(), source_uri)  # fmt: skip
    warnings = list(stream.extraction.warnings)
    if unreadable:
        warnings.append(
            f"{unreadable:,} of its {len(passages):,} passages are not {stream.extraction.encoding}, as its beginning "
            "is, and a search will not find all of their words"
        )
    return writer.add(Kind.DOCUMENT, encode_document(document)), state_of(after), tuple(warnings)


def _pieces(file: BinaryIO) -> Iterator[bytes]:
    file.seek(0)
    while piece := file.read(ORIGINAL_PIECE_BYTES):
        yield piece


def _piece(writer: PackWriter, data: bytes, hasher: blake3) -> tuple[bytes, int]:
    hasher.update(data)
    return writer.add(Kind.CHUNK, data), len(data)
