"""What single commands do beyond the golden sessions."""

from __future__ import annotations

import errno
import os
import socket
import time
from pathlib import Path
from typing import Any

import platformdirs
import pytest

from arbor.cli.commands.search import join_query
from arbor.cli.failures import describe_failure
from arbor.cli.identity import user_config_path
from arbor.errors import IntegrityError, UsageError
from arbor.kb import open_kb
from arbor.repo.commits.committing import parse_author
from arbor.store import refs
from arbor.store.odb import ObjectStore
from tests.cli.harness import IDENTITY, Cli


def inside(cli: Cli, folder: str) -> Cli:
    return Cli(cli.folder / folder)


# --- add


def test_what_cannot_be_read_is_skipped_and_said(kb: Cli) -> None:
    kb.write("good.md", "good\n")
    (kb.folder / os.fsdecode(b"bad\xff.md")).write_bytes(b"x")
    done = kb("add", ".", code=3)
    assert done.out == "added 1, unchanged 3\n"
    assert done.err == 'warning: skipped "bad\\377.md": its name is not valid Unicode\n'
    answer = kb("add", ".", "--json", code=3).json
    assert answer["skipped"] == [{"path": "bad\\xff.md", "reason": "its name is not valid Unicode"}]


def test_links_sockets_and_knowledge_bases_on_the_way_are_counted(kb: Cli) -> None:
    for name in ("one", "two", "three", "four"):
        (kb.folder / f"link-{name}").symlink_to("notes/merkle.md")
    with socket.socket(socket.AF_UNIX) as listener:
        here = os.open(kb.folder, os.O_RDONLY)  # a socket's path must be short
        listener.bind(f"/proc/self/fd/{here}/socket")
        os.close(here)
    Cli(kb.folder / "inner").write("x.md", "x\n")
    kb("init", "inner")
    done = kb("add", ".")
    assert done.out == "unchanged 3\n"
    assert done.err.splitlines() == [
        "left out 4 symbolic links: link-four, link-one, link-three and 1 more",
        "left out 1 thing that is no file: socket",
        "left out 1 knowledge base inside this one: inner/",
    ]


@pytest.mark.parametrize("name", ["link", "inner"])
def test_a_link_or_knowledge_base_that_was_asked_for_is_an_error(name: str, kb: Cli) -> None:
    (kb.folder / "link").symlink_to("notes/merkle.md")
    kb("init", "inner")
    done = kb("add", name, code=3)
    assert done.err.startswith(f"warning: skipped {name}")


def test_a_file_over_the_limit_is_skipped_until_forced(kb: Cli) -> None:
    kb.write("arbor.toml", '[add]\nmax_file_size = "1K"\n')
    kb.write("big.md", "words " * 1000)
    done = kb("add", "big.md", code=3)
    assert "skipped big.md: it has 6,000 bytes, over the limit of 1,024" in done.err
    assert kb("add", "-f", "big.md").out == "added 1\n"


def test_commit_a_that_comes_to_nothing_stages_nothing(kb: Cli) -> None:
    kb.write("notes/merkle.md", "# One\n")
    kb("add", "notes/merkle.md")
    kb.write("notes/merkle.md", "# Two\n")
    (kb.folder / "notes/proofs.md").unlink()
    before = kb("status", "--porcelain").out
    hook = kb.folder / ".arbor/hooks/pre-commit"
    hook.parent.mkdir(exist_ok=True)
    for script in ("arbor status --porcelain >seen\nexit 1\n", "exit 0\n"):
        hook.write_text(f"#!/bin/sh\n{script}")
        hook.chmod(0o755)
        assert kb.run("commit", "-a", "-m", " ").code
        assert kb("status", "--porcelain").out.replace("?? seen\n", "") == before
    assert kb("cat", "notes/merkle.md").out == "# One\n"
    kb("commit", "-a", "-m", "all")
    assert kb("cat", "notes/merkle.md").out == "# Two\n"


def test_ignored_files(kb: Cli) -> None:
    kb.write(".arborignore", "private/\n")
    kb.write("private/a.md", "# Private\n")
    assert "private" not in kb("add", ".", "-v").out
    done = kb("add", "private/a.md", code=2)
    assert done.err.splitlines() == ["error: 'private/a.md' is ignored", "hint: add it all the same with -f"]
    assert kb("add", "-f", "private/a.md").out == "added 1\n"


def test_update_takes_removals_and_nothing_new(kb: Cli) -> None:
    (kb.folder / "notes/proofs.md").unlink()
    kb.write("new.md", "new\n")
    kb.write("notes/merkle.md", "changed\n")
    assert kb("add", "-u", "-v").out.splitlines() == [
        "modified  notes/merkle.md", "removed  notes/proofs.md", "modified 1, removed 1, unchanged 1"
    ]  # fmt: skip


def test_patterns_and_folders_are_taken_from_here(kb: Cli) -> None:
    kb.write("notes/a.txt", "a\n")
    kb.write("notes/b.md", "b\n")
    notes = inside(kb, "notes")
    assert notes("add", "-n", "*.md").out.splitlines()[0] == "add  b.md"
    assert notes("add", "*.txt").out == "added 1\n"
    assert notes("add", "..").out == "added 1, unchanged 4\n"
    kb.write("top.md", "top\n")
    assert notes("add", ".").out == "unchanged 4\n"
    assert notes("add", "-A").out == "added 1, unchanged 5\n"


def test_what_an_add_would_leave_unheard_is_refused(kb: Cli) -> None:
    kb.write("feed.txt", "https://example.org/a\n")
    for words, said in (
        (("-", "--as", "x.md", "-n"), "goes without -n"),
        (("--private", "."), "about addresses"),
        (("-", "--as", "x.md", "--no-robots"), "about addresses"),
        (("https://example.org/a", "--source-uri", "https://example.org/b"), "belongs to -"),
        (("--okf", "notes", "--source-uri", "https://example.org/b"), "belongs to -"),
        (("--feed", "feed.txt", "--as", "x.md"), "goes with one source"),
    ):
        assert said in kb("add", *words, stdin=b"x\n", code=2).err
    assert kb("status", "-s").out == "?? feed.txt\n"


