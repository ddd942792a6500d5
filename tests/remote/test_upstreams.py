"""Which branch follows what: set by pushing, by branching from a remote, by hand; kept through renames."""

from __future__ import annotations

import errno
import os
import shutil
from itertools import count
from pathlib import Path

import pytest

from arbor.errors import StorageError
from arbor.remote.remotes import list_remotes, rename_remote
from arbor.repo.commits.upstreams import read_upstream
from arbor.repo.repository import open_repository
from tests.cli.harness import Cli
from tests.remote.people import clone_to, make_kb, notes

pytestmark = pytest.mark.usefixtures("steady")


@pytest.fixture
def ada(cli: Cli) -> Cli:
    """A KB with a commit on main, which follows origin/main of a bare KB."""
    cli("init")
    cli.write("a.md", "# A\n")
    cli.commit("first")
    cli("init", "--bare", "../bare")
    cli("remote", "add", "origin", "../bare")
    cli("push", "-u", "origin", "main")
    return cli


def upstreams(cli: Cli) -> dict[str, str | None]:
    return {row["name"]: row["upstream"] for row in cli("branch", "--json").json["branches"]}


def test_the_branch_that_was_pushed_follows(ada: Cli) -> None:
    ada("branch", "feat")
    ada("push", "-u", "origin", "feat:topic")
    assert upstreams(ada) == {"main": "origin/main", "feat": "origin/topic"}
    ada("branch", "topic")
    ada("push", "-u", "origin", "feat:topic")
    assert upstreams(ada)["topic"] is None
    ada("push", "-u", "origin", "HEAD~0:by-oid")
    assert upstreams(ada) == {"main": "origin/main", "feat": "origin/topic", "topic": None}


def test_head_is_the_current_branch(ada: Cli) -> None:
    ada("switch", "-c", "feat")
    ada("push", "-u", "origin", "HEAD")
    assert upstreams(ada)["feat"] == "origin/feat"
    ada("push", "-u", "origin", "HEAD:other")
    assert upstreams(ada)["feat"] == "origin/other"
    ada("switch", "--detach", "HEAD")
    assert "HEAD:BRANCH" in ada("push", "origin", "HEAD", code=2).err
    ada("push", "origin", "HEAD:third")


def test_a_branch_made_at_a_remotes_follows_it(ada: Cli) -> None:
    ada("push", "origin", "main:h1", "main:h2")
    ada("switch", "-c", "loc", "origin/h1")
    ada("branch", "lb", "origin/h2")
    ada("branch", "plain", "main")
    found = upstreams(ada)
    assert (found["loc"], found["lb"], found["plain"]) == ("origin/h1", "origin/h2", None)


def test_it_is_set_and_unset_by_hand(ada: Cli) -> None:
    ada("branch", "feat")
    ada("push", "origin", "main:h1")
    ada("branch", "-u", "origin/h1", "feat")
    ada("branch", "--set-upstream-to", "origin/h1")
    assert upstreams(ada) == {"feat": "origin/h1", "main": "origin/h1"}
    ada("branch", "--unset-upstream", "feat")
    assert upstreams(ada)["feat"] is None
    assert "follows nothing" in ada("branch", "--unset-upstream", "feat", code=2).err
    assert "has not shown" in ada("branch", "-u", "origin/absent", code=2).err
    assert "REMOTE/BRANCH" in ada("branch", "-u", "feat", code=2).err
    assert "no branch 'absent'" in ada("branch", "-u", "origin/h1", "absent", code=2).err


def test_a_branch_without_commits_keeps_it_when_the_remote_is_renamed(ada: Cli) -> None:
    ada("init", "--bare", "../empty")
    ada("clone", "../empty", "../fresh")
    fresh = Cli(ada.folder.parent / "fresh")
    fresh("remote", "rename", "origin", "home")
    assert fresh("config", "branch.main.upstream").out == "home/main\n"


