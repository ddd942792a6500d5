"""Histories that crossed: merged against what their bases have in common, with git as the oracle."""

from __future__ import annotations

import random
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from arbor.kb import KnowledgeBase
from arbor.repo.merge import merge_bases
from arbor.repo.merge.merge_text import holds_markers
from arbor.repo.repository import Repository
from tests.repo.kit import new_kb, record

LINES = [f"line {number}\n" for number in range(1, 10)]


def crossed(kb: KnowledgeBase, undo: Callable[[KnowledgeBase], object], note: str) -> tuple[str, str]:
    """One side adds something to note.md; the other undoes what it did and the first has merged; the two tips."""
    kb.branches.switch("there", create=True)
    kb.branches.switch("main")
    one = record(kb, {"w.md": f"w {note}\n"}, "adds w")
    kb.branches.switch("there")
    record(kb, {"f.md": "".join(LINES[:8]) + "9b\n", "new.md": "new\n"}, "writes 9b and new.md")
    other = kb.resolve().hex()
    kb.branches.merge(one)
    undo(kb)
    kb.commit("takes it back", index=False)
    there = kb.resolve().hex()
    kb.branches.switch("main")
    kb.branches.merge(other)
    return kb.resolve().hex(), there


def take_back(kb: KnowledgeBase) -> None:
    assert kb.fs_root is not None
    (kb.fs_root / "f.md").write_text("".join(LINES))
    kb.rm(["new.md"])
    kb.add()


@pytest.mark.parametrize("mirrored", [False, True])
@pytest.mark.parametrize("number", range(4))
def test_what_was_undone_does_not_come_back(tmp_path: Path, number: int, mirrored: bool) -> None:
    kb = new_kb(tmp_path, {"f.md": "".join(LINES), "a.md": "a\n"})
    here, there = crossed(kb, take_back, str(number))
    ours, theirs = (there, here) if mirrored else (here, there)
    kb.branches.switch(ours, detach=True)
    assert kb.branches.merge(theirs).kind == "merged"
    assert (tmp_path / "f.md").read_text() == "".join(LINES)
    assert [path for path, _ in kb.ls()] == ["a.md", "f.md", "w.md"]
    assert kb.verify().ok


def root_of_merge(kb: KnowledgeBase, ours: str, theirs: str) -> bytes | None:
    return merge_bases.find_base(kb.repo, bytes.fromhex(ours), bytes.fromhex(theirs))


def test_the_base_is_the_same_for_whoever_merges(tmp_path: Path) -> None:
    kb = new_kb(tmp_path, {"f.md": "".join(LINES)})
    kb.branches.switch("there", create=True)
    one = record(kb, {"f.md": "A\n" + "".join(LINES), "both.md": "A\n"}, "A")
    kb.branches.switch("main")
    other = record(kb, {"f.md": "B\n" + "".join(LINES), "both.md": "B\n"}, "B")
    tips = []
    for mine, yours in ((one, other), (other, one)):
        kb.branches.switch(mine, detach=True)
        assert kb.branches.merge(yours).kind == "conflict"
        tips.append(record(kb, {"f.md": "".join(LINES), "both.md": "A\nB\n"}, "resolved"))
    with kb.repo.lock():
        base = root_of_merge(kb, *tips)
        assert base == root_of_merge(kb, *reversed(tips))
    assert base is not None
    assert len(merge_bases.merge_bases(kb.repo, *([bytes.fromhex(tip)] for tip in tips))) == 2
    # A conflict between bases is nobody's text: where both sides resolved it alike, there is none any more.
    assert kb.branches.merge(tips[0]).kind == "merged"
    assert (tmp_path / "both.md").read_text() == "A\nB\n"


def test_a_conflict_between_bases_that_was_resolved_in_two_ways_is_one_again(tmp_path: Path) -> None:
    kb = new_kb(tmp_path, {"f.md": "".join(LINES)})
    kb.branches.switch("there", create=True)
    one = record(kb, {"f.md": "A\n" + "".join(LINES)}, "A")
    kb.branches.switch("main")
    other = record(kb, {"f.md": "B\n" + "".join(LINES)}, "B")
    tips = []
    for mine, yours, text in ((one, other, "A\n"), (other, one, "B\n")):
        kb.branches.switch(mine, detach=True)
        kb.branches.merge(yours)
        tips.append(record(kb, {"f.md": text + "".join(LINES)}, "resolved"))
    assert kb.branches.merge(tips[0]).conflicts == ("f.md",)
    text = (tmp_path / "f.md").read_text()
    assert text.startswith("<<<<<<< HEAD\nB\n=======\nA\n>>>>>>> ")
    assert text.endswith("".join(LINES))


