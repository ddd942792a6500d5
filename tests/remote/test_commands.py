"""The commands for sharing, as they are typed."""

from __future__ import annotations

import json
import socket
import subprocess
from pathlib import Path

import pytest

from arbor.errors import StorageError, UsageError
from arbor.kb import KnowledgeBase
from arbor.remote import remotes
from arbor.remote.exchange import accepting, service
from arbor.remote.fetching import FetchResult
from arbor.repo.repository import Repository
from arbor.store.refs import Refs
from tests.cli.harness import Cli, allow_new_key, command_line, process_environment, run_process

pytestmark = pytest.mark.usefixtures("steady")


@pytest.fixture
def ada(cli: Cli) -> Cli:
    """A KB with two commits, and a bare one beside it that it can push to."""
    cli("init")
    cli.write("notes/one.md", "# One\n\nthe first note\n")
    cli.commit("first")
    cli.write("notes/two.md", "# Two\n\nthe second note\n")
    cli.commit("second")
    cli("init", "--bare", "../bare")
    cli("remote", "add", "origin", "../bare")
    return cli


def other(cli: Cli, name: str) -> Cli:
    return Cli(cli.folder.parent / name)


def test_remotes_are_listed_renamed_and_removed(ada: Cli) -> None:
    bare = str(ada.folder.parent / "bare")
    assert ada("remote").out == "origin\n"
    assert ada("remote", "-v").out == f"origin\t{bare}\n"
    ada("push", "-u", "origin")
    ada("remote", "rename", "origin", "home")
    assert ada("remote", "--json").json["remotes"] == [{"name": "home", "url": bare, "filter": None}]
    assert ada("branch", "-r").out.split()[0] == "home/main"
    names = [branch["name"] for branch in ada("branch", "-a", "--json").json["branches"]]
    assert names == ["main", "remotes/home/main"]
    assert "list branches" in ada("branch", "-r", "-d", "main", code=2).err
    ada("remote", "set-url", "home", "https://secret@kb.example.org/x/")
    assert ada("remote", "-v").out == "home\thttps://kb.example.org/x\n"
    ada("remote", "remove", "home")
    assert ada("remote").out == ""
    assert ada("branch", "-r").out == ""
    assert "no remote" in ada("push", code=2).err
    assert "takes 2 words" in ada("remote", "add", "x", code=2).err
    assert "is not a name for a remote" in ada("remote", "add", "a/b", "x", code=2).err


def test_push_clone_pull_and_fetch(ada: Cli) -> None:
    assert ada("push", "-n").out.startswith(" * new..")
    pushed = ada("push", "-u", "--json").json
    assert [(ref["there"], ref["status"]) for ref in pushed["refs"]] == [("refs/heads/main", "new")]
    assert pushed["objects"] > 5
    assert ada("push").out == "   main is up to date\n"
    bob = other(ada, "bob")
    made = ada("clone", "../bare", "../bob", "--json").json
    assert (made["branch"], made["documents"], made["cold"]) == ("main", 2, 0)
    assert bob("status", "--porcelain").out.strip() == ""
    assert "notes/one.md" in bob("search", "first").out
    ada.write("notes/three.md", "# Three\n")
    ada.commit("third")
    ada("push")
    fetched = bob("fetch", "--json").json
    assert [ref["status"] for ref in fetched["refs"]] == ["forward"]
    pulled = bob("pull", "--json").json
    assert (pulled["kind"], pulled["changed"]) == ("fast-forward", ["notes/three.md"])
    assert bob("pull").out == "already up to date\n"
    assert bob("verify").code == 0


def test_a_push_that_would_lose_commits_is_refused(ada: Cli) -> None:
    ada("push")
    ada("clone", "../bare", "../bob")
    bob = other(ada, "bob")
    bob.write("notes/b.md", "b\n")
    bob.commit("b")
    bob("push")
    ada.write("notes/a.md", "a\n")
    ada.commit("a")
    refused = ada("push", code=13)
    assert "not a fast-forward" in refused.err
    assert "arbor pull" in refused.err
    assert "not a fast-forward" in ada("push", "--json", code=13).json["refs"][0]["reason"]
    assert "last seen" in ada("push", "--force-with-lease", code=13).err
    ada("fetch")
    assert "(forced)" in ada("push", "--force-with-lease", "origin", "main").out
    assert "rolled it back" in bob("fetch", code=14).err
    assert "(forced)" in bob("fetch", "--force").out


def test_a_lease_on_one_branch_is_joined_to_its_option(ada: Cli) -> None:
    ada("push")
    for words in (["--force-with-lease=main", "origin"], ["--force-with-lease", "origin", "main"]):
        ada("commit", "--amend", "-m", " ".join(words))
        assert "(forced)" in ada("push", *words).out
    assert "there is no remote 'main'" in ada("push", "--force-with-lease", "main", code=2).err


def test_a_push_of_no_tags_is_done(ada: Cli) -> None:
    assert ada("push", "--tags").out == "there is nothing to push\n"
    assert ada("push", "--tags", "origin", "--json").json["refs"] == []


