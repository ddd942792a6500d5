"""Which documents came from a source, and whether they still are as they came."""

from __future__ import annotations

from pathlib import Path

from arbor.errors import UsageError
from arbor.repo.file_bytes import is_same_file, read_document
from arbor.repo.repository import Repository
from arbor.repo.work_tree.worktree import read_file


def came_from(repo: Repository, oid: bytes, source: str) -> bool:
    """Whether a document's source URI begins with this."""
    return read_document(repo.store, oid).source_uri.startswith(source)


def follows_source(repo: Repository, oid: bytes, fs_path: Path, source: str) -> bool:
    """Whether a document came from a source and its file is as it came, so that it may follow the source."""
    document = read_document(repo.store, oid)
    try:
        return document.source_uri.startswith(source) and is_same_file(document, read_file(fs_path)[0])
    except (OSError, UsageError):
        return False