def test_bases_of_bases_are_looked_for_no_deeper_than_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(merge_bases, "MAX_DEPTH", 3)
    asked: list[int] = []
    find = merge_bases._find_base

    def counted(repo: Repository, ours: list[bytes], theirs: list[bytes], depth: int) -> bytes | None:
        asked.append(depth)
        return find(repo, ours, theirs, depth)

    monkeypatch.setattr(merge_bases, "_find_base", counted)
    kb = new_kb(tmp_path, {"f.md": "".join(LINES)})
    left = right = kb.resolve().hex()
    for number in range(6):
        kb.branches.switch(left, detach=True)
        left = record(kb, {f"l{number}.md": "l\n"})
        kb.branches.switch(right, detach=True)
        right = record(kb, {f"r{number}.md": "r\n"})
        before = left
        kb.branches.switch(left, detach=True)
        kb.branches.merge(right)
        left = kb.resolve().hex()
        kb.branches.switch(right, detach=True)
        kb.branches.merge(before)
        right = kb.resolve().hex()
    kb.branches.switch(left, detach=True)
    assert kb.branches.merge(right).kind == "merged"
    assert max(asked) == 4
    assert len(list(kb.ls())) == 13


class Crossing:
    """One random history with crossings, made in git and in arbor at once, conflicts resolved in the same way."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.source = random.Random(seed)
        self.names = ["a.md", "b.md", "c.md"]
        files = {name: self.text(name) for name in self.names}
        self.kb = new_kb(folder / "kb", dict(files))
        self.fs_git, self.fs_kb = folder / "git", folder / "kb"
        self.clock = 1_700_000_000
        self.git("init", "-q", "-b", "main", str(self.fs_git), cwd=folder)
        for name, text in files.items():
            (self.fs_git / name).write_text(text)
        self.git("add", "-A")
        self.git("commit", "-qm", "first")
        self.tips = [(self.kb.resolve().hex(), self.git("rev-parse", "HEAD").strip())] * 2

    def text(self, name: str) -> str:
        return "".join(f"{name} line {number}\n" for number in range(12))

    def git(self, *words: str, cwd: Path | None = None) -> str:
        self.clock += 1
        stamp = f"{self.clock} +0000"
        env = {"GIT_AUTHOR_DATE": stamp, "GIT_COMMITTER_DATE": stamp, "PATH": "/usr/bin:/bin", "HOME": "/nonexistent",
               "GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "A",
               "GIT_COMMITTER_EMAIL": "a@b"}  # fmt: skip
        done = subprocess.run(["git", *words], cwd=cwd or self.fs_git, env=env, capture_output=True, text=True,
                              check=False)  # fmt: skip
        return done.stdout

    def go(self, tip: tuple[str, str]) -> None:
        self.kb.branches.switch(tip[0], detach=True)
        self.git("checkout", "-q", "--detach", tip[1])

    def record(self) -> tuple[str, str]:
        self.kb.add()
        self.git("add", "-A")
        if self.kb.status().staged or self.kb.status().merging:
            self.kb.commit("more", index=False)
            self.git("commit", "-qm", "more")
        return self.kb.resolve().hex(), self.git("rev-parse", "HEAD").strip()

    def edit(self, tip: tuple[str, str]) -> tuple[str, str]:
        """Change lines, or take a change back, always the same lines, so that the sides meet."""
        self.go(tip)
        for name in self.source.sample(self.names, 2):
            path = self.fs_kb / name
            if self.source.random() < 0.1:
                if path.exists() and len(list(self.fs_kb.glob("*.md"))) > 1:
                    path.unlink()
                    (self.fs_git / name).unlink()
                continue
            lines = (path.read_text() if path.exists() else self.text(name)).splitlines(keepends=True)
            place = self.source.choice([1, 5, 9])
            if place < len(lines):
                lines[place] = f"{name} line {place}{self.source.choice(['', '', 'x', 'y'])}\n"
            for folder in (self.fs_kb, self.fs_git):
                (folder / name).write_text("".join(lines))
        return self.record()

    def merge(self, ours: tuple[str, str], theirs: tuple[str, str]) -> tuple[str, str]:
        """Merge in both; where both are clean they must agree. What is in conflict is settled by a coin."""
        self.go(ours)
        clean = not self.kb.branches.merge(theirs[0], fast_forward=False).conflicts
        self.git("merge", "--no-ff", "-q", "-m", "merge", theirs[1])
        git_clean = not self.git("ls-files", "-u")
        if clean and git_clean:
            assert self.files(self.fs_kb) == self.files(self.fs_git)
        else:
            assert not any(holds_markers(data) for data in self.files(self.fs_kb).values()) or not clean
            for name in self.names:
                text = self.text(name).replace("line 5", f"line 5 of {self.source.choice('pq')}")
                for folder in (self.fs_kb, self.fs_git):
                    (folder / name).write_text(text)
        return self.record()

    def files(self, folder: Path) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in folder.glob("*.md")}


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
@pytest.mark.parametrize("seed", range(4))
def test_random_crossings_are_merged_as_by_git(tmp_path: Path, seed: int) -> None:
    run_crossings(tmp_path, seed)


def run_crossings(folder: Path, seed: int) -> None:
    history = Crossing(folder, seed)
    left, right = history.tips
    for _ in range(6):
        left, right = history.edit(left), history.edit(right)
        crossed_left = history.merge(left, right)
        right = history.merge(right, left)
        left = crossed_left
    history.merge(left, right)
    history.merge(right, left)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
@pytest.mark.parametrize("seed", range(100, 105))
def test_many_random_crossings_are_merged_as_by_git(tmp_path: Path, seed: int) -> None:
    run_crossings(tmp_path, seed)