def test_a_push_of_what_is_there_tells_where_the_branch_is(ada: Cli) -> None:
    ada("push", "../bare", "main:side")
    assert "origin/side" not in ada("branch", "-r").out
    ada("push", "-n", "origin", "main:side")
    assert "origin/side" not in ada("branch", "-r").out
    assert ada("push", "origin", "main:side").out == "   side is up to date\n"
    assert "origin/side" in ada("branch", "-r").out


def test_tags_and_branches_are_pushed_and_removed(ada: Cli) -> None:
    ada("tag", "v1", "-m", "one")
    ada("branch", "side")
    shown = ada("push", "origin", "--all", "--tags", "--json").json["refs"]
    assert [ref["there"] for ref in shown] == ["refs/heads/main", "refs/heads/side", "refs/tags/v1"]
    ada("push", "origin", "main:copy", "HEAD~1:old")
    ada("push", "origin", "-d", "side", "copy")
    ada("push", "origin", ":old")
    assert "cannot be removed" in ada("push", "origin", "-d", "main", code=13).err
    assert "there is no branch or tag 'nothing'" in ada("push", "origin", "nothing", code=2).err
    bare = other(ada, "bare")
    assert bare("branch").out.split()[1] == "main"
    assert bare("tag").out.split()[0] == "v1"


def test_bundles(ada: Cli) -> None:
    made = ada("bundle", "create", "../kb.bundle", "--json").json
    assert [ref["name"] for ref in made["refs"]] == ["refs/heads/main"]
    assert ada("bundle", "verify", "../kb.bundle").out.startswith("whole: ../kb.bundle")
    outside = Cli(ada.folder.parent)
    assert outside("bundle", "verify", "kb.bundle").out.startswith("whole: kb.bundle")
    assert outside("bundle", "list", "kb.bundle").out.endswith(" main\n")
    (ada.folder.parent / "kb.bundle").rename(ada.folder.parent / "bob.bundle")
    outside("clone", "bob.bundle")
    bob = other(ada, "bob")
    old = ada("log", "-1", "--json").json["commits"][0]["commit"]
    ada.write("notes/new.md", "new\n")
    ada.commit("new")
    more = ada("bundle", "create", "../more.bundle", f"{old}..main", "--json").json
    assert more["prerequisites"] == [old]
    assert bob("pull", "../more.bundle", "main", "--json").json["kind"] == "fast-forward"
    assert "needs commit" in outside("clone", "more.bundle", "x", code=14).err
    assert "empty" in ada("bundle", "create", "../x.bundle", "main..main", code=2).err
    ada.write("broken", b"ARBBNDL1" + b"\xff" * 60)
    assert ada("bundle", "verify", "broken", code=12).err.startswith("error: ")


def test_a_bundle_goes_through_a_pipe(ada: Cli) -> None:
    made = ada("bundle", "create", "../kb.bundle", "HEAD~1..main", "--json").json
    streamed = ada("bundle", "create", "-", "HEAD~1..main")
    assert streamed.raw == (ada.folder.parent / "kb.bundle").read_bytes()
    assert streamed.err.splitlines() == [
        f"wrote {made['objects']} objects to standard output",
        f"needs {made['prerequisites'][0][:12]}",
    ]
    ada.write("../all.bundle", run_process(ada.folder, "bundle", "create", "-").stdout)
    assert ada("bundle", "verify", "../all.bundle").out.startswith("whole: ")
    assert not ada("bundle", "create", "-", "nothing", code=2).raw
    assert "not both" in ada("bundle", "create", "-", "--json", code=2).err
    for action in ("verify", "list"):
        assert "not from a stream" in ada("bundle", action, "-", code=2).err


def test_what_came_last_is_called_fetch_head(ada: Cli) -> None:
    ada("push", "-u", "origin", "main")
    ada("clone", "../bare", "../bob")
    bob = other(ada, "bob")
    assert "nothing has been fetched yet" in bob("log", "FETCH_HEAD", code=2).err
    ada("switch", "-c", "side")
    ada.write("notes/new.md", "# New\n")
    ada.commit("by bundle")
    ada("bundle", "create", "../more.bundle", "main..side")
    assert bob("fetch", "../more.bundle", "side").out.endswith(" side -> FETCH_HEAD\n")
    assert "by bundle" in bob("log", "..FETCH_HEAD", "--oneline").out
    bob("gc")
    assert bob("merge", "FETCH_HEAD", "--json").json["changed"] == ["notes/new.md"]
    ada("push", "origin", "side")
    assert bob("fetch", "--json").json["fetch_head"] == "refs/heads/main"
    assert "second" in bob("log", "FETCH_HEAD", "-1", "--oneline").out
    assert bob("fetch", "origin", "side", "--json").json["fetch_head"] == "refs/heads/side"
    assert bob("diff", "HEAD", "FETCH_HEAD").out == ""
    assert bob("verify").code == 0
    ada("tag", "v1", "main")
    ada("bundle", "create", "../tag.bundle", "main~1..v1")
    assert bob("fetch", "../tag.bundle", "--json").json["fetch_head"] == "refs/tags/v1"
    assert bob("diff", "v1", "FETCH_HEAD").out == ""
    (bob.folder / ".arbor" / "FETCH_HEAD").write_text("x\n")
    assert "FETCH_HEAD is damaged" in bob("log", "FETCH_HEAD", code=12).err
    assert "FETCH_HEAD is damaged" in bob("verify", code=12).out
    assert "arbor fetch" in bob("gc", code=12).err
    bob("fetch")
    bob("verify")
    Refs(bob.folder / ".arbor").set_fetched(b"\x55" * 32)
    assert "555555" in bob("verify", code=12).out


