"""What two commits are merged against: the ledger of their merge base, made by merging where there are several.

Source: git's recursive and ort strategies (merge-ort.c, `merge_ort_internal`).
"""

from __future__ import annotations

from collections.abc import Sequence

from arbor.objects import ledger
from arbor.repo.commits.committing import write_ledger
from arbor.repo.commits.history import merge_bases
from arbor.repo.merge.merge_ledgers import Merging, merge_ledgers
from arbor.repo.repository import Repository

MAX_BASES = 64
"""More are not merged: the oldest are left out. No history that people make has so many."""
MAX_DEPTH = 16
"""How often the bases of bases are looked for. Below that the oldest stands for all; what it lacks only counts where no
merge since has agreed on it."""


def find_base(repo: Repository, ours: bytes, theirs: bytes) -> bytes | None:
    """The ledger root to merge two commits against; None where they have nothing in common.

    Where they have crossed, so that there are several merge bases, these are merged first, with their own bases as the
    base, and so on. What is in conflict between bases is in the result with both sides and markers, so that it is
    nobody's version. Whoever merges gets the same base. Call it under the writer lock: new objects are stored.

    Raises:
        IntegrityError: when a commit or document is absent or damaged.
        ColdDocument: when the text of a document is needed and not here.
    """
    return _find_base(repo, [ours], [theirs], 1)


def _find_base(repo: Repository, ours: Sequence[bytes], theirs: Sequence[bytes], depth: int) -> bytes | None:
    bases = merge_bases(repo, ours, theirs)[-MAX_BASES:]
    if depth > MAX_DEPTH:
        del bases[1:]
    if not bases:
        return None
    root = repo.ledger_root(bases[0])
    for number in range(1, len(bases)):
        below = _find_base(repo, bases[:number], [bases[number]], depth + 1) or ledger.EMPTY_LEDGER
        other = repo.ledger_root(bases[number])
        with repo.store.writer() as writer:
            merged = merge_ledgers(Merging(repo, writer, depth=depth), below, root, other)
            root = write_ledger(repo, writer, root, merged.changes)
    return root
