"""rm, mv and restore: as git has them, and nothing that is not committed is lost without a word."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import arbor
from arbor.errors import ConflictError, PartlyDone, UsageError
from arbor.repo.upkeep.gc import collect
from arbor.repo.work_tree import worktree
from arbor.store.files import TEMPORARY_PREFIX, temporary_path
from tests.repo.kit import files_in, new_kb, read_all, record, short, write

FILES: dict[str, str | bytes] = {"a.md": "a\n", "b.md": "b\n", "x/c.md": "c\n", "x/y/d.md": "d\n"}


# --- rm


def test_rm_takes_the_file_and_the_folders_that_are_empty_after_it(tmp_path: Path) -> None:
    kb = new_kb(tmp_path, FILES)
    assert kb.rm(["x/y/d.md"]) == ("x/y/d.md",)
    assert not (tmp_path / "x/y").exists()
    assert (tmp_path / "x/c.md").exists()
    assert short(kb.status().staged) == ["D x/y/d.md"]
    kb.commit("gone", index=False)
    assert sorted(read_all(kb)) == ["a.md", "b.md", "x/c.md"]


def test_rm_of_folders_wants_a_word(tmp_path: Path) -> None:
    kb = new_kb(tmp_path, FILES)
    for typed in ("x", "", "."):
        with pytest.raises(UsageError, match="is a folder"):
            kb.rm([typed], cwd=tmp_path)
    assert kb.rm(["x"], recursive=True) == ("x/c.md", "x/y/d.md")
    assert kb.rm([""], recursive=True, dry_run=True) == ("a.md", "b.md")
    assert sorted(files_in(tmp_path)) == ["a.md", "b.md"]


def test_rm_of_a_glob_and_of_nothing(tmp_path: Path) -> None:
    kb = new_kb(tmp_path, FILES)
    with pytest.raises(UsageError, match="matches no document"):
        kb.rm(["absent.md"])
    with pytest.raises(UsageError, match="matches no document"):
        kb.rm(["a.md", "*.txt"])
    assert kb.rm(["*.md"], dry_run=True) == ("a.md", "b.md", "x/c.md", "x/y/d.md")
    assert kb.rm(["x/*.md"]) == ("x/c.md", "x/y/d.md")


def test_rm_of_the_index_alone_keeps_the_file(tmp_path: Path) -> None:
    kb = new_kb(tmp_path, FILES)
    write(tmp_path, {"a.md": "changed"})
    assert kb.rm(["a.md"], cached=True) == ("a.md",)
    assert (tmp_path / "a.md").read_bytes() == b"changed"
    assert kb.status().untracked == ("a.md",)


def test_rm_refuses_to_lose_what_is_not_committed(tmp_path: Path) -> None:
    kb = new_kb(tmp_path, FILES)
    write(tmp_path, {"a.md": "changed\n"})
    with pytest.raises(ConflictError, match="not added"):
        kb.rm(["a.md"])
    kb.add(["a.md"])
    with pytest.raises(ConflictError, match="staged changes"):
        kb.rm(["a.md"])
    write(tmp_path, {"new.md": "n"})
    kb.add(["new.md"])
    with pytest.raises(ConflictError):
        kb.rm(["new.md"])
    assert sorted(files_in(tmp_path)) == sorted([*FILES, "new.md"])
    assert kb.rm(["a.md", "new.md"], force=True) == ("a.md", "new.md")


def test_rm_of_the_index_alone_keeps_what_only_the_stage_has(tmp_path: Path) -> None:
    kb = new_kb(tmp_path, FILES)
    write(tmp_path, {"a.md": "staged", "new.md": "staged"})
    kb.add()
    write(tmp_path, {"a.md": "edited", "b.md": "edited"})
    with pytest.raises(ConflictError, match="staged as neither its file nor HEAD has it"):
        kb.rm(["*.md"], cached=True)
    assert kb.rm(["b.md", "new.md"], cached=True) == ("b.md", "new.md")
    assert kb.rm(["a.md"], cached=True, force=True) == ("a.md",)
    assert (tmp_path / "a.md").read_bytes() == b"edited"


def test_rm_of_a_file_that_is_gone_already(tmp_path: Path) -> None:
    kb = new_kb(tmp_path, FILES)
    (tmp_path / "a.md").unlink()
    assert kb.rm(["a.md"]) == ("a.md",)


def test_rm_where_a_folder_has_taken_the_place(tmp_path: Path) -> None:
    kb = new_kb(tmp_path, FILES)
    (tmp_path / "a.md").unlink()
    write(tmp_path, {"a.md/inner.md": "i"})
    kb.rm(["a.md"], force=True)
    assert (tmp_path / "a.md/inner.md").exists()
    assert short(kb.status().staged) == ["D a.md"]


def test_rm_does_not_reach_through_a_link(tmp_path: Path) -> None:
    write(tmp_path / "outside", {"c.md": "c\n", "y/d.md": "d\n"})
    kb = new_kb(tmp_path / "kb", FILES)
    for name in ("c.md", "y/d.md"):
        (tmp_path / "kb/x" / name).unlink()
    (tmp_path / "kb/x/y").rmdir()
    (tmp_path / "kb/x").rmdir()
    os.symlink(tmp_path / "outside", tmp_path / "kb/x")
    kb.rm(["x/c.md", "x/y/d.md"], force=True)
    assert sorted(files_in(tmp_path / "outside")) == ["c.md", "y/d.md"]


# --- mv


def test_mv_renames_a_file(tmp_path: Path) -> None:
    kb = new_kb(tmp_path, FILES)
    assert kb.mv(["a.md"], "new/place.md") == (("a.md", "new/place.md"),)
    assert short(kb.status().staged) == ["R a.md -> new/place.md"]
    assert kb.status().unstaged == ()
    kb.commit("moved", index=False)
    assert read_all(kb) == files_in(tmp_path)


def test_mv_into_a_folder_of_a_folder_and_of_several(tmp_path: Path) -> None:
    kb = new_kb(tmp_path, FILES)
    assert kb.mv(["a.md", "b.md"], "x") == (("a.md", "x/a.md"), ("b.md", "x/b.md"))
    assert kb.mv(["x/y"], "") == (("x/y/d.md", "y/d.md"),)
    assert kb.mv(["x"], "z") == (("x/a.md", "z/a.md"), ("x/b.md", "z/b.md"), ("x/c.md", "z/c.md"))
    assert kb.mv(["z"], "y") == (("z/a.md", "y/z/a.md"), ("z/b.md", "y/z/b.md"), ("z/c.md", "y/z/c.md"))
    assert sorted(files_in(tmp_path)) == ["y/d.md", "y/z/a.md", "y/z/b.md", "y/z/c.md"]
    assert not (tmp_path / "x").exists()
    kb.commit("moved", index=False)
    assert kb.status().clean


def test_mv_of_a_document_to_what_is_written_as_a_folder(tmp_path: Path) -> None:
    kb = new_kb(tmp_path / "kb", {"a.md": "a\n", "x/b.md": "b\n"})
    for target in ("new/", "a.md/", "x/b.md/"):
        with pytest.raises(UsageError, match="is not a folder"):
            kb.mv(["a.md"], target)
    assert kb.status().clean
    assert kb.mv(["x"], "y/") == (("x/b.md", "y/b.md"),)
    assert kb.mv(["a.md"], "y/") == (("a.md", "y/a.md"),)


def test_mv_keeps_changes_that_are_not_added(tmp_path: Path) -> None:
    kb = new_kb(tmp_path, FILES)
    write(tmp_path, {"a.md": "changed\n"})
    kb.mv(["a.md"], "moved.md")
    assert (tmp_path / "moved.md").read_bytes() == b"changed\n"
    assert short(kb.status().staged) == ["R a.md -> moved.md"]
    assert short(kb.status().unstaged) == ["M moved.md"]


def test_mv_does_not_overwrite(tmp_path: Path) -> None:
    kb = new_kb(tmp_path, FILES)
    write(tmp_path, {"untracked.md": "u"})
    for target in ("b.md", "untracked.md"):
        with pytest.raises(ConflictError, match="exists already"):
            kb.mv(["a.md"], target)
    kb.mv(["a.md"], "b.md", force=True)
    assert (tmp_path / "b.md").read_bytes() == b"a\n"
    assert short(kb.status().staged) == ["D a.md", "M b.md"]


@pytest.mark.parametrize(
    ("sources", "target"),
    [
        (["x"], "x/inner"),
        (["x"], "x"),
        (["a.md"], "a.md"),
        (["x"], "x/y"),
        ([""], "x"),
        (["absent.md"], "c.md"),
        (["a.md", "b.md"], "one.md"),
        (["x/c.md", "z/c.md"], ""),
        (["a.md"], "b.md/below.md"),
        (["a.md"], ".arbor/x"),
        (["a.md"], "con.md"),
        (["a.md"], "../out.md"),
    ],
)
@pytest.mark.parametrize("force", [False, True])
def test_mv_refuses_what_cannot_be(tmp_path: Path, sources: list[str], target: str, force: bool) -> None:
    kb = new_kb(tmp_path / "kb", {**FILES, "z/c.md": "other c\n"})
    before = files_in(tmp_path / "kb")
    with pytest.raises((UsageError, PartlyDone, ConflictError)):
        kb.mv(sources, target, force=force)
    assert files_in(tmp_path / "kb") == before
    assert kb.status().clean


def test_mv_does_not_go_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    kb = new_kb(tmp_path / "kb", FILES)
    os.symlink(tmp_path / "outside", tmp_path / "kb/link")
    with pytest.raises(UsageError, match="symbolic link"):
        kb.mv(["a.md"], "link/a.md")
    assert list((tmp_path / "outside").iterdir()) == []


def test_mv_that_fails_halfway_has_staged_what_it_moved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kb = new_kb(tmp_path, FILES)
    (tmp_path / "z").mkdir()
    real = os.replace

    def fail(source: object, target: object) -> None:
        if str(target).endswith("z/a.md"):
            raise OSError(28, "No space left on device")
        real(source, target)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(PartlyDone, match="the disk is full"):
        kb.mv(["x/y", "a.md"], "z")
    monkeypatch.undo()
    assert short(kb.status().staged) == ["R x/y/d.md -> z/y/d.md"]
    assert kb.status().unstaged == ()
    assert "a.md" in files_in(tmp_path)


def test_mv_of_a_folder_takes_along_what_is_not_tracked_in_it(tmp_path: Path) -> None:
    kb = new_kb(tmp_path, FILES | {".gitignore": "*.log\n"})
    write(tmp_path, {"x/draft.md": "draft\n", "x/y/run.log": "log\n"})
    (tmp_path / "x/empty").mkdir()
    (tmp_path / "x/link").symlink_to("nowhere")
    os.mkfifo(tmp_path / "x/pipe")
    (tmp_path / b"x/\xff".decode("utf-8", "surrogateescape")).write_text("no document\n")
    names = {os.path.relpath(each, tmp_path / "x") for each in (tmp_path / "x").rglob("*")}
    kb.mv(["x"], "new/place")
    assert {
        os.path.relpath(each, tmp_path / "new/place") for each in (tmp_path / "new/place").rglob("*")
    } == names
    assert not (tmp_path / "x").exists()
    assert short(kb.status().staged) == ["R x/c.md -> new/place/c.md", "R x/y/d.md -> new/place/y/d.md"]
    assert kb.status().unstaged == ()
    with pytest.raises(UsageError, match="would be moved twice"):
        kb.mv(["new/place", "new/place/y"], ".")


def test_mv_to_where_a_document_that_is_gone_was(tmp_path: Path) -> None:
    kb = new_kb(tmp_path, FILES)
    (tmp_path / "b.md").unlink()
    kb.mv(["a.md"], "b.md/inner.md")
    kb.commit("moved", index=False)
    assert sorted(read_all(kb)) == ["b.md/inner.md", "x/c.md", "x/y/d.md"]
    assert kb.verify().ok


# --- restore


def test_restore_brings_back_the_staged_version(tmp_path: Path) -> None:
    kb = new_kb(tmp_path, FILES)
    write(tmp_path, {"a.md": "staged\n"})
    kb.add()
    write(tmp_path, {"a.md": "working\n"})
    (tmp_path / "x/c.md").unlink()
    assert kb.restore(["a.md", "x"]).restored == ("a.md", "x/c.md")
    assert files_in(tmp_path)["a.md"] == b"staged\n"
    assert files_in(tmp_path)["x/c.md"] == b"c\n"
    assert short(kb.status().staged) == ["M a.md"]
    assert kb.status().unstaged == ()


def test_restore_leaves_alone_what_is_as_it_should_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kb = new_kb(tmp_path, FILES)
    later = os.stat(tmp_path / "a.md").st_ctime_ns + 10**9
    monkeypatch.setattr("time.time_ns", lambda: later)
    assert kb.status().clean
    before = {path: os.stat(tmp_path / path) for path in FILES}
    write(tmp_path, {"a.md": "changed\n"})
    kb.restore([""])
    assert files_in(tmp_path)["a.md"] == b"a\n"
    for path in ("b.md", "x/c.md", "x/y/d.md"):
        assert os.stat(tmp_path / path) == before[path]


def test_restore_of_the_stage_takes_the_version_of_head(tmp_path: Path) -> None:
    kb = new_kb(tmp_path, FILES)
    write(tmp_path, {"a.md": "staged\n", "new.md": "n\n"})
    kb.rm(["b.md"])
    kb.add(["a.md", "new.md"])
    kb.restore(["a.md", "b.md", "new.md"], staged=True, worktree=False)
    status = kb.status()
    assert status.staged == ()
    assert short(status.unstaged) == ["M a.md", "D b.md"]
    assert status.untracked == ("new.md",)
    assert files_in(tmp_path)["a.md"] == b"staged\n"


def test_restore_from_a_revision(tmp_path: Path) -> None:
    kb = new_kb(tmp_path, FILES)
    record(kb, {"a.md": "second\n", "later.md": "l\n"})
    kb.restore(["a.md"], source="HEAD~1")
    assert files_in(tmp_path)["a.md"] == b"a\n"
    assert short(kb.status().unstaged) == ["M a.md"]
    kb.restore([""], source="HEAD~1", staged=True)
    assert files_in(tmp_path) == {path: str(text).encode() for path, text in FILES.items()}
    assert short(kb.status().staged) == ["M a.md", "D later.md"]
    kb.commit("back", index=False)
    assert kb.snapshot("HEAD").ledger_root == kb.snapshot("HEAD~2").ledger_root


def test_restore_of_what_is_not_there(tmp_path: Path) -> None:
    kb = new_kb(tmp_path, FILES)
    with pytest.raises(UsageError, match="matches no document"):
        kb.restore(["absent.md"])
    with pytest.raises(UsageError, match="not found"):
        kb.restore(["a.md"], source="nowhere")


def test_restore_does_not_write_through_links_or_over_folders(tmp_path: Path) -> None:
    write(tmp_path / "outside", {"keep.md": "k"})
    kb = new_kb(tmp_path / "kb", FILES)
    root = tmp_path / "kb"
    for name in ("x/c.md", "x/y/d.md", "a.md", "b.md"):
        (root / name).unlink()
    (root / "x/y").rmdir()
    (root / "x").rmdir()
    os.symlink(tmp_path / "outside", root / "x")
    write(root, {"a.md/inner.md": "i"})
    os.symlink(tmp_path / "outside/keep.md", root / "b.md")
    for path in ("x/c.md", "a.md"):
        with pytest.raises(UsageError):
            kb.restore([path])
    kb.restore(["b.md"])
    assert not (root / "b.md").is_symlink()
    assert (root / "b.md").read_bytes() == b"b\n"
    assert files_in(tmp_path / "outside") == {"keep.md": b"k"}


def test_restore_when_a_file_is_where_a_folder_must_be(tmp_path: Path) -> None:
    kb = new_kb(tmp_path, FILES)
    (tmp_path / "x/y/d.md").unlink()
    (tmp_path / "x/y").rmdir()
    write(tmp_path, {"x/y": "a file"})
    with pytest.raises(PartlyDone, match="cannot be written: 'x/y' is a file"):
        kb.restore(["x/y/d.md"])
    assert (tmp_path / "x/y").read_bytes() == b"a file"


def test_restore_of_the_stage_makes_room(tmp_path: Path) -> None:
    """HEAD has a file where the stage has a folder."""
    kb = new_kb(tmp_path, {"a": "file\n", "k.md": "k\n"})
    (tmp_path / "a").unlink()
    write(tmp_path, {"a/b.md": "b\n"})
    kb.add()
    kb.restore(["a"], staged=True, worktree=False)
    kb.commit("as it was", index=False, allow_empty=True)
    assert sorted(read_all(kb)) == ["a", "k.md"]
    assert kb.verify().ok


def test_a_full_disk_is_said_to_be_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kb = new_kb(tmp_path, FILES)
    write(tmp_path, {"a.md": "changed\n"})
    real = os.fdopen

    class Full:
        def __init__(self, file: object) -> None:
            self.file = file

        def __enter__(self) -> Full:
            return self

        def __exit__(self, *args: object) -> None:
            self.file.close()  # type: ignore[attr-defined]

        def writelines(self, pieces: object) -> None:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr("arbor.repo.work_tree.worktree.os.fdopen", lambda *args: Full(real(*args)))
    with pytest.raises(PartlyDone, match="the disk is full"):
        kb.restore(["a.md"])
    monkeypatch.undo()
    assert files_in(tmp_path)["a.md"] == b"changed\n"
    assert len(files_in(tmp_path)) == len(FILES)


def test_folders_are_made_durable_once_and_not_after_each_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kb = new_kb(
        tmp_path / "kb", {f"{folder}/{number}.md": f"{number}\n" for folder in "ab" for number in range(9)}
    )
    synced: list[str] = []
    monkeypatch.setattr(worktree, "fsync_folder", lambda folder: synced.append(folder.name))
    kb.rm(["b/0.md", "b/1.md", "b/2.md"])
    kb.mv(["a"], "c")
    kb.restore(["a"], source="HEAD", staged=True)
    kb.restore(["c"], source="HEAD", staged=True)
    kb.branches.reset("HEAD", "hard")
    assert synced == ["b", "kb", "kb"]
    assert kb.status().clean


# --- what was being written by a command that was killed


def leave_unfinished(*folders: Path) -> list[Path]:
    places = [temporary_path(folder) for folder in folders]
    for place in places:
        place.write_text("half of")
    return places


def test_what_a_restore_was_writing_goes_when_it_is_run_again(tmp_path: Path) -> None:
    kb = new_kb(tmp_path, FILES)
    here, below, elsewhere = leave_unfinished(tmp_path, tmp_path / "x/y", tmp_path / "x")
    kb.restore(["a.md", "x/y/d.md"])
    assert [place.exists() for place in (here, below, elsewhere)] == [False, False, True]
    kb.add_bytes("x/new.md", b"new\n")
    assert not elsewhere.exists()


def test_what_an_abort_was_writing_goes_when_it_is_run_again(tmp_path: Path) -> None:
    kb = new_kb(tmp_path, FILES)
    record(kb, {"a.md": "two\n"})
    record(kb, {"a.md": "three\n"})
    assert kb.branches.revert("HEAD~1").kind == "conflict"
    [place] = leave_unfinished(tmp_path)
    kb.branches.abort_revert()
    assert not place.exists()


def test_gc_removes_what_was_being_written_wherever_it_is(tmp_path: Path) -> None:
    kb = new_kb(tmp_path, FILES)
    new_kb(tmp_path / "x/own", {"e.md": "e\n"})
    arbor.init(tmp_path / "x/bare", bare=True)
    gone = leave_unfinished(tmp_path, tmp_path / "x/y", kb.folder / "refs/heads", kb.folder / "refs/tags")
    stay = leave_unfinished(
        tmp_path / "x/own", tmp_path / "x/bare/packs"
    )  # perhaps of somebody at work there
    assert kb.status().untracked == ("x/bare/",)
    collect(kb.repo)
    assert [place for place in gone if place.exists()] == []
    assert all(place.exists() for place in stay)


def test_what_another_process_writes_without_the_lock_is_spared(tmp_path: Path) -> None:
    """A bundle, say, which takes its time."""
    kb = new_kb(tmp_path, FILES)
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        place = tmp_path / f"{TEMPORARY_PREFIX}{process.pid}-0a"
        place.write_text("half of")
        kb.restore(["a.md"])
        collect(kb.repo)
        assert place.exists()
    kb.restore(["a.md"])
    assert not place.exists()


def test_nothing_is_removed_beyond_a_link(tmp_path: Path) -> None:
    kb = new_kb(tmp_path / "kb", {"x/c.md": "c\n"})
    (tmp_path / "out").mkdir()
    (tmp_path / "kb/x/c.md").unlink()
    (tmp_path / "kb/x").rmdir()
    (tmp_path / "kb/x").symlink_to(tmp_path / "out")
    [place] = leave_unfinished(tmp_path / "out")
    with pytest.raises(UsageError):
        kb.restore(["x/c.md"])
    collect(kb.repo)
    assert place.exists()


def test_mv_to_the_name_of_a_folder_that_is_gone(tmp_path: Path) -> None:
    kb = new_kb(tmp_path, FILES | {"z/e.md": "e\n"})
    shutil.rmtree(tmp_path / "x")
    kb.mv(["z"], "x")
    assert sorted(name for name in files_in(tmp_path) if "/" in name) == ["x/e.md"]
    assert {change.path for change in kb.status().unstaged} == {"x/c.md", "x/y/d.md"}


def test_mv_of_what_has_no_file_any_more_moves_nothing(tmp_path: Path) -> None:
    kb = new_kb(tmp_path, FILES)
    (tmp_path / "x/c.md").unlink()
    (tmp_path / "there").mkdir()
    for sources, target in ((["x"], "z"), (["a.md", "x/c.md"], "there")):
        with pytest.raises(UsageError, match=r"the file of 'x/c.md' is gone"):
            kb.mv(sources, target)
    assert kb.status().staged == ()
    assert {"a.md", "x/y/d.md"} <= files_in(tmp_path).keys()


def test_a_folder_that_holds_more_than_documents_makes_no_room_for_one(tmp_path: Path) -> None:
    kb = new_kb(tmp_path, {"x/a.md": "a\n"})
    kb.branches.switch("side", create=True)
    kb.rm(["x"], recursive=True)
    record(kb, {"x": "a document\n"})
    kb.branches.switch("main")
    os.mkfifo(tmp_path / "x/pipe")
    with pytest.raises(ConflictError, match="would be overwritten: x"):
        kb.branches.switch("side")
    assert files_in(tmp_path) == {"x/a.md": b"a\n"}
    assert (tmp_path / "x/pipe").exists()