def test_names_with_dots_are_kept_apart(ada: Cli) -> None:
    for name in ("q", "q.upstream", "v1.2"):
        ada("branch", name)
        ada("push", "-u", "origin", name)
    found = upstreams(ada)
    assert {found[name] for name in ("q", "q.upstream", "v1.2")} == {
        "origin/q",
        "origin/q.upstream",
        "origin/v1.2",
    }
    assert ada("config", "branch.q.upstream.upstream").out == "origin/q.upstream\n"
    ada("switch", "q.upstream")
    assert ada("status", "--json").json["upstream"]["name"] == "origin/q.upstream"


def test_it_goes_with_the_branch(ada: Cli) -> None:
    ada("branch", "feat")
    ada("push", "-u", "origin", "feat")
    ada("branch", "-m", "feat", "new")
    assert upstreams(ada)["new"] == "origin/feat"
    ada("branch", "-D", "new")
    ada("branch", "new")
    assert upstreams(ada)["new"] is None


def test_a_lease_needs_a_name(ada: Cli) -> None:
    refused = ada("push", "../bare", "main", "--force-with-lease", code=2)
    assert "a lease needs to know where the branch was last seen" in refused.err
    tip = ada("log", "-1", "--json").json["commits"][0]["commit"]
    ada("push", "../bare", "main", f"--force-with-lease=main:{tip}")


def test_one_that_is_gone_is_told(ada: Cli) -> None:
    ada("switch", "-c", "side")
    ada("push", "-u", "origin", "side")
    assert ada("status", "--json").json["upstream"] == {
        "name": "origin/side", "ahead": 0, "behind": 0, "gone": False,
    }  # fmt: skip
    ada("push", "origin", ":side")
    ada("fetch", "-p")
    told = ada("status")
    assert "It follows origin/side, which is not there: gone, or never pushed." in told.out
    assert "arbor branch --unset-upstream" in told.err
    assert ada("status", "--json").json["upstream"] == {
        "name": "origin/side", "ahead": None, "behind": None, "gone": True,
    }  # fmt: skip
    assert "follows origin/side (gone)" in ada("branch", "-v").out
    rows = {row["name"]: row["upstream_gone"] for row in ada("branch", "--json").json["branches"]}
    assert rows == {"main": False, "side": True}
    ada("push")
    assert "(gone)" not in ada("branch", "-v").out


def test_one_that_no_ref_can_be_called_is_gone(ada: Cli) -> None:
    ada("config", "branch.main.upstream", "origin/a..b")
    assert "is not there" in ada("status").out
    assert "(gone)" in ada("branch", "-v").out


def test_renaming_a_remote_that_was_cut_off_anywhere_is_done_by_the_same_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_kb(tmp_path / "a", notes(2))
    clone_to(tmp_path / "a", tmp_path / "b")
    real = os.replace
    for step in count(1):
        folder = shutil.copytree(tmp_path / "b", tmp_path / f"at{step}")
        repo, calls = open_repository(folder), count(1)

        def cut_off(source: str, target: str, calls: count[int] = calls, step: int = step) -> None:
            if next(calls) == step:
                raise OSError(errno.ENOSPC, "full")
            real(source, target)

        failed = False
        with monkeypatch.context() as patch:
            patch.setattr(os, "replace", cut_off)
            try:
                rename_remote(repo, "origin", "up")
            except StorageError:
                failed = True
        if not failed:
            break
        rename_remote(open_repository(folder), "origin", "up")
        assert [remote.name for remote in list_remotes(open_repository(folder))] == ["up"]
        assert read_upstream(open_repository(folder), "main") == "up/main"
        assert [name for name in repo.refs.iter_names("refs/remotes/") if "origin" in name] == []
    assert step > 2


def test_how_far_branches_are_from_what_they_follow(ada: Cli) -> None:
    ada("commit", "--allow-empty", "-m", "second")
    ada("push")
    ada("branch", "even", "origin/main")
    assert ada("branch", "-v").out.splitlines()[1].split("  ")[1] == "follows origin/main"
    ada("reset", "HEAD~1")
    ada("commit", "--allow-empty", "-m", "instead")
    lines = [line.split("  ") for line in ada("branch", "-v").out.splitlines()]
    assert [line[1] for line in lines if "main" in line[0]] == ["follows origin/main: 1 ahead, 1 behind"]
    assert ada("branch").out == "  even\n* main\n"
