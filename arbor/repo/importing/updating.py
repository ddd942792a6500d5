"""What a source that has changed holds now, staged as a new version of its document where that undoes nobody's work."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from arbor.errors import ArborError, UsageError
from arbor.objects.model import Document
from arbor.repo.file_bytes import is_same_file
from arbor.repo.forgetting.copies import ByteSource, read_copy
from arbor.repo.forgetting.rehydrating import Rehydration, Update, changed_bytes
from arbor.repo.repository import Repository
from arbor.repo.snapshot import DOCUMENTS, Snapshot
from arbor.repo.staging.adding import add_bytes
from arbor.repo.work_tree.worktree import name_on_disk
from arbor.text.charsets import split_recorded


def update(repo: Repository, done: Rehydration, sources: Sequence[ByteSource]) -> Iterator[Update]:
    """Stage the bytes of a changed source at the document's paths; the committed version stays as it is, cold.

    Args:
        repo: Where.
        done: What became of the document; its source has changed.
        sources: Those that were asked.

    Yields:
        What became of each path that HEAD has the document at.

    Raises:
        Locked: when another writer holds the lock.
    """
    oid = bytes.fromhex(done.document)
    current = repo.head_snapshot()
    document = current.document(oid)
    data = next(changed_bytes(repo, done, sources), None)
    for path in done.paths:
        if current.find(path) != oid:
            continue  # an older version: what is there now is newer than what its source has left
        problem = "its source does not give the same any more" if data is None else ""
        if data is not None and not _is_staged(repo, current, path, data):
            problem = _why_not(repo, path, oid, document, data)
            if not problem:
                try:
                    charset = split_recorded(document.extractor)[1]
                    add_bytes(repo, path, data, document.source_uri, overwrite=True, charset=charset)
                except UsageError as error:
                    problem = error.message
        yield Update(path, problem)


def _is_staged(repo: Repository, current: Snapshot, path: str, data: bytes) -> bool:
    """Whether these very bytes are staged already."""
    staged = repo.stage().find(repo.store, DOCUMENTS + path)
    return staged is not None and is_same_file(current.document(staged), data)


def _why_not(repo: Repository, path: str, oid: bytes, document: Document, data: bytes) -> str:
    """Whose work would be undone; "" where the stage and the file hold the committed version, or no file is there."""
    if repo.stage().find(repo.store, DOCUMENTS + path) != oid:
        return "something else is staged"
    fs_root = repo.work_tree()
    try:
        now = read_copy(fs_root / name_on_disk(fs_root, path), len(data))
    except FileNotFoundError:
        return ""
    except (OSError, ArborError):
        return "its file cannot be read"
    return "" if now == data or is_same_file(document, now) else "its file was edited and not added"
