"""What scripts written for git pass to commit, diff and config, and what its hooks are told."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.harness import Cli
from tests.cli.test_git_spellings import diverge


def test_diff_quiet_answers_by_its_exit_code(kb: Cli) -> None:
    assert kb("diff", "--quiet").out == ""
    kb.write("notes/proofs.md", "changed\n")
    assert kb("diff", "--quiet", code=1).out == ""
    assert kb("diff", "--quiet", "--", "nowhere").out == ""
    changes = kb("diff", "--quiet", "--json", code=1).json["changes"]
    assert [change["path"] for change in changes] == ["notes/proofs.md"]


def test_commit_n_runs_no_hook(kb: Cli) -> None:
    hook = kb.folder / ".arbor/hooks/pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    kb.write("notes/proofs.md", "changed\n")
    kb("commit", "-a", "-m", "held", code=13)
    kb("commit", "-a", "-n", "-m", "not held")


@pytest.mark.parametrize("words", [("--list",), ("-l",), ("list",), ()])
def test_config_lists(kb: Cli, words: tuple[str, ...]) -> None:
    kb("config", "user.name", "Grace")
    assert "user.name = Grace\n" in kb("config", *words).out


def test_config_gets_by_option(kb: Cli) -> None:
    kb("config", "user.name", "Grace")
    assert kb("config", "--get", "user.name").out == "Grace\n"
    kb("config", "--get", code=2)
    kb("config", "--list", "user.name", code=2)
    kb("config", "--unset", "user.name")
    kb("config", "--get", "user.name", code=1)


def test_post_checkout_is_told_both_commits(kb: Cli) -> None:
    hook = kb.folder / ".arbor/hooks/post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text('#!/bin/sh\necho "[$*]"\n')
    hook.chmod(0o755)
    old = kb("log", "-1", "--json").json["commits"][0]["commit"]
    assert f"[{old} {old} 1]" in kb("switch", "-c", "side").err
    kb.write("notes/proofs.md", "changed\n")
    kb("commit", "-a", "-m", "side")
    new = kb("log", "-1", "--json").json["commits"][0]["commit"]
    assert f"[{new} {old} 1]" in kb("switch", "main").err


def test_a_branch_is_made_anew_where_it_is(kb: Cli) -> None:
    kb("branch", "side")
    kb.write("notes/proofs.md", "changed\n")
    kb("commit", "-a", "-m", "second")
    assert "exists already" in kb("switch", "-c", "side", code=2).err
    kb("switch", "-C", "side")
    assert kb("log", "-1", "--oneline", "side").out.endswith("(HEAD -> side, main) second\n")
    kb("switch", "-C", "side", "HEAD~1")
    assert kb("branch", "--show-current").out == "side\n"
    assert kb("log", "--format=%s", "side").out == "First notes\n"
    assert "inclusion proof" in (kb.folder / "notes/proofs.md").read_text()
    assert kb("status", "--short").out == ""
    kb("switch", "-C", "new", "main")
    assert kb("log", "-1", "--format=%s").out == "second\n"
    kb.write("notes/proofs.md", "edited\n")
    assert "would be overwritten" in kb("switch", "-C", "side", "HEAD~1", code=13).err
    assert kb("log", "--format=%s", "side").out == "First notes\n"


def test_where_head_was_before(kb: Cli) -> None:
    assert "no reset or merge yet" in kb("log", "ORIG_HEAD", code=2).err
    diverge(kb, "ours\n", "theirs\n")
    kb("merge", "-X", "ours", "side")
    assert kb("log", "-1", "--format=%s", "ORIG_HEAD").out == "ours\n"
    kb("reset", "--hard", "ORIG_HEAD")
    assert kb("log", "-1", "--format=%s").out == "ours\n"
    assert kb("log", "-1", "--format=%s", "ORIG_HEAD").out == "Merge side\n"
    kb("switch", "side")
    kb("merge", "main", "-X", "theirs")
    kb("reset", "--hard", "ORIG_HEAD^")
    assert kb("log", "-1", "--format=%s", "ORIG_HEAD").out == "Merge main\n"


@pytest.mark.parametrize("side", ["ours", "theirs"])
def test_a_side_is_taken_where_both_changed_the_same(side: str, kb: Cli) -> None:
    kb.write("notes/proofs.md", "".join(f"{number}\n" for number in range(9)))
    kb.write("data.bin", b"\0base")
    kb.commit("base")
    kb("switch", "-c", "side")
    kb.write("notes/proofs.md", "theirs\n" + "".join(f"{number}\n" for number in range(1, 9)) + "end\n")
    kb.write("data.bin", b"\0theirs")
    kb.commit("theirs")
    kb("switch", "main")
    kb.write("notes/proofs.md", "ours\n" + "".join(f"{number}\n" for number in range(1, 9)))
    kb.write("data.bin", b"\0ours")
    kb.commit("ours")
    kb("merge", "-X", side, "side")
    text = (kb.folder / "notes/proofs.md").read_text()
    assert text == f"{side}\n" + "".join(f"{number}\n" for number in range(1, 9)) + "end\n"
    assert (kb.folder / "data.bin").read_bytes() == b"\0" + side.encode()
    assert kb("log", "-1", "--format=%s").out == "Merge side\n"
    assert kb("status", "--short").out == ""
    kb("verify")
    assert "not one of ours, theirs" in kb("merge", "-X", "mine", "side", code=2).err


def test_what_was_removed_is_still_a_conflict(kb: Cli) -> None:
    kb("switch", "-c", "side")
    kb("rm", "notes/proofs.md")
    kb("commit", "-m", "gone")
    kb("switch", "main")
    kb.write("notes/proofs.md", "kept\n")
    kb("commit", "-a", "-m", "kept")
    assert "changed here, deleted there" in kb("merge", "-X", "theirs", "side", code=13).out


def test_several_commits_are_reverted(kb: Cli) -> None:
    for name in ("a", "b", "c"):
        kb.write(f"{name}.md", f"{name}\n")
        kb.commit(name)
    kb("revert", "HEAD~2..HEAD")
    assert kb("log", "--format=%s", "-2").out == 'Revert "b"\nRevert "c"\n'
    kb("reset", "--hard", "HEAD~2")
    kb("revert", "HEAD~2", "HEAD")
    assert kb("log", "--format=%s", "-2").out == 'Revert "c"\nRevert "a"\n'
    kb("reset", "--hard", "HEAD~2")
    kb("revert", "-n", "HEAD~3..")
    assert kb("status", "--short").out == "D  a.md\nD  b.md\nD  c.md\n"
    kb("revert", "--abort")
    assert "one commit" in kb("revert", "HEAD~2..", "--json", code=2).err
    assert "no commit in HEAD..HEAD~1" in kb("revert", "HEAD..HEAD~1", code=2).err
    assert "not found" in kb("revert", "HEAD", "nope", code=2).err
    assert kb("log", "-1", "--format=%s").out == "c\n"


def test_a_conflict_leaves_the_rest_of_the_reverts(kb: Cli) -> None:
    for text in ("one\n", "two\n", "three\n"):
        kb.write("notes/proofs.md", text)
        kb("commit", "-a", "-m", text)
    told = kb("revert", "HEAD~1", "HEAD~2", code=13).err
    assert "then go on with: arbor revert " in told
    left = told.rpartition("arbor revert ")[2].strip()
    assert kb("log", "-1", "--format=%s", left).out == "one\n"


def test_paths_that_match_nothing_may_be_removed(kb: Cli) -> None:
    assert kb("rm", "--ignore-unmatch", "nowhere.md").out == ""
    assert "matches no document" in kb("rm", "nowhere.md", code=2).err
    assert kb("rm", "--ignore-unmatch", "nowhere.md", "notes/proofs.md").out == "removed notes/proofs.md\n"
    assert "is a folder" in kb("rm", "--ignore-unmatch", "notes", code=2).err


def test_a_move_is_told_before_it_is_made(kb: Cli) -> None:
    assert kb("mv", "-n", "notes", "texts").out.count("would rename notes/") == 2
    assert kb("status", "--short").out == ""
    assert "exists already" in kb("mv", "-n", "notes/merkle.md", "notes/proofs.md", code=13).err
    kb("mv", "-v", "notes", "texts")
    assert (kb.folder / "texts/proofs.md").exists()


def test_the_status_of_the_branch_in_one_line(kb: Cli) -> None:
    kb.write("new.md", "new\n")
    assert kb("status", "-sb").out == "## main\n?? new.md\n"
    assert kb("status", "-sb", "-uno").out == "## main\n"
    assert kb("status", "--porcelain", "-b", "-z").raw == b"## main\0?? new.md\0"
    assert kb("status", "-s", "--long").out == kb("status").out
    kb("init", "--bare", "../hub")
    kb("remote", "add", "origin", "../hub")
    kb("push", "-u", "origin", "main")
    assert kb("status", "-sb", "-uno").out == "## main...origin/main\n"
    kb.commit("more")
    assert kb("status", "-sb").out == "## main...origin/main [ahead 1]\n"
    kb("switch", "--detach", "HEAD")
    assert kb("status", "-sb").out == "## HEAD (no branch)\n"


def test_lists_have_an_order(kb: Cli) -> None:
    for name in ("v1.10", "v1.9"):
        kb.write("notes/proofs.md", f"{name}\n")
        kb.commit(name)
        kb("tag", name)
        kb("branch", f"b-{name}")

    def names(*words: str) -> list[str]:
        answer = kb(*words, "--json").json
        return [each["name"] for each in answer.get("branches", answer.get("tags", []))]

    assert names("tag") == ["v1.10", "v1.9"]
    assert names("tag", "--sort", "version") == names("tag", "--sort=v:refname") == ["v1.9", "v1.10"]
    assert names("tag", "--sort=-creatordate", "-l") == ["v1.9", "v1.10"]
    assert names("tag", "--sort=date") == ["v1.10", "v1.9"]
    assert names("tag", "-l", "*10", "*9") == ["v1.10", "v1.9"]
    assert names("branch", "--sort=-refname") == ["main", "b-v1.9", "b-v1.10"]
    assert names("branch", "--sort=committerdate")[0] == "b-v1.10"
    assert "nothing is sorted by 'size'" in kb("tag", "--sort=size", code=2).err
    kb("branch", "-M", "b-v1.9", "b-v1.10")
    assert names("branch") == ["b-v1.10", "main"]


def test_when_a_commit_was_written(kb: Cli) -> None:
    kb.write("notes/proofs.md", "one\n")
    kb("commit", "-a", "-m", "one", "--date", "2020-02-03T04:05:06+01:00")
    assert kb("log", "-1", "--format=%aI %an").out == "2020-02-03T04:05:06+01:00 Ada Lovelace\n"
    assert kb("log", "-1", "--format=%cs").out.startswith("2026-")
    kb("commit", "--amend", "-m", "two", "--author", "Grace <g@example.org>", "--date=2021-01-02 03:04")
    assert kb("log", "-1", "--format=%ai %ae").out == "2021-01-02 03:04:00 +0000 g@example.org\n"
    kb("commit", "--amend", "-m", "three", "--date", "2022-01-02")
    assert kb("log", "-1", "--format=%as %ae").out == "2022-01-02 g@example.org\n"
    assert "is not a date" in kb("commit", "--amend", "-m", "x", "--date", "someday", code=2).err
    assert "before 1970" in kb("commit", "--amend", "-m", "x", "--date", "0001-01-01T00:00+00:00", code=2).err


def test_histories_with_nothing_in_common_are_pulled_when_that_is_asked_for(kb: Cli, tmp_path: Path) -> None:
    other = Cli(tmp_path / "other")
    other.folder.mkdir()
    other("init")
    other.write("theirs.md", "# Theirs\n")
    other("add", ".")
    other("commit", "-m", "theirs")
    kb("pull", str(other.folder), code=2)
    kb("pull", "--allow-unrelated-histories", str(other.folder))
    assert (kb.folder / "theirs.md").read_text() == "# Theirs\n"
    assert (kb.folder / "notes/proofs.md").exists()


def test_several_messages_are_paragraphs(kb: Cli) -> None:
    kb("tag", "-a", "v1", "-m", "first", "-m", "second")
    assert kb("tag", "--json").json["tags"][0]["message"] == "first\n\nsecond"
    diverge(kb, "ours\n", "theirs\n")
    kb("merge", "-X", "ours", "-m", "joined", "-m", "for a reason", "side")
    assert kb("log", "-1", "--format=%B").out == "joined\n\nfor a reason\n\n"


def test_small_words_of_git(kb: Cli) -> None:
    kb("switch", "-d", "HEAD")
    assert kb("branch", "--show-current").out == ""
    kb("switch", "main")
    assert kb("status", "--json").json["top"] == str(kb.folder)
    Cli(kb.folder)("init", "--initial-branch=trunk", "inner")
    assert kb("-C", "inner", "status", "--json").json["branch"] == "trunk"
    there = Cli(kb.folder.parent)
    there("clone", "kb", "copy")
    assert (
        there("-C", "copy", "pull", "--no-rebase", "--no-edit", "--allow-unrelated-histories").out
        == "already up to date\n"
    )


@pytest.mark.parametrize(
    ("name", "told"),
    [("core.editor", "EDITOR"), ("alias.st", "alias st='arbor COMMAND'"), ("init.defaultBranch", "arbor init -b NAME"),
     ("branch.main.merge", "branch.main.upstream"), ("branch.main.remote", "branch.main.upstream"),
     ("core.nope", "the settings of 'core' are"), ("alias", "the settings are")],
)  # fmt: skip
def test_settings_of_git(name: str, told: str, kb: Cli) -> None:
    assert told in kb("config", name, "x", code=2).err


def test_what_is_in_conflict_is_found_and_stays_where_it_is(kb: Cli) -> None:
    diverge(kb, "ours\n", "theirs\n")
    kb("merge", "side", code=13)
    [path] = kb("diff", "--name-only", "--diff-filter=U").out.splitlines()
    assert kb("diff", "--name-status", "--diff-filter=U", "HEAD").out == f"U\t{path}\n"
    assert kb("diff", "--name-only", "--diff-filter=U", "-z", ".").out == f"{path}\0"
    assert kb("diff", "--name-only", "--diff-filter=U", "zh").out == ""
    assert kb("diff", "--name-only", "--diff-filter=U", "--staged").out == ""
    assert kb("diff", "--json", "--diff-filter=U").json["changes"][0]["status"] == "U"
    assert [kb("cat", f":{side}:{path}").out for side in "23"] == ["ours\n", "theirs\n"]
    assert "is in conflict" in kb("mv", path, "elsewhere.md", code=13).err
    kb("restore", "--ours", path)
    assert kb("diff", "--name-only", "--diff-filter=U").out == f"{path}\n"
    kb("add", path)
    assert kb("diff", "--name-only", "--diff-filter=U").out == ""
    assert kb("cat", f":{path}").out == kb("cat", f":0:{path}").out == "ours\n"
    assert kb("-C", "notes", "cat", ":./merkle.md").out == kb("cat", "notes/merkle.md").out


def test_a_push_of_what_is_no_branch(kb: Cli) -> None:
    kb("remote", "add", "origin", "../there")
    assert "hint: did you mean 'main'?" in kb("push", "origin", "mian", code=2).err
    assert "hint: write it as main~0:BRANCH" in kb("push", "origin", "main~0", code=2).err
    there = Cli(kb.folder.parent)
    there("init", "empty")
    there("-C", "empty", "remote", "add", "origin", "../there")
    assert "no commit to push yet" in there("-C", "empty", "push", "-u", "origin", "main", code=2).err


def test_a_list_of_branches_tells_of_a_detached_head(kb: Cli) -> None:
    kb("switch", "-d", "HEAD")
    oid = kb("log", "-1", "--format=%h").out.strip()
    assert kb("branch").out.splitlines() == [f"* (HEAD detached at {oid})", "  main"]
    [here, main] = kb("branch", "-v").out.splitlines()
    assert here.split()[5:] == main.split()[1:]
    assert here.index(oid, len("* (HEAD detached at ") + 1) == main.index(oid)  # one column
    assert "detached" not in kb("branch", "-r").out + kb("branch", "main", "-l").out
    assert kb("branch", "--format=%(refname)").out == "refs/heads/main\n"


def test_a_commit_on_no_branch_is_not_left_in_silence(kb: Cli) -> None:
    kb("switch", "-d", "HEAD")
    assert kb("switch", "main").err == ""
    kb("switch", "-d", "HEAD")
    kb("commit", "--allow-empty", "-m", "on its own")
    oid = kb("log", "-1", "--format=%h").out.strip()
    told = kb("switch", "main").err
    assert f"warning: commit {oid} is on no branch: on its own\n" in told
    assert f"arbor branch NAME {oid}" in told
    kb("switch", "-d", oid)
    assert kb("switch", "-c", "kept").err == kb("switch", "main").err == ""


def test_the_subject_is_the_first_paragraph_everywhere(kb: Cli) -> None:
    kb.write("notes/proofs.md", "changed\n")
    said = kb("commit", "-a", "-m", "one\ntwo\n\nbody").out
    assert " one two\n" in said
    assert kb("log", "-1", "--oneline").out.endswith(" one two\n")
    assert kb("log", "-1", "--format=short").out.endswith("\n\n    one\n    two\n")
    assert kb("branch", "-v").out.endswith(" one two\n")
    assert kb("log", "-1", "--json").json["commits"][0]["subject"] == "one two"
    kb("revert", "HEAD")
    assert kb("log", "-1", "--format=%s").out == 'Revert "one two"\n'
