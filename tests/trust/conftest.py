"""Small knowledge bases for the tests of proofs, cores, tiers and the journal."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

import arbor
from arbor import KnowledgeBase

MakeKb = Callable[..., KnowledgeBase]


def fill(kb: KnowledgeBase, files: Mapping[str, str | bytes], message: str = "notes") -> KnowledgeBase:
    """Write files into the work tree, add everything and commit."""
    assert kb.fs_root is not None
    for name, content in files.items():
        target = kb.fs_root / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
    kb.add()
    kb.commit(message, index=False)
    return kb


@pytest.fixture
def make_kb(tmp_path: Path) -> Iterator[MakeKb]:
    """A maker of knowledge bases in a temporary folder: `make_kb({"a.md": "text"}, name="other")`."""
    opened: list[KnowledgeBase] = []

    def make(files: Mapping[str, str | bytes] | None = None, *, name: str = "kb") -> KnowledgeBase:
        kb = arbor.init(tmp_path / name)
        opened.append(kb)
        return fill(kb, files) if files else kb

    yield make
    for kb in opened:
        kb.close()


def long_note(sections: int, tag: str = "") -> str:
    """A Markdown note with as many passages as sections."""
    parts = [f"# A long note {tag}\n"]
    for number in range(sections):
        words = " ".join(f"word{number}x{i}{tag}" for i in range(180))
        parts.append(f"\n## Section {number}\n\n{words}.\n")
    return "".join(parts)
