"""What is known of the files of the work tree: their states when they were equal to the staged documents.

It is a cache, in segments of some hundred paths, so that who changes few files of many neither decodes nor encodes what
is known of all others.
"""

from __future__ import annotations

import functools
import os
import struct
import time
from bisect import bisect_right
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import NamedTuple, TypeAlias

import msgpack

from arbor.errors import IntegrityError
from arbor.memory import collector_paused
from arbor.records import dataclass
from arbor.store.files import MAX_STATE_BYTES, read_bounded, seal, unpack_sealed, write_atomically

_FILE = "cache/worktree"
_VERSION = 5
_SEGMENT_PATHS = 256
_BOOT_FILE = Path("/proc/sys/kernel/random/boot_id")
_UNSURE_NS = 600 * 1_000_000_000
"""How long before a loss of power a file may have been written that did not reach the disk: systems wait for half a
minute or so. Its size and times may have, and would say that it is as it was."""

FileState: TypeAlias = bytes
"""What tells whether a file was touched: modification and status change in nanoseconds, bytes, inode number, each as
eight bytes, the highest first. One value instead of four, since every tracked file has one."""

Entries: TypeAlias = dict[str, tuple[bytes, FileState]]
"""Tracked path to (document oid, state of its file when it was equal to that document)."""

EntryChanges: TypeAlias = dict[str, tuple[bytes, FileState] | None]
"""Path to its new entry, None for one that is not tracked any more."""

UNKNOWN: FileState = b""
"""The state of no file: never equal to one that was read."""

_STATE = struct.Struct(">QQQQ")
_WHOLE = 2**64 - 1


def state_of(status: os.stat_result) -> FileState:
    """The part of a stat that tells whether a file was touched."""
    try:
        return _STATE.pack(status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino)
    except struct.error:  # a time before 1970, or a number of more than 64 bits, as some systems have them
        values = status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino
        return _STATE.pack(*(max(value, 0) & _WHOLE for value in values))


def size_of(state: FileState) -> int:
    """The bytes of a file whose state is known."""
    size: int = _STATE.unpack(state)[2]
    return size


def moment_of(time_ns: int) -> bytes:
    """Nanoseconds since 1970 in the form that states hold them: their first eight bytes, and the next."""
    return min(max(time_ns, 0), _WHOLE).to_bytes(8, "big")


def still_tracked(changes: EntryChanges) -> Entries:
    """The changes without the paths that are not tracked any more."""
    return {path: entry for path, entry in changes.items() if entry is not None}


@dataclass(frozen=True, slots=True)
class WorkTreeCache:
    """For each tracked path the document oid and the file's state when it was equal to that document.

    Attributes:
        stamp: `Stage.stamp` of the stage this lists the paths of.
        entries: Path to (oid, state).
    """

    stamp: bytes
    entries: Entries


class _Stored(NamedTuple):
    """The cache as it is stored.

    Attributes:
        stamp: As `WorkTreeCache`.
        boot: Which run of the system wrote it; "" where that cannot be told.
        written_ns: When, in nanoseconds since 1970.
        firsts, segments: The first path of each segment in order, and the encoded entries of each.
    """

    stamp: bytes
    boot: str
    written_ns: int
    firsts: list[str]
    segments: list[bytes]

    def at(self, path: str) -> int:
        """The segment that a path belongs to; there must be one."""
        return max(bisect_right(self.firsts, path) - 1, 0)


def read_worktree_cache(folder: Path) -> WorkTreeCache | None:
    """The cache, or None where it is absent, damaged or of another version: it can be made again."""
    stored = _read(folder)
    if stored is None:
        return None
    entries: Entries = {}
    with collector_paused():
        for segment in stored.segments:
            entries.update(msgpack.unpackb(segment, use_list=False))
    return WorkTreeCache(stored.stamp, entries)