def test_one_ref_that_is_refused_holds_up_no_other_and_none_takes_its_place(ada: Cli) -> None:
    ada("branch", "alpha")
    ada("branch", "topic")
    ada("push", "-u", "origin", "main", "alpha", "topic")
    ada("clone", "../bare", "../bob")
    bob = other(ada, "bob")
    bob("fetch")
    before = bob("log", "-1", "FETCH_HEAD", "--json").json["commits"][0]["commit"]
    ada("push", "origin", "-d", "topic")
    ada("reset", "--hard", "HEAD~1")
    ada.write("notes/new.md", "# New\n")
    ada.commit("another second")
    ada("branch", "zeta")
    ada("push", "-f", "origin", "main", "main:topic/one", "zeta")
    fetched = bob("fetch", "--json", code=14)
    rows = {ref["there"].removeprefix("refs/heads/"): ref["status"] for ref in fetched.json["refs"]}
    assert rows == {"alpha": "same", "main": "rejected", "topic/one": "rejected", "zeta": "new"}
    assert bob("diff", "origin/zeta", "origin/main", "--name-only").out.splitlines() == [
        "notes/new.md",
        "notes/two.md",
    ]
    assert fetched.json["fetch_head"] is None
    assert bob("log", "-1", "FETCH_HEAD", "--json").json["commits"][0]["commit"] == before
    assert bob("fetch", "origin", "main", "zeta", "--json", code=14).json["fetch_head"] is None
    assert bob("fetch", "origin", "zeta", "main", "--json", code=14).json["fetch_head"] == "refs/heads/zeta"
    assert bob("fetch", "-f", "-p", "--json").json["fetch_head"] == "refs/heads/main"


def test_all_that_was_fetched_is_logged_before_the_first_commit(ada: Cli) -> None:
    ada("push")
    ada("init", "../bob")
    bob = other(ada, "bob")
    assert "there is no commit yet" in bob("log", "--all", code=2).err
    bob("remote", "add", "origin", "../bare")
    bob("fetch")
    assert bob("log", "--all", "--oneline").out == bob("log", "origin/main", "--oneline").out
    assert "there is no commit yet" in bob("log", "HEAD", "--all", code=2).err


def test_a_bundle_without_passages_says_so(ada: Cli) -> None:
    ada("push")
    ada("clone", "--cold", "../bare", "../bob")
    bob = other(ada, "bob")
    made = bob("bundle", "create", "../bob.bundle")
    assert "2 documents without passages (cold)" in made.err
    for action in ("verify", "list"):
        assert "2 documents without passages (cold)" in ada("bundle", action, "../bob.bundle").err
        assert ada("bundle", action, "../bob.bundle", "--json").json["cold"] == 2
    assert "cold" not in bob("bundle", "create", "--cold", "../bob.bundle").err


def test_what_is_no_name_is_not_taken_for_one(ada: Cli) -> None:
    for name in ("main~1", "^main", "a...b"):
        assert "there is no branch or tag" in ada("bundle", "create", "../x.bundle", name, code=2).err
    assert "neither a branch nor a tag" in ada("push", "origin", "main:refs/remotes/x/y", code=2).err
    for name in ("", ":", "+", "+:"):
        assert "an empty name" in ada("push", "origin", name, code=2).err


def test_a_bundle_cannot_be_written_into_no_folder(ada: Cli) -> None:
    failed = ada("bundle", "create", "../nowhere/all.bundle", code=3)
    assert failed.err.rstrip().endswith("/nowhere' cannot be used: no such file or directory")


def test_a_push_to_a_branch_that_is_checked_out_says_what_to_do(ada: Cli) -> None:
    ada("clone", ".", "../second")
    second = other(ada, "second")
    second.write("notes/three.md", "# Three\n")
    second.commit("third")
    failed = second("push", code=13)
    assert "it is checked out there" in failed.err
    assert "arbor clone --bare" in failed.err


def test_a_cold_clone_brings_passages_when_told(ada: Cli) -> None:
    ada("push")
    cold = other(ada, "cold")
    made = ada("clone", "--cold", "../bare", "../cold", "--json").json
    assert (made["documents"], made["cold"]) == (0, 2)
    assert cold("status", "--porcelain").out.strip() == ""
    assert len(cold("log", "--oneline").out.splitlines()) == 2
    assert cold("verify").code == 0
    assert "cold" in cold("cat", "--offline", "notes/one.md", code=1).err
    cold("rehydrate", "notes/one.md")
    assert cold("cat", "notes/one.md").out == "# One\n\nthe first note\n"
    part = other(ada, "part")
    ada("clone", "--at", "notes", "../bare", "../part")
    assert (part.folder / "notes/one.md").exists()
    assert "cannot be combined" in ada("clone", "--cold", "--at", "x", "../bare", "../y", code=2).err


