"""The commands of trust as a person types them."""

from __future__ import annotations

import json
import os
import shutil
import stat
from pathlib import Path

import pytest

from tests.cli.harness import IDENTITY, Cli
from tests.trust.conftest import MakeKb, long_note


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    for name, value in IDENTITY.items():
        monkeypatch.setenv(name, value)
    folder = tmp_path / "kb"
    folder.mkdir()
    made = Cli(folder)
    made("init")
    made.write("a.md", long_note(4))
    made.write("notes/b.md", "# B\n\nShort.\n")
    made.commit("first")
    return made


def test_prove_and_verify(cli: Cli, tmp_path: Path) -> None:
    commit = cli("log", "--json").json["commits"][0]["commit"]
    away = Cli(tmp_path)
    for name, words in (
        ("p.json", ("a.md:3",)),
        ("p.proof", ("a.md#1",)),
        ("q.proof", ("notes/b.md", "--at", "main")),
    ):
        cli("prove", *words, "-o", str(tmp_path / name))
        done = away("verify", "--proof", name, "--commit", commit)
        assert done.out.startswith("proven")
        assert done.err == ""
    assert (tmp_path / "p.json").read_bytes().startswith(b"{")
    assert not (tmp_path / "p.proof").read_bytes().startswith(b"{")
    done = away("verify", "--proof", "p.proof", "--json", "--text", str(cli.folder / "a.md"))
    assert done.json["ok"] is True
    assert done.json["proof"]["text_matched"] == "file"
    assert done.json["proof"]["index"] == 1
    failed = away("verify", "--proof", "p.json", "--commit", "00" * 32, code=12)
    assert "belongs to commit" in failed.err
    unanchored = away("verify", "--proof", "p.json")
    assert "nothing vouches" in unanchored.err
    (tmp_path / "p.json").write_text((tmp_path / "p.json").read_text().replace("long note", "long lie"))
    assert away("verify", "--proof", "p.json", code=12).out == ""
    assert "cannot be read" in away("verify", "--proof", "none", code=2).err
    for content in (b"", b"hello", b'{"a": 1}', bytes(range(256))):
        away.write("none.proof", content)
        assert "not a proof made by arbor" in away("verify", "--proof", "none.proof", code=12).err
    away.write("cut.proof", (tmp_path / "p.proof").read_bytes()[:-1])
    assert "changed or cut short" in away("verify", "--proof", "cut.proof", code=12).err


def test_what_is_checked_may_come_from_standard_input(cli: Cli, tmp_path: Path) -> None:
    for form in ("json", "msgpack"):
        proof = cli("prove", "a.md", "--format", form).raw
        assert Cli(tmp_path)("verify", "--proof", "-", stdin=proof).out.startswith("proven a.md")
    assert "not a proof" in cli("verify", "--proof", "-", stdin=b"", code=12).err
    cli("prove", "a.md", "-o", "p.json")
    text = (cli.folder / "a.md").read_bytes()
    assert "it is the file" in cli("verify", "--proof", "p.json", "--text", "-", stdin=text).out
    assert "either" in cli("verify", "--proof", "-", "--text", "-", stdin=proof, code=2).err
    note = cli("log", "--checkpoint").raw
    assert cli("verify", "--checkpoint", "-", stdin=note).out.startswith("verified")
    assert "not a checkpoint" in cli("verify", "--checkpoint", "-", stdin=b"\xff", code=12).err


def test_what_has_no_lines_is_proven_as_a_whole(cli: Cli) -> None:
    cli.write("picture.png", b"\x89PNG\r\n\x1a\n" + bytes(range(256)))
    cli.write("empty.md", "")
    cli.commit("no lines")
    for name in ("picture.png", "empty.md"):
        failed = cli("prove", f"{name}:1", code=2)
        assert "has no lines of text" in failed.err
        assert f"arbor prove {name}" in failed.err
        cli("prove", name)


def test_a_cold_side_of_a_difference_is_called_cold(cli: Cli, tmp_path: Path) -> None:
    archive = tmp_path / "archive"
    shutil.copytree(cli.folder, archive, ignore=shutil.ignore_patterns(".arbor"))
    cli("evict", "notes/b.md", "--from", str(archive))
    cli.write("notes/b.md", "# B\n\nLonger by far.\n")
    cli.commit("longer")
    assert "(a/notes/b.md is cold here)" in cli("diff", "HEAD~1", "HEAD").out
    assert "(1 of them cold)" in cli("verify").out


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
@pytest.mark.parametrize("command", [["prove", "a.md", "-o"], ["bundle", "create"]])
def test_a_pipe_or_device_that_is_named_as_output_is_never_replaced(cli: Cli, command: list[str]) -> None:
    pipe = cli.folder.parent / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    said = cli(*command, str(pipe)).out
    assert " bytes" not in said  # a pipe has no size
    got = os.read(reader, 1 << 16)
    os.close(reader)
    assert stat.S_ISFIFO(pipe.lstat().st_mode)
    cli(*command, "plain")
    link = cli.folder.parent / "link"
    link.symlink_to(cli.folder / "through")
    cli(*command, str(link))
    assert link.is_symlink()
    assert [(cli.folder / name).read_bytes() for name in ("plain", "through")] == [got, got]


