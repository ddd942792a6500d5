"""Three ledgers become one: documents by content, renames followed, cores as wholes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from arbor.errors import ConflictError
from arbor.objects import ledger
from arbor.objects.ledger_diff import Change, diff
from arbor.objects.model import Document
from arbor.records import dataclass
from arbor.repo.forgetting.cold_needs import Need, absent, refuse_absent
from arbor.repo.merge.merge_cores import CoreMerge, is_core
from arbor.repo.merge.merge_moves import Moves, find_moves
from arbor.repo.merge.merge_text import MARK_CHARS, common_encoding, merge_text
from arbor.repo.repository import Repository
from arbor.repo.snapshot import DOCUMENTS
from arbor.repo.staging.ingest import Sink, store_extraction
from arbor.text.readers import DOCX, PDF
from arbor.text.reading import extract

_MARK_CHARS_PER_DEPTH = 2
"""Markers inside of a base are longer, as in git: they must not be taken for those around them."""


PARENT_OF = "parent of "
"""What a revert calls the side that it merges, before the commit that it undoes."""

_PACKED_TYPES = frozenset([PDF.media_type, DOCX.media_type])
"""Kinds of files that have text, and are none."""


@dataclass(frozen=True, slots=True)
class Conflict:
    """What two sides cannot be joined on.

    Attributes:
        data: The bytes for the work tree: both sides with markers, or a version of the document; None of a core,
            which has no file.
        reason: Why.
    """

    data: bytes | None
    reason: str


@dataclass(slots=True)
class Merged:
    """The outcome, by ledger key.

    Attributes:
        changes: What is different from our side.
        conflicts: What is for a person to decide on.
        stale: Distilled cores of which neither side has one that was made from the merged sources.
    """

    changes: dict[str, bytes | None] = field(default_factory=dict)
    conflicts: dict[str, Conflict] = field(default_factory=dict)
    stale: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Merging:
    """How to merge.

    Attributes:
        repo: Where.
        sink: Takes the documents that the merge makes.
        their_name: Shown in conflict markers.
        favour: The side that stands where both changed the same: `ours`, `theirs`, or "" for a conflict.
        depth: 0 for the merge that somebody asked for; more for one that only makes a base for another. In such a base
            nothing is refused and no side comes first, so that it is the same for whoever merges.
    """

    repo: Repository
    sink: Sink
    their_name: str = "theirs"
    favour: str = ""
    depth: int = 0


def merge_ledgers(how: Merging, base_root: bytes, our_root: bytes, their_root: bytes) -> Merged:
    """The changes that bring our ledger to the merge of both; reads only what differs.

    Raises:
        ConflictError: when a document would have to stand where a folder is.
    """
    store = how.repo.store
    ours = {change.key: change for change in diff(store, base_root, our_root)}
    theirs = {change.key: change for change in diff(store, base_root, their_root)}
    merged = Merged()
    moves = find_moves(how.repo, ours, theirs, our_root, their_root)
    old_names = {new: old for old, new in moves.theirs.items()}
    for key, change in theirs.items():
        if key in moves.theirs:
            merged.changes[key] = None
        elif key in old_names:
            old = old_names[key]
            _merge_document(how, merged, key, change.after, theirs[old].before, ours[old].after)
        elif key in moves.same and ours[key].after != change.after:
            base = theirs[moves.same[key]].before
            _merge_document(how, merged, key, change.after, base, ours[key].after)
        else:
            _merge_key(how, merged, moves.ours.get(key, key), change, ours)
    _merge_cores(how, merged, ours, theirs, our_root)
    _mark_moves(how, merged, moves, ours, theirs)
    merged.changes = {key: value for key, value in merged.changes.items()
                      if ledger.find(store, our_root, key) != value}  # fmt: skip
    if not how.depth:
        _refuse_clash(how.repo, merged, our_root)
    return merged


def _mark_moves(
    how: Merging, merged: Merged, moves: Moves, ours: Mapping[str, Change], theirs: Mapping[str, Change]
) -> None:
    """Documents that one side moved and the other removed or moved elsewhere are for a person to decide on.

    Raises:
        ColdDocument: when the text of one is not here.
    """
    marks: list[tuple[str, bytes | None, str, str]] = []
    parent_of = how.their_name.removeprefix(PARENT_OF)
    there_at = how.their_name if parent_of == how.their_name else f"{parent_of}~1"
    for old, here, there in moves.apart:
        reason = f"renamed from {_path(old)}: here to {_path(here)}, there to {_path(there)}"
        marks += [(here, ours[here].after, reason, "HEAD"), (there, theirs[there].after, reason, there_at)]
    for _, new in moves.deleted_here:
        marks.append((new, theirs[new].after, "deleted here, renamed there", there_at))
    for _, new in moves.deleted_there:
        marks.append((new, ours[new].after, "renamed here, deleted there", "HEAD"))
    snapshot = how.repo.snapshot(None)
    refuse_absent(
        absent(how.repo, [Need(_path(key), oid, rev) for key, oid, _, rev in marks if oid is not None])
    )
    for key, oid, reason, _ in marks:
        if oid is not None:
            merged.conflicts.setdefault(key, Conflict(b"".join(snapshot.iter_file(oid)), reason))


def _refuse_clash(repo: Repository, merged: Merged, our_root: bytes) -> None:
    """No document may come to stand where a folder of others must be.

    Raises:
        ConflictError: naming the first such path.
    """

    def stands(key: str) -> bool:
        value = merged.changes[key] if key in merged.changes else ledger.find(repo.store, our_root, key)
        return value is not None

    for key, value in sorted(merged.changes.items()):
        if value is None or not key.startswith(DOCUMENTS):
            continue
        parts = key[len(DOCUMENTS) :].split("/")
        above = [DOCUMENTS + "/".join(parts[:count]) for count in range(1, len(parts))]
        below = (other for other, _ in ledger.iter_entries(repo.store, our_root, key + "/"))
        clash = next((other for other in above if stands(other)), None)
        clash = clash or next((key for other in below if stands(other)), None)
        if clash is not None:
            raise ConflictError(
                f"'{_path(clash)}' is a document on one side and a folder on the other",
                "rename one of them with arbor mv, commit that, and begin again",
            )


def _path(key: str) -> str:
    return key[len(DOCUMENTS) :]


def _merge_key(how: Merging, merged: Merged, key: str, change: Change, ours: Mapping[str, Change]) -> None:
    """One key that they changed, under the name that it has on our side."""
    mine = ours.get(key)
    if mine is None:
        merged.changes[key] = change.after
    elif mine.after == change.after or is_core(key):
        return
    elif not key.startswith(DOCUMENTS):
        merged.changes[key] = _merge_value(mine.after, change.after)
    else:
        _merge_document(how, merged, key, change.after, change.before, mine.after)


def _merge_value(ours: bytes | None, theirs: bytes | None) -> bytes | None:
    """What stands under another key than a document or core, as another version may write: what a side has stays."""
    values = [value for value in (ours, theirs) if value is not None]
    return max(values) if values else None


def _merge_cores(
    how: Merging, merged: Merged, ours: Mapping[str, Change], theirs: Mapping[str, Change], our_root: bytes
) -> None:
    """The cores that both sides changed, each in its way, when it is known what their sources have become."""

    def find(key: str) -> bytes | None:
        return merged.changes[key] if key in merged.changes else ledger.find(how.repo.store, our_root, key)

    pairs = {
        key: (ours[key], change)
        for key, change in theirs.items()
        if is_core(key) and key in ours and ours[key].after != change.after
    }
    cores = CoreMerge(how.repo.store, pairs, find)
    for key, (mine, _) in pairs.items():
        choice = cores.choose(key)
        merged.changes[key] = mine.before if how.depth and choice.reason else choice.oid
        if choice.reason:
            merged.conflicts[key] = Conflict(None, choice.reason)
        if choice.is_stale:
            merged.stale.append(key)


def _merge_document(
    how: Merging, merged: Merged, key: str, theirs: bytes | None, base: bytes | None, ours: bytes | None
) -> None:
    """One document that both sides changed or renamed, each in its way."""
    snapshot, path = how.repo.snapshot(None), key[len(DOCUMENTS) :]
    if ours is None or theirs is None:
        kept = ours or theirs
        assert kept is not None
        merged.changes[key] = base if how.depth else kept
        reason = "deleted here, changed there" if ours is None else "changed here, deleted there"
        merged.conflicts[key] = Conflict(b"".join(snapshot.iter_file(kept)), reason)
        return
    if base in (ours, theirs):  # the other side has renamed it, and no more
        merged.changes[key] = theirs if ours == base else ours
        return
    documents = [snapshot.document(oid) if oid else None for oid in (base, ours, theirs)]
    source = documents[1].source_uri if documents[1] else ""
    encoding = ""
    if all(document is None or _may_be_lines(document) for document in documents):
        sides = [b"".join(snapshot.iter_file(oid)) if oid else b"" for oid in (base, ours, theirs)]
        encoding = common_encoding(sides)
    if encoding:
        names = "HEAD", how.their_name
        if how.depth:
            sides[1:], names = sorted(sides[1:]), ("one side", "other side")
        width = MARK_CHARS + _MARK_CHARS_PER_DEPTH * how.depth
        result = merge_text(sides[0], sides[1], sides[2], *names, encoding=encoding, mark_chars=width,
                            favour=how.favour)  # fmt: skip
        if result is not None and (how.depth or not result.conflicts):
            # In a base, markers are text like any other: what they enclose is not taken for anybody's version.
            extraction = extract(result.data, path, how.repo.policy().chunking)
            merged.changes[key] = store_extraction(how.sink, extraction, result.data, source)
            return
        if result is not None:
            reason = "both changed the same lines" if base else "added on both sides"
            merged.changes[key] = ours  # under the name that they gave it, where they moved it
            merged.conflicts[key] = Conflict(result.data, reason)
            return
    if how.favour:
        merged.changes[key] = ours if how.favour == "ours" else theirs
        return
    merged.changes[key] = base if how.depth else ours
    act = "both changed it" if base else "added on both sides"
    reason = f"{act}, and it cannot be merged by lines: the file is as it was here"
    merged.conflicts[key] = Conflict(b"".join(snapshot.iter_file(ours)), reason)


def _may_be_lines(document: Document) -> bool:
    """Whether a document's file is text, whatever its passages are; of what was not read as text nothing is known."""
    return bool(document.encoding) and document.media_type not in _PACKED_TYPES
