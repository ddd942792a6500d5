"""`--json`: one object on one line, with its schema and exactly the keys that are documented."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import pytest

from arbor.cli.commands import show
from arbor.cli.views import COMMIT_FIELDS
from tests.cli.harness import Cli

# One line for each kind of answer; `show` has two.
LINES = {
    "init": ("init", "sub", "--json"),
    "add": ("add", ".", "--json"),
    "rm": ("rm", "notes/proofs.md", "--json"),
    "mv": ("mv", "notes/proofs.md", "notes/other.md", "--json"),
    "restore": ("restore", "notes", "--json"),
    "commit": ("commit", "--allow-empty", "-m", "more", "--json"),
    "search": ("search", "--json", "inclusion", "proof"),
    "status": ("status", "--json"),
    "log": ("log", "--json"),
    "diff": ("diff", "--json"),
    "cat": ("cat", "notes/proofs.md", "--json"),
    "ls": ("ls", "--json"),
    "links": ("links", "notes/merkle.md", "--json"),
    "verify": ("verify", "--json"),
    "reindex": ("reindex", "--json"),
    "config": ("config", "--json"),
    "version": ("version", "--json"),
}


@pytest.mark.parametrize("name", LINES)
def test_an_answer_has_the_documented_keys(name: str, kb: Cli) -> None:
    done = kb(*LINES[name])
    fields = importlib.import_module(f"arbor.cli.commands.{name}").command.fields
    assert done.json["schema"] == f"arbor.{name}/1"
    assert set(done.json) == {"schema", *fields}
    assert done.err == ""


# Commands whose answers differ by what was asked: no key that is not documented.
SEVERAL = {
    "branch": (("branch", "--json"), ("branch", "more", "--json"), ("branch", "-d", "more", "--json")),
    "switch": (("switch", "-c", "more", "--json"), ("switch", "--detach", "HEAD", "--json")),
    "merge": (("merge", "main", "--json"),),
    "tag": (("tag", "v1", "--json"), ("tag", "--json"), ("tag", "-d", "v1", "--json")),
    "reset": (("reset", "HEAD", "--json"),),
    "reflog": (("reflog", "--json"),),
    "consensus": (
        ("consensus", "--json"),
        ("consensus", "notes/merkle.md", "--json"),
        ("consensus", "notes/merkle.md", "--history", "--json"),
    ),
    "config": (
        ("config", "user.name", "Ada", "--json"),
        ("config", "user.name", "--json"),
        ("config", "unset", "user.name", "--json"),
    ),
    "distill": (
        ("distill", "--list", "--json"),
        ("distill", "notes/merkle.md", "--with", "lead", "--json"),
    ),
    "ripple": (("ripple", "--json"), ("ripple", "--check", "--staged", "--json")),
}


@pytest.mark.parametrize("name", SEVERAL)
def test_every_form_of_an_answer_keeps_to_the_documented_keys(name: str, kb: Cli) -> None:
    fields = importlib.import_module(f"arbor.cli.commands.{name}").command.fields
    for words in SEVERAL[name]:
        answer = kb(*words).json
        assert answer["schema"] == f"arbor.{name}/1"
        assert set(answer) - {"schema"} <= set(fields)


def test_show_of_a_commit(kb: Cli) -> None:
    answer = kb("show", "--json").json
    assert set(answer) == {"schema", *show.FIELDS} - {"document"}
    assert answer["type"] == "commit"
    assert set(answer["commit"]) == set(COMMIT_FIELDS)
    assert [change["path"] for change in answer["changes"]] == [
        "notes/merkle.md",
        "notes/proofs.md",
        "zh/默克尔.md",
    ]
    assert answer["changes"][0]["diff"][2:] == [
        "@@ -0,0 +1,3 @@", "+# Merkle trees", "+", "+A leaf is hashed, then its parent. See [proofs](proofs.md)."
    ]  # fmt: skip


def test_diff_names_the_side_that_was_compared(kb: Cli) -> None:
    kb.write("notes/proofs.md", "staged\n")
    kb("add", ".")
    kb.write("notes/proofs.md", "in the file\n")
    sides = []
    for words in ((), ("HEAD",), ("--staged",), ("--staged", "HEAD")):
        answer = kb("diff", *words, "--json").json
        assert (answer["changes"][0]["diff"][-1] == "+in the file") == (answer["new"] == "files")
        sides.append((answer["old"], answer["new"]))
    assert sides == [("stage", "files"), ("HEAD", "files"), ("HEAD", "stage"), ("HEAD", "stage")]


def test_show_of_a_document(kb: Cli) -> None:
    answer = kb("show", "notes/proofs.md", "--json").json
    assert set(answer) == {"schema", "type", "document"}
    document = answer["document"]
    assert document["title"] == "Proofs"
    assert document["front_matter"] == {"tags": ["hash"]}
    assert document["size"] == (kb.folder / "notes/proofs.md").stat().st_size
    assert document["passages"][0]["start_line"] == 1
    assert document["passages"][-1]["end_byte"] == document["size"]


def test_commit_has_the_keys_that_other_tools_rely_on(kb: Cli) -> None:
    kb.write("notes/new.md", "# New\n")
    kb("add", ".")
    answer = kb("commit", "-m", "A new one\n\nwith a body", "--json").json
    assert len(answer["commit"]) == len(answer["ledger_root"]) == 64
    assert answer["documents"] == 4
    assert "ripple" in answer
    assert answer["subject"] == "A new one"
    assert answer["changes"] == [{"status": "A", "path": "notes/new.md", "old_path": None}]
    assert answer["parent"] == kb("log", "--json", "-n1", "HEAD~1").json["commits"][0]["commit"]


def test_a_hit_has_the_keys_that_other_tools_rely_on(kb: Cli) -> None:
    answer = kb("search", "inclusion", "--json").json
    [hit] = answer["hits"]
    assert set(hit) == {
        "rank", "path", "paths", "document", "kind", "title", "chunk", "heading", "text", "snippet", "highlights",
        "line", "score", "scores", "label", "contested", "audit", "reasons", "sources", "passages",
    }  # fmt: skip
    assert set(hit["chunk"]) == {"index", "oid", "start_line", "end_line", "start_byte", "end_byte"}
    assert set(hit["scores"]) == {"lexical", "dense", "graph", "consensus", "quality", "freshness"}
    assert set(hit["scores"]["lexical"]) == {"raw", "normalised"}
    assert hit["audit"] == "STRICT"
    assert [hit["snippet"][start:end] for start, end in hit["highlights"]] == ["inclusion"]
    assert answer["mode"] == "HYBRID"
    assert answer["withheld"] == {"count": 0, "reasons": {}}
    assert (answer["more"], answer["stale"]) == (False, False)
    assert answer["rev"] == kb("log", "--json").json["commits"][0]["commit"]


def test_log_with_changes(kb: Cli) -> None:
    plain = kb("log", "--json").json["commits"][0]
    names = kb("log", "--json", "--name-status").json["commits"][0]
    stat = kb("log", "--json", "--stat").json["commits"][0]
    assert set(plain) == set(COMMIT_FIELDS)
    assert set(names) - set(plain) == {"changes"}
    assert names["changes"][0]["added"] is None
    assert stat["changes"][0]["added"] == 3
    assert plain["author"] == {
        "name": "Ada Lovelace",
        "email": "ada@example.org",
        "time": "2026-01-31T09:00:00+00:00",
    }


def test_status_says_what_is_where(kb: Cli) -> None:
    kb.write("notes/merkle.md", "changed\n")
    kb("mv", "notes/proofs.md", "notes/moved.md")
    kb.write("new/file.md", "new\n")
    answer = kb("status", "--json").json
    assert answer["branch"] == "main"
    assert answer["clean"] is False
    assert answer["staged"] == [{"status": "R", "path": "notes/moved.md", "old_path": "notes/proofs.md"}]
    assert answer["unstaged"] == [{"status": "M", "path": "notes/merkle.md", "old_path": None}]
    assert answer["untracked"] == ["new/"]


def test_cat_of_bytes_that_are_no_utf8(kb: Cli) -> None:
    kb.write("bytes.txt", b"caf\xe9 \xff\xfe\n")
    kb("add", "bytes.txt")
    assert kb("cat", "bytes.txt", "--json").json["encoding"] == "base64"
    assert kb("cat", "bytes.txt").raw == b"caf\xe9 \xff\xfe\n"
    assert kb("cat", "notes/merkle.md", "--json").json["content"].startswith("# Merkle trees\n")


def test_verify_names_what_is_damaged(kb: Cli) -> None:
    [pack, *_] = sorted((kb.folder / ".arbor/packs").glob("*.pack"))
    data = bytearray(pack.read_bytes())
    data[len(data) // 2] ^= 1
    pack.chmod(0o644)
    pack.write_bytes(data)
    answer = kb("verify", "--json", code=12).json
    assert answer["ok"] is False
    assert answer["damaged"]
    assert set(answer["damaged"][0]) == {"object", "where", "problem", "affects"}


def collection(folder: Path) -> None:
    folder.mkdir()
    documents = [
        {"_id": str(n), "title": "", "text": text} for n, text in enumerate(["a leaf", "a root", "a bark"])
    ]
    (folder / "corpus.jsonl").write_text("".join(json.dumps(line) + "\n" for line in documents))
    (folder / "queries.jsonl").write_text(json.dumps({"_id": "q", "text": "root"}) + "\n")
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq\t1\t1\n")


def test_eval(cli: Cli) -> None:
    collection(cli.folder / "tiny")
    answer: dict[str, Any] = cli("eval", "tiny", "--json").json
    assert set(answer) == {
        "schema", "collection", "documents", "queries", "unknown", "metrics", "latency_ms", "config",
    }  # fmt: skip
    assert set(answer["metrics"]) == {"ndcg@10", "map", "recall@100", "mrr@10"}
    assert answer["metrics"]["ndcg@10"] == 1.0
    assert set(answer["latency_ms"]) == {"p50", "p95"}
    assert answer["queries"] == 1
    shown = cli("eval", "tiny").out
    assert "tiny: 3 documents, 1 query" in shown
    assert "ndcg@10     1.0000" in shown


def test_eval_of_profiles_and_of_judgements_that_fit_nothing(cli: Cli) -> None:
    collection(cli.folder / "tiny")
    with (cli.folder / "tiny" / "qrels.tsv").open("a") as qrels:
        qrels.write("q\tnowhere\t1\nnobody\t1\t1\n")
    done = cli("eval", "tiny", "--rank", "relevance", "--rank", "ripple", "--json")
    answer: dict[str, Any] = done.json
    fields = importlib.import_module("arbor.cli.commands.eval").FIELDS
    assert set(answer) == {"schema", *fields} - {"metrics", "latency_ms", "config"}
    assert [row["profile"] for row in answer["profiles"]] == ["relevance", "ripple"]
    assert answer["unknown"] == {"documents": 1, "queries": 1}
    plain = cli("eval", "tiny", "--json")
    assert plain.json["unknown"] == answer["unknown"]
    for said in (done.err, plain.err):
        assert said.count("warning: 1 judgement of ") == 2


def test_what_was_set_is_answered(kb: Cli) -> None:
    assert kb("config", "sign.commits", "yes", "--json").json["settings"] == {"sign.commits": True}
    assert kb("config", "--global", "user.name", "Ada", "--json").json["settings"] == {"user.name": "Ada"}
    assert kb("config", "user.name", "Eve", "--json").json["settings"] == {"user.name": "Eve"}
    assert kb("config", "unset", "user.name", "--json").json["settings"] == {"user.name": "Ada"}
    assert kb("config", "--global", "--unset", "user.name", "--json").json["settings"] == {}


def test_a_history_also_says_how_it_stands(kb: Cli) -> None:
    answer = kb("consensus", "notes/merkle.md", "--history", "--json").json
    now = kb("consensus", "notes/merkle.md", "--json").json
    for name in ("path", "label", "score", "groups", "contested"):
        assert answer[name] == now[name]


def test_a_hook_has_no_answer(kb: Cli) -> None:
    error = json.loads(kb("hook", "run", "pre-commit", "--json", code=2).err)
    assert error["exit_code"] == 2


def test_an_error_is_one_object_on_standard_error(kb: Cli) -> None:
    done = kb("show", "nowhere", "--json", code=2)
    assert done.out == ""
    error = json.loads(done.err)
    assert error == {
        "schema": "arbor.error/1",
        "error": "revision 'nowhere' not found",
        "hint": error["hint"],
        "exit_code": 2,
    }


def test_json_as_a_path_after_dashes_is_no_option(kb: Cli) -> None:
    done = kb("log", "nowhere", "--", "--json", code=2)
    assert done.err.startswith("error: ")


def test_control_characters_leave_json_escaped(kb: Cli) -> None:
    kb.write("c1.md", "# C1\n\nA \x9b31m \u202e and \x1b[31m here.\n")
    kb.commit("c1")
    done = kb("search", "here", "--json")
    assert not {"\x9b", "\x1b", "\u202e"} & set(done.out)
    assert "A \x9b31m \u202e and \x1b[31m here." in done.json["hits"][0]["text"]