def test_prove_to_standard_output(cli: Cli) -> None:
    found = json.loads(cli("prove", "a.md").out)
    assert (found["schema"], found["kind"]) == ("arbor.proof/1", "document")
    assert json.loads(cli("prove", "--absent", "nothing.md").out)["kind"] == "absence"
    cli.write("c.md", "c\n")
    cli.commit("second")
    cli("prove", "--consistency", "HEAD~1", "HEAD", "-o", "c.json")
    said = cli("verify", "--proof", "c.json").out
    assert (", 1 commit\n" in said, ", 2 commits\n" in said) == (True, True)
    assert json.loads((cli.folder / "c.json").read_text())["new"]["log_size"] == 2
    assert cli("prove", "a.md", "-o", "-").out == cli("prove", "a.md").out
    assert not (cli.folder / "-").exists()
    assert cli("prove", "a.md", "--format", "msgpack").raw.startswith(b"\x9c\xabarbor-proof")
    assert "is in this revision" in cli("prove", "--absent", "a.md", code=1).err
    assert "does not hold the older one" in cli("prove", "--consistency", "HEAD", "HEAD~1", code=1).err
    assert "leave out --at" in cli("prove", "--consistency", "HEAD~1", "HEAD", "--at", "HEAD", code=2).err
    assert "say what to prove" in cli("prove", code=2).err
    assert "no document" in cli("prove", "nothing.md", code=2).err


def test_hits_carry_their_proof(cli: Cli, tmp_path: Path) -> None:
    cli("core", "add", "gist", "--from", "notes/b.md", "--text", "word1x1 in short")
    cli("commit", "-m", "core")
    answer = cli("search", "--json", "--proof", "--mode", "STRICT", "word1x1").json
    assert {hit["path"] for hit in answer["hits"]} == {"a.md", "core:gist"}
    for hit in answer["hits"]:
        (tmp_path / "hit.json").write_text(json.dumps(hit["proof"]))
        found = Cli(tmp_path)("verify", "--proof", "hit.json", "--commit", answer["rev"], "--json").json[
            "proof"
        ]
        assert (found["leaf"], found["text"]) == (hit["chunk"]["oid"], hit["text"])
    assert "--json" in cli("search", "--proof", "word1x1", code=2).err
    cli("evict", "a.md", "--from", ".")
    [cold] = [
        hit for hit in cli("search", "--json", "--proof", "long note").json["hits"] if hit["path"] == "a.md"
    ]
    assert (cold["audit"], cold["proof"]) == ("HYBRID", None)


def test_cores_by_command(cli: Cli) -> None:
    made = cli("distill", "a.md", "--with", "lead", "--json").json["cores"]
    assert [(each["name"], each["state"]) for each in made] == [("lead/a.md", "new")]
    cli("core", "add", "gist", "--from", "notes/b.md:1-3", "--by", "Ada", "--text", "short")
    assert "distillers" not in cli("distill", "--list").out
    cli("commit", "-m", "cores")
    assert {each["name"] for each in cli("core", "--json").json["cores"]} == {"gist", "lead/a.md"}
    assert "from        notes/b.md passage 0" in cli("core", "show", "gist").out
    assert cli("core", "show", "core:gist").out == cli("core", "show", "gist").out, "as searches print it"
    for command in ("cat", "show", "consensus"):
        assert "it is a core; run: arbor core show gist" in cli(command, "core:gist", code=2).err
    assert cli("core", "check").out == "2 current, 0 stale, 0 broken\n"
    cli.write("a.md", long_note(4) + "more\n")
    cli.commit("changed")
    stale = cli("core", "check", "--json", code=1).json["states"]
    assert {each["name"]: each["state"] for each in stale} == {"gist": "current", "lead/a.md": "stale"}
    assert cli("core", "check", "gist").out.startswith("1 current")
    cli("core", "rm", "gist")
    assert "no core 'gist'" in cli("core", "show", "gist", code=2).err
    assert "say how to distill" in cli("distill", code=2).err
    assert "is not a parameter" in cli("distill", "--with", "lead", "--set", "x", code=2).err


