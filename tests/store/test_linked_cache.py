"""A cache that is a link: nothing of somebody else's is written over, one's own may lie on another disk."""

from __future__ import annotations

from pathlib import Path

import pytest

import arbor
from arbor.errors import StorageError
from tests.repo.kit import new_kb

NAMES = ("index.db", "index.db-wal", "consensus.db", "worktree", "git", "added-packs")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    new_kb(tmp_path / "kb", {"a.md": "# A\n\nhello\n"}).close()
    cache = tmp_path / "kb/.arbor/cache"
    cache.rename(tmp_path / "cache-before")
    (tmp_path / "elsewhere").mkdir()
    cache.symlink_to(tmp_path / "elsewhere")
    return tmp_path / "kb"


def use(folder: Path) -> None:
    with arbor.open(folder) as kb:
        assert [hit.path for hit in kb.search("hello").hits] == ["a.md"]
        kb.status()
        kb.reindex()


@pytest.mark.parametrize("name", NAMES)
def test_files_of_somebody_else_stay(folder: Path, name: str) -> None:
    theirs = folder.parent / "elsewhere" / name
    theirs.write_text("theirs")
    with pytest.raises(StorageError, match="is a link to a folder that is no cache") as refused:
        use(folder)
    assert "remove the link" in refused.value.hint
    assert theirs.read_text() == "theirs"
    (folder / ".arbor/cache").unlink()
    use(folder)


def test_an_empty_folder_is_taken_and_known_again(folder: Path) -> None:
    use(folder)
    assert (folder.parent / "elsewhere/index.db").exists()
    use(folder)


def test_a_folder_that_is_the_cache_of_another_is_left_alone(folder: Path) -> None:
    use(folder)
    (folder / ".arbor/store-id").unlink()  # as of another store
    with pytest.raises(StorageError, match="no cache of this knowledge base"):
        use(folder)


def test_the_folder_of_older_indexes_is_no_link(folder: Path) -> None:
    cache = folder / ".arbor/cache"
    cache.unlink()
    cache.mkdir()
    theirs = folder.parent / "elsewhere/mail.db"
    theirs.write_text("theirs")
    (cache / "at").symlink_to(theirs.parent)
    with pytest.raises(StorageError, match="is a link"):
        use(folder)
    assert theirs.read_text() == "theirs"


def test_a_link_that_leads_nowhere_keeps_nobody_from_searching(folder: Path) -> None:
    (folder.parent / "elsewhere").rmdir()
    with arbor.open(folder) as kb:
        assert [hit.path for hit in kb.search("hello").hits] == ["a.md"]
