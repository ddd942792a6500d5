"""The number of a store: made once, whole, and in spite of what lies in its place."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from arbor.store.store_id import ID_BYTES, ID_FILE, make_store_id, read_store_id


def test_several_that_make_it_at_once_have_one(tmp_path: Path) -> None:
    found: list[bytes] = []
    threads = [threading.Thread(target=lambda: found.append(make_store_id(tmp_path))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert set(found) == {read_store_id(tmp_path)}
    assert len(found[0]) == ID_BYTES


@pytest.mark.parametrize("said", [b"", b"0123", b"no number", b"00" * 40, b"\xff" * 32])
def test_a_damaged_one_is_made_anew(tmp_path: Path, said: bytes) -> None:
    (tmp_path / ID_FILE).write_bytes(said)
    assert read_store_id(tmp_path) == b""
    made = make_store_id(tmp_path)
    assert len(made) == ID_BYTES
    assert make_store_id(tmp_path) == made


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names here")
def test_a_pipe_in_its_place_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / ID_FILE)
    assert read_store_id(tmp_path) == b""
    assert len(make_store_id(tmp_path)) == ID_BYTES


def test_a_file_system_without_hard_links_has_one_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(1, "not permitted")

    monkeypatch.setattr(os, "link", refuse)
    assert len(make_store_id(tmp_path)) == ID_BYTES


def test_where_nothing_may_be_written_there_is_none(tmp_path: Path) -> None:
    assert make_store_id(tmp_path / "absent") == b""
