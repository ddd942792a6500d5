"""Names that stand for a branch mean what git makes of them: `@{-1}`, `@{u}`, `@{push}`, `-`."""

from __future__ import annotations

import random
import shutil
import subprocess
from pathlib import Path

import pytest

import arbor
from arbor.errors import UsageError
from arbor.repo.commits.shorthands import stands_for
from tests.cli.harness import Cli, cli, steady

pytestmark = [
    pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed"),
    pytest.mark.usefixtures("steady"),
]
__all__ = ["cli", "steady"]
BRANCHES = ["main", "one", "two/three"]
IDENTITY = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"]


class Both:
    """The same branches in git and in arbor, both with a remote."""

    def __init__(self, cli: Cli, folder: Path) -> None:
        self.cli, self.folder = cli, folder / "git"
        subprocess.run(["git", "init", "-q", "-b", "main", str(self.folder)], check=True)
        subprocess.run(["git", "init", "-q", "--bare", str(folder / "there.git")], check=True)
        self.git("commit", "-q", "--allow-empty", "-m", "first")
        cli("init")
        cli("commit", "--allow-empty", "-m", "first")
        cli("init", "--bare", str(folder / "there"))
        self.both("remote", "add", "origin", git=["remote", "add", "origin", str(folder / "there.git")],
                  arbor=["remote", "add", "origin", str(folder / "there")])  # fmt: skip
        for branch in BRANCHES[1:]:
            self.both("branch", branch)

    def git(self, *words: str) -> str | None:
        done = subprocess.run(
            ["git", *IDENTITY, *words], cwd=self.folder, capture_output=True, text=True, check=False
        )
        return done.stdout.strip() if done.returncode == 0 else None

    def both(self, *words: str, git: list[str] | None = None, arbor: list[str] | None = None) -> None:
        did = self.git(*(git or words)) is not None
        assert (self.cli.run(*(arbor or words)).code == 0) == did, words

    def compare(self, name: str) -> None:
        expected = self.git("rev-parse", "--symbolic-full-name", name)
        repo = arbor.open(self.cli.folder).repo
        try:
            found = stands_for(repo, name)
        except UsageError:
            assert expected is None, name
            return
        if expected:
            assert found == expected, name
        elif expected == "":  # a commit, without a name
            assert len(found) == 64


def test_the_places_before(cli: Cli, tmp_path: Path) -> None:
    both, source = Both(cli, tmp_path), random.Random(1)
    now = "main"
    for _ in range(12):
        to = source.choice([name for name in [*BRANCHES, "--detach"] if name != now])
        now = to
        both.both("switch", *([to] if to != "--detach" else ["--detach", source.choice(BRANCHES)]))
        for number in (1, 2, 3, 9, 30):
            both.compare(f"@{{-{number}}}")
    both.both("switch", "main")
    both.both("switch", "one")
    both.both("switch", "@{-1}")
    assert cli("branch", "--show-current").out == "main\n"
    both.both("merge", "-")
    both.both("switch", "-c", "made", "-")
    both.both("branch", "-f", "@{-1}", "one")
    both.both("branch", "-d", "@{-1}")
    both.both("switch", "@{-1}")


def test_what_is_followed(cli: Cli, tmp_path: Path) -> None:
    both = Both(cli, tmp_path)
    names = [f"{branch}@{{{kind}}}" for branch in ("", "@", "HEAD", *BRANCHES, "absent", "refs/heads/main")
             for kind in ("u", "upstream", "U", "UpStream", "push")]  # fmt: skip
    both.both("push", "-q", "-u", "origin", "main")
    both.both("switch", "one")
    both.both("push", "-q", "-u", "origin", "one")
    for name in [*names, "@{-1}@{u}"]:
        if "two" in name or name == "absent@{push}":
            continue  # git says where this would go only under other settings
        both.compare(name)
    both.both("switch", "--detach", "main")
    for name in names[:5]:
        both.compare(name)
    for words in (["switch", "one"], ["switch", "-c", "new", "main@{u}"], ["merge", "@{u}"]):
        both.both(*words)
    assert "origin/main" in cli("branch", "-v").out.split("new", 1)[1].splitlines()[0]
    cli("commit", "--allow-empty", "-m", "more")
    cli("merge", "--no-ff", "one@{u}")
    assert cli.run("log", "--oneline", "main@{u}..").out.count("\n") == 1


def test_a_merge_is_told_by_the_name_of_the_branch(cli: Cli, tmp_path: Path) -> None:
    Both(cli, tmp_path)
    cli("switch", "one")
    cli.write("a.md", "a")
    cli.commit("a")
    cli("switch", "main")
    cli("merge", "--no-ff", "-")
    assert cli("log", "-n", "1", "--json").json["commits"][0]["subject"] == "Merge one"
