"""The record of a move of the work tree: written before the first file is, so that a crash in between can be undone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgpack
from blake3 import blake3

from arbor.errors import ConflictError, IntegrityError
from arbor.objects.ids import OID_BYTES
from arbor.objects.paths import path_fault
from arbor.records import dataclass
from arbor.store.files import (
    MAX_STATE_BYTES,
    read_bounded,
    remove_durably,
    seal,
    unpack_sealed,
    write_atomically,
)
from arbor.store.refs import HEADS, Refs

MOVE_FILE = "moving"
_VERSION = 2


class MovedFile(NamedTuple):
    """One file that a move changes.

    Attributes:
        path: Its KB path.
        before: The document that it held; None where there was no file.
        after: The document that it will hold; None where it goes.
        marked_hash: Plain BLAKE3-256 of the file where it is written with conflict markers, b"" else.
    """

    path: str
    before: bytes | None
    after: bytes | None
    marked_hash: bytes = b""


@dataclass(frozen=True, slots=True)
class MoveRecord:
    """What is under way.

    Attributes:
        kind: `merge`, `revert`, `switch`, `reset` or `mv`.
        command: What was typed, in short.
        head: What HEAD held before: a full ref name or hexadecimal digits.
        stage: The bytes of the stage file before; b"" where there was none.
        files: The files that change.
        new_ref: The branch that is made at the end; "" for none.
        done: What `state_of_move` gives when all is done.
        made: The folders that an `mv` makes: were they left behind, the same command would move into them.
    """

    kind: str
    command: str
    head: str
    stage: bytes
    files: tuple[MovedFile, ...]
    new_ref: str
    done: bytes
    made: tuple[str, ...] = ()

    @property
    def hint(self) -> str:
        """What to type after an interruption."""
        if self.kind in ("merge", "revert", "mv"):
            return f"run it again, or leave it with: arbor {self.kind} --abort"
        branch = self.head.removeprefix(HEADS) if self.head.startswith(HEADS) else "--detach HEAD"
        return f"run it again, or go back with: arbor switch {branch}"

    @property
    def how_to_end(self) -> str:
        """What state it has left the files in, and what to type."""
        return f"some files may be moved already: {self.hint}"

    def refuse(self) -> None:
        """Nothing else begins meanwhile; raises ConflictError."""
        raise ConflictError(f"'arbor {self.command}' was interrupted, and some files are moved", self.hint)

    def documents(self) -> Iterator[bytes]:
        """The documents that are needed to undo it."""
        for file in self.files:
            yield from (oid for oid in (file.before, file.after) if oid is not None)


def state_of_move(head: str | bytes, commit: bytes | None, stage: bytes) -> bytes:
    """A hash of where HEAD stands and what is staged, by which a move is known to be done."""
    name = head if isinstance(head, str) else head.hex()
    return blake3(msgpack.packb([name, commit, stage])).digest()


def stage_bytes(folder: Path) -> bytes:
    """The stage file as it is; b"" where there is none."""
    try:
        return read_bounded(folder / "stage", MAX_STATE_BYTES)
    except FileNotFoundError:
        return b""


def write_move(folder: Path, record: MoveRecord) -> None:
    """Keep the record durably. Call it under the writer lock."""
    row = [
        _VERSION,
        record.kind,
        record.command,
        record.head,
        record.stage,
        record.files,
        record.new_ref,
        record.done,
        record.made,
    ]
    write_atomically(folder / MOVE_FILE, seal(msgpack.packb(row)))


def clear_move(folder: Path) -> None:
    """The move is done, or undone. Were the record to come back, what was done since would look like a part of it."""
    remove_durably(folder / MOVE_FILE)


def read_move(folder: Path, refs: Refs) -> tuple[MoveRecord | None, bool]:
    """The record of a move, and whether the move is done: a crash can come between its end and the record's.

    Raises:
        IntegrityError: when the record is damaged.
    """
    try:
        data = read_bounded(folder / MOVE_FILE, MAX_STATE_BYTES)
    except FileNotFoundError:
        return None, True
    row = unpack_sealed(data, "the record of a move", use_list=False)
    if type(row) is not tuple or row[:1] != (_VERSION,):
        raise IntegrityError("the record of a move was written by another version of arbor")
    try:
        _, kind, command, head, stage, files, new_ref, done, made = row
        record = MoveRecord(
            kind, command, head, stage, tuple(MovedFile(*file) for file in files), new_ref, done, made
        )
        if not _is_sound(record):
            raise ValueError("fields")
    except (ValueError, TypeError) as error:
        raise IntegrityError("the record of a move is damaged") from error
    return record, state_of_move(refs.head(), refs.head_oid(), stage_bytes(folder)) == done


def _is_sound(record: MoveRecord) -> bool:
    """Whether each field is what it must be, and undoing the move would leave the folder nowhere."""
    texts = record.kind, record.command, record.head, record.new_ref, *record.made
    blobs = record.stage, record.done, *(file.marked_hash for file in record.files)
    paths = (*record.made, *(file.path for file in record.files))
    return (
        {str}.issuperset(map(type, texts))
        and {bytes}.issuperset(map(type, blobs))
        and all(type(path) is str and not path_fault(path) for path in paths)
        and all(type(oid) is bytes and len(oid) == OID_BYTES for oid in record.documents())
    )