def read_some_states(folder: Path, stamp: bytes, paths: Iterable[str]) -> Entries | None:
    """The entries of those of the paths that are tracked; None where the cache is not of this stamp."""
    stored = _read(folder)
    if stored is None or stored.stamp != stamp:
        return None
    decoded: dict[int, Entries] = {}
    found: Entries = {}
    for path in paths if stored.segments else ():
        place = stored.at(path)
        if place not in decoded:
            decoded[place] = msgpack.unpackb(stored.segments[place], use_list=False)
        if path in decoded[place]:
            found[path] = decoded[place][path]
    return found


def write_worktree_cache(folder: Path, cache: WorkTreeCache) -> None:
    """Keep the cache; not durable, since it can be made again."""
    _write(folder, _Stored(cache.stamp, "", 0, *_cut(cache.entries)))


def change_worktree_cache(folder: Path, old: bytes, new: bytes, changes: EntryChanges) -> bool:
    """Take the cache from one stamp to another by what changes; whether it was there and had the old stamp.

    Raises:
        OSError: when it cannot be written.
    """
    stored = _read(folder)
    if stored is None or stored.stamp != old:
        return False
    by_segment: dict[int, EntryChanges] = {}
    for path, entry in changes.items():
        by_segment.setdefault(stored.at(path), {})[path] = entry
    for place in sorted(by_segment, reverse=True):  # from the end, so that places stay what they are
        entries: EntryChanges = msgpack.unpackb(stored.segments[place]) if stored.segments else {}
        firsts, segments = _cut(still_tracked(entries | by_segment[place]))
        stored.firsts[place : place + 1] = firsts
        stored.segments[place : place + 1] = segments
    _write(folder, stored._replace(stamp=new))
    return True


def restamp_worktree_cache(folder: Path, old: bytes, new: bytes) -> None:
    """Give the cache another stamp where it has the old one; raises OSError when it cannot be written."""
    change_worktree_cache(folder, old, new, {})


def _cut(entries: Entries) -> tuple[list[str], list[bytes]]:
    """The first path and the encoding of each segment."""
    firsts, segments = [], []
    rest = iter(sorted(entries.items()))
    while segment := dict(islice(rest, _SEGMENT_PATHS)):
        firsts.append(next(iter(segment)))
        segments.append(msgpack.packb(segment))
    return firsts, segments


def _read(folder: Path) -> _Stored | None:
    try:
        version, *row = unpack_sealed(read_bounded(folder / _FILE, MAX_STATE_BYTES), "the work tree cache")
        stored = _Stored(*row)
        if (
            version != _VERSION
            or (type(stored.stamp), type(stored.boot), type(stored.written_ns)) != (bytes, str, int)
            or len(stored.firsts) != len(stored.segments)
        ):
            return None
        texts, encoded = map(type, stored.firsts), map(type, stored.segments)
        if not ({str}.issuperset(texts) and {bytes}.issuperset(encoded)):
            return None
        return stored if stored.boot == _this_boot() else _without_unsure(stored)
    except (FileNotFoundError, NotADirectoryError, IntegrityError, ValueError, TypeError):
        return None


def _without_unsure(stored: _Stored) -> _Stored:
    """The cache of an earlier run of the system, without the states of files that may not have reached the disk."""
    limit = moment_of(stored.written_ns - _UNSURE_NS)
    entries: Entries = {}
    for segment in stored.segments:
        for path, (oid, state) in msgpack.unpackb(segment, use_list=False).items():
            entries[path] = oid, UNKNOWN if state[:8] >= limit or state[8:16] >= limit else state
    return _Stored(stored.stamp, stored.boot, stored.written_ns, *_cut(entries))


@functools.cache
def _this_boot() -> str:
    """What tells this run of the system from others; "" where it cannot be told."""
    try:
        return _BOOT_FILE.read_text("ascii").strip()
    except (OSError, UnicodeDecodeError):
        return ""


def _write(folder: Path, stored: _Stored) -> None:
    stored = stored._replace(boot=_this_boot(), written_ns=min(max(time.time_ns(), 0), _WHOLE))
    (folder / _FILE).parent.mkdir(exist_ok=True)
    write_atomically(folder / _FILE, seal(msgpack.packb([_VERSION, *stored])), durable=False)