def test_addresses_that_lead_nowhere(ada: Cli) -> None:
    for url, code in (("../nothing", 14), ("ssh://-x/kb", 2), ("ftp://x/y", 2), ("http://127.0.0.1:9/", 14)):
        failed = ada("clone", url, "../x", code=code)
        assert failed.err.startswith("error: ")
        assert failed.out == ""
        assert not (ada.folder.parent / "x").exists()
    error = json.loads(ada("clone", "../nothing", "../x", "--json", code=14).err)
    assert error["exit_code"] == 14


def test_serve_says_where_and_ends_when_told(ada: Cli, tmp_path: Path) -> None:
    tokens = tmp_path / "tokens"
    tokens.write_bytes(b"\xef\xbb\xbft0ken\r\nother\r\n")  # as some editors write it
    process = subprocess.Popen(
        command_line("serve", "--port", "0", "--json", "--push-tokens", str(tokens), str(ada.folder.parent / "bare")),
        env=process_environment(tmp_path), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        url = json.loads(process.stdout.readline())["url"]
        assert "not allowed" in ada("push", url, code=14).err
        assert ada.run("push", url, env={"ARBOR_TOKEN": "t0ken"}).code == 0
        assert ada("clone", url, "../web").code == 0
    finally:
        process.terminate()
        process.communicate(timeout=20)


def test_signed_commits(ada: Cli, tmp_path: Path) -> None:
    pytest.importorskip("cryptography")
    keys = tmp_path / "keys"
    keys.mkdir()
    allow_new_key(keys, "ada@example.org")
    assert "no key" in ada("commit", "--allow-empty", "-S", "-m", "x", code=2).err
    ada("config", "sign.key", str(keys / "key"))
    ada("config", "sign.allowed_signers", str(keys / "allowed"))
    ada("config", "sign.commits", "true")
    ada.write("notes/s.md", "signed\n")
    ada.commit("signed")
    assert "good signature by ada@example.org" in ada("log", "--show-signature", "-1").out
    found = ada("verify", "--signatures", "--json", code=1).json["signatures"]
    assert [row["state"] for row in found] == ["good", "none", "none"]
    ada("tag", "v1", "-s", "-m", "one")
    ada("push")
    ada("push", "--tags")
    bob = other(ada, "bob")
    ada("clone", "../bare", "../bob", "--no-index")
    bob("config", "pull.require_signed", "true")
    bob("config", "sign.allowed_signers", str(keys / "allowed"))
    ada.write("notes/t.md", "signed too\n")
    ada.commit("signed too")
    ada("push")
    assert bob("pull", "--json").json["kind"] == "fast-forward"
    ada("commit", "--allow-empty", "--no-sign", "-m", "unsigned")
    ada("push")
    refused = bob("pull", code=12)
    assert "it is not signed" in refused.err


def test_status_says_how_far_a_branch_is_from_what_it_follows(ada: Cli) -> None:
    ada("push", "-q", "-u", "origin", "main")
    assert "It is where origin/main was last seen." in ada("status").out
    for number in range(2):
        ada.write(f"more{number}.md", "# More\n")
        ada("add", "-q", ".")
        ada("commit", "-q", "-m", "more")
    assert "It is 2 commits ahead of origin/main." in ada("status").out
    assert ada("status", "--json").json["upstream"] == {
        "name": "origin/main", "ahead": 2, "behind": 0, "gone": False,
    }  # fmt: skip
    ada("push", "-q")
    ada("reset", "-q", "--hard", "HEAD~1")
    assert "It is 1 commit behind origin/main" in ada("status").out
    ada.write("other.md", "# Other\n")
    ada("add", "-q", ".")
    ada("commit", "-q", "-m", "other")
    assert "have gone apart: 1 commit here, 1 commit there" in ada("status").out
    ada("switch", "-q", "-c", "side")
    assert "origin" not in ada("status").out
    assert ada("status", "--json").json["upstream"] is None


def test_a_document_that_records_the_hash_of_another_file_is_not_taken(
    ada: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada("push", "-u", "origin")
    for number, path in enumerate(("notes/lie.md", "notes/one.md")):
        text = "# A lie\n\n" + "".join(f"Line {n} of it.\n" for n in range(400))
        ada.write(path, text)
        ada("add", path)
        ada("commit", "-m", f"true {number}")
        ada("push")
        ada.write(path, text + "More of it.\n")  # so that most of its passages are there already
        with monkeypatch.context() as lying:
            lying.setattr("arbor.repo.staging.storing_files.file_hash", lambda data: bytes(32))
            ada("add", path)
        ada("commit", "-m", "false")
        ada("verify")
        refused = ada("push", code=14)
        assert f"'{path}' (document " in refused.err
        assert "does not hold the file whose hash it records" in refused.err
        ada("bundle", "create", "../lie.bundle")
        assert path in Cli(ada.folder.parent)("bundle", "verify", "lie.bundle", code=12).err
        assert path in Cli(ada.folder.parent)("clone", "lie.bundle", "taken", code=12).err
        assert not (ada.folder.parent / "taken").exists()
        ada("reset", "--hard", "HEAD~1")
    bare = other(ada, "bare")
    assert bare("verify", "--deep").out.startswith("verified")
    assert bare("log", "--oneline").out.count("\n") == 4


def test_a_new_annotated_tag_brings_nothing_but_itself(ada: Cli) -> None:
    ada("push", "-u", "origin")
    ada("clone", "../bare", "../bob")
    bob = other(ada, "bob")
    ada("tag", "-a", "v1", "-m", "first")
    ada("push", "origin", "v1")
    assert bob("fetch", "--json").json["objects"] == 1
    assert bob("tag").out.split()[0] == "v1"


def test_tags_are_removed_by_their_short_name(ada: Cli) -> None:
    ada("push", "-u", "origin")
    for number, words in enumerate((("origin", ":v0"), ("-d", "origin", "v1"))):
        ada("tag", f"v{number}")
        ada("push", "--tags")
        ada("push", *words)
        assert other(ada, "bare")("tag").out == ""
        ada("tag", "-d", f"v{number}")
    assert "refs/tags/NAME" in ada("push", "origin", ":v7", code=13).err


def test_serve_refuses_tokens_that_would_protect_nothing(
    ada: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tokens = tmp_path / "tokens"
    for content, said in (
        (b"\n \n", "'tokens' holds no token"),
        (b"good\ncaf\xe9\n", "line 2 of 'tokens' is no token"),
        ("t\u00f6ken\n".encode(), "line 1 of 'tokens' is no token"),
        (b"a\tb\n", "line 1 of 'tokens' is no token"),
    ):
        tokens.write_bytes(content)
        for option in ("--read-tokens", "--push-tokens"):
            assert said in ada("serve", option, str(tokens), code=2).err
    for variable in ("ARBOR_READ_TOKEN", "ARBOR_PUSH_TOKEN"):
        with monkeypatch.context() as patch:
            patch.setenv(variable, " ")
            assert f"{variable} is set, and empty" in ada("serve", code=2).err


def test_serve_needs_a_knowledge_base_and_a_free_port(ada: Cli) -> None:
    outside = Cli(ada.folder.parent)
    assert "no knowledge base" in outside("serve", "nowhere", code=10).err
    assert "no knowledge base" in outside("serve", ".", code=10).err
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        failed = ada("serve", "--port", str(taken.getsockname()[1]), code=2)
    assert "cannot listen at 127.0.0.1, port " in failed.err
    assert "Traceback" not in failed.err
    assert "cannot listen" in ada("serve", "--host", "no.such.host.invalid", code=2).err


def test_a_pull_that_leaves_a_tag_alone_ends_as_a_fetch_does(ada: Cli) -> None:
    ada("push", "-u", "origin")
    ada("clone", "../bare", "../bob")
    bob = other(ada, "bob")
    bob("tag", "v1")
    ada.write("notes/new.md", "new\n")
    ada.commit("new")
    ada("tag", "v1")
    ada("push", "--tags")
    ada("push")
    assert "the tag is another one here" in bob("pull", code=14).err
    assert (bob.folder / "notes/new.md").exists()


def test_what_comes_back_to_a_cold_clone_has_its_file(ada: Cli) -> None:
    ada("push", "-u", "origin")
    ada("clone", "--cold", "../bare", "../cold")
    cold = other(ada, "cold")
    assert not (cold.folder / "notes/one.md").exists()
    cold("rehydrate", "notes/one.md")
    assert (cold.folder / "notes/one.md").read_bytes() == (ada.folder / "notes/one.md").read_bytes()
    assert cold("status", "--porcelain").out == ""
    cold.write("mine.md", "mine\n")
    cold("add", "mine.md")
    assert "deleted" not in cold("commit", "-am", "mine").out
    cold("rehydrate-cold", "--all")
    assert (cold.folder / "notes/two.md").exists()
    assert cold("status", "--porcelain").out == ""


@pytest.mark.parametrize("typed", ["notes/", "./notes", "/notes", "notes//", "notes/./"])
def test_a_folder_of_a_clone_may_be_typed_as_people_do(ada: Cli, typed: str) -> None:
    ada("push")
    for place, words in enumerate((("--at", typed), ("--filter", f"at:{typed}"))):
        ada("clone", *words, "../bare", f"../part{place}")
        part = other(ada, f"part{place}")
        assert (part.folder / "notes/one.md").exists()
        assert part("config", "remote.origin.filter").out == "at:notes\n"


def test_a_folder_that_is_not_there_is_refused(ada: Cli) -> None:
    ada("push")
    for words, said in (
        (("--at", "nosuch"), "there is nothing at 'nosuch'"),
        (("--at", "note"), "there is nothing at 'note'"),
        (("--at", "../x"), "leads out of the knowledge base"),
        (("--filter", "at:notes/../../x"), "leads out of the knowledge base"),
        (("--filter", "warm"), "is not a filter"),
    ):
        assert said in ada("clone", *words, "../bare", "../part", code=2).err
        assert not (ada.folder.parent / "part").exists()
    ada("clone", "--at", ".", "../bare", "../all")
    assert other(ada, "all")("tier", "--json").json["tiers"]["cold"]["documents"] == 0


def test_a_clone_stands_at_a_tag(ada: Cli) -> None:
    ada("tag", "v1", "HEAD~1", "-m", "one")
    ada("push")
    ada("push", "--tags")
    made = ada("clone", "-b", "v1", "../bare", "../old", "--json").json
    tip = ada("log", "-1", "HEAD~1", "--json").json["commits"][0]["commit"]
    assert (made["branch"], made["commit"], made["documents"]) == (None, tip, 1)
    old = other(ada, "old")
    assert not (old.folder / "notes/two.md").exists()
    assert "detached" in old("status").out
    old("switch", "main")
    assert (old.folder / "notes/two.md").exists()
    assert "no branch or tag 'v9'" in ada("clone", "-b", "v9", "../bare", "../x", code=2).err


def test_a_bundle_of_head_is_one_of_the_current_branch(ada: Cli) -> None:
    ada("switch", "-c", "topic")
    made = ada("bundle", "create", "../head.bundle", "HEAD", "--json").json
    assert [ref["name"] for ref in made["refs"]] == ["refs/heads/topic"]
    ada("bundle", "create", "../part.bundle", "HEAD~1..HEAD")
    ada("switch", "--detach", "HEAD")
    assert "detached" in ada("bundle", "create", "../x.bundle", "HEAD", code=2).err


def test_a_password_in_an_address_is_not_dropped_silently(ada: Cli) -> None:
    done = ada("remote", "add", "ok", "https://u:secret@h.example/x")
    assert "are not recorded" in done.err
    assert "ARBOR_TOKEN" in done.err
    assert "secret" not in done.err + (ada.folder / ".arbor/config.toml").read_text()
    assert "are not recorded" in ada("remote", "set-url", "ok", "https://secret@h.example/y").err
    assert ada("remote", "add", "plain", "https://h.example/x").err == ""


def test_a_history_that_is_not_whole_there_is_not_blamed_on_the_kb_here(ada: Cli) -> None:
    ada("push")
    for file in (ada.folder.parent / "bare/packs").glob("*"):
        file.unlink()
    failed = ada("clone", "../bare", "../x", code=12)
    assert "the other side's history is incomplete" in failed.err
    assert "run: arbor verify" not in failed.err
    failed = ada("clone", "--cold", "../bare", "../x", code=14)
    assert "the other side says: its history is incomplete or damaged" in failed.err
    assert "its owner" in failed.err


def test_what_is_cold_is_counted_as_cold(ada: Cli) -> None:
    ada("push")
    ada("clone", "--cold", "../bare", "../cold")
    cold = other(ada, "cold")
    shown = cold("log", "--stat", "-1").out
    assert "| cold" in shown
    assert "1 not compared: cold here" in shown
    [change] = cold("log", "--stat", "-1", "--json").json["commits"][0]["changes"]
    assert (change["added"], change["removed"]) == (None, None)


def test_a_cold_document_moves_in_the_stage(ada: Cli) -> None:
    ada("push")
    ada("clone", "--cold", "../bare", "../cold")
    cold = other(ada, "cold")
    cold("mv", "notes/one.md", "moved.md")
    assert cold("status", "--porcelain").out.startswith("R")
    cold.commit("moved")
    cold("mv", "moved.md", "notes")
    cold.commit("back")
    assert cold("cat", "notes/moved.md").out == "# One\n\nthe first note\n"
    assert (cold.folder / "notes/moved.md").exists()


def test_a_tag_is_fetched_and_pulled_by_its_name(ada: Cli) -> None:
    ada("push", "-u", "origin")
    ada("clone", "../bare", "../bob")
    bob = other(ada, "bob")
    ada.write("more.md", "# More\n")
    tagged = ada.commit("more")
    ada("tag", "-a", "v1", "-m", "first")
    ada("push", "origin", "v1")
    fetched = bob("fetch", "origin", "v1", "--no-tags", "--json").json
    assert fetched["fetch_head"] == "refs/tags/v1"
    assert [(ref["there"], ref["here"]) for ref in fetched["refs"]] == [("refs/tags/v1", None)]
    assert bob("log", "-1", "FETCH_HEAD", "--json").json["commits"][0]["commit"] == tagged
    assert bob("tag").out == ""
    assert bob("fetch", "origin", "refs/tags/v1", "--json").json["fetch_head"] == "refs/tags/v1"
    assert bob("pull", "origin", "v1", "--json").json["commit"] == tagged
    assert "no branch or tag 'v2'" in bob("fetch", "origin", "v2", code=2).err


def test_tag_and_a_name_is_the_tag_as_in_git(ada: Cli) -> None:
    first = ada("log", "--reverse", "--json").json["commits"][0]["commit"]
    second = ada("log", "-1", "--json").json["commits"][0]["commit"]
    ada("branch", "v1", "HEAD~1")
    ada("tag", "-a", "v1", "-m", "the tag, which is newer than the branch of its name")
    pushed = ada("push", "origin", "heads/v1", "tag", "v1", "--json").json
    assert [ref["there"] for ref in pushed["refs"]] == ["refs/heads/v1", "refs/tags/v1"]
    ada("init", "../bob")
    bob = other(ada, "bob")
    bob("remote", "add", "origin", "../bare")
    assert bob("fetch", "origin", "v1", "--json").json["fetch_head"] == "refs/heads/v1"
    assert bob("fetch", "origin", "tag", "v1", "--json").json["fetch_head"] == "refs/tags/v1"
    assert bob("log", "-1", "FETCH_HEAD", "--json").json["commits"][0]["commit"] == second
    assert bob("pull", "origin", "v1", "--json").json["commit"] == first
    assert bob("pull", "origin", "tag", "v1", "--json").json["commit"] == second
    assert bob("pull", "origin", "refs/heads/v1", "--json").json["kind"] == "up-to-date"
    assert "one branch or tag is merged at a time" in bob("pull", "origin", "v1", "v2", code=2).err
    assert "no branch or tag 'tag'" in bob("fetch", "origin", "tag", code=2).err
    removed = ada("push", "-d", "origin", "tag", "v1", "--json").json
    assert [(ref["there"], ref["status"]) for ref in removed["refs"]] == [("refs/tags/v1", "removed")]


def test_a_refspec_of_gits_is_told_what_to_type(ada: Cli) -> None:
    ada("push", "-u", "origin")
    told = ada("fetch", "origin", "main:foo", code=2).err
    assert "'main:foo' names two refs" in told
    assert "fetch main, then: arbor branch foo FETCH_HEAD" in told
    assert "say --force" in ada("fetch", "origin", "+main", code=2).err
    ada("fetch", "origin", "main")
    ada("branch", "foo", "FETCH_HEAD")


def test_a_clone_is_made_where_there_is_no_room_for_its_index(
    ada: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is whole: an error would have sent its owner to clone once more, into a folder that is not empty."""

    def full(kb: KnowledgeBase, **named: object) -> float:
        raise StorageError("the disk is full")

    ada("push", "origin", "main")
    with monkeypatch.context() as disk:
        disk.setattr(KnowledgeBase, "reindex", full)
        done = ada("clone", "../bare", "../copy")
    assert done.out.startswith("cloned into ")
    assert "its search index follows with the first search: the disk is full" in done.err
    assert other(ada, "copy")("search", "second", "--porcelain").out


def test_a_push_that_came_second_says_what_to_run(ada: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where another push moves the branch between the look at it and the move."""
    ada.write("later.md", "# Later\n")
    ada.commit("Later")
    monkeypatch.setattr(
        service, "refuse_updates", lambda repo, updates: {update.name: accepting.MOVED for update in updates}
    )
    done = ada("push", "../bare", "main", code=13)
    assert "it has moved there since it was read" in done.err
    assert "hint: run: arbor pull" in done.err


def test_a_clone_is_recorded_with_the_name_of_who_makes_it(ada: Cli) -> None:
    folder = ada.folder.parent
    ada("push", "-u", "origin", "main")
    made = run_process(folder, "clone", "-q", str(folder / "bare"), "mine")
    assert made.returncode == 0, made.stderr
    [move] = other(ada, "mine")("reflog", "--json").json["moves"]
    assert move["who"] == "Ada Lovelace"


def test_what_the_branch_follows_is_fetch_head_after_a_fetch_of_all(ada: Cli) -> None:
    ada("push", "-u", "origin", "main")
    ada("init", "--bare", "../aside")
    ada("init", "--bare", "../zone")
    for name in ("aside", "zone"):
        ada("remote", "add", name, f"../{name}")
        ada("push", name, "main~1:main")
    ada("fetch", "--all")
    assert ada("log", "-1", "--format=%s", "FETCH_HEAD").out == "second\n"


@pytest.mark.parametrize(
    ("section", "fault"),
    [
        ("[remote.other]\nurl = 5\n", "'remote.other.url' is text in quotation marks, not 5"),
        ("[remote.other]\nurl = '/x'\nfilter = 'lukewarm'\n", "'lukewarm' is not a filter"),
        ("[remote.other]\nulr = '/x'\n", "[remote.other] in the settings: it has no address"),
        ("[remote]\nother = 5\n", "'remote.other' is a table, not 5"),
    ],
)
def test_a_remote_whose_settings_are_wrong_stops_only_what_uses_it(
    ada: Cli, section: str, fault: str
) -> None:
    ada("push", "-u", "origin", "main")
    config = ada.folder / ".arbor" / "config.toml"
    config.write_text(f"{section}{config.read_text()}")
    listed = ada("remote")
    assert listed.out == "origin\n"
    assert "remote 'other' cannot be used" in listed.err
    assert fault in listed.err
    for words in (["fetch"], ["pull"], ["push"], ["fetch", "origin"], ["pull", "origin", "main"], ["status"]):
        ada(*words)
    for words in (["fetch", "other"], ["pull", "other"], ["push", "other"], ["remote", "get-url", "other"]):
        assert fault in ada(*words, code=2).err
    told = ada("fetch", "--all", code=2)
    assert "nothing came from other" in told.err
    ada("remote", "remove", "other")
    assert ada("remote", "-v").err == ""


def test_a_branch_that_follows_a_remote_whose_settings_are_wrong_is_pulled_from_another(ada: Cli) -> None:
    ada("push", "-u", "origin", "main")
    ada("remote", "add", "other", ada("remote", "get-url", "origin").out.strip())
    ada("config", "remote.origin.filter", "lukewarm")
    ada("pull", "other", "main")
    ada("fetch", "other")
    assert "'lukewarm' is not a filter" in ada("pull", code=2).err


def test_a_remote_is_shown_with_what_follows_its_branches(ada: Cli) -> None:
    ada("push", "-u", "origin", "main")
    ada("push", "origin", "main:other")
    ada("branch", "gone", "main")
    ada("push", "-u", "origin", "gone")
    ada("push", "origin", "--delete", "gone")
    ada("reset", "HEAD~1")
    assert ada("remote", "show").out == ada("remote").out == "origin\n"
    head, *lines = ada("remote", "show", "origin").out.splitlines()
    assert head == f"origin at {ada.folder.parent / 'bare'}"
    assert [line.split("  ")[2:] for line in lines] == [
        ["gone follows it"],
        ["main follows it, 1 behind"],
        [],
    ]
    assert "never pushed" in lines[0]
    assert ada("remote", "show", "origin", "--json").json["remotes"][0]["name"] == "origin"
    assert "there is no remote 'nope'" in ada("remote", "show", "nope", code=2).err


def test_a_dry_run_of_a_fetch_keeps_nothing(ada: Cli) -> None:
    ada("push", "origin", "main", "main:gone")
    ada("clone", "../bare", "../bob")
    bob = other(ada, "bob")
    ada("push", "origin", "--delete", "gone")
    ada.write("new.md", "new\n")
    ada.commit("more")
    ada("push", "origin", "main", "main:gone/one")
    before = everything(bob.folder / ".arbor")
    told = bob("fetch", "--prune", "--dry-run").out.splitlines()[1:]
    answer = bob("fetch", "--prune", "--dry-run", "--json").json
    assert everything(bob.folder / ".arbor") == before
    assert (answer["dry_run"], answer["commits"], answer["fetch_head"]) == (True, 1, None)
    assert sorted(row["status"] for row in answer["refs"] if row["status"] != "same") == [
        "forward",
        "new",
        "pruned",
    ]
    assert bob("fetch", "--prune").out.splitlines()[1:] == told
    again = bob("fetch", "--dry-run", "--json").json
    assert {row["status"] for row in again["refs"]} == {"same"}


def everything(folder: Path) -> dict[str, bytes]:
    """The files of a KB's folder, but for caches and locks."""
    kept = (path for path in sorted(folder.rglob("*")) if path.is_file() and "cache" not in path.parts)
    return {str(path): path.read_bytes() for path in kept if path.name != "lock"}


def test_the_settings_of_remotes_are_read_once(ada: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    ada("config", "branch.main.upstream", "origin/main")
    ada("init", "--bare", "../second")
    ada("remote", "add", "zoe", "../second")
    for name in ("origin", "zoe"):
        ada("push", name, "main")
    read: list[str] = []
    read_remotes = remotes.read_remotes

    def reading(repo: Repository) -> tuple[list[remotes.Remote], dict[str, UsageError]]:
        read.append("once")
        return read_remotes(repo)

    monkeypatch.setattr(remotes, "read_remotes", reading)
    ada("remote")
    assert len(read) == 1
    fetched: list[str | None] = []
    monkeypatch.setattr(
        "arbor.cli.commands.fetch._fetch",
        lambda _, name, *__: fetched.append(name) or FetchResult("", "", ()),
    )
    ada("fetch", "--all")
    assert fetched == ["zoe", "origin"]
    assert len(read) == 2


def test_branches_that_are_gone_there_are_pruned_without_a_fetch(ada: Cli) -> None:
    ada("push", "-u", "origin")
    for name in ("side", "team/one"):
        ada("branch", name)
        ada("push", "origin", name)
    there = other(ada, "bare")
    there("branch", "new", "main")
    assert ada("remote", "prune", "origin").out == ""
    for name in ("side", "team/one"):
        there("branch", "-D", name)
    oid = ada("log", "-1", "--format=%h").out.strip()
    told = [f"origin/side (it was at {oid})", f"origin/team/one (it was at {oid})"]
    for option in ("-n", "--dry-run"):
        assert ada("remote", "prune", "origin", option).out.splitlines() == [
            f"would prune {each}" for each in told
        ]
    assert "origin/side" in ada("branch", "-r").out
    assert ada("remote", "prune", "origin").out.splitlines() == [f"pruned {each}" for each in told]
    assert ada("branch", "-r").out == "  origin/main\n"
    assert ada("branch").out == "* main\n  side\n  team/one\n"
    ada("fetch")
    there("branch", "-D", "new")
    answer = ada("remote", "prune", "origin", "--json").json
    assert [(each["name"], each["commit"][:12]) for each in answer["pruned"]] == [("origin/new", oid)]
    assert "there is no remote 'nobody'" in ada("remote", "prune", "nobody", code=2).err
    assert "takes 1 word" in ada("remote", "prune", code=2).err
    assert "goes with prune" in ada("remote", "remove", "origin", "-n", code=2).err
    ada("remote", "set-url", "origin", "../nowhere")
    assert "nowhere" in ada("remote", "prune", "origin", code=14).err
