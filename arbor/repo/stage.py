"""The stage: what the next commit will hold, as changes to a ledger, and the cache of the work tree's file states."""

from __future__ import annotations

import os
import struct
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeAlias

import msgpack
from blake3 import blake3

from arbor.errors import ConflictError, IntegrityError
from arbor.memory import collector_paused
from arbor.objects import ledger
from arbor.objects.ledger_diff import diff
from arbor.repo.snapshot import CORE_MARK
from arbor.store.files import seal, unseal, write_atomically

_STAGE_VERSION = 1
_CACHE_VERSION = 3


@dataclass(frozen=True, slots=True)
class Stage:
    """What the next commit will hold.

    Attributes:
        base: The ledger root that the changes apply to.
        changes: Ledger key to value (None removes), only where it differs from `base`.
        merge_parents: Commits that the next commit merges, beside the current one.
        message: The prepared message of a merge or revert; "" else.
        conflicts: Documents by path, and cores as `core:NAME`, with unresolved conflicts.
    """

    base: bytes
    changes: Mapping[str, bytes | None] = field(default_factory=dict)
    merge_parents: tuple[bytes, ...] = ()
    message: str = ""
    conflicts: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether nothing is staged, merged or in conflict."""
        return not (self.changes or self.merge_parents or self.message or self.conflicts)

    @property
    def in_progress(self) -> str:
        """`merge` or `revert`, whichever waits to be finished; "" for neither."""
        return "merge" if self.merge_parents else "revert" if self.conflicts or self.message else ""

    def refuse_unfinished(self) -> None:
        """Nothing new begins while a merge or a revert waits to be finished; raises ConflictError."""
        what = self.in_progress
        if what:
            raise ConflictError(
                f"a {what} is in progress", f"finish it with commit, or leave it with {what} --abort"
            )

    @property
    def what_resolves(self) -> str:
        """What to type for the conflicts there are."""
        return what_resolves(self.conflicts)

    @property
    def stamp(self) -> bytes:
        """A hash of what is staged: base and changes."""
        return blake3(msgpack.packb([self.base, sorted(self.changes.items())])).digest()

    def find(self, source: ledger.NodeSource, key: str) -> bytes | None:
        """The staged value of a ledger key, or None."""
        if key in self.changes:
            return self.changes[key]
        return ledger.find(source, self.base, key)

    def with_changes(self, source: ledger.NodeSource, changes: Mapping[str, bytes | None]) -> Stage:
        """The stage after more changes; what equals the base is no change."""
        merged = dict(self.changes)
        for key, value in changes.items():
            if ledger.find(source, self.base, key) == value:
                merged.pop(key, None)
            else:
                merged[key] = value
        return replace(self, changes=merged)

    def onto(self, source: ledger.NodeSource, root: bytes) -> Stage:
        """The same stage as changes to another ledger root."""
        keys = {change.key for change in diff(source, root, self.base)} | set(self.changes)
        wanted = {key: self.find(source, key) for key in keys}
        return replace(self, base=root, changes={}).with_changes(source, wanted)

    def after_commit(self, source: ledger.NodeSource, head_root: bytes, parents: Sequence[bytes]) -> Stage:
        """What is left of the stage when HEAD has this root and these parents.

        A crash can come after a commit has moved its branch and before the stage is emptied. Then HEAD holds what is
        staged; and what was merged is merged, whatever was added to the stage since.
        """
        merged = tuple(parents[1:]) == self.merge_parents
        if self.conflicts or not (merged or not self.merge_parents):
            return self
        if ledger.apply(source, self.base, self.changes, lambda oid, data: None) == head_root:
            return Stage(head_root)
        return replace(self, merge_parents=(), message="") if self.merge_parents else self

    def resolved(self, names: Container[str]) -> Stage:
        """The stage with the conflicts of these documents and cores resolved."""
        return replace(self, conflicts=tuple(name for name in self.conflicts if name not in names))

    def entries(self, source: ledger.NodeSource, prefix: str) -> dict[str, bytes]:
        """All staged entries whose key starts with `prefix`."""
        found = dict(ledger.iter_entries(source, self.base, prefix))
        for key, value in self.changes.items():
            if key.startswith(prefix):
                if value is None:
                    found.pop(key, None)
                else:
                    found[key] = value
        return found


def what_resolves(conflicts: Iterable[str]) -> str:
    """What to type for documents, and cores as `core:NAME`, that are in conflict."""
    of_cores = {name.startswith(CORE_MARK) for name in conflicts}
    typed = ["arbor add PATH"] if False in of_cores else []
    if True in of_cores:
        typed.append("arbor core restore NAME --at REV (or core add, or core rm)")
    return ", and ".join(typed)


def read_stage(folder: Path, head_root: bytes) -> Stage:
    """The stage of a KB folder; an empty one on `head_root` where nothing is staged.

    Raises:
        IntegrityError: when the stage file is damaged.
    """
    try:
        data = (folder / "stage").read_bytes()
    except FileNotFoundError:
        return Stage(head_root)
    return decode_stage(data)


def decode_stage(data: bytes) -> Stage:
    """The stage of the bytes of a stage file; raises IntegrityError when they are damaged."""
    row = msgpack.unpackb(unseal(data, "the stage"), strict_map_key=True)
    if row[0] != _STAGE_VERSION:
        raise IntegrityError("the stage was written by another version of arbor")
    _, base, changes, parents, message, conflicts = row
    return Stage(base, changes, tuple(parents), message, tuple(conflicts))


def encode_stage(stage: Stage) -> bytes:
    """The bytes of the stage file."""
    row = [
        _STAGE_VERSION,
        stage.base,
        dict(stage.changes),
        stage.merge_parents,
        stage.message,
        stage.conflicts,
    ]
    return seal(msgpack.packb(row))


def write_stage(folder: Path, stage: Stage) -> None:
    """Replace the stage file."""
    write_atomically(folder / "stage", encode_stage(stage))


def put_stage(folder: Path, stage: Stage) -> None:
    """Replace the stage file, or remove it where the stage is empty and HEAD will be at its base."""
    if stage.is_empty:
        clear_stage(folder)
    else:
        write_stage(folder, stage)


def clear_stage(folder: Path) -> None:
    """Nothing is staged any more."""
    (folder / "stage").unlink(missing_ok=True)


FileState: TypeAlias = bytes
"""What tells whether a file was touched: modification and status change in nanoseconds, bytes, inode number, each as
eight bytes, the highest first. One value instead of four, since every tracked file has one."""

Entries: TypeAlias = dict[str, tuple[bytes, FileState]]
"""Tracked path to (document oid, state of its file when it was equal to that document)."""

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
    return max(time_ns, 0).to_bytes(8, "big")


@dataclass(frozen=True, slots=True)
class WorkTreeCache:
    """For each tracked path the document oid and the file's state when it was equal to that document.

    Attributes:
        stamp: `Stage.stamp` of the stage this lists the paths of.
        entries: Path to (oid, state).
    """

    stamp: bytes
    entries: Entries


def read_worktree_cache(folder: Path) -> WorkTreeCache | None:
    """The cache, or None where it is absent, damaged or of another version: it can be made again."""
    try:
        data = unseal((folder / "cache" / "worktree").read_bytes(), "the work tree cache")
        with collector_paused():
            version, stamp, entries = msgpack.unpackb(data, use_list=False)
    except (FileNotFoundError, NotADirectoryError, IntegrityError, ValueError):
        return None
    if version != _CACHE_VERSION:
        return None
    return WorkTreeCache(stamp, entries)


def restamp_worktree_cache(folder: Path, old: bytes, new: bytes) -> None:
    """Give the cache another stamp where it has the old one: the same entries, which need not be read for that.

    Raises:
        OSError: when it cannot be written.
    """
    path = folder / "cache" / "worktree"
    try:
        data = unseal(path.read_bytes(), "the work tree cache")
    except (FileNotFoundError, NotADirectoryError, IntegrityError):
        return
    head = _cache_head(old)
    if data.startswith(head):
        write_atomically(path, seal(_cache_head(new) + data[len(head) :]), durable=False)


def _cache_head(stamp: bytes) -> bytes:
    """The encoding of a cache up to its entries."""
    packer = msgpack.Packer()
    head: bytes = packer.pack_array_header(3) + packer.pack(_CACHE_VERSION) + packer.pack(stamp)
    return head


def write_worktree_cache(folder: Path, cache: WorkTreeCache) -> None:
    """Keep the cache; not durable, since it can be made again."""
    (folder / "cache").mkdir(exist_ok=True)
    write_atomically(
        folder / "cache" / "worktree",
        seal(_cache_head(cache.stamp) + msgpack.packb(cache.entries)),
        durable=False,
    )
