"""What is told as written outlasts a loss of power, and a sync that fails is told."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from arbor.objects.ids import Kind
from arbor.store import files, syncing
from arbor.store.odb import ObjectStore
from arbor.store.pack_writer import PackWriter


def failing(handle: int) -> None:
    raise OSError(errno.EIO, "Input/output error")


def test_a_name_that_may_not_last_goes_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "new").write_bytes(b"new")
    monkeypatch.setattr(os, "fsync", failing)
    with pytest.raises(OSError, match="Input/output"):
        files.put_durably(tmp_path / "new", tmp_path / "named")
    assert os.listdir(tmp_path) == [], (
        "somebody else would rely on it, and the next sync would say that all is well"
    )


def test_a_pack_whose_name_could_not_be_synced_is_written_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, real = ObjectStore(tmp_path), files.fsync_folder

    def refused(fs_path: Path) -> None:
        if list(fs_path.glob("*.pack")):
            failing(0)
        real(fs_path)

    def write() -> bytes:
        with store.writer() as writer:
            return writer.add(Kind.CHUNK, b"passage")

    with monkeypatch.context() as patch:
        patch.setattr(files, "fsync_folder", refused)
        with pytest.raises(OSError, match="Input/output"):
            write()
    assert not ObjectStore(tmp_path).packs()
    assert ObjectStore(tmp_path).get(write()) == (Kind.CHUNK, b"passage")


def test_what_was_there_already_is_made_durable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", lambda handle: synced.append(os.fstat(handle).st_ino))
    writer = PackWriter(
        tmp_path, lambda oid: True
    )  # by somebody who was killed before the name of the pack was
    writer.add(Kind.CHUNK, b"passage")
    assert writer.seal() is None
    assert synced == [os.stat(tmp_path).st_ino]


@pytest.mark.parametrize("count", [1, syncing.FEW_FILES + 1])
def test_files_and_the_folders_above_them_are_synced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    folder = tmp_path / "a/b"
    folder.mkdir(parents=True)
    paths = [folder / str(number) for number in range(count)]
    for path in paths:
        path.write_bytes(b"x")
    synced: set[int] = set()
    monkeypatch.setattr(os, "fsync", lambda handle: synced.add(os.fstat(handle).st_ino))
    monkeypatch.setattr(syncing, "_system_library", lambda: None)  # nothing that syncs a whole disk
    monkeypatch.setattr(os, "sync", lambda: None)
    syncing.sync_files([*paths, folder / "gone"], tmp_path)
    assert synced == {os.stat(path).st_ino for path in (*paths, folder, tmp_path / "a", tmp_path)}


def test_a_disk_that_cannot_be_synced_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(syncing, "_system_library", lambda: SimpleNamespace(syncfs=lambda handle: -1))
    monkeypatch.setattr("ctypes.get_errno", lambda: errno.EIO)
    with pytest.raises(OSError, match="Input/output"):
        syncing.sync_disk(tmp_path)


def test_a_program_can_be_run_as_soon_as_it_has_its_name(tmp_path: Path) -> None:
    files.write_atomically(tmp_path / "hook", b"#!/bin/sh\n", executable=True)
    mask = os.umask(0)
    os.umask(mask)
    assert os.stat(tmp_path / "hook").st_mode & 0o777 == 0o777 & ~mask
