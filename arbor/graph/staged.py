"""What the next commit changes: git's where the knowledge base lives in a git repository, and what arbor has staged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from arbor.records import dataclass
from arbor.repo.git import git_bridge
from arbor.repo.repository import Repository
from arbor.repo.snapshot import DOCUMENTS, Snapshot
from arbor.repo.staging.ingest import store_extraction
from arbor.store.overlay import OverlayStore
from arbor.text.reading import extract


@dataclass(frozen=True, slots=True)
class Staged:
    """Documents that a commit changes, over HEAD.

    Attributes:
        head: HEAD, read from a store that holds the staged documents as well.
        documents: Path to document oid, None where it is removed; in path order.
    """

    head: Snapshot
    documents: Mapping[str, bytes | None]

    def find(self, path: str) -> bytes | None:
        """The document at a path after the commit."""
        return self.documents[path] if path in self.documents else self.head.find(path)

    def paths(self, prefix: str = "") -> Iterator[str]:
        """The paths with a prefix after the commit: first those that stay, then those that come."""
        for path, _ in self.head.paths(prefix):
            if self.documents.get(path, path) is not None:
                yield path
        for path, oid in self.documents.items():
            if oid is not None and path.startswith(prefix):
                yield path


def read_staged(repo: Repository) -> list[Staged]:
    """What the next commits change; nothing is stored for it.

    In a git repository the first is what git's next commit records. Where something is staged in arbor too, the last is
    what the knowledge base will come to with it; where both changed a path, git's commit passes over arbor's.
    """
    store = OverlayStore(repo.store)
    head = Snapshot(store, repo.head_root())
    own = {
        key[len(DOCUMENTS) :]: value
        for key, value in repo.stage().changes.items()
        if key.startswith(DOCUMENTS)
    }
    given = _staged_in_git(repo, store)
    if not given or not own:
        return [Staged(head, dict(sorted((given or own).items())))]
    return [Staged(head, dict(sorted(each.items()))) for each in (given, own | given)]


def _staged_in_git(repo: Repository, store: OverlayStore) -> dict[str, bytes | None]:
    fs_root = repo.fs_root
    if fs_root is None or not (git_bridge.git_top(fs_root) / ".git").exists():
        return {}
    chunking = repo.policy().chunking
    return {
        file.path: None
        if file.data is None
        else store_extraction(store, extract(file.data, file.path, chunking), file.data)
        for file in git_bridge.staged_files(repo)
    }
