"""`arbor diff` compares as git does where it is told how: context, white space, renames, numbers, two documents."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from tests.cli.harness import Cli, cli, steady

__all__ = ["cli", "steady"]
pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")

LONG = [f"line {number} of  the text" for number in range(30)]
BEFORE = {"long.md": LONG, "spaces.md": ["a  b", "c", "\td", "e"], "only spaces.md": ["x y", "z"], "gone.md": LONG[3:9],
          "same.md": ["same"], "end.md": ["one", "two"]}  # fmt: skip
AFTER = {"long.md": [*LONG[:9], "new", *LONG[9:20], *LONG[21:]], "spaces.md": ["a b ", "C", "d", "e "],
         "only spaces.md": ["x   y  ", "z\t"], "here.md": LONG[3:9], "same.md": ["same"],
         "end.md": ["one", "2 "]}  # fmt: skip


@pytest.fixture
def changed(cli: Cli) -> Cli:
    git(cli, "init", "-q")
    cli("init")
    for files in (BEFORE, AFTER):
        for name in {*BEFORE, *AFTER}:
            (cli.folder / name).unlink(missing_ok=True)
        for name, lines in files.items():
            cli.write(name, "\n".join(lines) + "\n")
        cli.write("data.bin", bytes(range(256)) * len(files) + files["end.md"][1].encode())
        cli.commit("files")
        git(cli, "add", "--", *files, "data.bin")
        git(cli, "commit", "-q", "-a", "-m", "files")
    return cli


def git(cli: Cli, *words: str) -> list[str]:
    identity = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
    done = subprocess.run(["git", *identity, *words], cwd=cli.folder, capture_output=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    return done.stdout.decode().splitlines()


def plain(lines: list[str]) -> list[str]:
    """A patch without what is git's own: blob names, and what stands before a hunk."""
    return [line.split(" @@")[0] for line in lines if not line.startswith("index ")]


@pytest.mark.parametrize("words", [("-U0",), ("-U1",), ("--unified=9",), ("--no-renames",), ("-M",), ()])
def test_context_and_renames(words: tuple[str, ...], changed: Cli) -> None:
    expected = plain(git(changed, "diff", *words, "HEAD~1", "HEAD"))
    assert plain(changed("diff", *words, "HEAD~1", "HEAD").out.splitlines()) == expected
    assert plain(changed("show", "--format=", *words).out.splitlines()) == expected


@pytest.mark.parametrize(
    "option", ["-w", "-b", "--ignore-space-at-eol", "--ignore-all-space", "--ignore-space-change"]
)
def test_white_space(option: str, changed: Cli) -> None:
    def changes(lines: list[str]) -> list[str]:
        return [line for line in plain(lines) if not line.startswith(" ")]

    words = ("diff", option, "-U0", "HEAD~1", "HEAD")
    assert changes(changed(*words).out.splitlines()) == changes(git(changed, *words))
    only = ("diff", option, "--quiet", "HEAD~1", "HEAD", "--", "only spaces.md")
    assert changed.run(*only).code == (option == "--ignore-space-at-eol")
    changed.write("same.md", "same  \n")
    assert changed("diff", option).out == ""
    assert changed("diff", option, "--exit-code").out == ""
    assert changed("diff", "--exit-code", "--name-only", code=1).out == "same.md\n"


def test_numbers(changed: Cli) -> None:
    for words in (("--numstat",), ("--numstat", "--no-renames"), ("--numstat", "-w")):
        assert changed("diff", *words, "HEAD~1", "HEAD").out.splitlines() == git(
            changed, "diff", *words, "HEAD~1", "HEAD"
        )
    assert "-\t-\tdata.bin" in changed("diff", "--numstat", "HEAD~1", "HEAD").out
    told = changed("diff", "--shortstat", "HEAD~1", "HEAD").out
    assert told == changed("diff", "--stat", "HEAD~1", "HEAD").out.splitlines()[-1] + "\n"


def test_two_documents(changed: Cli) -> None:
    for words in (
        ("HEAD~1:end.md", "HEAD:same.md"),
        ("HEAD:end.md", "HEAD~1:end.md"),
        ("HEAD:end.md", "HEAD:end.md"),
    ):
        assert plain(changed("diff", *words).out.splitlines()) == plain(git(changed, "diff", *words))
    assert changed("diff", "--exit-code", "HEAD:end.md", "HEAD~1:end.md", code=1).out
    answer = changed("diff", "--json", "HEAD~1:end.md", "HEAD:end.md").json
    assert (answer["old"], answer["new"], len(answer["changes"])) == ("HEAD~1:end.md", "HEAD:end.md", 1)
    assert "there is no document 'none.md'" in changed("diff", "HEAD:end.md", "HEAD:none.md", code=2).err
    changed.write("with:colon.md", "text\n")
    changed.commit("a colon")
    (changed.folder / "with:colon.md").unlink()
    assert changed("diff", "--name-status", "with:colon.md").out == "D\twith:colon.md\n"


