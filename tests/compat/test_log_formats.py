"""`arbor log` and `show` write commits as git does in the forms that both have, and choose the same commits."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from datetime import datetime
from pathlib import Path

import pytest

from arbor.cli.showing.commit_format import age_text
from tests.cli.harness import Cli, cli, steady

__all__ = ["cli", "steady"]
pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")

MESSAGES = [
    "First",
    "A subject\nthat goes on\n\nA body.\n\nAnd more of it: 100% \u9ed8\u514b\u5c14.",
    "Third\n\nbody",
]
TEMPLATES = [
    "%s", "%an <%ae>", "%cn%n%ce", "[%b]", "[%B]", "%ai|%ci", "%aI", "%as %cs", "%at %ct", "%aD", "%D", "%d",
    "%Cred%s%Creset %C(bold blue)%%%C(auto) 100%% %q %", "%x41%x7a", "",
]  # fmt: skip


class Both:
    """The same commits in git and in arbor."""

    def __init__(self, cli: Cli, folder: Path) -> None:
        self.cli, self.folder = cli, folder / "git"
        subprocess.run(["git", "init", "-q", "-b", "main", str(self.folder)], check=True)
        cli("init")

    def git(self, *words: str, **environment: str) -> str:
        outside = {"GIT_CONFIG_NOSYSTEM": "1", "HOME": str(self.folder.parent), **environment}
        identity = ["-c", "user.name=Ada Lovelace", "-c", "user.email=ada@example.org"]
        done = subprocess.run(["git", *identity, *words], cwd=self.folder, capture_output=True, check=True,
                              env=os.environ | outside)  # fmt: skip
        return done.stdout.decode()

    def commit(self, message: str, **files: str) -> None:
        for name, text in files.items():
            self.cli.write(f"{name}.md", text)
            (self.folder / f"{name}.md").write_text(text)
        self.cli.commit(message)
        made = self.cli("log", "-1", "--json").json["commits"][0]
        self.git("add", ".")
        self.git("commit", "-q", "-m", message, GIT_AUTHOR_DATE=made["author"]["time"],
                 GIT_COMMITTER_DATE=made["committer"]["time"])  # fmt: skip

    def merge(self, name: str) -> None:
        self.cli("merge", "--no-ff", "-m", f"Merge {name}", name)
        made = self.cli("log", "-1", "--json").json["commits"][0]
        self.git("merge", "-q", "--no-ff", "-m", f"Merge {name}", name, GIT_COMMITTER_DATE=made["committer"]["time"],
                 GIT_AUTHOR_DATE=made["author"]["time"])  # fmt: skip

    def both(self, *words: str) -> None:
        self.cli(*words)
        self.git(*words)

    def compare(self, *words: str) -> None:
        assert self.cli(*words).out == self.git(*words), words


@pytest.fixture
def both(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Both:
    monkeypatch.setenv("TZ", "Asia/Kolkata")
    time.tzset()
    return Both(cli, tmp_path)


def test_format_strings(both: Both) -> None:
    for number, message in enumerate(MESSAGES):
        both.commit(message, note=f"{number}\n")
    both.both("branch", "side", "HEAD~1")
    both.both("tag", "v1", "HEAD~1")
    both.both("tag", "-m", "two", "v2", "HEAD~1")
    for template in TEMPLATES:
        both.compare("log", f"--format={template}")
        both.compare("log", f"--pretty=tformat:{template}")
        both.compare("show", "-s", f"--format={template}", "HEAD~1")
    for date in ("iso", "iso8601-strict", "short", "unix", "raw", "rfc2822", "format:%d %b %H"):
        both.compare("log", "--format=%ad %cd", f"--date={date}")
    assert both.cli("log", "-1", "--format=%ad", "--date=format:\udcff%Y%").out == "\\xff2026%\n"
    both.both("switch", "--detach", "side")
    both.compare("log", "--format=%D%d")


def test_forms_with_a_name(both: Both) -> None:
    for number, message in enumerate(MESSAGES):
        both.commit(message, note=f"{number}\n")
    both.cli("commit", "--amend", "-m", "Last", "--author", "Grace <grace@example.org>")
    for form in ("short", "full", "fuller", "medium"):
        expected = both.git("log", f"--pretty={form}", "--date=iso", "-1", "HEAD~2").splitlines()[1:]
        assert both.cli("log", f"--pretty={form}", "--no-decorate", "HEAD~2").out.splitlines()[1:] == expected
    lines = both.cli("log", "--pretty=reference").out.splitlines()
    dates = both.git("log", "--format=%as").splitlines()
    assert [line[13:] for line in lines][1:] == [
        f"(A subject that goes on, {dates[1]})",
        f"(First, {dates[2]})",
    ]
    assert both.cli("log", "-1", "--format=oneline").out[65:] == "Last\n"
    assert "Commit: Ada Lovelace" in both.cli("show", "-s", "--format=full").out
    told = both.cli("log", "--format=fancy", code=2).err
    assert "there is no format 'fancy'" in told
    assert "there is no date format 'local'" in both.cli("log", "--date=local", code=2).err


def test_names_and_numbers_below_a_format(both: Both) -> None:
    both.commit("one", note="one\ntwo\n", moved="m\n" * 9)
    both.commit("two", note="one\n2\n", other="o\n")
    both.git("mv", "moved.md", "there.md")
    both.cli("mv", "moved.md", "there.md")
    both.commit("three", note="one\n2\n3\n")
    for summary in ("--name-only", "--numstat", "-p"):
        for template in ("%s", ""):
            words = ("log", f"--format={template}", summary)
            expected = [line for line in both.git(*words).splitlines() if not line.startswith("index ")]
            assert both.cli(*words).out.splitlines() == expected
    assert both.cli("show", "--format=", "--shortstat").out == "2 documents changed, 1 line added\n"
    assert "there.md" in both.cli("show", "--no-renames", "--name-status", "--format=").out.splitlines()[-1]
    assert both.cli("show", "--no-renames", "--name-status", "--format=").out.startswith("D\tmoved.md\n")


def test_which_commits_are_told(both: Both) -> None:
    both.commit("base", note="base\n", other="base\n")
    both.both("switch", "-q", "-c", "side")
    both.commit("on the side", note="side\n")
    both.commit("more there", extra="extra\n")
    both.both("switch", "-q", "main")
    both.commit("on main", other="main\n")
    both.both("tag", "apart")
    both.merge("side")
    both.commit("last", note="last\n")
    both.both("branch", "far", "HEAD~2")
    both.both("switch", "-q", "-c", "away", "apart")
    both.commit("away", away="away\n")
    both.both("switch", "-q", "main")
    for words in (
        ("--first-parent",), ("--first-parent", "--", "note.md"), ("--first-parent", "--", "extra.md"),
        ("--first-parent", "away..main"), ("^side", "main"), ("main", "^side"), ("main", "away", "^apart"),
        ("side", "away"), ("--branches",), ("--tags",), ("--remotes",), ("--branches", "^main"),
        ("apart..main", "away"), ("--tags", "side"), ("--all", "--first-parent"),
        ("--first-parent", "--follow", "--", "note.md"),
    ):  # fmt: skip
        both.compare("log", "--format=%s", *words)
    assert both.cli("log", "--format=%s", "^side").out == both.git("log", "--format=%s", "side..")
    assert "at most 1 revision" in both.cli("log", "--checkpoint", "main", "side", code=2).err
    assert "not found" in both.cli("log", "^nowhere", code=2).err


def test_ages(both: Both) -> None:
    now = int(time.time())
    (both.folder / "note.md").write_text("text\n")
    both.git("add", ".")
    ages = [200, 5_000, 7_500, 100_000, 200_000, 86_400 * 12, 86_400 * 16, 86_400 * 80, 86_400 * 300,
            86_400 * 366, 86_400 * 500, 86_400 * 730, 86_400 * 1800, 86_400 * 2000, 86_400 * 4001]  # fmt: skip
    for age in ages:
        date = datetime.fromtimestamp(now - age).astimezone().isoformat()
        both.git("commit", "-q", "--allow-empty", "-m", str(age), GIT_AUTHOR_DATE=date)
    told = dict(line.split(":", 1) for line in both.git("log", "--format=%s:%ar").splitlines())
    assert {age: told[str(age)] for age in ages} == {age: age_text(age) for age in ages}
    assert [age_text(age) for age in (-1, 0, 1, 89, 90)] == [
        "in the future", "0 seconds ago", "1 second ago", "89 seconds ago", "2 minutes ago",
    ]  # fmt: skip


def test_several_patterns_and_capitals(both: Both) -> None:
    for subject in ("Rust: one", "rust: two", "go", "Python"):
        both.commit(subject, note=f"{subject}\n")
    for words in (
        ["--grep", "rust"],
        ["--grep", "rust", "-i"],
        ["--grep=go", "--grep=Rust"],
        ["--author", "ADA", "-i"],
        ["--author=Bob", "--author=ada@"],
        ["--grep=go", "--grep=RUST", "--regexp-ignore-case", "--author=nobody"],
    ):
        assert both.cli("log", "--format=%s", *words).out == both.git("log", "--format=%s", *words), words
    assert both.cli("log", "-1", "--oneline", "--color").out.startswith("\x1b[")
    assert "\x1b[" not in both.cli("--color", "always", "log", "-1", "--oneline", "--no-color").out


def test_what_git_fills_in_is_filled_in_or_refused(both: Both) -> None:
    both.commit("one", note="one\n")
    letters = "HhTtPpsbBdDnNSmeWXYz"
    people = [f"{who}{what}" for who in "ac" for what in "nNeEadDtriIslLch"]
    forms = [
        *letters,
        *people,
        "x41",
        "C(red)",
        "Cred",
        "<(20)",
        ">(9,trunc)",
        "<|(3)",
        "w(9)",
        "(trailers)",
        "G?",
        "gd",
        "+b",
        "-b",
        " b",
    ]
    for form in forms:
        done = both.cli.run("log", "-1", f"--format=%{form}|")
        told = both.git("log", "-1", f"--format=%{form}|")
        if told == f"%{form}|\n":
            assert done.out == told, form
        else:
            assert done.code == 2 or not done.out.startswith("%"), form
    assert both.cli("log", "-1", "--format=%aN <%aE>%cN").out == both.git(
        "log", "-1", "--format=%aN <%aE>%cN"
    )
    assert "'%<(' is not filled in" in both.cli("log", "--format=format:%<(20)%an", code=2).err
    assert both.cli("log", "-1", "--format=%%N 5%").out == "%N 5%\n"
