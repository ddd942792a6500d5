"""`commit PATH...` beside git in one folder: it records those documents, and leaves the rest staged."""

from __future__ import annotations

import random
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.cli.harness import Cli, cli, kb, steady, template

__all__ = ["cli", "kb", "steady", "template"]
NAMES = ["a.md", "b.md", "x/a.md", "x/b.md", "x/y/c.md", "n", "n/o"]
CHOICES = [["a.md"], ["x"], ["x/a.md", "b.md"], ["*.md"], ["."], ["n"], ["n/o"], ["x/y", "a.md"], ["x/*.md"]]
IDENTITY = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"]


def git(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["git", *IDENTITY, *words], cwd=folder, capture_output=True, text=True, check=False)


def both(cli: Cli, *words: str) -> None:
    """What git does with a work tree that is left as it is, arbor does too."""
    did = git(cli.folder, *words).returncode == 0
    done = cli.run(*words)
    assert (done.code == 0) == did, (words, done.err)


def edit(cli: Cli, name: str, text: str) -> None:
    fs_path = cli.folder / name
    if name == "n" and fs_path.is_dir():
        shutil.rmtree(fs_path)
    if name == "n/o" and (cli.folder / "n").is_file():
        (cli.folder / "n").unlink()
    if text:
        cli.write(name, text)
    else:
        fs_path.unlink(missing_ok=True)


def recorded(cli: Cli) -> dict[str, str]:
    listed = git(cli.folder, "ls-tree", "-r", "--name-only", "HEAD").stdout.splitlines()
    return {path: git(cli.folder, "show", f"HEAD:{path}").stdout for path in listed}


def compare(cli: Cli) -> None:
    expected = git(cli.folder, "status", "--porcelain", "--no-renames").stdout
    found = cli("status", "--porcelain").out
    assert sorted(found.splitlines()) == sorted(expected.splitlines())


def compare_commits(cli: Cli) -> None:
    here = {path: cli("cat", f"HEAD:{path}").out for path in cli("ls", "--at", "HEAD").out.splitlines()}
    assert here == recorded(cli)


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
@pytest.mark.parametrize("seed", range(4))
def test_the_same_is_recorded_and_left(cli: Cli, seed: int) -> None:
    source = random.Random(seed)
    git(cli.folder, "init", "-q")
    cli("init")
    (cli.folder / ".git/info/exclude").write_text(".arbor\n")
    for number, name in enumerate(("a.md", "x/a.md", "x/y/c.md")):
        edit(cli, name, f"{number}\n")
    both(cli, "add", "-A")
    both(cli, "commit", "-q", "-m", "first")
    for number in range(25):
        name = source.choice(NAMES)
        edit(cli, name, source.choice([f"text {number} of {name}\n", f"other {number} of {name}\n", ""]))
        if name in ("n", "n/o"):  # what lies untracked where a tracked file was, git does not tell
            both(cli, "add", "-A")
        elif source.random() < 0.5 and (cli.folder / name).is_file():
            both(cli, "add", name)
        if source.random() < 0.3:
            more = source.choice([[], ["--amend"]])
            both(cli, "commit", "-q", "-m", f"at {number}", *more, *source.choice(CHOICES))
        compare(cli)
    cli("verify")


def test_nothing_is_staged_when_it_fails(kb: Cli) -> None:
    kb.write("notes/merkle.md", "changed\n")
    kb.write("new.md", "new\n")
    assert kb("commit", "-m", "", "notes/merkle.md", code=2).err.startswith(
        "error: the commit message is empty"
    )
    assert "run first: arbor add new.md" in kb("commit", "-m", "x", "new.md", code=2).err
    assert "a message goes after -m" in kb("commit", "what I did", code=2).err
    assert "as it was in the last commit" in kb("commit", "-m", "x", "notes/proofs.md", code=2).err
    assert "takes no paths" in kb("commit", "-a", "-m", "x", "notes/merkle.md", code=2).err
    assert kb("status", "--short").out == " M notes/merkle.md\n?? new.md\n"


def test_a_merge_is_recorded_as_a_whole(kb: Cli) -> None:
    kb("switch", "-c", "side")
    kb.write("side.md", "side\n")
    kb.commit("side")
    kb("switch", "main")
    kb.write("notes/merkle.md", "changed\n")
    kb("commit", "-m", "here", "notes/merkle.md")
    kb("merge", "--no-commit", "side")
    kb.write("notes/proofs.md", "changed\n")
    assert "a merge is recorded as a whole" in kb("commit", "-m", "x", "notes/proofs.md", code=13).err
    assert kb("status", "--short").out == " M notes/proofs.md\nA  side.md\n"
    kb("commit", "-m", "merged")


def test_paths_are_of_the_folder_one_is_in(kb: Cli) -> None:
    kb.write("notes/merkle.md", "changed\n")
    kb.write("notes/proofs.md", "changed too\n")
    changes = kb("-C", "notes", "commit", "-m", "one", "--json", "merkle.md").json["changes"]
    assert [change["path"] for change in changes] == ["notes/merkle.md"]
    kb("rm", "-f", "notes/proofs.md")
    kb("commit", "-m", "gone", "notes/proofs.md")
    assert kb("status", "--short").out == ""


def test_reset_takes_paths(kb: Cli) -> None:
    kb.write("notes/merkle.md", "changed\n")
    kb.write("new.md", "new\n")
    kb("add", ".")
    assert kb("reset", "new.md").out == "unstaged new.md\n"
    answer = kb("reset", "--json", "HEAD", "notes").json
    assert (answer["unstaged"], answer["mode"]) == (["notes/merkle.md"], "mixed")
    assert kb("status", "--short").out == " M notes/merkle.md\n?? new.md\n"
    kb("commit", "-a", "-m", "changed")
    assert kb("-C", "notes", "reset", "HEAD~1", "merkle.md").out == "unstaged merkle.md\n"
    assert kb("status", "--short").out == "MM notes/merkle.md\n?? new.md\n"
    assert "run: arbor restore -S -W -s HEAD~1 notes" in kb("reset", "--hard", "HEAD~1", "notes", code=2).err
    assert "revision 'nope' not found" in kb("reset", "nope", code=2).err
    assert kb("reset", "--json").json["unstaged"] is None


def test_reset_takes_paths_before_the_first_commit(cli: Cli) -> None:
    cli("init")
    cli.write("a.md", "a\n")
    cli("add", "a.md")
    cli("reset", "a.md")
    assert cli("status", "--short").out == "?? a.md\n"
