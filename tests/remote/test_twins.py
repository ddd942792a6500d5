"""Twins of name that sharing makes are told of, and nothing is overwritten."""

from __future__ import annotations

import pytest

from tests.cli.harness import Cli

pytestmark = pytest.mark.usefixtures("steady")
SAID = "are one on a file system without case"


@pytest.fixture
def pair(cli: Cli) -> tuple[Cli, Cli]:
    """Two clones of one KB with a note."""
    cli("init")
    cli.write("note.md", "# Note\n")
    cli.commit("first")
    cli("init", "--bare", "../bare")
    cli("remote", "add", "origin", "../bare")
    cli("push", "-u", "origin", "main")
    cli("clone", "../bare", "../bob")
    return cli, Cli(cli.folder.parent / "bob")


@pytest.mark.parametrize(("here", "there"), [("README.md", "readme.md"), ("a", "A/x.md"), ("A/x.md", "a")])
def test_documents(pair: tuple[Cli, Cli], here: str, there: str) -> None:
    ada, bob = pair
    bob.write(here, "here\n")
    bob.commit("here")
    ada.write(there, "there\n")
    ada.commit("there")
    ada("push")
    assert SAID in bob("fetch").err
    assert SAID in bob("merge", "origin/main").err
    bob("reset", "--hard", "HEAD~1")
    assert bob("pull").err.count(SAID) == 1
    assert (bob.folder / here).read_text() == "here\n"
    assert (bob.folder / there).read_text() == "there\n"
    bob("push")
    assert SAID in ada("pull").err
    assert SAID in ada("clone", "../bare", "../carol").err


def test_a_rename_of_case_is_no_twin(pair: tuple[Cli, Cli]) -> None:
    ada, bob = pair
    ada("mv", "note.md", "between.md")
    ada("mv", "between.md", "Note.md")
    ada.commit("renamed")
    ada("push")
    assert SAID not in bob("fetch").err
    assert SAID not in bob("pull").err
    assert SAID not in ada("clone", "../bare", "../carol").err


def test_branches(pair: tuple[Cli, Cli]) -> None:
    ada, bob = pair
    ada("push", "origin", "main:Main")
    done = bob("fetch")
    assert "branches or tags that are one" in done.err
    assert "'Main' and 'main'" in done.err
    assert "'Main' and 'main'" in ada("clone", "../bare", "../carol").err
    assert "one on a file system" not in bob("fetch").err
    bob("branch", "Topic")
    ada("push", "origin", "main:topic")
    assert "'Topic' and 'topic'" in bob("fetch").err
