"""Options and words that people type as in git."""

from __future__ import annotations

import pytest

from tests.cli.harness import Cli


def diverge(kb: Cli, ours: str, theirs: str) -> None:
    """The current branch and `side` change the same document."""
    kb("switch", "-c", "side")
    kb.write("notes/proofs.md", theirs)
    kb("commit", "-a", "-m", "theirs")
    kb("switch", "main")
    kb.write("notes/proofs.md", ours)
    kb("commit", "-a", "-m", "ours")


def parents(kb: Cli) -> int:
    return len(kb("log", "-1", "--json").json["commits"][0]["parents"])


def test_a_merge_goes_on_when_its_conflicts_are_resolved(kb: Cli) -> None:
    diverge(kb, "ours\n", "theirs\n")
    assert "no merge in progress" in kb("merge", "--continue", code=2).err
    kb("merge", "side", code=13)
    kb("merge", "--continue", code=13)
    assert "arbor merge --continue" in kb("revert", "--continue", code=2).err
    kb.write("notes/proofs.md", "both\n")
    kb("add", ".")
    answer = kb("merge", "--continue", "-m", "joined", "--json").json
    assert (answer["kind"], answer["changed"]) == ("merged", ["notes/proofs.md"])
    assert parents(kb) == 2
    assert kb("log", "-1", "--oneline").out.endswith("joined\n")


def test_a_revert_goes_on_when_its_conflicts_are_resolved(kb: Cli) -> None:
    for text in ("one\n", "two\n"):
        kb.write("notes/proofs.md", text)
        kb("commit", "-a", "-m", text)
    kb("revert", "--no-edit", "HEAD~1", code=13)
    kb.write("notes/proofs.md", "mended\n")
    kb("add", ".")
    kb("revert", "--continue")
    assert kb("log", "-1", "--oneline").out.endswith('Revert "one"\n')
    assert kb("status", "--short").out == ""


def test_a_merge_is_reverted_to_the_side_that_is_named(kb: Cli) -> None:
    kb("switch", "-c", "side")
    kb.write("notes/side.md", "side\n")
    kb("add", ".")
    kb("commit", "-m", "side")
    kb("switch", "main")
    kb.write("notes/main.md", "main\n")
    kb("add", ".")
    kb("commit", "-m", "main")
    kb("merge", "side", "--no-edit")
    told = kb("revert", "HEAD", code=2).err
    assert "is a merge" in told
    assert "-m 1" in told
    assert "has no parent 3" in kb("revert", "-m", "3", "HEAD", code=2).err
    kb("revert", "-m", "1", "HEAD")
    assert not (kb.folder / "notes/side.md").exists()
    assert (kb.folder / "notes/main.md").exists()
    kb("reset", "--hard", "HEAD~1")
    kb("revert", "-m", "2", "HEAD")
    assert (kb.folder / "notes/side.md").exists()
    assert not (kb.folder / "notes/main.md").exists()


@pytest.mark.parametrize(
    ("words", "like"),
    [
        (("switch", "--discard-changes", "side"), ("switch", "-f", "side")),
        (("reflog", "show", "main"), ("reflog", "main")),
        (("reflog", "show"), ("reflog",)),
    ],
)
def test_what_git_has_two_names_for(words: tuple[str, ...], like: tuple[str, ...], kb: Cli) -> None:
    kb("branch", "side")
    assert kb(*words).out == kb(*like).out


def test_a_reflog_of_a_branch_that_is_called_show(kb: Cli) -> None:
    kb("branch", "show")
    assert "show@{0}" in kb("reflog", "show").out
    assert "too many names" in kb("reflog", "show", "main", "side", code=2).err