def test_standard_input_replaces_only_by_force(kb: Cli) -> None:
    done = kb("add", "-", "--as", "notes/merkle.md", stdin=b"other\n", code=2)
    assert "'notes/merkle.md' exists and holds something else" in done.err
    assert kb("add", "-f", "-", "--as", "notes/merkle.md", stdin=b"other\n").out == "modified 1\n"
    kb("add", "-", ".", code=2)
    kb("add", "-", code=2)
    assert kb("add", "-", "--as", "../outside.md", stdin=b"x", code=2).err.startswith("error: ")
    assert not (kb.folder.parent / "outside.md").exists()


def test_the_source_of_a_clip_is_kept(kb: Cli) -> None:
    kb("add", "-", "--as", "clip.md", "--source-uri", "https://example.org/a", stdin=b"# Clip\n")
    kb("commit", "-m", "clip")
    assert kb("show", "clip.md", "--json").json["document"]["source_uri"] == "https://example.org/a"


@pytest.mark.parametrize(
    "words",
    [
        ("add", ""), ("rm", "-r", "-f", ""), ("restore", ""), ("evict", ""), ("mv", "notes", ""), ("ls", ""),
        ("diff", "--", ""), ("log", "--", ""), ("log", ""), ("show", ""), ("search", "proof", "--at", ""),
        ("reset", ""), ("init", ""), ("clone", ".", ""), ("evict", ".", "--from", ""), ("bundle", "create", ""),
    ],
)  # fmt: skip
def test_an_empty_word_is_a_mistake_and_not_everything(kb: Cli, words: tuple[str, ...]) -> None:
    kb.write("notes/proofs.md", "a draft\n")
    assert "is empty" in kb(*words, code=2).err
    assert (kb.folder / "notes/proofs.md").read_text() == "a draft\n"
    assert kb("status", "-s").out == " M notes/proofs.md\n"


# --- history


def test_the_log_is_chosen_by_time_author_message_and_glob(kb: Cli) -> None:
    kb.write("notes/late.md", "# Late\n")
    kb("add", ".")
    kb("commit", "-m", "a late [note]", "--author", "Grace <grace@example.org>")
    times = [info.commit_time for info in open_kb(kb.folder).log()]
    assert len(times) == 2

    def subjects(*words: str) -> list[str]:
        return [commit["subject"] for commit in kb("log", "--json", *words).json["commits"]]

    everything = subjects()
    assert subjects("--author", "grace@") == subjects("--grep", r"^a late \[") == ["a late [note]"]
    assert subjects("--author", "nobody") == []
    assert subjects("--author", "grace", "-1", "--since", "1971-01-01") == ["a late [note]"]
    day = time.strftime("%Y-%m-%d", time.gmtime(times[0]))
    assert subjects("--until", day) == subjects("--since", day) == everything
    assert subjects("--until", "1971-01-01") == []
    assert subjects("--since", "2999-01-01") == []
    assert subjects("--", "notes/l*.md") == ["a late [note]"]
    assert subjects("--", "*.md") == everything
    assert subjects("--", "*.nothing") == []
    assert "is not a regular expression" in kb("log", "--grep", "(", code=2).err
    assert "is not a date" in kb("log", "--since", "soon", code=2).err
    kb("log", "--graph", "--author", "x", code=2)


def test_the_log_takes_any_number_of_commits(kb: Cli) -> None:
    assert kb("log", f"-{10**30}").out == kb("log").out


def test_the_log_follows_a_document_and_finds_when_a_text_came(kb: Cli) -> None:
    kb.write("notes/late.md", "# Late\n\nIt is getting dark.\nNobody is here any more.\n")
    kb.commit("late")
    kb("mv", "notes/late.md", "early.md")
    kb.commit("renamed")
    kb.write("early.md", "# Late\n\nIt is getting light.\nNobody is here any more.\n")
    kb.commit("light")

    def subjects(*words: str) -> list[str]:
        return [commit["subject"] for commit in kb("log", "--json", *words).json["commits"]]

    assert subjects("--follow", "--", "early.md") == ["light", "renamed", "late"]
    assert subjects("--reverse", "--follow", "-2", "--", "early.md") == ["renamed", "light"]
    assert subjects("-S", "getting dark") == ["light", "late"]
    assert subjects("-Sgetting dark", "--follow", "early.md") == ["light", "late"]
    assert subjects("-S", "getting dark", "--", "notes") == ["renamed", "late"]
    assert "R100\tnotes/late.md\tearly.md" in kb("log", "--follow", "--name-status", "early.md").out
    commit = kb("log", "--json", "--follow", "--", "early.md").json["commits"][1]
    assert commit["followed"] == ["early.md", "notes/late.md"]
    assert "no commit of this history is like that" in kb("log", "-S", "never").err
    assert "no text" in kb("log", "-S", "", code=2).err
    kb("log", "--reverse", "--graph", code=2)


def test_names_alone_and_all_branches_as_in_git(kb: Cli) -> None:
    kb("switch", "-c", "side")
    kb.write("notes/late.md", "# Late\n")
    kb.commit("late")
    kb("switch", "main")
    assert kb("branch", "--show-current").out == "main\n"
    assert kb("diff", "main..side", "--name-only").out == "notes/late.md\n"
    assert kb("log", "side", "-1", "--oneline", "--name-only").out.endswith(" late\n  notes/late.md\n")
    assert kb("show", "side", "--name-only").out.endswith("\n\nnotes/late.md\n")
    assert kb("log", "--all", "--json").json["commits"][0]["subject"] == "late"
    assert "late" not in kb("log", "--oneline").out
    kb.write("notes/early.md", "# Early\n")
    kb("add", ".")
    before = kb("log", "--json", "-1").json["commits"][0]["subject"]
    kb("commit", "--amend", "--no-edit", env={"ARBOR_EDITOR": "false"})
    assert kb("log", "--json", "-1").json["commits"][0]["subject"] == before
    kb("commit", "--amend", "--no-edit", "-m", "x", code=2)


def test_the_status_of_some_paths(kb: Cli) -> None:
    kb.write("notes/merkle.md", "changed\n")
    kb("mv", "notes/proofs.md", "proofs.md")
    kb.write("new/in/it.md", "new\n")
    assert kb("status", "-s", "notes").out == " M notes/merkle.md\nR  notes/proofs.md -> proofs.md\n"
    assert kb("status", "-s", "proofs.md").out == "R  notes/proofs.md -> proofs.md\n"
    assert kb("status", "-s", "new/in").out == kb("status", "-s", "new").out == "?? new/\n"
    assert kb("status", "-s", "*.md", ".").out == kb("status", "-s").out
    assert kb("status", "--porcelain", "-z", "notes/m*").out == " M notes/merkle.md\0"
    assert kb("status", "zh").out.endswith("\nNothing differs there.\n")


