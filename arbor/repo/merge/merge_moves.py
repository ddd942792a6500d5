"""Renames in a merge: which are followed, and which are in conflict with what the other side did."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field

from arbor.objects import ledger
from arbor.objects.ledger_diff import Change
from arbor.records import dataclass
from arbor.repo.commits.diffing import pair_documents
from arbor.repo.repository import Repository
from arbor.repo.snapshot import DOCUMENTS, Snapshot

Changes = Mapping[str, Change]


@dataclass(slots=True)
class Moves:
    """The renames of two sides of a merge that meet something on the other side; keys are ledger keys.

    Attributes:
        ours, theirs: Old key to new one, of documents that one side moved and the other changed: the change follows.
        same: New key to old one, of documents that both moved to the same place.
        apart: (old key, our new one, their new one) of documents that went to two places.
        deleted_here: (old key, their new one) of documents that they moved and we removed.
        deleted_there: (old key, our new one) of documents that we moved and they removed.
    """

    ours: dict[str, str] = field(default_factory=dict)
    theirs: dict[str, str] = field(default_factory=dict)
    same: dict[str, str] = field(default_factory=dict)
    apart: list[tuple[str, str, str]] = field(default_factory=list)
    deleted_here: list[tuple[str, str]] = field(default_factory=list)
    deleted_there: list[tuple[str, str]] = field(default_factory=list)


def find_moves(repo: Repository, ours: Changes, theirs: Changes, our_root: bytes, their_root: bytes) -> Moves:
    """Sort the renames of both sides.

    A rename whose new name the other side has a document at is none: what is there must not be written over, so the
    old name is deleted and the new one added, and both are looked at as such.
    """
    moves = Moves()
    our_names, their_names = dict(_renames(repo, ours, our_root)), dict(_renames(repo, theirs, their_root))
    for old, new in their_names.items():
        mine = ours.get(old)
        if old in our_names:
            if our_names[old] == new:
                moves.same[new] = old
            else:
                moves.apart.append((old, our_names[old], new))
        elif mine is not None and mine.after is None:
            moves.deleted_here.append((old, new))
        elif mine is not None and ledger.find(repo.store, our_root, new) is None:
            moves.theirs[old] = new
    for old, new in our_names.items():
        other = theirs.get(old)
        if old in their_names or other is None:
            continue
        if other.after is None:
            moves.deleted_there.append((old, new))
        elif ledger.find(repo.store, their_root, new) is None:
            moves.ours[old] = new
    return moves


def _renames(repo: Repository, changes: Changes, root: bytes) -> Iterator[tuple[str, str]]:
    """(old key, new key) of the documents that one side moved."""
    rows = [change for key, change in changes.items() if key.startswith(DOCUMENTS)]
    for pair in pair_documents(rows, Snapshot(repo.store, root)):
        if pair.status == "R":
            yield pair.old_path, pair.path
