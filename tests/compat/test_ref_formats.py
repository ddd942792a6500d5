"""`--format` of `branch` and `tag` writes what git writes; the oids are arbor's own."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest

from tests.cli.harness import Cli, cli, kb, steady, template

__all__ = ["cli", "kb", "steady", "template"]
AT = "2026-01-31T10:00:00+02:00"
FORMS = [
    "%(refname)", "%(refname:short)", "%(refname:lstrip=2)", "%(refname:lstrip=-1)", "%(refname:strip=1)%%",
    "%(HEAD)%(refname:short)%09%(subject)|%(body)|", "%(upstream)|%(upstream:short)|%(upstream:track)",
    "%(objecttype) %(contents:subject)", "%(contents)", "%(contents:body)", "%(authorname) %(authoremail)",
    "%(committername) %(committerdate:short) %(authordate:iso)", "%(creatordate:unix) %(taggername)%(taggeremail)",
    "%(taggerdate:iso-strict)",
]  # fmt: skip


class Both:
    """The same branches and tags in git and in arbor."""

    def __init__(self, cli: Cli) -> None:
        self.cli, self.folder = cli, cli.folder / "git"
        subprocess.run(["git", "init", "-q", "-b", "main", str(self.folder)], check=True)
        subprocess.run(["git", "init", "-q", "--bare", str(cli.folder / "there.git")], check=True)
        cli("init")
        cli("init", "--bare", str(cli.folder / "there"))
        self.git("remote", "add", "origin", str(cli.folder / "there.git"))
        cli("remote", "add", "origin", str(cli.folder / "there"))

    def git(self, *words: str) -> str:
        dated = {"GIT_COMMITTER_DATE": AT, "GIT_AUTHOR_DATE": AT, "PATH": "/usr/bin:/bin", "TZ": "UTC"}
        identity = ["-c", "user.name=Ada Lovelace", "-c", "user.email=ada@example.org"]
        done = subprocess.run(
            ["git", *identity, *words], cwd=self.folder, capture_output=True, text=True, check=True, env=dated
        )
        return done.stdout

    def both(self, *words: str) -> None:
        self.git(*words)
        self.cli(*words)


@pytest.fixture
def both(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> Both:
    """Branches ahead, gone and followed, and tags of both kinds; all made at one moment."""
    from arbor.objects.model import Signature
    from arbor.repo.repository import Repository

    def who(repo: Repository, now: float | None = None) -> Signature:
        return Signature("Ada Lovelace", "ada@example.org", 1_769_846_400, 120)

    monkeypatch.setattr(Repository, "who", who)
    made = Both(cli)
    made.both("commit", "--allow-empty", "-m", "first", "-m", "a body\nof two lines")
    made.both("tag", "v1")
    made.both("tag", "-a", "v2", "-m", "two", "-m", "more of it")
    for branch in ("here", "gone", "x/ahead"):
        made.both("branch", branch)
        made.both("push", "-u", "origin", branch)
    made.both("push", "origin", "--delete", "gone")
    made.both("switch", "x/ahead")
    made.both("commit", "--allow-empty", "-m", "second\nline")
    made.both("fetch", "--prune")
    return made


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_both_write_the_same(both: Both) -> None:
    for form in FORMS:
        for words in (
            ["branch"],
            ["branch", "-a"],
            ["branch", "-r"],
            ["branch", "--list", "*o*"],
            ["tag"],
            ["tag", "-l", "v2"],
        ):
            given = [*words, f"--format={form}"]
            assert both.cli(*given).out == both.git(*given), given


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_both_list_tags_alike(both: Both) -> None:
    both.both("tag", "\u540d\u524d")  # two letters in four columns
    for words in (
        ["tag"],
        ["tag", "-l"],
        ["tag", "-l", "v2"],
        ["tag", "-n"],
        ["tag", "--points-at", "main", "-n"],
    ):
        assert both.cli(*words).out == both.git(*words), words


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_both_list_branches_alike(both: Both) -> None:
    both.both("branch", "\u540d\u524d")
    both.both("branch", "a-longer-name")
    lists = (
        ["branch"],
        ["branch", "-l", "m*"],
        ["branch", "-a"],
        ["branch", "-r"],
        ["branch", "--merged", "main"],
    )
    for words in lists:
        assert both.cli(*words).out == both.git(*words), words
    # The oids are arbor's own, and what a branch follows stands behind them in other words.
    before = [[re.split(r"\b[0-9a-f]{7,12}\b", line)[0] for line in lines.splitlines()]
              for lines in (both.cli("branch", "-v").out, both.git("branch", "-v"))]  # fmt: skip
    assert before[0] == before[1]


def test_oids_and_what_is_no_field(kb: Cli) -> None:
    kb("tag", "-a", "v1", "-m", "one")
    head = kb("log", "-1", "--format=%H").out.strip()
    form = "--format=%(objectname)|%(*objectname)|%(objectname:short=7)"
    assert kb("branch", form).out == f"{head}||{head[:7]}\n"
    tag, peeled, _ = kb("tag", form).out.split("|")
    assert peeled == head != tag
    for field in (
        "%(nope)",
        "%(refname:nope)",
        "%(objectname:short=x)",
        "%(committerdate:nope)",
        "%(refname",
    ):
        assert kb("branch", f"--format={field}", code=2).err.startswith("error: there is no ")
    assert "change none" in kb("branch", "--format=%(refname)", "-d", "x", code=2).err
    assert "arbor fetch --prune" in kb("branch", "-d", "-r", "origin/x", code=2).err
