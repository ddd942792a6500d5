"""The stage: what the next commit will hold, as changes to a ledger."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path

import msgpack
from blake3 import blake3

from arbor.errors import ConflictError, IntegrityError
from arbor.objects import ledger
from arbor.objects.ids import OID_BYTES
from arbor.objects.ledger_diff import Change, diff
from arbor.records import dataclass
from arbor.repo.snapshot import CORE_MARK, DOCUMENTS, ledger_key
from arbor.store.files import (
    MAX_STATE_BYTES,
    read_bounded,
    remove_durably,
    seal,
    unpack_sealed,
    write_atomically,
)

_STAGE_VERSION = 1


@dataclass(frozen=True, slots=True)
class Stage:
    """What the next commit will hold.

    Attributes:
        base: The ledger root that the changes apply to.
        changes: Ledger key to value (None removes), only where it differs from `base`.
        merge_parents: Commits that the next commit merges, beside the current one.
        message: The prepared message of a merge or revert; "" else.
        conflicts: Documents and cores with unresolved conflicts, as `shown_path` names them.
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
    def documents_in_conflict(self) -> frozenset[str]:
        """The paths of the documents among the conflicts; a core has no file, whatever stands in the folder."""
        keys = map(ledger_key, self.conflicts)
        return frozenset(key[len(DOCUMENTS) :] for key in keys if key.startswith(DOCUMENTS))

    @property
    def in_progress(self) -> str:
        """`merge` or `revert`, whichever waits to be finished; "" for neither.

        The prepared message tells of a revert whose conflicts are resolved, or that was cut off before its commit.
        """
        return "merge" if self.merge_parents else "revert" if self.conflicts or self.message else ""

    @property
    def how_to_end(self) -> str:
        """What to type for the merge or revert that waits after its command failed; "" where none does."""
        what = self.in_progress
        if not what:
            return ""
        first = "resolve its conflicts and" if self.conflicts else "when that is mended,"
        ending = f"finish it with: arbor {what} --continue; or leave it with: arbor {what} --abort"
        return f"the {what} is staged: {first} {ending}"

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
        return replace(
            self, base=root, changes={key: new for key, _, new in self.changes_since(source, root)}
        )

    def changes_since(self, source: ledger.NodeSource, root: bytes) -> Iterator[Change]:
        """What is staged in another way than a ledger root has it, in the order of the keys."""
        before = {key: old for key, old, _ in diff(source, root, self.base)}
        for key in sorted({*before, *self.changes}):
            old = before[key] if key in before else ledger.find(source, root, key)
            new = self.find(source, key)
            if old != new:
                yield Change(key, old, new)

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

    def resolved(self, keys: Container[str]) -> Stage:
        """The stage with the conflicts of these ledger keys resolved."""
        return replace(self, conflicts=tuple(name for name in self.conflicts if ledger_key(name) not in keys))

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
        data = read_bounded(folder / "stage", MAX_STATE_BYTES)
    except FileNotFoundError:
        return Stage(head_root)
    return decode_stage(data)


def decode_stage(data: bytes) -> Stage:
    """The stage of the bytes of a stage file; raises IntegrityError when they are damaged."""
    row = unpack_sealed(data, "the stage")
    if type(row) is not list or row[:1] != [_STAGE_VERSION]:
        raise IntegrityError("the stage was written by another version of arbor")
    try:
        _, base, changes, parents, message, conflicts = row
        stage = Stage(base, changes, tuple(parents), message, tuple(conflicts))
        if not _has_types(stage):
            raise ValueError("types")
    except (ValueError, TypeError, AttributeError) as error:
        raise IntegrityError("the stage is damaged") from error
    return stage


def _has_types(stage: Stage) -> bool:
    """Whether each field is what it must be; the ledger looks at the keys and values themselves."""
    oids = stage.base, *stage.merge_parents
    texts = stage.message, *stage.conflicts, *stage.changes
    values = stage.changes.values()
    return (
        all(type(oid) is bytes and len(oid) == OID_BYTES for oid in oids)
        and {str}.issuperset(map(type, texts))
        and {bytes, type(None)}.issuperset(map(type, values))
    )


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
    """Nothing is staged any more, durably."""
    remove_durably(folder / "stage")