def test_the_other_way_round(changed: Cli) -> None:
    """But for `a/`, which git writes before the new side then: here it is before what a patch begins with, as ever."""
    revisions = ("HEAD~1", "HEAD")
    back = ("diff", "-R", "--src-prefix=b/", "--dst-prefix=a/")
    for words in ((), ("-U0",), ("--no-renames",), ("-w",)):
        expected = plain(git(changed, *back, *words, *revisions))
        if words != ("-w",):  # lines that differ in white space alone are git's own choice of a side
            assert plain(changed("diff", "-R", *words, *revisions).out.splitlines()) == expected
        assert changed("diff", "-R", *words, "HEAD", "HEAD~1").out == changed("diff", *words, *revisions).out
    for words in (
        ("--name-status",),
        ("--numstat",),
        ("--name-only", "--diff-filter=A", "--no-renames"),
        ("--stat",),
    ):
        assert (
            changed("diff", "-R", *words, *revisions).out == changed("diff", *words, *reversed(revisions)).out
        )
    answer = changed("diff", "-R", "--json", *revisions).json
    assert (answer["old"], answer["new"]) == ("HEAD", "HEAD~1")
    two = ("-R", "HEAD~1:end.md", "HEAD:same.md")
    assert plain(changed("diff", *two).out.splitlines()) == plain(git(changed, *back, *two[1:]))
    # The files against the stage, and what is staged: sides that have no names to be given the other way round.
    changed("mv", "end.md", "moved.md")
    git(changed, "add", "-A", "--", "end.md", "moved.md")
    changed.write("same.md", "other\n")
    (changed.folder / "long.md").unlink()
    for words in ((), ("--staged",), ("HEAD~1",)):
        told = changed("diff", "-R", "--no-renames", *words).out
        assert plain(told.splitlines()) == plain(git(changed, *back, "--no-renames", *words))
    patch = changed("diff", "-R").raw
    subprocess.run(["git", "apply", "-"], cwd=changed.folder, input=patch, check=True)
    assert changed("diff").out == ""


def test_a_patch_made_without_white_space_applies(changed: Cli) -> None:
    patch = changed("diff", "-w", "HEAD~1", "HEAD", "--", "spaces.md").raw
    changed("restore", "-s", "HEAD~1", "spaces.md")
    subprocess.run(["git", "apply", "-"], cwd=changed.folder, input=patch, check=True)
    assert (changed.folder / "spaces.md").read_text() == "a  b\nC\n\td\ne\n"


LETTERS = ["M", "AR", "d", "Amr", "C"]
SUMMARIES = [("--name-status",), ("--numstat",), ("--name-only",), ("--no-renames", "--numstat")]


@pytest.fixture
def moved(cli: Cli) -> Cli:
    """Two commits in both, with renames in folders and names that are quoted in lines."""
    git(cli, "init", "-q")
    git(cli, "config", "core.quotePath", "false")
    cli("init")
    (cli.folder / ".git/info/exclude").write_text(".arbor\n")
    for place in (
        "new/folder/a b.md",
        "new/other/a b.md",
        "deep/x/y/same.md",
        "up/one.md",
        'odd"näme.md',
        "gone.md",
    ):
        cli.write(place, f"{place}\n" * 9)
    both_commit(cli)
    for old, new in (
        ("new/folder/a b.md", "new/a b.md"),
        ("deep/x/y/same.md", "deep/z/y/same.md"),
        ("up/one.md", "o.md"),
    ):
        cli("mv", old, new) if (cli.folder / new).parent.is_dir() else rename(cli, old, new)
    cli("rm", "gone.md")
    cli.write("new/other/a b.md", "changed\n")
    cli.write('odd"näme.md', "odder\n")
    cli.write("here.md", "here\n")
    both_commit(cli)
    return cli


def rename(cli: Cli, old: str, new: str) -> None:
    (cli.folder / new).parent.mkdir(parents=True)
    (cli.folder / old).rename(cli.folder / new)


def both_commit(cli: Cli) -> None:
    cli.commit("files")
    git(cli, "add", "-A")
    git(cli, "commit", "-q", "-m", "files")


@pytest.mark.parametrize("words", SUMMARIES)
def test_what_scripts_read(words: tuple[str, ...], moved: Cli) -> None:
    """Names in folders and names that are quoted, in lines and between NUL bytes, are byte for byte as git has them."""
    for letters in ([], *([f"--diff-filter={text}"] for text in LETTERS)):
        for nul in ([], ["-z"]):
            given = ["diff", *words, *letters, *nul, "HEAD~1"]
            done = subprocess.run(["git", *given], cwd=moved.folder, capture_output=True, check=True)
            assert moved(*given).raw == done.stdout, given
        given = ["log", "--format=%s", *words, *letters]
        assert moved(*given).out.splitlines() == git(moved, *given)
        given = ["show", "--format=", *words, *letters, "HEAD", "--", "new"]
        assert moved(*given).out.splitlines() == git(moved, *given)


def test_a_patch_after_a_summary(moved: Cli) -> None:
    for words in (["-p", "--numstat"], ["--patch", "--name-only"], ["-u"]):
        expected = plain(git(moved, "diff", *words, "HEAD~1", "--", "new", "deep", "o.md"))
        assert (
            plain(moved("diff", *words, "HEAD~1", "--", "new", "deep", "o.md").out.splitlines()) == expected
        )
        assert (
            plain(moved("show", "--format=", *words, "HEAD", "new", "deep", "o.md").out.splitlines())
            == expected
        )
    assert moved("show", "--oneline", "-s").out == moved("log", "-1", "--oneline").out


def test_what_cannot_be_shown_so(moved: Cli) -> None:
    assert "names alone" in moved("diff", "-z", "HEAD~1", code=2).err
    assert "no change is called 'Q'" in moved("diff", "--diff-filter=AQ", code=2).err
    assert "means something to git alone" in moved("diff", "HEAD~1", "--", ":!new", code=2).err
    assert "one commit is shown" in moved("show", "HEAD", "HEAD~1", code=2).err
    assert "of documents one is shown" in moved("show", "here.md", "o.md", code=2).err
