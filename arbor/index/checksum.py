"""The checksum beside the index: whether a single bit of the main file is other than it was written.

SQLite does not check its pages. Between two folds of the write-ahead file the main file never changes, so one
hash of it is enough; frames of the write-ahead file carry checksums of their own, and a bad one makes SQLite
leave it out, which the stamp then shows as an older index.
"""

from __future__ import annotations

from pathlib import Path

from arbor.errors import IntegrityError
from arbor.store.files import MAX_STATE_BYTES, hash_file, read_bounded, remove_durably, write_atomically


def sum_path(fs_path: Path) -> Path:
    """Where the checksum of an index lies."""
    return fs_path.with_suffix(".sum")


def drop_sum(fs_path: Path) -> None:
    """Say that the main file is about to change, durably: a checksum that came back would call the new one damaged."""
    remove_durably(sum_path(fs_path))


def write_sum(fs_path: Path) -> None:
    """Record the main file as it is now; the caller knows that it is whole and does not change."""
    write_atomically(sum_path(fs_path), hash_file(fs_path).hex().encode() + b"\n", durable=False)


def has_sum(fs_path: Path) -> bool:
    """Whether a checksum is recorded: if not, the main file may be between two states."""
    return _recorded(fs_path) is not None


def is_unchanged(fs_path: Path) -> bool | None:
    """Whether the main file has its recorded checksum; None where none is recorded. Reads it all."""
    recorded = _recorded(fs_path)
    if recorded is None:
        return None
    try:
        return recorded == hash_file(fs_path).hex().encode() + b"\n"
    except IntegrityError:  # no file at all
        return False


def _recorded(fs_path: Path) -> bytes | None:
    """The checksum that is recorded; None where its file is absent, or a loss of power left no byte of it."""
    try:
        recorded = read_bounded(sum_path(fs_path), MAX_STATE_BYTES)
    except FileNotFoundError:
        return None
    return recorded if any(recorded) else None
