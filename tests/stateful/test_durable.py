"""What a power cut must not take is on the disk in time: bytes before the name that leads to them, and then the name.

No test can cut the power. What is looked at is the order of the calls that make something durable.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from arbor.objects.ids import Kind
from arbor.repo.repository import open_repository
from arbor.repo.tiers import TIERS_FILE, Tiers, write_tiers
from arbor.store.files import append_line, make_folders, write_atomically
from arbor.store.journal import HEAD_FILE, JOURNAL_FILE, Journal
from arbor.store.odb import ObjectStore
from arbor.store.refs import Refs
from tests.cli.harness import IDENTITY, Cli
from tests.remote.people import change as change_and_commit
from tests.remote.people import clone_to, fetch_from, make_kb, notes
from tests.repo.kit import signature

Inode = tuple[int, int]


def inode_of(status: os.stat_result) -> Inode:
    return status.st_dev, status.st_ino


class Disk:
    """The calls that change what outlasts a power cut, in order: `sync`, `name` and `unname`, each with its inode."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.steps: list[tuple[str, Inode]] = []
        fsync, replace, unlink, mkdir = os.fsync, os.replace, os.unlink, os.mkdir

        def synced(handle: int) -> None:
            self.steps.append(("sync", inode_of(os.fstat(handle))))
            fsync(handle)

        def named(source: Path, target: Path) -> None:
            replace(source, target)
            self.steps.append(("name", inode_of(os.stat(target))))

        def unnamed(path: Path, **options: int) -> None:
            self.steps.append(("unname", inode_of(os.lstat(path))))
            unlink(path, **options)

        def made(path: Path, *mode: int, **options: int) -> None:
            mkdir(path, *mode, **options)
            self.steps.append(("name", inode_of(os.lstat(path))))

        for name, call in (("fsync", synced), ("replace", named), ("unlink", unnamed), ("mkdir", made)):
            monkeypatch.setattr(os, name, call)

    def last(self, what: str, inode: Inode) -> int:
        """Where the last such step stands; -1 where there was none."""
        return max((at for at, step in enumerate(self.steps) if step == (what, inode)), default=-1)

    def assert_durable(self, fs_path: Path, *, is_named: bool = True) -> None:
        """The file's bytes were synced, then it got its name, and then the folder was synced."""
        file, folder = inode_of(fs_path.stat()), inode_of(fs_path.parent.stat())
        synced, named = self.last("sync", file), self.last("name", file)
        assert synced >= 0, f"the bytes of {fs_path.name} may be lost"
        if is_named:
            assert synced < named, f"{fs_path.name} had its name before its bytes"
        assert self.last("sync", folder) > max(synced, named), f"the name {fs_path.name} may be lost"


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Callable[[], Disk]:
    """Looks on from when it is called."""
    return lambda: Disk(monkeypatch)


def test_a_file_that_is_replaced(tmp_path: Path, disk: Callable[[], Disk]) -> None:
    (tmp_path / "file").write_bytes(b"old")
    seen = disk()
    write_atomically(tmp_path / "file", b"new")
    seen.assert_durable(tmp_path / "file")


def test_folders_that_are_made(tmp_path: Path, disk: Callable[[], Disk]) -> None:
    seen = disk()
    make_folders(tmp_path / "a" / "b")
    for folder in (tmp_path / "a", tmp_path / "a" / "b"):
        above = inode_of(folder.parent.stat())
        assert seen.last("sync", above) > seen.last("name", inode_of(folder.stat())) >= 0


def test_a_line_that_is_added(tmp_path: Path, disk: Callable[[], Disk]) -> None:
    seen = disk()
    append_line(tmp_path / "log", b"one\n")
    seen.assert_durable(tmp_path / "log", is_named=False)
    before = len(seen.steps)
    append_line(tmp_path / "log", b"two\n")
    assert ("sync", inode_of((tmp_path / "log").stat())) in seen.steps[before:]


