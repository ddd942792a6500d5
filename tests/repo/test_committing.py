"""Commits: what they hold, what they refuse, and what they are a function of."""

from __future__ import annotations

from pathlib import Path

import pytest

import arbor
from arbor.errors import ConflictError, UsageError, WrongType
from arbor.objects import ledger, merkle
from arbor.objects.model import Commit
from arbor.repo.commits import committing
from arbor.repo.repository import Repository
from arbor.repo.stage import Stage, read_stage, write_stage
from tests.repo.kit import files_in, new_kb, read_all, record, short, signature, write


def test_a_commit_holds_the_stage_and_not_the_work_tree(tmp_path: Path) -> None:
    kb = new_kb(tmp_path, {"a.md": "one\n"})
    write(tmp_path, {"a.md": "two\n", "b.md": "b\n"})
    kb.add(["a.md"])
    write(tmp_path, {"a.md": "three\n"})
    made = kb.commit("second\n\nwith a body", index=False)
    assert read_all(kb) == {"a.md": b"two\n"}
    assert (made.documents, made.subject, made.branch) == (1, "second", "main")
    assert short(made.changes) == ["M a.md"]
    assert made.parent == kb.resolve("HEAD~1").hex()
    assert (kb.resolve().hex(), kb.snapshot("HEAD").ledger_root.hex()) == (made.commit, made.ledger_root)
    assert short(kb.status().unstaged) == ["M a.md"]
    assert kb.status().staged == ()