def test_a_core_is_proven_by_the_name_that_searches_print(cli: Cli, tmp_path: Path) -> None:
    cli("core", "add", "gist", "--from", "notes/b.md", "--text", "word1x1 in short")
    cli("core", "add", "deep/gist#0", "--from", "notes/b.md", "--text", "another")
    cli("commit", "-m", "core")
    in_notes = Cli(cli.folder / "notes")
    for words, said in (
        (("core:gist",), "core gist is in"),
        (("core:gist#0",), "passage 0 (of 1, from 0) of core gist"),
        (("core:gist:1",), "passage 0 (of 1, from 0) of core gist"),
        (("core:deep/gist#0",), "core deep/gist#0 is in"),
        (("--core", "deep/gist#0"), "core deep/gist#0 is in"),
        (("--absent", "core:list"), "there is no core list"),
        (("--absent", "core:notes/b.md"), "there is no core notes/b.md"),
    ):
        for run in (cli, in_notes):
            run("prove", *words, "-o", str(tmp_path / "p.json"))
            assert f"proven {said}" in run("verify", "--proof", str(tmp_path / "p.json")).out
    assert "no core 'none' in this revision" in cli("prove", "core:none", code=2).err
    assert "no core" in cli("prove", "--core", "none#0", code=2).err
    assert "arbor core show gist" in cli("prove", "core:gist#7", code=2).err
    assert "has no passage 'abcd'" in cli("prove", "--core", "gist#abcd", code=2).err
    assert "is in this revision" in cli("prove", "--absent", "core:gist", code=1).err
    assert "nothing can be called" in cli("prove", "--absent", "core:../gist", code=2).err


def test_a_document_called_like_a_core_comes_first(make_kb: MakeKb) -> None:
    kb = make_kb({"core:gist": "the document\n", "a.md": "a\n"})
    kb.trust.add_core("gist", "in short", [("a.md", None, None)])
    kb.commit("a core", index=False)
    assert kb.fs_root is not None
    cli = Cli(kb.fs_root)
    for place, kind in (("core:gist", "document"), ("core:gist#0", "passage"), ("core:gist:1", "passage")):
        found = json.loads(cli("prove", place).out)
        assert (found["room"], found["path"], found["kind"]) == ("document", "core:gist", kind)
    assert json.loads(cli("prove", "--core", "gist").out)["room"] == "core"
    assert "'core:gist' is in this revision" in cli("prove", "--absent", "core:gist", code=1).err


def test_a_checkpoint(cli: Cli) -> None:
    first = cli("log", "--checkpoint").out.splitlines()
    commit = cli("log", "--json").json["commits"][0]["commit"]
    assert first[0] == f"arbor/{commit}/main"
    assert first[1] == "1"
    assert first[3] == f"commit {commit}"
    found = cli("log", "--checkpoint", "--json").json["commits"][0]["checkpoint"]
    assert found["size"] == 1


def test_evict_tier_and_rehydrate(cli: Cli, tmp_path: Path) -> None:
    archive = tmp_path / "archive"
    shutil.copytree(cli.folder, archive, ignore=shutil.ignore_patterns(".arbor"))
    shutil.rmtree(cli.folder / "notes")
    (cli.folder / "a.md").unlink()
    refused = cli("evict", "a.md", code=1)
    assert "no other copy was found" in refused.err
    would = cli("evict", "--larger-than", "1K", "--from", str(archive), "-n")
    assert "would go to the cold tier" in would.out
    assert cli("tier", "--json").json["tiers"]["cold"]["documents"] == 0
    done = cli("evict", "a.md", "notes", "--from", str(archive), "--json").json
    assert [item["paths"] for item in done["evicted"]] == [["a.md"], ["notes/b.md"]]
    assert cli("tier", "--json").json["tiers"]["cold"]["documents"] == 2
    assert cli("tier", "a.md").out.startswith("cold")
    assert cli("status", "--json").json["unstaged"] == []
    cold = cli("cat", "a.md", code=1)
    assert "the document is cold" in cold.err
    assert "arbor rehydrate-cold" in cold.err
    assert cli("verify", "--json").json["checked"]["cold"] == 2
    lost = cli("rehydrate", "--all", code=1)
    assert "could not be brought back" in lost.err
    (archive / "a.md").write_text(long_note(4).replace("word1x1", "other"))
    part = cli("rehydrate-cold", "--all", "--from", str(archive), code=3)
    assert "has changed: 3 passages the same, 1 gone, 1 new" in part.err
    (archive / "a.md").write_text(long_note(4))
    assert "1 document hot again" in cli("rehydrate", "a.md", "--from", str(archive)).out
    assert cli("cat", "a.md").out == long_note(4)
    acts = [record["act"] for record in cli("journal", "--json").json["records"]]
    assert acts == ["rehydrate", "drift", "rehydrate", "evict"]
    assert "verified 4 records" in cli("journal", "verify").out


