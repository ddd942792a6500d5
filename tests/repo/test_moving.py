"""Moves of the work tree: killed at every step, what was there can be brought back, or the command run again."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import pytest

import arbor
from arbor.errors import ConflictError, PartlyDone, UsageError
from arbor.kb import KnowledgeBase
from arbor.repo.commits import branching
from arbor.repo.merge import merging
from arbor.repo.upkeep.gc import collect
from arbor.repo.work_tree import moving
from arbor.repo.work_tree.move_record import stage_bytes
from tests.cli.harness import Cli
from tests.repo.kit import files_in, new_kb, record

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork to be killed at a chosen moment")

TEXT = "".join(f"line {number}\n" for number in range(12))
FILES: dict[str, str | bytes] = {
    "a.md": TEXT, "both.md": TEXT, "gone.md": TEXT + "gone\n", "edited.md": TEXT + "edited\n", "x": "a file\n",
    "deep/down.md": "down\n",
}  # fmt: skip


def make(folder: Path) -> KnowledgeBase:
    """Main and side have gone apart: a conflict, a deletion against an edit, a file that is a folder there; `later`
    is main with more."""
    kb = new_kb(folder, FILES)
    assert kb.fs_root is not None
    kb.branches.switch("side", create=True)
    kb.rm(["gone.md", "edited.md", "deep/down.md"])
    record(
        kb,
        {"both.md": TEXT.replace("line 3", "THEIRS"), "new/one.md": "one\n", "a.md": "first\n" + TEXT},
        "side",
    )
    kb.branches.switch("clean", create=True)
    record(kb, {"both.md": TEXT, "edited.md": FILES["edited.md"]}, "side without its conflicts")
    kb.branches.switch("main")
    record(kb, {"both.md": TEXT.replace("line 3", "OURS"), "edited.md": TEXT + "ours\n"}, "main")
    kb.branches.switch("later", create=True)
    kb.rm(["x"])
    record(kb, {"x/in.md": "in a folder\n", "a.md": TEXT + "later\n"}, "later")
    kb.branches.switch("main")
    (kb.fs_root / "untracked.txt").write_text("mine\n")
    (kb.fs_root / "kept").mkdir()
    (kb.fs_root / "empty").mkdir()
    (kb.fs_root / "kept" / "untracked.txt").write_text("mine too\n")
    (kb.fs_root / "deep" / "untracked.txt").write_text("and mine\n")
    return kb


@dataclass(frozen=True)
class Seen:
    """Everything that a person can see."""

    files: dict[str, bytes]
    head: bytes | str
    commit: bytes
    branches: list[str]
    status: tuple[object, ...]


def see(folder: Path) -> Seen:
    kb = arbor.open(folder)
    state = kb.status()
    told = (state.staged, state.unstaged, state.untracked, state.merging, state.interrupted)
    root = kb.repo.head_root()
    kb.close()
    branches = [branch.name for branch in kb.branches.listing()]
    return Seen(files_in(folder), kb.repo.refs.head(), root, branches, told)


def killed_at(folder: Path, step: int, act: Callable[[KnowledgeBase], object]) -> bool:
    """Do something in a child that dies before its `step`-th change of a name on disk; whether it did die."""
    pid = os.fork()
    if pid == 0:
        signal.alarm(30)  # it must not hang where a lock was held at the fork
        left = step

        def counted(change: Callable[..., object]) -> Callable[..., object]:
            def call(*args: object, **options: object) -> object:
                nonlocal left
                left -= 1
                if not left:
                    os.kill(os.getpid(), signal.SIGKILL)
                return change(*args, **options)

            return call

        try:
            for name in ("replace", "unlink", "rename", "rmdir", "mkdir"):
                setattr(os, name, counted(getattr(os, name)))
            act(arbor.open(folder))
            os._exit(0)
        except BaseException:  # noqa: BLE001
            os._exit(1)
    _, status = os.waitpid(pid, 0)
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL
        return True
    assert os.WEXITSTATUS(status) == 0, "the command failed"
    return False


def merge_and_commit(kb: KnowledgeBase) -> object:
    return merging.merge(kb.repo, "clean").kind == "up-to-date" or kb.commit(index=False)


COMMANDS: dict[str, Callable[[KnowledgeBase], object]] = {
    "conflict": lambda kb: merging.merge(kb.repo, "side"),
    "clean merge": lambda kb: merging.merge(kb.repo, "clean"),
    "merge and commit": merge_and_commit,
    "fast-forward": lambda kb: merging.merge(kb.repo, "later"),
    "switch": lambda kb: branching.switch(kb.repo, "later"),
    "switch -c": lambda kb: branching.switch(kb.repo, "made", create=True, start="later"),
    "switch -C": lambda kb: branching.switch(kb.repo, "side", create=True, recreate=True, start="later"),
    "switch -C here": lambda kb: branching.switch(kb.repo, "main", create=True, recreate=True, start="later"),
    "revert": lambda kb: merging.revert(kb.repo, "HEAD~1"),
    "reset": lambda kb: branching.reset(kb.repo, "side", "hard"),
    "mv": lambda kb: kb.mv(["a.md", "edited.md", "deep"], "kept"),
    "mv as a folder": lambda kb: kb.mv(["deep"], "fresh/place"),
    "mv into an empty folder": lambda kb: kb.mv(["deep"], "empty/"),
    "mv -f": lambda kb: kb.mv(["both.md"], "a.md", force=True),
}
"""None of them goes on to the index: its threads do not outlive a fork."""


def leave(folder: Path, name: str) -> None:
    """Do what status says to get out of it."""
    kb = arbor.open(folder)
    state = kb.status()
    if state.interrupted:
        assert state.interrupted in ("merge side", "merge clean", "merge later", "switch later", "switch -c made later",
                                         "switch -C side later", "switch -C main later",
                                     "revert HEAD~1", "reset --hard side", "mv a.md edited.md deep kept",
                                     "mv both.md a.md", "mv deep fresh/place", "mv deep empty")  # fmt: skip
        for act in (
            kb.add,
            lambda: kb.commit("no"),
            lambda: kb.rm(["a.md"]),
            lambda: kb.branches.reset("HEAD"),
        ):
            with pytest.raises(ConflictError, match="was interrupted"):
                act()
        assert collect(kb.repo, grace_s=0).damaged == ()
        if "mv --abort" in state.way_out:
            kb.branches.abort_mv()
        elif "--abort" in state.way_out:
            (kb.branches.abort_revert if "revert" in state.way_out else kb.branches.abort_merge)()
        else:
            assert state.way_out.endswith("arbor switch main")
            kb.branches.switch("main")
    elif what := kb.repo.stage().in_progress:
        assert (state.merging, state.reverting) == (what == "merge", what == "revert")
        (kb.branches.abort_merge if what == "merge" else kb.branches.abort_revert)()
    kb.close()


@pytest.mark.parametrize("name", COMMANDS)
def test_killed_at_every_step(tmp_path: Path, name: str) -> None:
    fresh = make(tmp_path / "fresh")
    fresh.status()
    fresh.close()
    before = see(tmp_path / "fresh")
    shutil.copytree(tmp_path / "fresh", tmp_path / "whole")
    assert not killed_at(tmp_path / "whole", 0, COMMANDS[name])
    after = see(tmp_path / "whole")
    assert after.files != before.files
    step, interrupted = 0, 0
    while True:
        step += 1
        folder = tmp_path / f"at{step}"
        shutil.copytree(tmp_path / "fresh", folder)
        if not killed_at(folder, step, COMMANDS[name]):
            break
        other = tmp_path / f"again{step}"
        shutil.copytree(folder, other)
        found = see(folder)
        interrupted += bool(found.status[-1])
        assert found.status[-1] or found.files in (before.files, after.files)
        leave(folder, name)
        left = see(folder)
        has_moved = left.commit == after.commit != before.commit or (name.startswith("mv") and found == after)
        assert left == (after if has_moved else before), step
        if found != after:
            finish(other, name)
        assert see(other) == after, step
        shutil.rmtree(folder)
        shutil.rmtree(other)
    assert interrupted > (1 if name.startswith("mv ") else 3)


def finish(folder: Path, name: str) -> None:
    """Run the command again; what is only to be committed, or is done, is that."""
    kb = arbor.open(folder)
    stage = kb.repo.stage()
    if stage.in_progress:
        assert not kb.status().interrupted
        if name == "merge and commit":
            kb.commit(index=False)
    elif not (name == "revert" and kb.status().staged):
        COMMANDS[name](kb)
    kb.close()


@pytest.mark.parametrize("is_staged", [True, False])
def test_a_soft_reset_that_was_cut_off_has_happened_or_not(tmp_path: Path, is_staged: bool) -> None:
    """Where nothing is staged before, only what the reset stages tells that it is to be kept."""
    kb = make(tmp_path / "fresh")
    assert kb.fs_root is not None
    if is_staged:
        (kb.fs_root / "both.md").write_text("staged\n")
        kb.add(["both.md"])
        (kb.fs_root / "both.md").write_text("and edited since\n")
    kb.close()
    before = see(tmp_path / "fresh")
    shutil.copytree(tmp_path / "fresh", tmp_path / "whole")
    branching.reset(arbor.open(tmp_path / "whole").repo, "HEAD~1", "soft")
    after = see(tmp_path / "whole")
    assert len(after.status[0]) > len(before.status[0]) == is_staged  # type: ignore[arg-type]
    for step in count(1):
        folder = shutil.copytree(tmp_path / "fresh", tmp_path / f"at{step}")
        died = killed_at(folder, step, lambda kb: branching.reset(kb.repo, "HEAD~1", "soft"))
        found = see(folder)
        assert found == (before if found.commit == before.commit else after), step
        shutil.rmtree(folder)
        if not died:
            break


def test_an_rm_that_was_cut_off_is_done_by_the_same_command(tmp_path: Path) -> None:
    make(tmp_path / "fresh").close()
    step = 0
    while True:
        step += 1
        folder = shutil.copytree(tmp_path / "fresh", tmp_path / f"at{step}")
        (folder / "both.md").write_text("not added\n")
        died = killed_at(folder, step, lambda kb: kb.rm(["*.md", "deep"], recursive=True, force=True))
        kb = arbor.open(folder)
        staged = {change.path for change in kb.status().staged}
        assert staged in (set(), {"a.md", "both.md", "deep/down.md", "edited.md", "gone.md"})
        if not staged:
            kb.rm(["*.md", "deep"], recursive=True, force=True)
        kb.close()
        kept = {"kept/untracked.txt", "untracked.txt", "deep/untracked.txt", "x"}
        assert files_in(folder).keys() == kept, step
        shutil.rmtree(folder)
        if not died:
            break
    assert step > 5


def test_an_mv_that_was_cut_off_is_taken_back_with_what_the_files_hold(tmp_path: Path) -> None:
    kb = make(tmp_path / "kb")
    (tmp_path / "kb" / "edited.md").write_text("not added\n")
    before = see(tmp_path / "kb")
    kb.close()
    step = 0
    while True:
        step += 1
        folder = tmp_path / f"at{step}"
        shutil.copytree(tmp_path / "kb", folder)
        assert killed_at(folder, step, COMMANDS["mv"])
        if (folder / "kept" / "edited.md").exists() and see(folder).status[-1]:
            break
    with (folder / "kept" / "edited.md").open("a") as file:
        file.write("changed since\n")
    shutil.copytree(folder, tmp_path / "reset")
    [warning] = [
        line for line in Cli(tmp_path / "reset")("reset", "--hard").err.splitlines() if "warning" in line
    ]
    lost = dict.fromkeys(change.path for change in (*before.status[0], *before.status[1]))
    assert lost
    assert warning == f"warning: changes that were not committed are lost: {', '.join(lost)}"
    kb = arbor.open(folder)
    kb.branches.abort_mv()
    after = see(folder)
    assert after.files == before.files | {"edited.md": b"not added\nchanged since\n"}
    assert after.status == before.status
    with pytest.raises(UsageError, match="no mv in progress"):
        kb.branches.abort_mv()


def test_a_file_that_somebody_changed_after_the_crash_is_left_to_them(tmp_path: Path) -> None:
    make(tmp_path / "kb").close()
    step = 0
    while True:
        step += 1
        folder = tmp_path / f"at{step}"
        shutil.copytree(tmp_path / "kb", folder)
        assert killed_at(folder, step, COMMANDS["conflict"])
        if b"<<<<" in (folder / "both.md").read_bytes() and see(folder).status[-1]:
            break
    (folder / "both.md").write_text("resolved by hand, in the belief that a merge is under way\n")
    kb = arbor.open(folder)
    kb.branches.abort_merge()
    assert (folder / "both.md").read_text().startswith("resolved by hand")
    assert [(change.status, change.path) for change in kb.status().unstaged] == [("M", "both.md")]
    with pytest.raises(UsageError, match="no merge in progress"):
        kb.branches.abort_merge()


def test_what_the_system_refuses_half_way_is_taken_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kb = make(tmp_path / "kb")
    before = see(tmp_path / "kb")

    def refuse(*args: object, **options: object) -> None:
        raise PartlyDone("'new/one.md' cannot be written: no")

    with monkeypatch.context() as patch:
        patch.setattr(moving, "put_stage", refuse)
        for name in ("conflict", "switch", "fast-forward", "switch -c"):
            with pytest.raises(PartlyDone):
                COMMANDS[name](kb)
            assert see(tmp_path / "kb") == before


@pytest.mark.parametrize("command", ["reset", "switch"])
def test_a_file_that_is_no_longer_tracked_outlives_what_is_forced(tmp_path: Path, command: str) -> None:
    kb = new_kb(tmp_path, {"a.md": "a"})
    record(kb, {"b.md": "b", "c.md": "c"})
    kb.branches.create("before", "HEAD~1")
    kb.rm(["b.md"], cached=True)
    (tmp_path / "c.md").write_text("edited")
    if command == "reset":
        kb.branches.reset("before", "hard")
    else:
        kb.branches.switch("before", force=True)
    assert files_in(tmp_path) == {"a.md": b"a", "b.md": b"b"}
    assert kb.status().untracked == ("b.md",)


@pytest.mark.parametrize("mirrored", [False, True])
def test_a_hard_reset_takes_the_files_of_conflicts_with_it(tmp_path: Path, mirrored: bool) -> None:
    kb = make(tmp_path / "kb")
    if mirrored:
        kb.branches.switch("side")
    before = see(tmp_path / "kb")
    other = "main" if mirrored else "side"
    assert "edited.md" in kb.branches.merge(other).conflicts
    kb.branches.reset("HEAD", "hard")
    assert see(tmp_path / "kb") == before
    assert kb.branches.merge(other).kind == "conflict"


def test_a_merge_commit_that_a_crash_cut_off_is_known_as_made(tmp_path: Path) -> None:
    kb = make(tmp_path / "kb")
    merging.merge(kb.repo, "clean")
    staged = stage_bytes(kb.folder)
    kb.commit(index=False)
    (kb.folder / "stage").write_bytes(staged)
    assert (kb.status().merging, kb.status().staged) == (False, ())
    with pytest.raises(UsageError, match="nothing is staged"):
        kb.commit("again", index=False)
    kb.branches.switch("later")
    kb.branches.switch("main")
    (kb.folder / "stage").write_bytes(staged)
    record(kb, {"after.md": "after the crash\n"}, "more")
    assert len(kb.repo.commit(kb.resolve()).parents) == 1


@pytest.fixture
def folders(tmp_path: Path) -> KnowledgeBase:
    """`d` is a document at `file` and a folder with documents and empty folders in it at main."""
    kb = new_kb(tmp_path, {"d": "one\n", "k.md": "k\n"})
    kb.branches.tag("file")
    kb.rm(["d"])
    record(kb, {"d/g.md": "g\n", "d/e/h.md": "h\n"}, "a folder")
    (tmp_path / "d" / "bare").mkdir()
    return kb


def test_a_clean_folder_gives_way_to_a_file_of_its_name(folders: KnowledgeBase) -> None:
    kb = folders
    assert kb.fs_root is not None
    whole = files_in(kb.fs_root)
    kb.branches.switch("file", detach=True)
    assert files_in(kb.fs_root) == {"d": b"one\n", "k.md": b"k\n"}
    assert kb.status().clean
    kb.branches.switch("main")
    assert files_in(kb.fs_root) == whole
    assert kb.branches.revert("HEAD").kind == "merged"
    assert files_in(kb.fs_root) == {"d": b"one\n", "k.md": b"k\n"}
    kb.branches.reset("HEAD~1", "hard")
    assert files_in(kb.fs_root) == whole
    kb.restore(["d"], source="file")
    assert files_in(kb.fs_root) == {"d": b"one\n", "k.md": b"k\n"}
    (kb.fs_root / "d").unlink()
    kb.restore(["d"], source="main")
    assert files_in(kb.fs_root) == whole
    assert kb.status().clean


@pytest.mark.parametrize("change", ["untracked", "edited"])
def test_a_folder_with_work_in_it_gives_way_to_nothing(folders: KnowledgeBase, change: str) -> None:
    kb = folders
    assert kb.fs_root is not None
    (kb.fs_root / "d" / ("new.md" if change == "untracked" else "g.md")).write_text("not committed\n")
    before = files_in(kb.fs_root)
    for act in (lambda: kb.branches.switch("file", detach=True), lambda: kb.branches.revert("HEAD"),
                lambda: branching.switch(kb.repo, "o", create=True, start="file")):  # fmt: skip
        with pytest.raises(ConflictError, match="overwritten"):
            act()
        assert files_in(kb.fs_root) == before
    assert [branch.name for branch in kb.branches.listing()] == ["main"]


def test_what_was_staged_before_a_forced_switch_is_kept_until_it_is_done(tmp_path: Path) -> None:
    kb = make(tmp_path / "kb")
    assert kb.fs_root is not None
    (kb.fs_root / "a.md").write_text("staged, and nowhere else\n")
    kb.add(["a.md"])
    kb.close()
    before, step, cut_off = see(tmp_path / "kb"), 0, 0
    while True:
        step += 1
        folder = tmp_path / f"at{step}"
        shutil.copytree(tmp_path / "kb", folder)
        if not killed_at(folder, step, lambda kb: branching.switch(kb.repo, "later", force=True)):
            break
        kb = arbor.open(folder)
        if kb.status().interrupted:
            cut_off += 1
            assert collect(kb.repo, grace_s=0).damaged == ()
            kb.branches.switch("main")
            assert see(folder) == before
    assert cut_off > 3