def test_a_file_that_is_tracked_no_more_has_two_lines(kb: Cli) -> None:
    """As in git: its deletion is staged, and the file is there, untracked."""
    kb("rm", "--cached", "notes/merkle.md")
    kb.write("notes/proofs.md", "changed\n")
    listed = "D  notes/merkle.md\n M notes/proofs.md\n?? notes/merkle.md\n"
    assert kb("status", "-s").out == kb("status", "--porcelain").out == listed
    assert kb("status", "--porcelain", "-z", "notes/m*").out == "D  notes/merkle.md\0?? notes/merkle.md\0"


def test_documents_are_listed_by_pattern(kb: Cli) -> None:
    assert kb("ls", "notes/*.md", "zh").out.split() == kb("ls", "notes", "zh").out.split()
    assert kb("ls", "*proofs.md").out == "notes/proofs.md\n"
    assert "no document at or below 'q*'" in kb("ls", "q*", code=2).err


def test_the_log_with_patches_shows_the_documents_that_were_asked_for(kb: Cli) -> None:
    kb.write("notes/late.md", "# Late\n")
    kb.write("other.md", "# Other\n")
    kb.commit("two notes")
    out = kb("log", "-p", "-1").out
    assert "+# Late" in out
    assert "+# Other" in out
    out = kb("log", "-p", "-1", "--", "notes/late.md").out
    assert "+# Late" in out
    assert "+# Other" not in out
    assert kb("log", "--name-status", "--oneline", "-1", "--", "other.md").out.endswith("  A\tother.md\n")
    [change] = kb("log", "-p", "--json", "-1", "--", "other.md").json["commits"][0]["changes"]
    assert change["diff"][-1] == "+# Other"


def test_branches_are_named_and_gone_to_as_in_git(kb: Cli) -> None:
    kb("branch", "-m", "main", "trunk")
    assert kb("branch").out == "* trunk\n"
    kb("branch", "trunk", "-m", "main")
    kb.write("more.md", "# More\n")
    kb.commit("more")
    kb("switch", "-c", "side", "HEAD~1")
    assert not (kb.folder / "more.md").exists()
    assert kb("switch", "-").out == "on branch main\n"
    assert kb("switch", "-").out == "on branch side\n"
    detached = kb("switch", "--detach", "main").out
    kb("switch", "main")
    assert kb("switch", "-").out == detached
    kb("switch", "side")
    assert "arbor switch -c BRANCH REV" in kb("switch", "main", "HEAD", code=2).err
    assert "arbor switch --detach main~1" in kb("switch", "main~1", code=2).err
    assert "is not a name" in kb("switch", "a..b", code=2).err


def test_commit_a_takes_no_conflict_markers(kb: Cli) -> None:
    kb("switch", "-c", "side")
    kb.write("notes/merkle.md", "theirs\n")
    kb.commit("theirs")
    kb("switch", "main")
    kb.write("notes/merkle.md", "ours\n")
    kb.commit("ours")
    kb("merge", "side", code=13)
    assert "'notes/merkle.md' still holds conflict markers" in kb("commit", "-am", "both", code=13).err
    assert kb("status", "--porcelain").out == "UU notes/merkle.md\n"
    kb.write("notes/merkle.md", "both\n")
    kb("commit", "-am", "both")
    assert kb("status", "--porcelain").out == ""


def test_words_that_mean_something_else_are_told_what(kb: Cli) -> None:
    assert "run: arbor ls notes" in kb("cat", "notes", code=2).err
    assert "staged so already" in kb("reset", "notes/merkle.md").err
    assert "revision 'nowhere' not found" in kb("reset", "nowhere", code=2).err
    kb("tag", "v1")
    kb("tag", "w1")
    assert [line.split()[0] for line in kb("tag", "-l").out.splitlines()] == ["v1", "w1"]
    assert [line.split()[0] for line in kb("tag", "-l", "v*").out.splitlines()] == ["v1"]
    for line in inside(kb, "notes")("ls", ".").out.splitlines():
        inside(kb, "notes")("cat", line)


def test_restore_names_what_it_changed(kb: Cli) -> None:
    assert kb("restore", ".").err == "there is nothing to restore\n"
    kb.write("notes/merkle.md", "changed\n")
    assert kb("restore", ".").out == "restored notes/merkle.md\n"
    kb.write("notes/merkle.md", "changed\n")
    kb("add", ".")
    assert kb("restore", "-S", ".").out == "unstaged notes/merkle.md\n"
    assert kb("restore", "-S", ".").out == ""


# --- where a command works


def test_paths_are_shown_and_taken_from_the_folder_that_one_is_in(kb: Cli) -> None:
    kb.write("notes/merkle.md", "changed\n")
    kb.write("top.md", "top\n")
    notes = inside(kb, "notes")
    shown = notes("status").out
    assert "  modified  merkle.md\n" in shown
    assert "  ../top.md\n" in shown
    assert notes("status", "--porcelain").out == " M notes/merkle.md\n?? top.md\n"
    assert notes("search", "inclusion").out.startswith("1. proofs.md:")
    assert notes("cat", "../zh/默克尔.md").out.startswith("# 默克尔树")
    assert notes("log", "--oneline", "--", "merkle.md").out.count("\n") == 1
    assert notes("diff", "--name-status", ".").out == "M\tnotes/merkle.md\n"
    assert notes("show", "HEAD:notes/proofs.md").out == notes("show", "HEAD:./proofs.md").out