def test_update_stages_the_new_version(cli: Cli, tmp_path: Path) -> None:
    archive = tmp_path / "archive"
    shutil.copytree(cli.folder, archive, ignore=shutil.ignore_patterns(".arbor"))
    cli("evict", "notes/b.md", "--from", str(archive))
    (cli.folder / "notes/b.md").unlink()
    (archive / "notes/b.md").write_text("# B\n\nLonger now.\n")
    cli("rehydrate", "notes/b.md", "--from", str(archive), "--update", code=1)
    assert cli("status", "--json").json["staged"][0]["path"] == "notes/b.md"
    cli("commit", "-m", "new version")
    assert cli("cat", "notes/b.md").out == "# B\n\nLonger now.\n"
    assert cli("cat", "notes/b.md@HEAD~1", code=1).out == ""
    cli("verify")


def test_a_file_that_has_changed_is_added_again_as_recheck_says(cli: Cli, tmp_path: Path) -> None:
    source = tmp_path / "source.md"
    source.write_text("# One\n")
    uri = source.as_uri()
    cli("add", "-", "--as", "copy.md", "--source-uri", uri, stdin=source.read_text())
    cli("commit", "-m", "copied")
    source.write_text("# Two\n")
    told = cli("recheck", code=1).err
    assert "arbor add -f - --as PATH --source-uri URI < FILE, or arbor rehydrate" in told
    assert "arbor recheck" in cli("rehydrate", "copy.md", "--update").err  # it is hot
    cli("add", "-f", "-", "--as", "copy.md", "--source-uri", uri, stdin=source.read_text())
    cli("commit", "-m", "again")
    assert "1 fresh" in cli("recheck").out


def test_warm(cli: Cli) -> None:
    cli("evict", "a.md", "--warm")
    assert cli("tier", "a.md").out.startswith("warm")
    assert cli("cat", "a.md").out == long_note(4)
    assert "1 document hot again" in cli("rehydrate", "a.md").out


def test_gc(cli: Cli) -> None:
    done = cli("gc", "--json").json
    assert (done["dropped"], done["waiting"]) == (0, 0)
    assert "0 objects would go" in cli("gc", "-n", "--now").out
    assert "is not an age" in cli("gc", "--grace", "soon", code=2).err


def test_a_damaged_journal(cli: Cli) -> None:
    cli("evict", "a.md", "--from", ".")
    cli("rehydrate", "a.md")
    journal = cli.folder / ".arbor" / "journal"
    journal.write_bytes(journal.read_bytes().replace(b"evict", b"fetch"))
    failed = cli("journal", "verify", code=12)
    assert "damaged record 1: 1 line edited" in failed.out
    assert cli("journal", "verify", "--json", code=12).json["faults"][0]["first"] == 1
    assert "the old journal is kept as" in cli("journal", "restart").err
    cli("journal", "verify")


def test_what_cannot_be_a_place(cli: Cli) -> None:
    assert "no folder, bundle or remote" in cli("evict", "a.md", "--from", "nowhere", code=2).err
    assert "say which documents" in cli("rehydrate", code=2).err
    assert "which documents to evict" in cli("evict", code=2).err


def test_moving_to_cold_documents_is_said(cli: Cli, tmp_path: Path) -> None:
    cli("evict", "a.md", "--from", ".")
    (cli.folder / "a.md").write_text("# Another\n")
    cli("commit", "-q", "-a", "-m", "another")
    moves = {"switch --detach HEAD~1": True, "switch main": False, "revert HEAD": True, "reset --hard HEAD~1": False,
             "reset -q --hard HEAD~1": True}  # fmt: skip
    for line, is_told in moves.items():
        assert ("cold here, so no file is written: a.md" in cli(*line.split()).err) == is_told, line


def test_the_work_trees_own_file_is_no_copy(cli: Cli) -> None:
    assert "no other copy was found" in cli("evict", "a.md", code=1).err


def test_what_is_added_again_is_cold_no_more(cli: Cli) -> None:
    text = (cli.folder / "a.md").read_text()
    cli("evict", "a.md", "--from", ".")
    (cli.folder / "a.md").unlink()
    cli("rm", "-q", "a.md")
    cli("commit", "-q", "-m", "gone")
    (cli.folder / "a.md").write_text(text)
    cli("add", "-q", "a.md")
    cli("commit", "-q", "-m", "back")
    assert cli("tier", "a.md", "--json").json["documents"][0]["tier"] == "hot"
    assert cli("verify").code == 0


