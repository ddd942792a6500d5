"""Options and words that people type as in git."""

from __future__ import annotations

import sys
import time

import pytest

from arbor.errors import UsageError
from arbor.repo.commits.moments import parse_age, parse_moment
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


def test_one_that_is_left_is_answered_in_json_too(kb: Cli) -> None:
    diverge(kb, "ours\n", "theirs\n")
    kb("merge", "side", code=13)
    answer = kb("merge", "--abort", "--json").json
    assert (answer["kind"], answer["changed"], answer["conflicts"]) == ("left", [], [])
    kb("revert", "HEAD~1", code=13)
    assert kb("revert", "--abort", "--json").json["commit"] == answer["commit"]


def test_a_merge_goes_on_when_its_conflicts_are_resolved(kb: Cli) -> None:
    diverge(kb, "ours\n", "theirs\n")
    assert "no merge in progress" in kb("merge", "--continue", code=2).err
    kb("merge", "side", code=13)
    kb("merge", "--continue", code=13)
    assert "arbor merge --continue" in kb("revert", "--continue", code=2).err
    assert "takes no revision" in kb("merge", "--continue", "side", code=2).err
    assert "takes no revision" in kb("revert", "--abort", "HEAD", code=2).err
    assert "cannot be used together" in kb("merge", "--continue", "--abort", code=2).err
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