def test_a_bare_knowledge_base_can_be_read(kb: Cli, tmp_path: Path) -> None:
    bare = Cli(tmp_path / "bare")
    Cli(tmp_path)("init", "--bare", "bare", "-b", "trunk")
    for folder in ("packs", "refs", "logs"):
        for source in (kb.folder / ".arbor" / folder).rglob("*"):
            target = bare.folder / folder / source.relative_to(kb.folder / ".arbor" / folder)
            target.mkdir(parents=True, exist_ok=True) if source.is_dir() else target.write_bytes(
                source.read_bytes()
            )
    head = kb("log", "--json").json["commits"][0]["commit"]
    assert bare("log", "--oneline", head, "--", "notes/merkle.md").out.count("\n") == 1
    assert bare("ls", "--at", head).out.count("\n") == 3
    assert bare("cat", f"notes/merkle.md@{head}").out.startswith("# Merkle")
    assert bare("add", ".", code=2).err.startswith("error: this knowledge base is bare")
    assert kb("init", "sub", "-b", "bad..name", code=2).err.startswith("error: ")


# --- documents and revisions


def test_a_path_that_holds_signs_wins(kb: Cli) -> None:
    kb.write("mail@HEAD", "the path\n")
    kb.write("mail", "the other\n")
    kb.write("HEAD:notes.md", "a colon\n")
    kb.commit("odd")
    assert kb("cat", "mail@HEAD").out == "the path\n"
    assert kb("cat", "mail@HEAD@HEAD").out == "the path\n"
    assert kb("cat", "mail@main").out == "the other\n"
    assert kb("cat", "mail@main@{0}").out == "the other\n"
    assert kb("cat", "HEAD:notes.md").out == "a colon\n"


def test_what_is_staged_can_be_read_before_it_is_committed(kb: Cli) -> None:
    kb.write("notes/merkle.md", "staged\n")
    kb("add", ".")
    kb.write("notes/merkle.md", "not staged\n")
    assert kb("cat", "notes/merkle.md").out == "staged\n"
    assert kb("cat", "notes/merkle.md@HEAD").out.startswith("# Merkle")


def test_a_document_named_like_a_branch(kb: Cli) -> None:
    kb.write("main", "a document\n")
    kb.commit("named like a branch")
    assert kb("show", "main").out.startswith("commit ")
    assert kb("show", "./main").out.startswith("main\n")
    assert kb("log", "--oneline", "main").out.count("\n") == 2
    assert kb("log", "--oneline", "--", "main").out.count("\n") == 1


def test_a_path_that_is_gone_needs_dashes(kb: Cli) -> None:
    kb("rm", "notes/proofs.md")
    kb("commit", "-m", "gone")
    done = kb("log", "notes/proofs.md", code=2)
    assert done.err.splitlines()[-1].startswith("hint: ")
    assert kb("log", "--oneline", "--", "notes/proofs.md").out.count("\n") == 2


# --- commit


def test_messages(kb: Cli) -> None:
    kb("commit", "--allow-empty", "-m", "first", "-m", "second")
    assert kb("log", "--json", "-1").json["commits"][0]["message"] == "first\n\nsecond"
    kb.write("message.txt", b"\xef\xbb\xbffrom a file\r\n\r\nbody\r\n")
    kb("commit", "--allow-empty", "-F", "message.txt")
    assert kb("log", "--json", "-1").json["commits"][0]["message"] == "from a file\n\nbody"
    kb("commit", "--allow-empty", "-F", "-", stdin="默克尔\n".encode())
    assert kb("log", "--json", "-1").json["commits"][0]["message"] == "默克尔"
    kb.write("latin.txt", b"caf\xe9\n")
    assert "not UTF-8" in kb("commit", "--allow-empty", "-F", "latin.txt", code=2).err


def test_amending_keeps_message_and_author(kb: Cli) -> None:
    kb("commit", "--allow-empty", "-m", "a message", "--author", "Grace Hopper <grace@example.org>")
    kb.write("new.md", "new\n")
    kb("add", ".")
    kb("commit", "--amend")
    commits = kb("log", "--json").json["commits"]
    assert [commit["subject"] for commit in commits] == ["a message", "First notes"]
    assert commits[0]["author"]["name"] == "Grace Hopper"
    assert commits[0]["committer"]["name"] == "Ada Lovelace"


def test_who_is_at_work(kb: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def author() -> tuple[str, str]:
        kb("commit", "--allow-empty", "-m", "x")
        found = kb("log", "--json", "-1").json["commits"][0]["author"]
        return found["name"], found["email"]

    kb("config", "user.name", "From Settings")
    assert author() == ("Ada Lovelace", "ada@example.org")
    for name in IDENTITY:
        monkeypatch.delenv(name)
    monkeypatch.setenv("LOGNAME", "login")
    assert author()[0] == "From Settings"
    assert author()[1].startswith("login@")
    kb("config", "--global", "user.email", "global@example.org")
    assert author() == ("From Settings", "global@example.org")
    kb("config", "--unset", "user.name")
    done = kb("commit", "--allow-empty", "-m", "x")
    assert done.err.startswith("hint: say who you are; run: arbor config --global user.name")
    assert author() == ("login", "global@example.org")


def test_authors() -> None:
    assert parse_author("Ada Lovelace <ada@example.org>") == ("Ada Lovelace", "ada@example.org")
    assert parse_author(" 小明 <> ") == ("小明", "")
    for wrong in ("Ada", "<ada@example.org>", "Ada <a b>", "A <b> c"):
        with pytest.raises(UsageError):
            parse_author(wrong)


@pytest.mark.parametrize("folder", ["", "elsewhere"])
def test_the_users_own_settings_lie_where_the_system_wants_them(
    folder: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("ARBOR_CONFIG", str(tmp_path / "x.toml"))
    assert user_config_path() == tmp_path / "x.toml"
    monkeypatch.delenv("ARBOR_CONFIG")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / folder) if folder else "")
    assert user_config_path() == platformdirs.user_config_path("arbor") / "config.toml"


def test_the_first_setting_of_all_makes_the_folder_for_it(cli: Cli, tmp_path: Path) -> None:
    new = {"ARBOR_CONFIG": str(tmp_path / "home/.config/arbor/config.toml")}
    cli("config", "--global", "--unset", "user.name", env=new)
    unset = cli("config", "--global", "user.name", code=1, env=new).err
    assert "hint: run: arbor config --global user.name VALUE\n" in unset
    cli("config", "--global", "user.name", "Grace", env=new)
    assert cli("config", "--global", "user.name", env=new).out == "Grace\n"


def test_no_index_leaves_it_to_the_next_search(kb: Cli) -> None:
    kb.write("new.md", "# A quince\n")
    kb("add", ".")
    assert kb("commit", "-m", "new", "--no-index", "--json").json["index"] == "skipped"
    assert kb("search", "quince").out.startswith("1. new.md:1")