def test_an_unsuitable_key_leaves_a_checkpoint_unsigned(cli: Cli, tmp_path: Path) -> None:
    cli("config", "sign.key", str(tmp_path / "nothing"))
    done = cli("log", "--checkpoint")
    assert len(done.out.splitlines()) == 4
    assert "not signed" in done.err


def test_a_core_hit_by_command(cli: Cli) -> None:
    cli("core", "add", "gist", "--from", "a.md", "--from", "notes/b.md", "--text", "word1x1 in short")
    cli("commit", "-m", "core")
    shown = cli("search", "word1x1", "--kind", "core")
    assert "made from a.md, notes/b.md\n" in shown.out
    assert "labels are not worked out" not in shown.err, "cores never have one"
    [hit] = cli("search", "word1x1", "--kind", "core", "--json").json["hits"]
    assert {(origin["path"], origin["changed"]) for origin in hit["sources"]} == {
        ("a.md", False), ("notes/b.md", False),
    }  # fmt: skip
    cli.write("a.md", "Something else.\n")
    cli("commit", "-a", "-m", "changed")
    assert "stale, changed since: a.md\n" in cli("search", "word1x1", "--kind", "core").out
    assert "passages, stale" in cli("core").out
    for line in cli("core", "show", "gist").out.splitlines():
        assert line.endswith(", changed since") is ("a.md passage" in line)
    [shown] = cli("core", "--json").json["cores"]
    assert [origin["changed"] for origin in shown["sources"]] == [
        origin["path"] == "a.md" for origin in shown["sources"]
    ]
    assert "stale" not in cli("core", "--at", "HEAD~1").out
    assert cli("search", "word1x1", "--kind", "surface", "--porcelain").out == ""
    assert "asks for another kind" in cli("search", "kind:surface", "word1x1", "--kind", "core", code=2).err


def test_what_an_eviction_does_not_reach_is_said(cli: Cli) -> None:
    said = cli("evict", "--to-fit", "1", "--from", ".").err
    assert "the packs still take" in said
    assert "they hold cores and what proves cold documents" in said
    cli("rehydrate", "--all")
    cli.write("a.md", "another\n")
    cli.commit("another")
    said = cli("evict", "--to-fit", "1", "--larger-than", "1G").err
    assert "they hold 2 documents not cold, 1 of older versions, cores and what proves" in said
    assert "arbor evict --history" in said
    cli("reset", "--hard", "HEAD~1")
    assert "is not a label" in cli("evict", "--label", "bogus", code=2).err
    done = cli("evict", "a.md", "--from", ".", "--copies", "2", "--force")
    assert "only 1 of 2 copies of a.md were found" in done.err
    assert "it is lost" not in done.err


def test_a_core_that_cannot_be_made_again_is_named(cli: Cli) -> None:
    assert "write a.md:1-3" in cli("core", "add", "x", "--from", "a.md:3-1", "--text", "t", code=2).err
    cli("distill", "a.md", "--with", "lead")
    cli("distill", "core:lead/a.md", "--with", "lead")
    cli("commit", "-m", "cores")
    names = {each["name"] for each in cli("core", "--json").json["cores"]}
    assert names == {"lead/a.md", "lead/cores/lead/a.md"}


def test_a_half_rehydrated_page_lacks_passages_and_pieces_of_its_original(cli: Cli, tmp_path: Path) -> None:
    sections = "".join(
        f"<h2>Part {name}</h2><p>{f'{name} filler ' * 200}</p>" for name in ("ash", "oak", "elm")
    )
    page = f"<html><head><title>Trees</title></head><body><h1>Trees</h1>{sections}</body></html>"
    cli.write("page.html", page)
    cli.commit("a page")
    copy = tmp_path / "copy"
    copy.mkdir()
    (copy / "page.html").write_text(page)
    cli("evict", "page.html", "--from", str(copy))
    (cli.folder / "page.html").unlink(missing_ok=True)
    (copy / "page.html").write_text(page.replace("<body>", "<body class='new'>"))
    told = cli("rehydrate", "page.html", "--from", str(copy), "--offline", code=3)
    assert "page.html: 1 piece of the original still missing" in told.err
    [done] = cli("rehydrate", "page.html", "--from", str(copy), "--offline", "--json", code=1).json[
        "documents"
    ]
    assert (done["missing"], done["missing_original"]) == (1, 1)
