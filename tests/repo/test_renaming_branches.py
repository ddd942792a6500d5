"""Renaming branches: whatever it dies of, the same command finishes it, and no name hides where a branch is."""

from __future__ import annotations

import os
import shutil
from itertools import count
from pathlib import Path

import pytest

import arbor
from arbor.errors import PartlyDone, StorageError, UsageError
from arbor.repo.commits import branching
from arbor.repo.commits.upstreams import read_upstream, write_upstream
from tests.repo.test_moving import killed_at, make


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork to be killed at a chosen moment")
@pytest.mark.parametrize("old", ["main", "side"])
@pytest.mark.parametrize("nested", [False, True])
def test_a_renaming_of_a_branch_that_was_cut_off_is_done_by_the_same_command(
    tmp_path: Path, old: str, nested: bool
) -> None:
    kb = make(tmp_path / "fresh")
    write_upstream(kb.repo, old, "origin/up")
    tips = {branch.name: branch.commit for branch in kb.branches.listing()}
    kept = [entry.reason for entry in kb.repo.refs.reflog(f"refs/heads/{old}")]
    new = f"{old}/below" if nested else "other"
    kb.close()
    for step in count(1):
        folder = shutil.copytree(tmp_path / "fresh", tmp_path / f"at{step}")
        died = killed_at(folder, step, lambda kb: branching.rename_branch(kb.repo, old, new))
        kb = arbor.open(folder)
        now = {branch.name for branch in kb.branches.listing()}
        if old in now or f"{old}-1" in now:
            branching.rename_branch(kb.repo, old, new)
        assert {branch.name: branch.commit for branch in kb.branches.listing()} == {
            new if name == old else name: oid for name, oid in tips.items()
        }
        assert kb.repo.refs.head() == f"refs/heads/{new if old == 'main' else 'main'}"
        assert read_upstream(kb.repo, new) == "origin/up"
        assert [entry.reason for entry in kb.repo.refs.reflog(f"refs/heads/{new}")][-len(kept) :] == kept
        kb.close()
        shutil.rmtree(folder)
        if not died:
            break
    assert step > 5


def test_a_branch_made_again_under_its_old_name_is_no_half_renaming(tmp_path: Path) -> None:
    kb = make(tmp_path)
    branching.rename_branch(kb.repo, "side", "other")
    branching.create_branch(kb.repo, "side", "other")
    with pytest.raises(UsageError, match="exists already"):
        branching.rename_branch(kb.repo, "side", "other")


def test_a_renaming_that_can_go_neither_on_nor_back_says_where_the_branch_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kb = make(tmp_path)
    real = kb.repo.refs.move

    def full(name: str, *args: object) -> None:
        if not name.endswith("main-1"):
            raise StorageError("the disk is full")
        real(name, *args)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        calls = iter([real, real])
        patch.setattr(type(kb.repo.refs), "move", lambda self, *args: next(calls, full)(*args))
        with pytest.raises(PartlyDone, match="the disk is full; branch 'main' is called 'main-1'") as told:
            branching.rename_branch(kb.repo, "main", "main/below")
    assert told.value.hint == "run: arbor branch -m main-1 main/below"
    branching.rename_branch(kb.repo, "main-1", "main/below")
    assert kb.repo.refs.head() == "refs/heads/main/below"