# --- search


def test_the_shell_takes_quotation_marks_away_and_they_come_back() -> None:
    assert join_query(("merkle", "proof")) == "merkle proof"
    assert join_query(("merkle proof",)) == "merkle proof"
    assert join_query(("\0-old name", "proof")) == '-"old name" proof'
    assert join_query(("\0-“old na*”", "proof")) == "-“old na*” proof"
    assert join_query(("path:my notes/", "proof")) == 'path:"my notes/" proof'
    assert join_query(("\0-path:my notes/", "proof")) == '-path:"my notes/" proof'
    assert join_query(("two words", "proof")) == '"two words" proof'
    assert join_query(('a "b c"', "proof")) == 'a "b c" proof'


@pytest.mark.parametrize(
    "words",
    [
        ("leaf", "-parent"),
        ("-parent", "leaf"),
        ("leaf", "-n5", "-parent"),
        ("leaf", "-5", "-parent"),
        ("leaf", "-parent", "-n", "5"),
        ("leaf -parent",),
        ("--", "leaf", "-parent"),
        ("leaf", "-then its parent"),
    ],
)
def test_a_minus_leaves_documents_out(words: tuple[str, ...], kb: Cli) -> None:
    paths = [hit["path"] for hit in kb("search", "--json", *words).json["hits"]]
    assert paths == ["notes/proofs.md"]


def test_options_after_the_words_are_options(kb: Cli) -> None:
    assert kb("search", "leaf", "-n", "1", "--mode", "visual", "--json").json["mode"] == "VISUAL"
    assert len(kb("search", "leaf", "-1", "--json").json["hits"]) == 1
    assert kb("search", "leaf", "--nope", code=2).err.startswith("error: no such option '--nope'")


def test_a_heading_is_shown_once_and_without_its_name(kb: Cli) -> None:
    kb.write("named.md", "# Quinces {#quinces-api}\n\nThey are hard. ## Closed ##\n")
    kb.commit("named")
    lines = [line.strip() for line in kb("search", "quinces").out.splitlines()]
    assert lines[1:3] == ["Quinces", "They are hard. ## Closed ##"]


