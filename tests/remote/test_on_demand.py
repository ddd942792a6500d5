"""Passages of any version come on demand: merges, differences and old versions in a cold clone."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from arbor.kb import open_kb
from tests.cli.harness import Cli

pytestmark = pytest.mark.usefixtures("steady")

NOTE = "notes/one.md"
FIRST, SECOND = (
    "# One\n\nthe first line\n\nthe middle\n\nthe end\n",
    "# One\n\nTHE FIRST line\n\nthe middle\n\nthe end\n",
)
BARE = "bare"


@pytest.fixture
def ada(cli: Cli) -> Cli:
    """A KB with two versions of a note beside others, pushed to a bare one."""
    cli("init")
    cli.write(NOTE, FIRST)
    cli.write("notes/two.md", "# Two\n")
    cli.commit("first")
    cli.write("notes/two.md", "# Two\n\nmore\n")
    cli.commit("second")
    cli("init", "--bare", f"../{BARE}")
    cli("remote", "add", "origin", f"../{BARE}")
    cli("push", "-u", "origin", "main")
    return cli


@pytest.fixture
def cold(ada: Cli) -> Cli:
    """A cold clone of the bare one."""
    ada("clone", "--cold", f"../{BARE}", "../cold")
    return Cli(ada.folder.parent / "cold")


def diverge(ada: Cli, cold: Cli) -> None:
    """Both change the note, in places that do not touch."""
    cold("rehydrate", NOTE)
    cold.write(NOTE, FIRST + "\ntail\n")
    cold.commit("tail")
    ada.write(NOTE, SECOND)
    ada.commit("capitals")
    ada("push")


def lose_remote(cold: Cli) -> None:
    shutil.rmtree(cold.folder.parent / BARE)


def test_a_cold_clone_merges_what_both_sides_edited(ada: Cli, cold: Cli) -> None:
    diverge(ada, cold)
    done = cold("pull")
    assert "brought back from" in done.err
    assert (cold.folder / NOTE).read_text() == SECOND + "\ntail\n"
    assert cold("status", "--porcelain").out == ""
    assert cold("verify").code == 0


def test_the_library_merges_it_too(ada: Cli, cold: Cli) -> None:
    diverge(ada, cold)
    kb = open_kb(cold.folder)
    assert kb.sharing.pull().merged.kind == "merged"
    assert (cold.folder / NOTE).read_text() == SECOND + "\ntail\n"
    kb.close()


def test_a_rename_there_is_merged_with_an_edit_here(ada: Cli, cold: Cli) -> None:
    cold("rehydrate", NOTE)
    cold.write(NOTE, FIRST + "\ntail\n")
    cold.commit("tail")
    ada("mv", NOTE, "notes/new.md")
    ada.write("notes/new.md", SECOND)
    ada.commit("moved and edited")
    ada("push")
    cold("pull")
    assert (cold.folder / "notes/new.md").read_text() == SECOND + "\ntail\n"


def test_all_that_a_merge_lacks_is_named_before_anything_is_changed(ada: Cli, cold: Cli) -> None:
    diverge(ada, cold)
    cold("fetch")
    lose_remote(cold)
    before = cold("log", "--oneline").out
    failed = cold("merge", "origin/main", code=1)
    tip = cold("log", "-1", "--json", "origin/main").json["commits"][0]["commit"][:12]
    assert f"'{NOTE}' in {tip}" in failed.err
    assert f"arbor rehydrate-cold --at {tip} {NOTE} --from=PLACE" in failed.err
    assert cold("log", "--oneline").out == before
    assert cold("status", "--porcelain").out == ""
    # The hint works.
    cold("rehydrate", "--at", tip, "--from", str(ada.folder), NOTE)
    cold("merge", "origin/main")
    assert (cold.folder / NOTE).read_text() == SECOND + "\ntail\n"


def test_old_versions_are_read_on_demand(ada: Cli, cold: Cli) -> None:
    assert cold("cat", "HEAD~1:notes/two.md").out == "# Two\n"
    assert cold("cat", "notes/two.md@HEAD").out == "# Two\n\nmore\n"
    ada.write(NOTE, SECOND)
    ada.commit("capitals")
    ada("push")
    cold("fetch")
    assert cold("cat", f"origin/main:{NOTE}").out == SECOND
    assert cold("cat", f"{NOTE}@HEAD~1").out == FIRST


def test_what_no_remote_gives_is_named_with_its_revision(cold: Cli) -> None:
    lose_remote(cold)
    failed = cold("cat", "HEAD~1:notes/two.md", code=1)
    assert "'notes/two.md' in HEAD~1" in failed.err
    assert "arbor rehydrate-cold --at HEAD~1 notes/two.md --from=PLACE" in failed.err


def test_differences_are_shown_on_demand(cold: Cli) -> None:
    assert "cold here" in cold("show", "--offline").out
    assert "+more" in cold("show").out
    assert "+more" in cold("diff", "HEAD~1", "HEAD").out


def test_a_passage_is_proven_on_demand(ada: Cli, cold: Cli) -> None:
    assert "proof of a passage holds its text" in cold("prove", "--offline", f"{NOTE}:1", code=1).err
    assert cold("prove", f"{NOTE}:1").out == ada("prove", f"{NOTE}:1").out
    assert (
        cold("prove", "notes/two.md#0", "--at", "HEAD~1").out
        == ada("prove", "notes/two.md#0", "--at", "HEAD~1").out
    )


def test_restore_and_show_bring_what_they_need(cold: Cli) -> None:
    cold("restore", "-s", "HEAD~1", "notes/two.md")
    assert (cold.folder / "notes/two.md").read_text() == "# Two\n"
    assert "cold" in cold("restore", "--offline", NOTE, code=1).err
    cold("restore", NOTE)
    assert (cold.folder / NOTE).read_text() == FIRST


def test_what_a_restore_fetched_is_named_as_restored(cold: Cli) -> None:
    done = cold("restore", NOTE)
    assert (done.out, done.err.count("nothing to restore")) == (f"restored {NOTE}\n", 0)
    assert (cold.folder / NOTE).read_text() == FIRST
    assert cold("restore", "notes", "--json").json["restored"] == ["notes/two.md"]
    assert "nothing to restore" in cold("restore", ".").err


def test_a_file_that_is_worked_with_does_not_vanish(ada: Cli, cold: Cli) -> None:
    cold("rehydrate", NOTE)
    ada("switch", "-c", "capitals")
    ada.write(NOTE, SECOND)
    ada.commit("capitals")
    ada("push", "origin", "capitals")
    cold("fetch")
    cold("switch", "capitals")
    assert (cold.folder / NOTE).read_text() == SECOND
    assert not (cold.folder / "notes/two.md").exists()
    ada("switch", "main")
    ada("merge", "capitals")
    ada.write(NOTE, SECOND + "\nmore\n")
    ada.commit("more")
    ada("push", "origin", "main")
    cold("switch", "main")
    cold("pull")
    assert (cold.folder / NOTE).read_text() == SECOND + "\nmore\n"


def test_a_revert_brings_what_it_reads(ada: Cli, cold: Cli) -> None:
    ada.write(NOTE, SECOND)
    ada.commit("capitals")
    ada.write(NOTE, SECOND + "\ntail\n")
    ada.commit("tail")
    ada("push")
    cold("pull")
    cold("revert", "HEAD~1")
    assert cold("cat", NOTE).out == FIRST + "\ntail\n"


@pytest.mark.parametrize("filter_words", [("--cold",), ("--at", "notes")])
def test_a_rehydrated_version_is_the_one_that_was_committed(
    ada: Cli, filter_words: tuple[str, ...], tmp_path: Path
) -> None:
    ada("clone", *filter_words, f"../{BARE}", str(tmp_path / "part"))
    part = Cli(tmp_path / "part")
    for revision in ("HEAD", "HEAD~1"):
        assert part("cat", f"{revision}:notes/two.md").raw == ada("cat", f"{revision}:notes/two.md").raw


@pytest.mark.parametrize("filter_words", [("--cold",), ("--at", "notes")])
def test_the_settings_of_a_kb_are_never_left_out(cli: Cli, filter_words: tuple[str, ...]) -> None:
    cli("init")
    cli.write("arbor.toml", "[chunking]\ntarget_bytes = 1500\n")
    cli.write("one.md", "# One\n")
    cli.write("notes/two.md", "# Two\n")
    cli.commit("first")
    cli("clone", *filter_words, ".", "../cold")
    cold = Cli(cli.folder.parent / "cold")
    assert (cold.folder / "arbor.toml").exists()
    assert cold("cat", "one.md").out == "# One\n"
    cold("evict", "--force", "arbor.toml")
    (cold.folder / "arbor.toml").unlink()
    cold("rehydrate", "arbor.toml")
    assert (cold.folder / "arbor.toml").read_bytes() == (cli.folder / "arbor.toml").read_bytes()


def test_an_edited_file_is_no_drift_of_an_old_version(cold: Cli) -> None:
    cold("rehydrate", "notes/two.md")
    lose_remote(cold)
    cold("cat", "HEAD~1:notes/two.md", code=1)
    assert "drift" not in cold("journal").out
    cold.write("notes/two.md", "# Two\n")
    assert cold("cat", "HEAD~1:notes/two.md").out == "# Two\n"


def test_a_cold_document_without_a_file_is_no_difference(ada: Cli, cold: Cli) -> None:
    for words in ((), ("HEAD",), ("HEAD", "--name-status"), ("HEAD", "--exit-code"), ("--quiet",)):
        done = cold("diff", *words)
        assert (done.out, done.err) == ("", "")  # and nothing was fetched
    assert (
        cold("diff", "HEAD~1", "--name-status", "--offline").out
        == cold("diff", "HEAD~1..HEAD", "--name-status").out
    )
    ada("mv", NOTE, "notes/moved.md")
    ada.write("notes/late.md", "late\n")
    ada.commit("moved, and one more")
    ada("push")
    cold("pull")
    assert (
        cold("diff", "HEAD~1", "--name-status", "--offline").out
        == cold("diff", "HEAD~1..HEAD", "--name-status").out
    )
    cold.write("notes/late.md", "later\n")
    assert cold("diff", "--name-status").out == "M\tnotes/late.md\n"
    assert "+later" in cold("diff", "HEAD").out
    assert "-late\n" in cold("diff").out
