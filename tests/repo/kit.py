"""Short words for tests of a knowledge base."""

from __future__ import annotations

from pathlib import Path

import arbor
from arbor.kb import KnowledgeBase
from arbor.objects.model import Signature
from arbor.repo.work_tree.status import PathChange


def write(folder: Path, files: dict[str, str | bytes]) -> None:
    """Write files by their path; folders are made."""
    for path, content in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content.encode() if isinstance(content, str) else content)


def new_kb(folder: Path, files: dict[str, str | bytes] | None = None) -> KnowledgeBase:
    """A knowledge base with these files committed, if there are any."""
    kb = arbor.init(folder)
    kb.repo.identity = ("Ada Lovelace", "ada@example.org")
    if files:
        write(folder, files)
        kb.add()
        kb.commit("first", index=False)
    return kb


def record(kb: KnowledgeBase, files: dict[str, str | bytes], message: str = "more") -> str:
    """Write, add and commit; the commit."""
    assert kb.fs_root is not None
    write(kb.fs_root, files)
    kb.add()
    return kb.commit(message, index=False).commit


def read_all(kb: KnowledgeBase, revision: str | None = None) -> dict[str, bytes]:
    """Every document's bytes by path, read through the object store."""
    return {path: b"".join(kb.cat(path, revision or "HEAD")) for path, _ in kb.ls(revision=revision)}


def files_in(folder: Path) -> dict[str, bytes]:
    """Every file of a work tree by its name."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and ".arbor" not in path.parts
    }


def short(changes: tuple[PathChange, ...]) -> list[str]:
    """Changes as `M path` or `R old -> new`."""
    return [f"{c.status} {c.old_path + ' -> ' if c.old_path else ''}{c.path}" for c in changes]


def signature(seconds: int = 1_700_000_000, name: str = "Ada Lovelace") -> Signature:
    """A signature at a moment."""
    return Signature(name, "ada@example.org", seconds, 60)