def test_the_root_is_a_function_of_the_content(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {f"{n % 5}/{n}.md": f"# {n}\n" for n in range(60)}
    one = new_kb(tmp_path / "one", files)
    two = new_kb(tmp_path / "two")
    for path in sorted(files, reverse=True):
        record(two, {path: files[path]}, path) if int(path.split("/")[1][:-3]) % 10 == 0 else write(
            tmp_path / "two", {path: files[path]}
        )
    record(two, {"extra.md": "x\n", "0/0.md": "other\n"})
    two.rm(["extra.md"])
    write(tmp_path / "two", {"0/0.md": files["0/0.md"]})
    two.add()
    two.commit("as the other", index=False)
    assert one.snapshot("HEAD").ledger_root == two.snapshot("HEAD").ledger_root
    assert dict(one.ls()) == dict(two.ls())


@pytest.mark.parametrize("message", ["", "  \n ", "x" * 1_000_001, "\ud800"])
def test_messages_that_are_refused(tmp_path: Path, message: str) -> None:
    kb = new_kb(tmp_path, {"a.md": "a"})
    write(tmp_path, {"b.md": "b"})
    kb.add()
    with pytest.raises(UsageError, match="message"):
        kb.commit(message)
    assert len(list(kb.log())) == 1


def test_odd_messages_come_back(tmp_path: Path) -> None:
    kb = new_kb(tmp_path, {"a.md": "a"})
    for message in ("tab\there", "中文 🎉", "a\x00b", "one\r\ntwo", "-m", "a" * 5000, "line\u2028separated"):
        kb.commit(message, allow_empty=True, index=False)
        assert next(kb.log()).message == message
    assert kb.verify().ok


def test_nothing_staged_is_no_commit_unless_asked_for(tmp_path: Path) -> None:
    kb = new_kb(tmp_path, {"a.md": "a"})
    with pytest.raises(UsageError, match="nothing is staged"):
        kb.commit("none")
    write(tmp_path, {"a.md": "b"})
    kb.add()
    write(tmp_path, {"a.md": "a"})
    kb.add()
    with pytest.raises(UsageError, match="nothing is staged"):
        kb.commit("back to where it was")
    assert kb.commit("empty", allow_empty=True, index=False).changes == ()
    assert kb.snapshot("HEAD").ledger_root == kb.snapshot("HEAD~1").ledger_root


def test_the_first_commit_may_be_empty_when_asked_for(tmp_path: Path) -> None:
    kb = new_kb(tmp_path)
    with pytest.raises(UsageError):
        kb.commit("none")
    made = kb.commit("start", allow_empty=True, index=False)
    assert (made.parent, made.documents) == ("", 0)
    assert bytes.fromhex(made.ledger_root) == ledger.EMPTY_LEDGER
    assert kb.verify().ok


def test_amend_replaces_the_last_commit(tmp_path: Path) -> None:
    kb = new_kb(tmp_path, {"a.md": "a"})
    second = record(kb, {"b.md": "b"}, "secnd")
    kb.repo.identity = ("Grace Hopper", "grace@example.org")
    amended = kb.commit("second", amend=True, index=False)
    assert [entry.message for entry in kb.log()] == ["second", "first"]
    assert amended.commit != second
    top = next(kb.log())
    assert (top.author, top.committer) == ("Ada Lovelace", "Grace Hopper")
    write(tmp_path, {"c.md": "c"})
    kb.add()
    kb.commit("second, with c", amend=True, index=False)
    assert sorted(read_all(kb)) == ["a.md", "b.md", "c.md"]
    assert kb.verify().ok


def test_amend_of_the_first_commit_and_of_none(tmp_path: Path) -> None:
    kb = new_kb(tmp_path)
    with pytest.raises(UsageError, match="no commit to amend"):
        kb.commit("x", amend=True)
    record(kb, {"a.md": "a"})
    kb.commit("begun anew", amend=True, index=False)
    assert [entry.message for entry in kb.log()] == ["begun anew"]
    assert kb.repo.commit(kb.resolve()).log_size == 0


def test_a_merge_in_progress_is_not_amended_and_conflicts_stop_a_commit(tmp_path: Path) -> None:
    kb = new_kb(tmp_path, {"a.md": "a"})
    second = record(kb, {"b.md": "b"})
    stage = kb.repo.stage()
    write_stage(kb.folder, Stage(stage.base, {}, (bytes.fromhex(second),), "Merge x", ("a.md",)))
    with pytest.raises(ConflictError, match=r"still in conflict: a\.md"):
        kb.commit("x")
    write_stage(kb.folder, Stage(stage.base, {}, (bytes.fromhex(second),), "Merge x", ()))
    assert kb.status().merging
    with pytest.raises(UsageError, match="merge is in progress"):
        kb.commit("x", amend=True)
    kb.commit(index=False)
    assert next(kb.log()).message == "Merge x"
    assert len(next(kb.log()).parents) == 2
    assert not kb.status().merging


def test_adding_a_conflict_resolves_it_even_when_it_is_left_as_it_was(tmp_path: Path) -> None:
    kb = new_kb(tmp_path, {"a.md": "a\n", "b.md": "b\n", "c.md": "c\n"})
    stage = kb.repo.stage()
    write_stage(kb.folder, Stage(stage.base, {}, (), "", ("a.md", "b.md", "c.md")))
    assert [change for change in short(kb.status().unstaged) if change[0] == "U"] == [
        "U a.md",
        "U b.md",
        "U c.md",
    ]
    kb.add(["a.md"])
    kb.rm(["b.md"], force=True)
    (tmp_path / "c.md").unlink()
    kb.add(["c.md"])
    assert kb.repo.stage().conflicts == ()


def test_each_commit_carries_the_log_of_those_before_it(tmp_path: Path) -> None:
    kb = new_kb(tmp_path, {"a.md": "a"})
    for number in range(9):
        kb.commit(str(number), allow_empty=True, index=False)
    line = [bytes.fromhex(entry.commit) for entry in kb.log()][::-1]
    for position, oid in enumerate(line):
        commit = kb.repo.commit(oid)
        assert commit.log_size == position
        assert merkle.root_of_peaks(commit.log_peaks) == merkle.tree_root(line[:position])


def test_the_policy_in_force_is_recorded(tmp_path: Path) -> None:
    kb = new_kb(tmp_path, {"a.md": "a"})
    first = kb.repo.commit(kb.resolve()).policy
    assert first["policy"] == ""
    assert first["canonicalisation"] == "bytes/1"
    record(kb, {"arbor.toml": "[chunking]\ntarget_bytes = 1500\n"})
    second = kb.repo.commit(kb.resolve()).policy
    assert second["policy"] == kb.document("arbor.toml").file_hash


def test_what_was_made_for_another_head_is_not_recorded(tmp_path: Path) -> None:
    kb = new_kb(tmp_path, {"a.md": "one\n"})
    root, oid = kb.repo.head_root(), kb.snapshot().get("a.md")
    record(kb, {"b.md": "by somebody else\n"})
    with pytest.raises(ConflictError, match="HEAD has moved"):
        committing.commit(kb.repo, "git abc", instead=Stage(root, {"d/c.md": oid}))
    committing.commit(kb.repo, "git abc", instead=Stage(kb.repo.head_root(), {"d/c.md": oid}))
    assert set(read_all(kb)) == {"a.md", "b.md", "c.md"}


@pytest.mark.parametrize("paths", [["mine.md"], []], ids=["paths", "all"])
def test_what_another_process_does_just_before_is_built_upon_and_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, paths: list[str]
) -> None:
    """Two that commit their own documents wait for each other, and neither is told that HEAD has moved."""
    kb = new_kb(tmp_path, {"a.md": "one\n"})
    write(tmp_path, {"mine.md": "mine\n", "theirs.md": "theirs\n", "later.md": "later\n"})
    kb.add(["mine.md", "theirs.md"])

    def meanwhile(repo: Repository, sign: bool | None) -> None:
        monkeypatch.undo()
        with arbor.open(tmp_path) as other:
            other.commit("theirs", paths=["theirs.md"], index=False)
            other.add(["later.md"])

    monkeypatch.setattr("arbor.repo.trust.signing.signer", meanwhile)
    made = kb.commit("mine", paths=paths, index=False)
    assert short(made.changes) == (["A mine.md"] if paths else ["A later.md", "A mine.md"])
    assert set(read_all(kb)) == {"a.md", "mine.md", "theirs.md"} | (set() if paths else {"later.md"})
    assert short(kb.status().staged) == (["A later.md"] if paths else [])


