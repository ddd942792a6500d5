"""Files of a new work tree: written where they belong, and nowhere else whatever stands in the way."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from arbor.errors import ArborError, PartlyDone
from arbor.repo.work_tree import fresh_files
from arbor.repo.work_tree.file_states import state_of
from arbor.repo.work_tree.fresh_files import FreshFiles


@pytest.fixture(params=["handles", "paths"])
def top(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, on a system with folder handles and on one without."""
    monkeypatch.setattr(fresh_files, "_HAS_HANDLES", request.param == "handles" and fresh_files._HAS_HANDLES)
    folder = tmp_path / "top"
    folder.mkdir()
    return folder


def test_files_lie_where_they_belong(top: Path) -> None:
    wanted = {"a.md": b"a", "b/c.md": b"", "b/d/目录.md": b"x" * 300_000, "b/e.md": b"one two", "z/f": b"\0"}
    with FreshFiles(top) as files:
        states = {path: files.write(path, [data[:3], data[3:]]) for path, data in wanted.items()}
    assert {path: (top / path).read_bytes() for path in wanted} == wanted
    assert states == {path: state_of((top / path).lstat()) for path in wanted}
    assert sum(len(names) for _, _, names in os.walk(top)) == len(wanted)
    assert stat.S_IMODE((top / "a.md").stat().st_mode) & 0o111 == 0


@pytest.mark.parametrize("path", ["../a", "/a", "a/../b", ".arbor/x", "b/.ARBOR/x", "", "a\0b", "con"])
def test_a_path_that_may_not_be_used_is_refused(top: Path, path: str) -> None:
    with FreshFiles(top) as files, pytest.raises(ArborError):
        files.write(path, [b"x"])
    assert list(top.iterdir()) == []


def test_no_link_is_followed(top: Path) -> None:
    outside = top.parent / "outside"
    outside.mkdir()
    (top / "b").symlink_to(outside)
    with FreshFiles(top) as files:
        files.write("a/x.md", [b"x"])
        with pytest.raises(ArborError):
            files.write("b/x.md", [b"x"])
        files.write("a/y.md", [b"y"])
    assert list(outside.iterdir()) == []
    assert sorted(path.name for path in (top / "a").iterdir()) == ["x.md", "y.md"]


def test_what_is_there_is_not_written_over(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_bytes(b"mine")
    (tmp_path / "b").write_bytes(b"mine too")
    (tmp_path / "c.md").symlink_to(tmp_path / "nowhere")
    with FreshFiles(tmp_path) as files:
        for path in ("a.md", "b/x.md", "c.md"):
            with pytest.raises(PartlyDone, match="cannot be written"):
                files.write(path, [b"theirs"])
    assert (tmp_path / "a.md").read_bytes() == b"mine"
    assert (tmp_path / "b").read_bytes() == b"mine too"
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.skipif(not os.path.exists("/proc/self/fd"), reason="needs /proc to count handles")
def test_no_handle_stays_open(tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    with FreshFiles(tmp_path) as files:
        for number in range(50):
            files.write(f"{number}/x/y.md", [b"x"])
            with pytest.raises(ArborError):
                files.write(f"{number}/x/y.md/z.md", [b"x"])
    assert len(os.listdir("/proc/self/fd")) == before