@pytest.mark.skipif(not hasattr(time, "tzset"), reason="the system has one time zone")
def test_a_reflog_tells_times_where_they_were_written(kb: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Kolkata")
    time.tzset()
    kb("branch", "side")
    told = kb("reflog", "side", "--json").json["moves"][0]["time"]
    assert told.endswith("+05:30")
    assert f" {told[:16].replace('T', ' ')} " in kb("reflog", "side").out


def test_what_a_branch_follows_is_a_revision(kb: Cli) -> None:
    kb("init", "--bare", "../hub")
    kb("remote", "add", "origin", "../hub")
    assert "branch 'main' follows nothing" in kb("log", "@{u}", code=2).err
    kb("push", "-u", "origin", "main")
    kb.write("notes/new.md", "new\n")
    kb("add", ".")
    kb("commit", "-m", "not pushed")
    for words in ("@{u}..", "@{upstream}..HEAD", "main@{U}..main", "HEAD@{u}.."):
        assert kb("log", "--oneline", words).out.count("not pushed") == 1
    assert kb("log", "-1", "--oneline", "@{u}").out == kb("log", "-1", "--oneline", "origin/main").out
    kb("branch", "side")
    assert "branch 'side' follows nothing" in kb("log", "side@{u}", code=2).err
    kb("switch", "--detach", "HEAD")
    assert "HEAD is detached" in kb("log", "@{u}", code=2).err


def test_the_commit_behind_a_tag_in_gits_words(kb: Cli) -> None:
    kb("tag", "-a", "v1", "-m", "one")
    for words in ("v1^{}", "v1^{commit}", "HEAD^{commit}"):
        assert kb("log", "-1", words).out == kb("log", "-1", "v1").out


def test_a_branch_that_is_not_there_is_told_with_what_may_be_meant(kb: Cli) -> None:
    told = kb("switch", "mian", code=2).err
    assert "did you mean 'main'? make it with: arbor switch -c mian" in told
    for name in ("one", "two"):
        kb("init", "--bare", f"../{name}")
        kb("remote", "add", name, f"../{name}")
        kb("push", name, "main:topic")
        kb("fetch", name)
    assert "choose: arbor switch -c topic one/topic" in kb("switch", "topic", code=2).err
    kb("switch", "-c", "topic", "two/topic")


def test_the_ssh_command_that_git_was_told_of(kb: Cli) -> None:
    say = f"{sys.executable} -c \"import sys; sys.exit('this is the one')\""
    other = f"{sys.executable} -c \"import sys; sys.exit('the other one')\""
    for env in (
        {"GIT_SSH_COMMAND": say},
        {"ARBOR_SSH": say, "GIT_SSH_COMMAND": other},
        {"ARBOR_SSH": "", "GIT_SSH_COMMAND": say, "GIT_SSH": "no-such-program"},
    ):
        assert "this is the one" in kb("fetch", "host:kb", env=env, code=14).err
    told = kb("fetch", "host:kb", env={"GIT_SSH": "no such program"}, code=14).err
    assert "'no such program' cannot be run" in told


def test_an_age_is_read_like_a_date() -> None:
    for text in ("12h", "90d", "2w", "6m", "1y"):
        assert parse_age(text) == 1_000_000_000 - parse_moment(text, 1_000_000_000)
    assert parse_age("0") == 0
    for wrong in ("", "m", "-1d", "90", "1s"):
        with pytest.raises(UsageError):
            parse_age(wrong)


def test_branches_and_tags_are_chosen_by_what_they_hold(kb: Cli) -> None:
    kb("branch", "old")
    kb("tag", "v1")
    kb("switch", "-c", "side")
    kb.write("notes/side.md", "side\n")
    kb("add", ".")
    kb("commit", "-m", "on the side")
    kb("switch", "main")
    kb("tag", "s1", "side")

    def names(*words: str) -> list[str]:
        answer = kb(*words, "--json").json
        return [each["name"] for each in answer.get("branches", answer.get("tags", []))]

    assert names("branch", "--merged") == ["main", "old"]
    assert names("branch", "--no-merged", "main") == ["side"]
    assert names("branch", "--contains", "side") == ["side"]
    assert names("branch", "--list", "o*", "s*") == ["old", "side"]
    assert names("branch", "--merged", "side", "--no-merged", "main") == ["side"]
    assert names("tag", "--points-at") == ["v1"]
    assert names("tag", "--contains", "main") == ["s1", "v1"]
    assert "on the side" in kb("branch", "-vv").out
    assert kb("tag").out == kb("tag", "-l").out == "s1\nv1\n"
    assert "not found" in kb("branch", "--contains", "nope", code=2).err
    assert names("tag", "-l", "v*", "s*") == ["s1", "v1"]
    assert "change none" in kb("branch", "--merged", "-d", "old", code=2).err
    for acts in (["-d"], ["-f"], ["-v"], ["-m", "x"]):
        assert "change none" in kb("tag", "--contains", "main", "v1", *acts, code=2).err
    assert len(names("branch")) == 3
    assert len(names("tag")) == 2


def test_the_log_of_merges_and_what_is_skipped(kb: Cli) -> None:
    diverge(kb, "ours\n", "theirs\n")
    kb("merge", "side", code=13)
    kb.write("notes/proofs.md", "both\n")
    kb("add", ".")
    kb("merge", "--continue")
    whole = kb("log", "--oneline").out.splitlines()
    assert kb("log", "--oneline", "--merges").out.splitlines() == whole[:1]
    assert kb("log", "--oneline", "--no-merges").out.splitlines() == whole[1:]
    assert kb("log", "--oneline", "--skip", "1", "-1").out.splitlines() == whole[1:2]
    assert "no commit of this history is like that" in kb("log", "--skip", "9").err
    assert "--graph draws whole histories" in kb("log", "--graph", "--merges", code=2).err


def test_a_quiet_diff_only_says_whether(kb: Cli) -> None:
    assert kb("diff", "--quiet").out == ""
    kb.write("notes/proofs.md", "other\n")
    assert kb("diff", "-q", code=1).out == ""
    assert kb("diff", "-q", "--json", code=1).json["changes"][0]["added"] is None


def test_words_for_sharing_that_git_users_type(kb: Cli) -> None:
    for name in ("one", "two"):
        kb("init", "--bare", f"../{name}")
        kb("remote", "add", name, f"../{name}")
        kb("push", name, "main")
    assert kb("remote", "get-url", "two").out.endswith("/two\n")
    assert "no remote 'three'" in kb("remote", "get-url", "three", code=2).err
    for name in ("one", "two"):
        Cli(kb.folder.parent)("-C", name, "branch", "topic")
    kb("fetch", "--all", "--tags")
    assert kb("branch", "-r").out.count("topic") == 2
    assert kb("branch", "-r", "-l", "one/*").out.count("topic") == 1
    assert kb("branch", "-a", "-l", "one/*").out.count("topic") == 1
    assert kb("branch", "-a", "-l", "remotes/one/*").out.count("topic") == 1
    assert "takes no name" in kb("fetch", "--all", "one", code=2).err
    assert "about one remote" in kb("fetch", "--all", "--json", code=2).err
    kb("remote", "rm", "two")
    assert kb("remote").out == "one\n"
    kb("bundle", "create", "../all.bundle", "--all")
    assert kb("bundle", "list", "../all.bundle").out.endswith(" main\n")
    assert "takes no names" in kb("bundle", "create", "../x.bundle", "--all", "main", code=2).err
    Cli(kb.folder.parent)("clone", "-n", "all.bundle", "mine")
    assert not (kb.folder.parent / "mine/notes").exists()


def test_a_remote_that_is_gone_keeps_nothing_from_the_others(kb: Cli) -> None:
    kb("init", "--bare", "../here")
    kb("remote", "add", "here", "../here")
    kb("push", "here", "main")
    Cli(kb.folder.parent)("-C", "here", "branch", "topic")
    kb("remote", "add", "gone", "../gone")
    told = kb("fetch", "--all", code=14)
    assert "nothing came from gone: there is no knowledge base" in told.err
    assert "here/topic" in told.out


def test_a_branch_is_called_by_its_name_and_not_by_the_shorthand(kb: Cli) -> None:
    kb("switch", "-c", "side")
    kb("switch", "main")
    kb("branch", "copy", "@{-1}")
    assert kb("reflog", "copy").out.endswith("branch: from side\n")
    kb("switch", "-c", "other", "-")
    assert kb("reflog", "other").out.endswith("branch: from side\n")
    assert "removed branch side" in kb("branch", "-d", "side").out
    assert "removed branch main" in kb("branch", "-d", "@{-1}").out


def test_settings_that_git_calls_otherwise_are_named(kb: Cli) -> None:
    for typed, ours in (
        ("user.signingKey", "sign.key"),
        ("commit.gpgsign", "sign.commits"),
        ("pull.requireSigned", "pull.require_signed"),
        ("sign.allowed-signers", "sign.allowed_signers"),
    ):
        assert f"here it is called {ours}" in kb("config", typed, "true", code=2).err


def test_the_text_of_a_core_comes_as_a_commit_message_does(kb: Cli) -> None:
    kb("core", "add", "typed", "--from", "notes/proofs.md", "-m", "short")
    kb.write("../text.md", "from a file\n")
    kb("core", "add", "read", "--from", "notes/proofs.md", "-F", "../text.md")
    assert kb("core", "show", "read", "--json").json["cores"][0]["text"] == "from a file\n"
    told = kb("core", "add", "both", "--from", "notes/proofs.md", "-m", "x", "-F", "../text.md", code=2).err
    assert "cannot be used together" in told
    (kb.folder.parent / "latin.md").write_bytes("caf\xe9\n".encode("latin-1"))
    told = kb("core", "add", "odd", "--from", "notes/proofs.md", "-F", "../latin.md", code=2).err
    assert "the core's text is not UTF-8" in told


def test_a_feed_comes_from_standard_input_too(kb: Cli) -> None:
    assert kb("add", "--feed", "-", stdin=b"# nothing yet\n").code == 0
    assert "cannot be read" in kb("add", "--feed", "../none.txt", code=2).err
    told = kb("add", "file:///etc/hostname", code=2).err
    assert "is no address that can be added" in told
    assert "beside an address" in kb("add", "notes", "https://example.org/", code=2).err


def test_a_revert_has_no_sides_of_a_merge(kb: Cli) -> None:
    diverge(kb, "ours\n", "theirs\n")
    kb("revert", "--no-commit", "HEAD")
    told = kb("restore", "--theirs", "notes/proofs.md", code=2).err
    assert "a revert is in progress" in told
    assert "-s HEAD" in told


def test_one_side_of_a_conflict_is_taken(kb: Cli) -> None:
    diverge(kb, "ours\n", "theirs\n")
    assert "no merge is in progress" in kb("restore", "--ours", "notes/proofs.md", code=2).err
    assert "no merge is in progress" in kb("log", "MERGE_HEAD", code=2).err
    kb("merge", "side", code=13)
    assert kb("log", "-1", "--oneline", "MERGE_HEAD").out == kb("log", "-1", "--oneline", "side").out
    for side in ("ours", "theirs"):
        kb("restore", f"--{side}", "notes/proofs.md")
        assert (kb.folder / "notes/proofs.md").read_text() == f"{side}\n"
    assert "choose one" in kb("restore", "--ours", "-s", "HEAD", ".", code=2).err
    kb("add", "notes/proofs.md")
    kb("merge", "--continue")
    assert kb("cat", "notes/proofs.md").out == "theirs\n"


def test_a_document_of_a_moment_is_shown(kb: Cli) -> None:
    kb.write("notes/proofs.md", "now\n")
    kb("commit", "-a", "-m", "now")
    when = kb("log", "-1", "--json").json["commits"][0]["committer"]["time"]
    for place in (f"main@{{{when}}}:notes/proofs.md", f"notes/proofs.md@main@{{{when}}}"):
        assert kb("cat", place).out == "now\n"
        assert kb("show", place, "--json").json["document"]["path"] == "notes/proofs.md"
    assert "no document 'none.md' in main@{1}" in kb("show", "main@{1}:none.md", code=2).err
    for command in ("cat", "show"):
        assert "'main' has moved only" in kb(command, "main@{99}:notes/proofs.md", code=2).err


@pytest.mark.parametrize("words", [
    ("show", "HEAD:{}"), ("cat", "HEAD:{}"), ("cat", "{}@HEAD"), ("cat", ":{}"), ("cat", "{}"), ("prove", "{}"),
    ("diff", "HEAD~1:{}", "HEAD:{}"), ("core", "show", "lead/{}"), ("core", "check", "core:lead/{}"),
    ("prove", "core:lead/{}"), ("core", "restore", "lead/{}", "--at", "HEAD"),
])  # fmt: skip
def test_a_name_may_be_typed_in_either_unicode_form(kb: Cli, words: tuple[str, ...]) -> None:
    """As a Mac's file system gives it, too: accents apart."""
    for text in ("# One\n\nalpha\n", "# Two\n\nbeta\n"):
        kb.write("\u00fcb/\u00f1.md", text)
        kb("add", ".")
        kb("distill", "--with", "lead", "\u00fcb/\u00f1.md")
        kb("commit", "-m", "one")
    apart, joined = (
        [word.format(path) for word in words] for path in ("u\u0308b/n\u0303.md", "\u00fcb/\u00f1.md")
    )
    assert kb(*apart).out == kb(*joined).out
    kb("core", "rm", "lead/u\u0308b/n\u0303.md")


def test_what_the_stage_lacks_is_named_so(kb: Cli) -> None:
    assert "there is no document 'none.md' in the stage" in kb("cat", ":none.md", code=2).err