def test_where_damage_keeps_every_hit_back_the_search_has_failed(
    kb: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    kb("search", "leaf")
    real, documents = ObjectStore.get, {bytes.fromhex(hit["document"]) for hit in found(kb, "leaf")}

    def get(store: ObjectStore, oid: bytes) -> tuple[int, bytes]:
        if oid in documents:
            raise IntegrityError("it is damaged")
        return real(store, oid)

    monkeypatch.setattr(ObjectStore, "get", get)
    done = kb("search", "leaf", code=12)
    assert "no match" in done.err
    assert done.err.endswith("hint: run: arbor verify\n")
    assert kb("search", "leaf", "--json", code=12).json["hits"] == []
    assert kb("search", "leaf", "--mode", "VISUAL").err.endswith("hint: run: arbor verify\n")


def found(kb: Cli, *words: str) -> list[dict[str, Any]]:
    """The hits of a search."""
    hits: list[dict[str, Any]] = kb("search", "--json", *words).json["hits"]
    return hits


def test_visual_looks_at_the_working_copy(kb: Cli) -> None:
    kb("commit", "-m", "again", "--allow-empty")
    kb.write("draft.md", "# A durian\n")

    def found(*options: str) -> list[str]:
        return [hit["path"] for hit in kb("search", "durian", "--json", *options).json["hits"]]

    assert found() == found("--mode", "HYBRID") == found("--mode", "STRICT") == []
    assert found("--mode", "VISUAL") == found("-w") == found("-w", "--mode", "visual") == ["draft.md"]
    assert found("--mode", "VISUAL", "--no-working-copy") == found("--no-working-copy") == []
    assert found("--mode", "VISUAL", "--at", "HEAD~1") == []
    assert found("--mode", "VISUAL", "rev:HEAD") == ["draft.md"]
    assert "never STRICT" in kb("search", "-w", "--mode", "STRICT", "durian", code=2).err


def test_passages_are_quoted_or_named(kb: Cli) -> None:
    kb.write(
        "long.md",
        "# Long\n\n" + "".join(f"## Part {n}\n\n{'quince and more words here. ' * 60}\n\n" for n in range(4)),
    )
    kb.commit("long")
    one, three = kb("search", "quince").out, kb("search", "quince", "--passages", "3").out
    assert "also at lines " in one
    assert "also at" not in three
    assert three.count("\n   :") == 2


def test_a_hit_in_chinese_fits_the_line(kb: Cli) -> None:
    kb.write(
        "zh/长.md", "# 很长的标题\n\n" + "默克尔树把数据块的散列组织成一棵树，树根可以验证每一个数据块。" * 8
    )
    kb.commit("long")
    for line in kb("search", "验证").out.splitlines():
        assert sum(2 if ord(char) > 0x1100 and char not in "…›" else 1 for char in line) <= 80


# --- links, ls, restore, completion


def test_lists_of_nothing(kb: Cli) -> None:
    assert kb("links", "zh/默克尔.md").out == ""
    assert kb("diff").out == ""
    assert kb("ls", "zh").out == "zh/默克尔.md\n"
    assert kb("ls", "--at", "HEAD~1", code=2).err.startswith(
        "error: 'HEAD~1' goes back beyond the first commit"
    )


def test_many_paths_are_summed_up(kb: Cli) -> None:
    for number in range(12):
        kb.write(f"many/{number}.md", f"# {number}\n")
    kb.commit("many")
    assert kb("mv", "many", "more").out == "renamed 12 documents\n"
    assert kb("restore", "--staged", "more", "many").out == "unstaged 24 documents\n"
    kb("add", "-A")
    assert kb("rm", "-r", "-f", "more").out == "removed 12 documents\n"
    assert kb("rm", "-r", "notes", "-n").out == "would remove notes/merkle.md\nwould remove notes/proofs.md\n"
    assert kb("rm", "--cached", "notes/merkle.md").out == "stopped tracking notes/merkle.md\n"
    assert (kb.folder / "notes/merkle.md").exists()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(shell: str, cli: Cli) -> None:
    script = cli("completion", shell).out
    assert "_ARBOR_COMPLETE" in script
    assert cli("completion", env={"SHELL": f"/usr/bin/{shell}"}).out == script
    answer = cli("completion", shell, "--json").json
    assert answer == {"schema": "arbor.completion/1", "shell": shell, "script": script}


def test_completion_needs_a_shell(cli: Cli) -> None:
    assert cli("completion", env={"SHELL": "/bin/dash"}, code=2).err.startswith("error: which shell")


def test_a_setting_leaves_the_index_to_the_next_search(kb: Cli) -> None:
    kb("config", "core.index", "false")
    assert kb("commit", "--allow-empty", "-m", "x", "--json").json["index"] == "skipped"
    kb("config", "core.index", "true")
    assert kb("commit", "--allow-empty", "-m", "x", "--json").json["index"] != "skipped"


def test_quiet_commands_say_nothing_but_what_is_wrong(kb: Cli) -> None:
    kb.write("a.md", "# A\n")
    for line in (
        "add -q .",
        "commit -q -m one",
        "rm -q a.md",
        "commit -q -m two",
        "switch -q -c other",
        "gc -q",
    ):
        outcome = kb(*line.split())
        assert (outcome.out, outcome.err) == ("", "")
    assert "hint:" in kb("add", "-q", "nowhere.md", code=2).err
    assert kb("commit", "-q", "--allow-empty", "-m", "two", "--json").json["subject"] == "two"


# --- search


def test_contested_is_shown_beside_the_label(kb: Cli) -> None:
    kb.write("tides.md", "# Tides\n\nThe moon pulls the sea.\n")
    kb.write("denial.md", "---\nrefutes: tides.md\n---\n# Denial\n\nNo moon pulls anything.\n")
    kb("add", ".")
    kb("commit", "-m", "a quarrel")
    assert "EXTENDED CONTESTED" in kb("search", "moon").out
    assert [hit["contested"] for hit in kb("search", "moon", "--json").json["hits"]] == [True, True]
    assert [hit["contested"] for hit in kb("search", "merkle", "--json").json["hits"]] == [False]
    assert "denial.md" in kb("search", "moon", "label:contested").out
    assert kb("search", "merkle", "label:contested").out == ""
    listed = kb("consensus", "--label", "contested").out
    assert listed.splitlines() == ["EXTENDED CONTESTED   1  denial.md", "EXTENDED CONTESTED   1  tides.md"]
    assert len(kb("consensus", "--label", "CONTESTED", "--json").json["documents"]) == 2


# --- branches, tags and resets as in git


def branches_of(kb: Cli) -> list[str]:
    return [branch["name"] for branch in kb("branch", "--json").json["branches"]]


def test_a_rename_goes_from_the_old_name_to_the_new_one(kb: Cli) -> None:
    kb("branch", "a")
    kb("branch", "b", "HEAD")
    assert "branch 'b' exists already" in kb("branch", "-m", "a", "b", code=2).err
    assert branches_of(kb) == ["a", "b", "main"]
    kb("branch", "-m", "a", "c")
    kb("branch", "b", "-m", "d")
    kb("branch", "-m", "trunk")
    assert branches_of(kb) == ["c", "d", "trunk"]
    kb("branch", "-f", "-m", "c", "d")
    assert branches_of(kb) == ["d", "trunk"]
    assert "no branch 'gone'" in kb("branch", "-m", "gone", "d", code=2).err
    assert "too many names" in kb("branch", "one", "HEAD", "two", code=2).err


def test_every_name_is_removed(kb: Cli) -> None:
    for name in ("a", "b", "c"):
        kb("tag", name)
        kb("branch", name)
    assert kb("tag", "-d", "a", "b").out.count("removed tag") == 2
    assert [tag["name"] for tag in kb("tag", "--json").json["tags"]] == ["c"]
    assert kb("branch", "-d", "a", "b").out.count("removed branch") == 2
    assert branches_of(kb) == ["c", "main"]
    kb("switch", "c")
    kb("switch", "-")
    assert "removed branch c (" in kb("branch", "-d", "@{-1}").out
    assert "too many names" in kb("tag", "x", "HEAD", "y", code=2).err


def test_a_branch_can_be_begun_before_the_first_commit(cli: Cli) -> None:
    cli("init", ".")
    cli.write("a.md", "a\n")
    cli("add", ".")
    assert cli("switch", "-c", "ideas").out == "on branch ideas\n"
    cli("commit", "-m", "first")
    assert branches_of(cli) == ["ideas"]
    assert cli("status", "--json").json["clean"]


def test_ways_to_reset_exclude_each_other(kb: Cli) -> None:
    kb.write("notes/merkle.md", "edited\n")
    assert "--soft and --hard exclude each other" in kb("reset", "--hard", "--soft", code=2).err
    assert kb("status", "--json").json["unstaged"]


def test_a_soft_reset_drops_no_revert_and_others_say_so(kb: Cli) -> None:
    for text in ("one\n", "two\n", "three\n"):
        kb.write("notes/merkle.md", text)
        kb("commit", "-a", "-m", text.strip())
    kb("revert", "HEAD~1", code=13)
    assert "a revert is in progress" in kb("reset", "--soft", "HEAD~1", code=13).err
    assert kb("status", "--json").json["unstaged"][0]["status"] == "U"
    assert "the revert in progress is left\n" in kb("reset", "--hard").err
    assert kb("status", "--json").json["clean"]


def test_a_merge_counts_cores_and_says_what_to_type_for_them(kb: Cli) -> None:
    kb("switch", "-c", "side")
    kb("core", "add", "one", "--from", "notes/merkle.md", "--text", "theirs")
    kb("core", "add", "two", "--from", "notes/merkle.md", "--text", "theirs")
    kb("commit", "-m", "cores")
    kb("switch", "main")
    assert "2 cores changed" in kb("merge", "--no-ff", "side").out
    kb("switch", "side")
    kb("core", "add", "one", "--from", "notes/merkle.md", "--text", "there")
    kb("commit", "-m", "there")
    kb("switch", "main")
    kb("core", "add", "one", "--from", "notes/merkle.md", "--text", "here")
    kb("commit", "-m", "here")
    done = kb("merge", "side", code=13)
    assert "conflict: core:one (both changed it)" in done.out
    assert "U" in kb("status", "--short").out
    typed = next(line for line in done.err.splitlines() if "from there" in line).split("from there: ")[1]
    kb(*typed.split()[1:])
    kb("commit")
    assert kb("core", "show", "one", "--json").json["cores"][0]["text"] == "there\n"
    kb("core", "rm", "two")
    kb("commit", "-m", "one less")
    assert "staged, 1 core changed" in kb("revert", "HEAD", "--no-commit").out


def test_a_command_in_the_environment_that_cannot_be_split(kb: Cli) -> None:
    for variable in ("ARBOR_SSH", "ARBOR_REMOTE_COMMAND"):
        done = kb("fetch", "ssh://host/kb", env={variable: "ssh '-o"}, code=2)
        assert done.err.startswith(f"error: {variable} cannot be split into words")


def test_a_path_that_is_gone_is_asked_for_after_dashes(kb: Cli) -> None:
    kb("rm", "notes/proofs.md")
    kb("commit", "-m", "gone")
    for words in (
        ("log", "notes/proofs.md"),
        ("log", "--follow", "notes/proofs.md"),
        ("diff", "notes/proofs.md"),
    ):
        told = kb(*words, code=2).err
        assert "'notes/proofs.md' is neither a revision nor a path" in told
        assert "arbor log -- notes/proofs.md" in told
    assert "did you mean 'main'? a path that is gone goes after --" in kb("log", "main.n", code=2).err
    assert kb("log", "mian", code=2).err.endswith("did you mean 'main'?\n")
    assert "beyond the first commit" in kb("log", "HEAD~9", code=2).err
    assert kb("log", "--follow", "--oneline", "--", "notes/proofs.md").out.count("\n") == 2


def test_no_commit_yet_is_said_of_head_and_not_that_it_is_no_path(cli: Cli) -> None:
    cli("init")
    assert "there is no commit yet" in cli("log", "HEAD", code=2).err


def test_a_forced_switch_names_what_is_lost(kb: Cli) -> None:
    kb.write("more.md", "# More\n")
    kb.commit("more")
    kb("branch", "side", "HEAD~1")
    assert kb("switch", "-f", "side").err == ""
    kb("switch", "-f", "main")
    kb.write("more.md", "# Edited\n")
    kb.write("staged.md", "# Staged\n")
    kb("add", "staged.md")
    assert "lost" not in kb("switch", "-f", "absent", code=2).err
    assert "lost: staged.md, more.md\n" in kb("switch", "-f", "side").err
    assert "discard" in kb("journal").out
    kb("switch", "main")
    kb("revert", "-n", "HEAD")
    assert "the revert in progress is left" in kb("switch", "-f", "side").err


def test_reverts_that_wait_become_one_commit(kb: Cli) -> None:
    for name in ("one", "two", "three"):
        kb.write(f"{name}.md", f"# {name}\n")
        kb.commit(name)
    kb("revert", "-n", "HEAD")
    kb("revert", "-n", "HEAD~2")
    assert kb("status", "-s").out == "D  one.md\nD  three.md\n"
    assert kb("revert", "-n", "HEAD~2").out == "already up to date\n"
    assert "a revert is in progress" in kb("revert", "HEAD~1", code=13).err
    kb("commit", "--no-edit")
    assert kb("log", "--json", "-1").json["commits"][0]["message"].count("This reverts commit") == 2
    kb.write("two.md", "# edited\n")
    refused = kb("revert", "-n", "HEAD~2", code=13).err
    assert "would be overwritten: two.md" in refused
    assert "move them away" in refused, "what is not tracked cannot be restored"
    kb("revert", "-n", "HEAD")
    kb.write("one.md", "# edited\n")
    assert "would be overwritten: one.md" in kb("revert", "-n", "HEAD~3", code=13).err
    assert kb("status", "-s").out == "AM one.md\nA  three.md\n M two.md\n"


def test_what_a_left_revert_does_not_bring_back_is_named(kb: Cli) -> None:
    kb.write("one.md", "# one\n")
    kb.commit("one")
    kb("revert", "-n", "HEAD")
    assert kb("revert", "--abort").err == "the revert is left; everything is as before it\n"
    kb("revert", "-n", "HEAD")
    kb("restore", "-S", "one.md")
    assert "these files differ as they did: one.md\n" in kb("revert", "--abort").err
    assert kb("status", "-s").out == " D one.md\n"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[branch.main]\nupstream = 5\n", "line 2: 'branch.main.upstream' is text in quotation marks, not 5"),
        ('[remote.x]\nfetch = "all"\nurl = 7\n', "line 3: 'remote.x.url' is text in quotation marks, not 7"),
        ("branch = 5\n", "line 1: 'branch' is a table, not 5"),
        ('[remote "x"]\nurl = "y"\n', "(at line 1, column 9)"),
        ('[branch.main]\nupstream = "nowhere"\n', ""),
    ],
)
def test_settings_that_make_no_sense_stop_no_listing(kb: Cli, text: str, told: str) -> None:
    (kb.folder / ".arbor/config.toml").write_text(text)
    kb("branch", "other")
    for words in (["status"], ["status", "-s"], ["branch"]):
        done = kb(*words)
        assert (told in done.err) if told else "warning" not in done.err, words
    assert kb("status", "--json").json["branch"] == "main"
    kb("switch", "other")
    kb("log", "--oneline")
    kb("diff")
    is_gone = kb.run("branch", "-d", "main").code == 0
    assert ("main" in kb("branch").out) != is_gone


