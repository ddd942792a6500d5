"""Status, add, rm, mv and restore beside git in one folder: after every step both say the same."""

from __future__ import annotations

import contextlib
import os
import random
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from arbor.errors import ArborError
from arbor.kb import KnowledgeBase
from arbor.repo.work_tree.status import Status, list_ignored
from tests.cli.harness import Cli, cli, steady
from tests.repo.kit import new_kb, write

__all__ = ["cli", "steady"]
pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
NAMES = [
    "a.md",
    "b.md",
    "x/a.md",
    "x/b.md",
    "x/y/c.md",
    "x/y/d.md",
    "z/e.md",
    "new/f.md",
    "new/deep/g.md",
    "n",
    "n/o",
]
TEXTS = ["one\n", "two\n", "three\n", ""]
RULES = ["", "x/\n", "x/\n!x/b.md\n", "x/\nnew/\n", "*.md\n!a.md\n", "n\n/z/*\n", "y/\n!x/\n"]


def git(folder: Path, *words: str) -> bool:
    done = subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, check=False)
    return done.returncode == 0


def git_status(folder: Path) -> set[str]:
    words = ["git", "status", "--porcelain", "-z", "--no-renames", "--ignored"]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=True)
    return {line for line in done.stdout.split("\0") if line}


def as_git_says(status: Status) -> set[str]:
    staged: dict[str, str] = {}
    for change in status.staged:
        if change.status == "R":
            staged[change.old_path] = "D"
            staged[change.path] = "A"
        else:
            staged[change.path] = change.status
    unstaged = {change.path: change.status for change in status.unstaged}
    lines = {f"{staged.get(path, ' ')}{unstaged.get(path, ' ')} {path}" for path in {*staged, *unstaged}}
    return lines | {f"?? {path}" for path in status.untracked}