def test_a_commit_that_died_after_its_ref_moved_leaves_nothing_staged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The stage file is still there then, and means what HEAD holds already."""
    kb = new_kb(tmp_path, {"a.md": "a"})
    write(tmp_path, {"b.md": "b"})
    kb.add()
    monkeypatch.setattr(committing, "_clear", lambda *args: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        kb.commit("second")
    monkeypatch.undo()
    again = arbor.open(tmp_path)
    assert again.status().clean
    assert len(list(again.log())) == 2
    with pytest.raises(UsageError, match="nothing is staged"):
        again.commit("third")
    assert again.rm(["b.md"]) == ("b.md",)
    again.commit("third", index=False)
    assert read_all(again) == files_in(tmp_path)


def test_a_damaged_stage_is_said_to_be(tmp_path: Path) -> None:
    kb = new_kb(tmp_path, {"a.md": "a"})
    write(tmp_path, {"b.md": "b"})
    kb.add()
    whole = (kb.folder / "stage").read_bytes()
    for place in range(len(whole)):
        broken = bytearray(whole)
        broken[place] ^= 1
        (kb.folder / "stage").write_bytes(broken)
        with pytest.raises(arbor.errors.IntegrityError):
            read_stage(kb.folder, b"")


def test_who_commits(tmp_path: Path) -> None:
    kb = arbor.init(tmp_path)
    assert (kb.repo.who().name, kb.repo.who().email) == ("unknown", "unknown@localhost")
    kb.config_set("user.name", "Ada\tof\nLovelace")
    kb.config_set("user.email", "ada@example.org")
    record(kb, {"a.md": "a"})
    top = next(kb.log())
    assert (top.author, top.author_email) == ("Ada\tof\nLovelace", "ada@example.org")
    assert kb.repo.refs.reflog("HEAD")[0].who.name == "Ada of Lovelace"
    assert kb.verify().ok
    write(tmp_path, {"b.md": "b"})
    kb.add()
    kb.commit("x", author=signature(5, "Grace"), index=False)
    top = next(kb.log())
    assert (top.author, top.author_time, top.committer) == ("Grace", 5, "Ada\tof\nLovelace")


def test_documents_are_counted_without_what_else_the_ledger_holds(tmp_path: Path) -> None:
    kb = new_kb(tmp_path, {f"{n:03d}.md": f"{n}\n" for n in range(300)})
    stage = kb.repo.stage()
    extra = {f"{room}/{n}": bytes(32) for room in ("a", "c", "e", "f") for n in range(50)}
    write_stage(kb.folder, stage.with_changes(kb.repo.store, extra))
    assert kb.commit("more", index=False).documents == 300


def test_the_newest_commits_are_listed_without_a_walk_to_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kb = new_kb(tmp_path)
    for number in range(6):
        write(tmp_path, {"a.md": f"{number}\n"})
        kb.add()
        kb.commit(str(number))
    read: set[bytes] = set()
    commit = Repository.commit

    def watched(self: Repository, oid: bytes) -> Commit:
        read.add(oid)
        return commit(self, oid)

    monkeypatch.setattr(Repository, "commit", watched)
    assert [entry.subject for entry in kb.log(limit=2)] == ["5", "4"]
    assert len(read) <= 3


def test_a_commit_is_made_where_the_stage_cannot_be_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kb = new_kb(tmp_path, {"a.md": "one\n"})
    write(tmp_path, {"a.md": "two\n"})
    kb.add()

    def refuse(folder: Path) -> None:
        raise OSError(5, "Input/output error", str(folder / "stage"))

    monkeypatch.setattr(committing, "clear_stage", refuse)
    made = kb.commit("second", index=False)
    monkeypatch.undo()
    assert (kb.folder / "stage").exists()
    assert kb.resolve().hex() == made.commit
    assert kb.status().clean
    write(tmp_path, {"b.md": "b\n"})
    kb.add()
    assert short(kb.commit("third", index=False).changes) == ["A b.md"]


@pytest.mark.parametrize(
    "changed", [{"name": b"Grace"}, {"email": None}, {"seconds": "5"}, {"offset_minutes": 1.5}]
)
def test_an_author_has_the_types_of_a_signature(tmp_path: Path, changed: dict[str, object]) -> None:
    kb = new_kb(tmp_path, {"a.md": "a\n"})
    write(tmp_path, {"a.md": "b\n"})
    kb.add()
    with pytest.raises(WrongType, match="author"):
        committing.commit(kb.repo, "second", author=signature()._replace(**changed))
    assert len(list(kb.log())) == 1