def test_a_document_in_conflict_is_not_restored_to_one_side_unasked(kb: Cli) -> None:
    kb("switch", "-c", "side")
    kb.write("notes/merkle.md", "theirs\n")
    kb.commit("theirs")
    kb("switch", "main")
    kb.write("notes/merkle.md", "ours\n")
    kb.commit("ours")
    kb("merge", "side", code=13)
    kb.write("notes/merkle.md", "by hand\n")
    kb.write("notes/proofs.md", "edited\n")
    refused = Cli(kb.folder / "notes")("restore", ".", code=13).err
    assert "is in conflict" in refused
    assert refused.endswith("arbor restore -s HEAD merkle.md\n")
    assert (kb.folder / "notes/proofs.md").read_text() == "edited\n"
    kb("restore", "notes/proofs.md")
    kb("restore", "-s", "side", "notes/merkle.md")
    assert (kb.folder / "notes/merkle.md").read_text() == "theirs\n"
    assert kb("restore", "-S", "notes/merkle.md").out == "unstaged notes/merkle.md\n"
    assert kb("status", "-s").out == " M notes/merkle.md\n"


def test_an_amend_that_leaves_nothing_of_the_commit_is_refused(kb: Cli) -> None:
    kb.write("more.md", "# More\n")
    kb.commit("more")
    kb("rm", "more.md")
    assert "arbor reset HEAD~1" in kb("commit", "--amend", "--no-edit", code=2).err
    kb("commit", "--amend", "--no-edit", "--allow-empty")
    kb("commit", "--amend", "-m", "another message")