class Pair:
    """One work tree under both."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        git(folder, "init", "-q", "-b", "main")
        (folder / ".git/info/exclude").write_text(".arbor\n")
        self.kb: KnowledgeBase = new_kb(folder)

    def both(self, words: list[str], *call: object, **options: object) -> None:
        """Run git on the folder, put the work tree back as it was, and let arbor do the same."""
        before = own_files(self.folder)
        git_did = git(self.folder, *words)
        after = own_files(self.folder)
        put_back(self.folder, before)
        name, *arguments = call
        try:
            getattr(self.kb, str(name))(*arguments, **options)
            arbor_did = True
        except ArborError:
            arbor_did = False
        assert arbor_did == git_did, words
        assert own_files(self.folder) == after, words

    def compare(self) -> None:
        git_says = git_status(self.folder)
        ignored = {line for line in git_says if line.startswith("!!")}
        assert as_git_says(self.kb.status()) == git_says - ignored
        assert {f"!! {path}" for path in list_ignored(self.kb.repo)} == ignored - {"!! .arbor/"}


def own_folders(folder: Path) -> list[tuple[Path, list[str]]]:
    """(folder, names of its files) of the work tree, from the top, without what git and arbor keep beside it."""
    found = []
    for above, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if name not in (".git", ".arbor")]
        found.append((Path(above), files))
    return found


def own_files(folder: Path) -> dict[str, bytes]:
    return {
        (above / name).relative_to(folder).as_posix(): (above / name).read_bytes()
        for above, names in own_folders(folder)
        for name in names
    }


def put_back(folder: Path, files: dict[str, bytes]) -> None:
    for path in own_files(folder):
        if path not in files:
            (folder / path).unlink()
    for above, _ in reversed(own_folders(folder)):
        if not any(above.iterdir()):
            above.rmdir()
    write(folder, dict(files))


def edit(pair: Pair, name: str, text: str) -> None:
    with contextlib.suppress(OSError):  # a folder is where the file should be, or the other way round
        write(pair.folder, {name: text})


def delete(pair: Pair, name: str) -> None:
    if not (pair.folder / name).is_file():
        return
    (pair.folder / name).unlink()
    for parent in (pair.folder / name).parents:
        if parent == pair.folder or any(parent.iterdir()):
            break
        parent.rmdir()


def step(pair: Pair, source: random.Random) -> None:
    name, folder = source.choice(NAMES), source.choice(["", "x", "x/y", "new", "z"])
    # git makes no folder for what is moved
    place, target = (
        folder or name,
        source.choice(["t", "x", "new", name if (pair.folder / name).parent.is_dir() else "t"]),
    )
    commands: list[Callable[[], None]] = [
        lambda: edit(pair, name, source.choice(TEXTS)),
        lambda: edit(pair, name, source.choice(TEXTS)),
        lambda: edit(pair, name, source.choice(TEXTS)),
        lambda: delete(pair, name),
        lambda: edit(pair, source.choice([".gitignore", "x/.gitignore"]), source.choice(RULES)),
        lambda: edit(pair, ".gitignore", source.choice(RULES)),
        lambda: pair.both(["rm", "-q", "--cached", "--", name], "rm", [name], cached=True),
        lambda: pair.both(["add", "-A"], "add"),
        lambda: pair.both(["add", "-A"], "add"),
        lambda: pair.both(["add", "--", name], "add", [name]) if (pair.folder / name).is_file() else None,
        lambda: pair.both(["add", "-u"], "add", update=True),
        lambda: pair.both(["commit", "-q", "-m", "x"], "commit", "x", index=False),
        lambda: pair.both(["rm", "-q", "-r", "--", place], "rm", [place], recursive=True),
        lambda: pair.both(["mv", "--", place, target], "mv", [place], target),
        lambda: pair.both(["mv", "--", place, target], "mv", [place], target),
        lambda: pair.both(["restore", "--", place], "restore", [place]),
        lambda: pair.both(
            ["restore", "--staged", "--", place], "restore", [place], staged=True, worktree=False
        ),
    ]
    source.choice(commands)()


@pytest.mark.parametrize("seed", range(12))
def test_both_say_the_same_after_every_step(tmp_path: Path, seed: int) -> None:
    pair, source = Pair(tmp_path), random.Random(seed)
    write(tmp_path, {"a.md": "one\n", "x/a.md": "one\n"})
    pair.both(["add", "-A"], "add")
    pair.both(["commit", "-q", "-m", "first"], "commit", "first", index=False)
    for _ in range(30):
        step(pair, source)
        pair.compare()


@pytest.mark.parametrize("more", [[], ["--ignored"]])
@pytest.mark.parametrize(
    "words",
    [
        ["-u"],
        ["-uall"],
        ["-unormal"],
        ["-uno"],
        ["--untracked-files"],
        ["--untracked-files=all", "x"],
        ["-u", "x"],
    ],
)
def test_how_much_is_told_of_what_is_not_tracked(cli: Cli, words: list[str], more: list[str]) -> None:
    git(cli.folder, "init", "-q", "-b", "main")
    (cli.folder / ".git/info/exclude").write_text(".arbor\n")
    cli("init")
    names = [
        "a.md",
        "x/b.md",
        "x/new/c.md",
        "x/new/d.md",
        "y/deep/e.md",
        "x/z.log",
        "l/l.log",
        "y/deep/log/f.log",
    ]
    write(cli.folder, {**dict.fromkeys(names, "text\n"), ".gitignore": "*.log\n"})
    for program in (cli, lambda *told: git(cli.folder, *told)):
        program("add", "a.md", "x/b.md")
    if more and "-uno" in words:
        return  # git refuses the two together
    for form in (["--porcelain"], ["--porcelain=v1"], ["-s"], ["-z"], ["-sz"]):
        done = subprocess.run(
            ["git", "status", *form, *more, *words], cwd=cli.folder, capture_output=True, check=True
        )
        expected = re.sub(rb"!! \.arbor/[^\n\0]*[\n\0]", b"", done.stdout)
        assert cli("status", *form, *more, *words).raw == expected, form


def test_mv_leaves_what_cannot_be_moved(cli: Cli) -> None:
    git(cli.folder, "init", "-q", "-b", "main")
    (cli.folder / ".git/info/exclude").write_text(".arbor\n")
    cli("init")
    names = ["a.md", "b.md", "x/a.md", "y/b.md", "z/c.md"]
    write(cli.folder, dict.fromkeys(names, "text\n"))
    cli.commit("first")
    git(cli.folder, "add", ".")
    git(cli.folder, "-c", "user.name=A", "-c", "user.email=a@b", "commit", "-q", "-m", "first")
    write(cli.folder, {"loose.md": "loose\n"})
    for words in (["loose.md", "a.md", "b.md", "nope.md", "y/b.md", "z"], ["nope.md", "q.md"], ["z/c.md", "z/a.md"],
                  ["z/a.md", "z/b.md", "nofolder"], ["z/a.md", "first.md"]):  # fmt: skip
        before = own_files(cli.folder)
        git(cli.folder, "mv", "-k", *words)
        after = own_files(cli.folder)
        put_back(cli.folder, before)
        cli("mv", "-k", *words)
        assert own_files(cli.folder) == after, words
        found = cli("status", "--porcelain", "-z").raw.decode()
        renamed = subprocess.run(
            ["git", "status", "--porcelain", "-z"], cwd=cli.folder, capture_output=True, check=True
        )
        assert sorted(found.split("\0")) == sorted(renamed.stdout.decode().split("\0")), words