def test_a_record_of_the_journal(tmp_path: Path, disk: Callable[[], Disk]) -> None:
    seen = disk()
    Journal(tmp_path).append("gc", {})
    seen.assert_durable(tmp_path / JOURNAL_FILE, is_named=False)
    seen.assert_durable(tmp_path / HEAD_FILE)
    # The head names the record, so the record is there before it.
    record, head = (inode_of((tmp_path / name).stat()) for name in (JOURNAL_FILE, HEAD_FILE))
    assert seen.last("sync", record) < seen.last("name", head)


def test_a_pack(tmp_path: Path, disk: Callable[[], Disk]) -> None:
    seen = disk()
    with ObjectStore(tmp_path).writer() as writer:
        writer.add(Kind.CHUNK, b"a passage")
    (pack,) = tmp_path.glob("*.pack")
    seen.assert_durable(pack)
    # Whoever sees the pack finds its index.
    index = inode_of(pack.with_suffix(".idx").stat())
    assert seen.last("name", index) < seen.last("name", inode_of(pack.stat()))


def test_a_ref_that_moves_and_goes(tmp_path: Path, disk: Callable[[], Disk]) -> None:
    refs, name = Refs(tmp_path), "refs/heads/side"
    refs.set_head("refs/heads/main")
    seen = disk()
    refs.move(name, None, bytes(32), signature(), "made")
    seen.assert_durable(tmp_path / name)
    seen.assert_durable(tmp_path / "logs" / name, is_named=False)
    file, folder = (inode_of((tmp_path / each).stat()) for each in (name, "refs/heads"))
    log = inode_of((tmp_path / "logs" / name).stat())
    assert seen.last("sync", log) < seen.last("name", file), "a move that its log does not tell"
    refs.move(name, bytes(32), None, signature(), "gone")
    assert seen.last("sync", folder) > seen.last("unname", file) >= 0


def test_tiers_that_are_all_hot_again(tmp_path: Path, disk: Callable[[], Disk]) -> None:
    write_tiers(tmp_path, Tiers(warm=frozenset({bytes(32)})))
    file = inode_of((tmp_path / TIERS_FILE).stat())
    seen = disk()
    write_tiers(tmp_path, Tiers())
    assert seen.last("sync", inode_of(tmp_path.stat())) > seen.last("unname", file) >= 0


def test_what_arrives(tmp_path: Path, disk: Callable[[], Disk]) -> None:
    source = make_kb(tmp_path / "a", notes(2))
    clone_to(tmp_path / "a", tmp_path / "b")
    change_and_commit(source, {"new.md": "# New\n"})
    repo = open_repository(tmp_path / "b")
    before = set((repo.folder / "packs").glob("*.pack"))
    seen = disk()
    fetch_from(repo, tmp_path / "a")
    (pack,) = set((repo.folder / "packs").glob("*.pack")) - before
    seen.assert_durable(pack)


def test_the_file_of_a_cold_document_that_goes_along(
    tmp_path: Path, disk: Callable[[], Disk], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may be the last copy: it is on the disk under the new name before the old one goes."""
    for name, value in IDENTITY.items():
        monkeypatch.setenv(name, value)
    cli = Cli(tmp_path)
    cli("init")
    cli.write("a.md", "# A\n\nRivers and stones.\n")
    cli.write("x/keep.md", "# Keep\n")
    cli.commit("first")
    cli("switch", "-c", "moved")
    cli("mv", "a.md", "x/c.md")
    cli.commit("moved")
    cli("switch", "main")
    cli("evict", "a.md", "--force")
    old = inode_of((tmp_path / "a.md").stat())
    seen = disk()
    cli("switch", "moved")
    file, folder = inode_of((tmp_path / "x/c.md").stat()), inode_of((tmp_path / "x").stat())
    gone = seen.last("unname", old)
    assert 0 <= seen.last("sync", file) < gone
    assert any(step == ("sync", folder) for step in seen.steps[seen.last("sync", file) : gone])
