"""Which commits brought a text in or took it out, as `git log -S` tells it."""

from __future__ import annotations

from collections.abc import Sequence

from arbor.repo.commits.diffing import NoText, document_text, pair_documents
from arbor.repo.repository import Repository
from arbor.repo.snapshot import Snapshot
from arbor.repo.work_tree.selections import matcher_of


class Pickaxe:
    """Looks for a text in what commits changed.

    Attributes:
        cold: The documents that could not be looked into, since they are cold here.
    """

    def __init__(self, repo: Repository, text: str) -> None:
        self._repo = repo
        self._text = text
        self._empty = repo.snapshot(None)
        self.cold: set[bytes] = set()

    def finds(self, commit_oid: str, paths: Sequence[str] = ()) -> bool:
        """Whether a document at these paths or globs holds the text more or less often than before the commit.

        A document that was only renamed does not. A merge brings in nothing by itself.
        """
        commit = self._repo.commit(bytes.fromhex(commit_oid))
        if len(commit.parents) > 1:
            return False
        snapshot, wanted = Snapshot(self._repo.store, commit.ledger_root), matcher_of(tuple(paths))
        rows = [
            change for change in snapshot.changes_since(self._repo.root_before(commit)) if wanted(change.key)
        ]
        return any(self._count(pair.old) != self._count(pair.new) for pair in pair_documents(rows, snapshot)
                   if pair.old != pair.new)  # fmt: skip

    def _count(self, oid: bytes) -> int:
        """How often a document holds the text; what has no text here, or is no document (b""), never does."""
        text = document_text(self._empty, self._empty.document(oid)) if oid else ""
        if isinstance(text, NoText):
            self.cold |= {oid} if text is NoText.COLD else set()
            return 0
        return text.count(self._text)