def test_branches_are_listed_by_what_leads_where(kb: Cli) -> None:
    kb("branch", "old")
    kb.write("more.md", "# More\n")
    kb.commit("more")

    def listed(*words: str) -> list[str]:
        return [row["name"] for row in kb("branch", "--json", *words).json["branches"]]

    assert listed("--contains", "HEAD") == ["main"]
    assert listed("--contains", "HEAD~1") == listed("--merged") == ["main", "old"]
    assert listed("--merged", "old") == ["old"]
    assert listed("--no-merged", "old") == ["main"]
    assert kb("branch", "-v").out.splitlines()[0].endswith(" more")
    assert listed("--contains", "HEAD~1", "o*") == ["old"]
    assert "arbor branch --help" in kb("branch", "--contains", "HEAD", "-d", "old", code=2).err
    assert "not found" in kb("branch", "--contains", "absent", code=2).err


def test_what_ignore_files_leave_out_can_be_listed(kb: Cli) -> None:
    kb.write(".gitignore", "*.log\nbuild/\n")
    kb.write("notes/a.log", "x")
    kb.write("build/deep/b.md", "x")
    kb.commit("rules")
    assert kb("status", "-s", "--ignored").out == "!! build/\n!! notes/a.log\n"
    assert kb("status", "--ignored", "notes").out.endswith(
        "\nIgnored:\n  notes/a.log\nNothing differs there.\n"
    )
    assert kb("status", "--json").json["ignored"] is None
    assert kb("status", "--json", "--ignored").json["ignored"] == ["build/", "notes/a.log"]


@pytest.mark.parametrize("how", ["merge", "revert"])
def test_a_merge_or_revert_that_waits_for_its_commit_alone_is_told_so(kb: Cli, how: str) -> None:
    kb("switch", "-c", "side")
    kb.write("notes/proofs.md", "# Theirs\n")
    kb.commit("side")
    kb("switch", "main") if how == "merge" else None
    kb.write("notes/proofs.md", "# Ours\n")
    kb.commit("ours")
    kb("merge", "side", code=13) if how == "merge" else kb("revert", "HEAD~1", code=13)
    kb("restore", "-s", "HEAD", "notes/proofs.md")
    kb("add", "notes/proofs.md")
    assert kb("status").err == f"hint: run: arbor commit; or arbor {how} --abort\n"


def test_a_file_where_a_folder_belongs_is_named_before_anything_moves(kb: Cli) -> None:
    kb("switch", "-c", "side")
    kb.write("new/one.md", "# One\n")
    kb.write("notes/proofs.md", "# Theirs\n")
    kb.commit("side")
    kb("switch", "main")
    kb.write("new", "mine\n")
    for command in (["merge", "side"], ["switch", "side"], ["reset", "--hard", "side"]):
        refused = kb(*command, code=13).err
        assert (
            refused == "error: 'new' is a file, and 'new/one.md' needs a folder there\nhint: move it away\n"
        )
    assert "'new' is a file" in kb("restore", "-s", "side", "new/one.md", code=3).err
    assert kb("status", "-s").out == "?? new\n"
    kb.commit("mine is a document now, and goes")
    kb("switch", "side")
    assert (kb.folder / "new/one.md").read_text() == "# One\n"


@pytest.mark.parametrize("how", ["merge", "revert"])
def test_leaving_a_merge_or_revert_overwrites_no_edit(kb: Cli, how: str) -> None:
    kb("switch", "-c", "side")
    kb.write("changed.md", "theirs\n")
    kb("rm", "notes/proofs.md")
    kb.commit("side")
    kb("switch", "main") if how == "merge" else None
    kb("merge", "--no-commit", "--no-ff", "side") if how == "merge" else kb("revert", "-n", "HEAD")
    path = "notes/proofs.md" if how == "merge" else "changed.md"  # what it removed
    other = "changed.md" if how == "merge" else "notes/proofs.md"
    kb.write(path, "written since\n")
    assert f"would be overwritten: {path}\n" in kb(how, "--abort", code=13).err
    assert (kb.folder / path).read_text() == "written since\n"
    (kb.folder / path).unlink()
    kb.write(other, "edited since\n")
    refused = kb(how, "--abort", code=13).err
    assert f"would be overwritten: {other}\n" in refused
    assert "commit" not in refused  # that would end the merge or revert, not leave it
    kb("restore", other)
    kb(how, "--abort")
    assert kb("status", "-s").out == ""


@pytest.mark.parametrize("how", ["merge", "revert"])
def test_a_merge_or_revert_that_finds_the_disk_full_at_its_commit_says_how_to_go_on(
    kb: Cli, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """The same command again, which the hint for a full disk speaks of, is refused while one is in progress."""
    kb("switch", "-q", "-c", "side")
    kb.write("new.md", "new\n")
    kb.commit("there")
    if how == "merge":
        kb("switch", "-q", "main")
        kb.write("mine.md", "mine\n")
        kb.commit("here")
    command = ("merge", "side") if how == "merge" else ("revert", "HEAD")

    def full(path: Path, line: bytes) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as disk:
        disk.setattr(refs, "append_line", full)
        failed = kb(*command, code=3)
        assert "the disk is full" in failed.err
        assert f"arbor {how} --continue" in failed.err
        assert "run the command again" not in failed.err
        assert f"arbor {how} --continue" in kb(how, "--continue", code=3).err
    kb(how, "--continue")
    assert (kb.folder / "new.md").exists() == (how == "merge")
    kb("verify")


def test_a_full_disk_is_called_so_where_the_system_names_no_file() -> None:
    failure = describe_failure(OSError(errno.ENOSPC, "No space left on device"))
    assert failure.message == "the disk is full"
    assert failure.hint.startswith("free some space")
