"""Branches, merges, reverts and resets, as a person would do them."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

import arbor
from arbor.errors import ConflictError, UsageError
from arbor.kb import KnowledgeBase
from arbor.repo.merge import merging
from arbor.repo.merge.merge_ledgers import _merge_value
from arbor.repo.merge.merge_text import holds_markers
from arbor.repo.merge.merging import MergeResult
from tests.repo.kit import files_in, new_kb, record, write

TEXT = "".join(f"line {n}\n" for n in range(30))


@pytest.fixture
def kb(tmp_path: Path) -> KnowledgeBase:
    made = arbor.init(tmp_path / "kb")
    save(made, "a.md", TEXT, "b.md", TEXT + "tail\n", "dir/c.md", "# C\n")
    made.commit("one")
    return made


def save(kb: KnowledgeBase, *names_and_texts: str) -> None:
    assert kb.fs_root is not None
    for name, text in zip(names_and_texts[0::2], names_and_texts[1::2], strict=True):
        path = kb.fs_root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    kb.add()


def read(kb: KnowledgeBase, name: str) -> str:
    assert kb.fs_root is not None
    return (kb.fs_root / name).read_text()


def test_a_fast_forward_moves_branch_files_and_index(kb: KnowledgeBase) -> None:
    kb.branches.switch("ideas", create=True)
    save(kb, "new.md", "# Zebra\n")
    tip = kb.commit("two").commit
    kb.branches.switch("main")
    assert not (kb.fs_root / "new.md").exists()  # type: ignore[operator]
    assert kb.branches.merge("ideas").kind == "fast-forward"
    assert kb.resolve("HEAD").hex() == tip
    assert [hit.path for hit in kb.search("zebra").hits] == ["new.md"]
    assert kb.status().clean
    assert kb.branches.merge("ideas").kind == "up-to-date"


def test_both_sides_edit_and_one_renames(kb: KnowledgeBase) -> None:
    kb.branches.switch("ideas", create=True)
    save(kb, "a.md", TEXT.replace("line 3\n", "line three\n"))
    kb.mv(["b.md"], "moved/b2.md")
    kb.commit("theirs")
    kb.branches.switch("main")
    save(kb, "a.md", TEXT.replace("line 20\n", "line twenty\n"), "b.md", "head\n" + TEXT + "tail\n")
    kb.commit("ours")
    result = kb.branches.merge("ideas")
    assert (result.kind, result.conflicts) == ("merged", ())
    assert read(kb, "a.md") == TEXT.replace("line 3\n", "line three\n").replace("line 20\n", "line twenty\n")
    assert read(kb, "moved/b2.md") == "head\n" + TEXT + "tail\n"
    assert [path for path, _ in kb.ls()] == ["a.md", "dir/c.md", "moved/b2.md"]
    assert kb.status().clean
    assert kb.verify().ok
    assert len(kb.repo.commit(kb.resolve()).parents) == 2


def test_merging_either_way_round_gives_one_root(kb: KnowledgeBase) -> None:
    kb.branches.switch("left", create=True)
    save(kb, "a.md", TEXT.replace("line 3\n", ""), "left.md", "l\n")
    kb.commit("left")
    kb.branches.switch("main")
    kb.branches.switch("right", create=True)
    kb.mv(["a.md"], "z.md")
    save(kb, "right.md", "r\n")
    kb.commit("right")
    kb.branches.merge("left")
    one = kb.repo.head_root()
    kb.branches.switch("left")
    assert kb.branches.merge("right").kind == "fast-forward"
    assert kb.repo.head_root() == one


def conflict(kb: KnowledgeBase) -> None:
    kb.branches.switch("ideas", create=True)
    save(kb, "a.md", TEXT.replace("line 5\n", "THEIRS\n"))
    kb.commit("theirs")
    kb.branches.switch("main")
    save(kb, "a.md", TEXT.replace("line 5\n", "OURS\n"))
    kb.commit("ours")


def test_a_conflict_waits_for_a_person(kb: KnowledgeBase) -> None:
    conflict(kb)
    result = kb.branches.merge("ideas")
    assert (result.kind, result.conflicts) == ("conflict", ("a.md",))
    assert "<<<<<<< HEAD\nOURS\n=======\nTHEIRS\n>>>>>>> ideas\n" in read(kb, "a.md")
    with pytest.raises(ConflictError):
        kb.commit("too early")
    assert result.reasons == ("both changed the same lines",)
    assert kb.add(["a.md"], dry_run=True).warnings == ()
    again = arbor.open(kb.fs_root)  # type: ignore[arg-type]
    assert [change.status for change in again.status().unstaged] == ["U"]
    save(again, "a.md", TEXT.replace("line 5\n", "BOTH\n"))
    made = again.commit()
    assert made.subject == "Merge ideas"
    assert len(again.repo.commit(bytes.fromhex(made.commit)).parents) == 2
    assert again.status().clean


def test_a_merge_can_be_left(kb: KnowledgeBase) -> None:
    conflict(kb)
    before = kb.resolve()
    kb.branches.merge("ideas")
    kb.branches.abort_merge()
    assert kb.resolve() == before
    assert kb.status().clean
    assert read(kb, "a.md") == TEXT.replace("line 5\n", "OURS\n")
    with pytest.raises(UsageError):
        kb.branches.abort_merge()


def test_edited_here_and_deleted_there_is_a_conflict(kb: KnowledgeBase) -> None:
    kb.branches.switch("ideas", create=True)
    kb.rm(["a.md"])
    kb.commit("gone")
    kb.branches.switch("main")
    save(kb, "a.md", TEXT + "more\n")
    kb.commit("more")
    result = kb.branches.merge("ideas")
    assert (result.conflicts, result.reasons) == (("a.md",), ("changed here, deleted there",))
    assert read(kb, "a.md") == TEXT + "more\n"
    kb.branches.abort_merge()
    kb.branches.switch("ideas")
    assert kb.branches.merge("main").reasons == ("deleted here, changed there",)
    assert read(kb, "a.md") == TEXT + "more\n"


def test_the_reason_of_a_conflict_is_said(kb: KnowledgeBase) -> None:
    assert kb.fs_root is not None
    (kb.fs_root / "pixel.png").write_bytes(b"\x89PNG\r\n\x1a\nbase")
    kb.add()
    kb.commit("a picture")
    for branch, picture in (("ideas", b"theirs"), ("main", b"ours")):
        kb.branches.switch(branch, create=branch == "ideas")
        (kb.fs_root / "pixel.png").write_bytes(b"\x89PNG\r\n\x1a\n" + picture)
        save(kb, "new.md", f"by {branch}\n")
        kb.add()
        kb.commit(branch)
    result = kb.branches.merge("ideas")
    assert result.conflicts == ("new.md", "pixel.png")
    assert result.reasons[0] == "added on both sides"
    assert result.reasons[1].startswith("both changed it, and")
    assert "the file is as it was here" in result.reasons[1]
    assert (kb.fs_root / "pixel.png").read_bytes().endswith(b"ours")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@pytest.mark.parametrize("name", ["page.html", "mail.eml", "note.md"])
def test_what_is_text_is_merged_by_lines_whatever_is_read_from_it(
    tmp_path: Path, name: str, encoding: str
) -> None:
    head = "From: a@b\r\nTo: c@d\r\nSubject: x\r\n\r\n" if name == "mail.eml" else "<!doctype html>\r\n"
    text = head + "".join(f"<p>line {n}</p>\r\n" for n in range(20))
    kb = new_kb(tmp_path, {name: text.encode(encoding)})
    kb.branches.switch("side", create=True)
    record(kb, {name: text.replace("line 3<", "three<").encode(encoding)})
    kb.branches.switch("main")
    record(kb, {name: text.replace("line 17<", "seventeen<").encode(encoding)})
    assert kb.branches.merge("side").kind == "merged"
    joined = text.replace("line 3<", "three<").replace("line 17<", "seventeen<")
    assert (tmp_path / name).read_bytes() == joined.encode(encoding)
    kb.branches.switch("side")
    record(kb, {name: joined.replace("seventeen", "A").encode(encoding)})
    kb.branches.switch("main")
    record(kb, {name: joined.replace("seventeen", "B").encode(encoding)})
    assert kb.branches.merge("side").reasons == ("both changed the same lines",)
    marked = "<<<<<<< HEAD\r\n<p>B</p>\r\n=======\r\n<p>A</p>\r\n>>>>>>> side\r\n"
    found = joined.replace("<p>seventeen</p>\r\n", marked)
    assert (tmp_path / name).read_bytes() == found.encode(encoding)
    assert kb.add([name]).warnings[0][1] == "it still holds conflict markers"


def test_adding_what_still_has_conflict_markers_is_warned_of(kb: KnowledgeBase) -> None:
    conflict(kb)
    kb.branches.merge("ideas")
    assert kb.add(["a.md"]).warnings == (("a.md", "it still holds conflict markers"),)
    save(kb, "a.md", TEXT.replace("line 5\n", "BOTH\n"))
    assert kb.add(["a.md"]).warnings == ()


def test_local_changes_are_never_overwritten(kb: KnowledgeBase) -> None:
    kb.branches.switch("ideas", create=True)
    save(kb, "a.md", "theirs\n", "new.md", "committed\n")
    kb.commit("theirs")
    kb.branches.switch("main")
    assert kb.fs_root is not None
    (kb.fs_root / "a.md").write_text("not added\n")
    (kb.fs_root / "new.md").write_text("not tracked\n")
    for act in (lambda: kb.branches.switch("ideas"), lambda: kb.branches.merge("ideas")):
        with pytest.raises(ConflictError, match="overwritten"):
            act()
    assert (read(kb, "a.md"), read(kb, "new.md")) == ("not added\n", "not tracked\n")


def test_local_changes_elsewhere_come_along(kb: KnowledgeBase) -> None:
    kb.branches.switch("ideas", create=True)
    save(kb, "a.md", "theirs\n")
    kb.commit("theirs")
    save(kb, "dir/c.md", "# staged\n")
    kb.branches.switch("main")
    assert [change.path for change in kb.status().staged] == ["dir/c.md"]
    assert (read(kb, "dir/c.md"), read(kb, "a.md")) == ("# staged\n", TEXT)


def test_revert_undoes_one_commit(kb: KnowledgeBase) -> None:
    first = kb.repo.head_root()
    save(kb, "a.md", "changed\n", "extra.md", "x\n")
    kb.commit("two")
    assert kb.branches.revert("HEAD").kind == "merged"
    assert kb.repo.head_root() == first
    assert next(iter(kb.log())).subject == 'Revert "two"'


def test_a_revert_can_be_left_until_it_is_committed(kb: KnowledgeBase) -> None:
    for text in ("two\n", "three\n"):
        save(kb, "a.md", text)
        kb.commit(text.strip())
    assert merging.revert(kb.repo, "HEAD~1").kind == "conflict"
    save(kb, "a.md", "resolved\n")
    state = kb.status()
    assert (state.reverting, state.merging, state.clean) == (True, False, False)
    with pytest.raises(ConflictError, match="a revert is in progress"):
        kb.branches.switch("other", create=True)
    kb.branches.abort_revert()
    assert kb.status().clean
    assert read(kb, "a.md") == "three\n"
    merging.revert(kb.repo, "HEAD")  # and no further: cut off before its commit, or with --no-commit
    with pytest.raises(ConflictError, match="a revert is in progress"):
        merging.revert(kb.repo, "HEAD")
    kb.commit()
    assert not kb.status().reverting
    assert next(iter(kb.log())).subject == 'Revert "three"'


def test_reset_moves_the_branch_in_three_ways(kb: KnowledgeBase) -> None:
    save(kb, "a.md", "two\n")
    kb.commit("two")
    kb.branches.reset("HEAD~1", "soft")
    assert [change.status for change in kb.status().staged] == ["M"]
    kb.branches.reset("HEAD", "mixed")
    assert [change.status for change in kb.status().unstaged] == ["M"]
    kb.branches.reset("HEAD", "hard")
    assert kb.status().clean
    assert read(kb, "a.md") == TEXT
    assert kb.branches.reset("HEAD@{3}", "hard") == kb.resolve().hex()
    assert read(kb, "a.md") == "two\n"


@pytest.fixture
def soft(kb: KnowledgeBase) -> KnowledgeBase:
    """A KB whose last commit was taken back softly, beside a branch that goes on from the one before it."""
    kb.branches.create("side")
    save(kb, "a.md", TEXT.replace("line 5\n", "STAGED\n"), "new.md", "# New\n")
    kb.commit("two")
    kb.branches.switch("side")
    save(kb, "b.md", "# B\n")
    kb.commit("on the side")
    kb.branches.switch("main")
    kb.branches.reset("HEAD~1", "soft")
    return kb


def test_what_a_soft_reset_leaves_staged_enters_no_merge_and_no_revert(soft: KnowledgeBase) -> None:
    save(soft, "c.md", "# Another\n")
    soft.rm(["c.md"], force=True)
    before = soft.status()
    assert [change.path for change in before.staged] == ["a.md", "new.md"]
    for refused in (
        lambda: soft.branches.merge("side", fast_forward=False),
        lambda: soft.branches.revert("HEAD"),
    ):
        with pytest.raises(ConflictError, match="staged changes"):
            refused()
    assert soft.status() == before


def test_what_a_soft_reset_leaves_staged_comes_along_or_stops_a_switch(soft: KnowledgeBase) -> None:
    staged = soft.status().staged
    soft.branches.switch("side")
    assert soft.status().staged == staged
    assert "STAGED" in read(soft, "a.md")
    soft.branches.switch("main", force=True)
    save(soft, "b.md", "# Mine\n")
    soft.commit("mine")
    soft.branches.reset("HEAD~1", "soft")
    with pytest.raises(ConflictError, match="staged changes would be overwritten"):
        soft.branches.switch("side")
    assert read(soft, "b.md") == "# Mine\n"


def test_what_is_staged_as_the_other_version_has_it_stands_in_no_way(soft: KnowledgeBase) -> None:
    soft.branches.reset("HEAD@{1}", "hard")
    soft.branches.create("later")
    soft.branches.reset("HEAD~1", "soft")
    save(soft, "c.md", "# Mine\n")
    assert soft.fs_root is not None
    (soft.fs_root / "a.md").write_text(TEXT)
    soft.branches.switch("later")
    assert [change.path for change in soft.status().staged] == ["c.md"]
    assert [change.path for change in soft.status().unstaged] == ["a.md"]
    assert read(soft, "a.md") == TEXT
    soft.branches.reset("HEAD~1", "soft")
    save(soft, "a.md", "# Otherwise\n")
    with pytest.raises(ConflictError, match="staged changes would be overwritten"):
        soft.branches.merge("later@{1}")
    soft.branches.reset("HEAD", "hard")
    assert not soft.status().staged


def test_a_soft_reset_to_and_fro_leaves_nothing_staged(soft: KnowledgeBase) -> None:
    later = soft.commit("again").commit
    soft.branches.reset("HEAD~1", "soft")
    soft.branches.reset(later, "soft")
    assert soft.status().clean
    assert not (soft.folder / "stage").exists()


def test_branches_are_renamed_as_in_git(kb: KnowledgeBase) -> None:
    kb.branches.create("topic")
    at = kb.resolve("topic")
    for new in ("topic/one", "topic/one/more", "topic/one/more", "topic"):
        kb.branches.rename(kb.branches.listing()[-1].name, new)
        assert [branch.name for branch in kb.branches.listing()] == ["main", new]
        assert kb.resolve(new) == at
    kb.branches.rename("main", "main", force=True)
    kb.branches.rename("main", "main/x")
    assert [(branch.name, branch.current) for branch in kb.branches.listing()] == [
        ("main/x", True), ("topic", False)
    ]  # fmt: skip
    save(kb, "n.md", "new\n")
    kb.commit("ahead")
    with pytest.raises(UsageError, match="current"):
        kb.branches.rename("topic", "main/x", force=True)
    with pytest.raises(UsageError, match="exists"):
        kb.branches.rename("topic", "main/x")
    with pytest.raises(UsageError):
        kb.branches.rename("topic", "topic/a..b")
    with pytest.raises(ConflictError, match="in the way"):
        kb.branches.rename("topic", "main/x/y")
    assert [branch.name for branch in kb.branches.listing()] == ["main/x", "topic"]
    assert kb.status().clean


def test_branch_and_tag_names_are_guarded(kb: KnowledgeBase) -> None:
    kb.branches.create("topic")
    kb.branches.tag("v1", message="the first\nrelease")
    assert [branch.name for branch in kb.branches.listing()] == ["main", "topic"]
    assert [(tag.name, tag.annotated, tag.commit) for tag in kb.branches.tags()] == [
        ("v1", True, kb.resolve().hex())
    ]
    assert kb.resolve("v1") == kb.resolve("topic")
    for bad in ("../x", "a..b", "-x", "x.lock", "con", "a b", "", "@"):
        with pytest.raises(UsageError):
            kb.branches.create(bad)
    with pytest.raises(UsageError):
        kb.branches.delete("main")
    kb.branches.rename("topic", "subject")
    kb.branches.switch("subject")
    save(kb, "only.md", "here\n")
    kb.commit("only here")
    kb.branches.switch("main")
    with pytest.raises(ConflictError):
        kb.branches.delete("subject")
    kb.branches.delete("subject", force=True)


def test_a_branch_is_renamed_over_another_one_but_neither_over_itself_nor_over_the_current_one(
    kb: KnowledgeBase,
) -> None:
    kb.branches.create("topic")
    kb.branches.create("other")
    save(kb, "only.md", "here\n")
    tip = kb.commit("only here").commit
    for force in (False, True):
        kb.branches.rename("main", "main", force=force)
    with pytest.raises(UsageError, match="is the current one"):
        kb.branches.rename("topic", "main", force=True)
    assert kb.resolve("main").hex() == kb.resolve("HEAD").hex() == tip
    kb.branches.rename("topic", "other", force=True)
    assert [branch.name for branch in kb.branches.listing()] == ["main", "other"]


def test_the_reflog_of_a_branch_goes_along_with_its_new_name(kb: KnowledgeBase) -> None:
    kb.branches.create("topic")
    was = kb.resolve("topic")
    save(kb, "only.md", "here\n")
    kb.commit("only here")
    kb.branches.create("topic", force=True)
    kb.branches.rename("topic", "far/subject")
    assert kb.resolve("far/subject@{2}") == was
    assert [entry.reason for entry in kb.branches.reflog("refs/heads/far/subject")] == [
        "branch: renamed from topic", "branch: from HEAD", "branch: from HEAD",
    ]  # fmt: skip
    for old, new, steps in (("far/subject", "far/subject/x", 4), ("far/subject/x", "far", 6)):
        kb.branches.rename(old, new)  # by way of a third name
        assert kb.resolve(f"{new}@{{{steps}}}") == was
    assert [branch.name for branch in kb.branches.listing()] == ["far", "main"]
    kb.branches.create("topic")
    assert len(kb.branches.reflog("refs/heads/topic")) == len(kb.branches.reflog("topic")) == 1
    with pytest.raises(UsageError, match="there is no ref 'nope'"):
        kb.branches.reflog("nope")


def test_a_rename_that_is_refused_costs_no_branch_its_reflog(kb: KnowledgeBase) -> None:
    for name in ("topic", "a", "b/c", "b/d"):
        kb.branches.create(name)
    before = {
        branch.name: kb.branches.reflog(f"refs/heads/{branch.name}") for branch in kb.branches.listing()
    }
    for old, new in (("topic", "a/x"), ("topic", "b"), ("b/c", "b"), ("main", "a/x")):
        with pytest.raises(ConflictError, match="in the way"):
            kb.branches.rename(old, new)
    assert {name: kb.branches.reflog(f"refs/heads/{name}") for name in before} == before
    assert [branch.name for branch in kb.branches.listing()] == sorted(before)


def test_nothing_begins_while_a_revert_waits(tmp_path: Path) -> None:
    kb = new_kb(tmp_path, {"a.md": "one\n", "b.md": "one\n"})
    for name, text in (("a.md", "two\n"), ("b.md", "two\n"), ("a.md", "three\n"), ("b.md", "three\n")):
        record(kb, {name: text}, f"{name} {text}")
    assert kb.branches.revert("HEAD~3").conflicts == ("a.md",)
    for act in (lambda: kb.branches.revert("HEAD~2"), lambda: kb.branches.merge("HEAD~1"),
                lambda: kb.branches.switch("x", create=True)):  # fmt: skip
        with pytest.raises(ConflictError, match="a revert is in progress") as refused:
            act()
        assert "leave it with revert --abort" in refused.value.hint
    with pytest.raises(UsageError, match="no merge in progress") as raised:
        kb.branches.abort_merge()
    assert "arbor revert --abort" in raised.value.hint
    kb.branches.abort_revert()
    with pytest.raises(UsageError, match="no revert in progress"):
        kb.branches.abort_revert()
    assert (tmp_path / "a.md").read_text() == "three\n"
    assert kb.status().clean


@pytest.mark.parametrize("conflict", [True, False])
def test_a_revert_is_in_progress_until_it_is_committed(tmp_path: Path, conflict: bool) -> None:
    kb = new_kb(tmp_path, {"a.md": "one\n", "b.md": "one\n"})
    record(kb, {"a.md": "two\n", "b.md": "two\n"}, "two")
    record(kb, {"a.md" if conflict else "c.md": "three\n"}, "three")
    assert kb.branches.revert("HEAD~1", commit=False).conflicts == (("a.md",) if conflict else ())
    write(tmp_path, {"a.md": "resolved\n"})
    kb.add(["a.md"])
    assert kb.status().reverting
    with pytest.raises(ConflictError, match="a revert is in progress"):
        kb.branches.switch("x", create=True)
    kb.branches.abort_revert()
    assert kb.status().clean
    assert (tmp_path / "b.md").read_text() == "two\n"


def test_a_revert_of_what_is_undone_already_leaves_nothing_behind(tmp_path: Path) -> None:
    kb = new_kb(tmp_path, {"a.md": "one\n"})
    record(kb, {"a.md": "two\n"}, "two")
    assert kb.branches.revert("HEAD").kind == "merged"
    head = kb.resolve()
    assert kb.branches.revert("HEAD~1").kind == "up-to-date"
    assert kb.resolve() == head
    assert kb.status().clean
    record(kb, {"b.md": "new\n"}, "new")
    assert next(iter(kb.log())).message == "new"


def test_markers_are_looked_for_in_one_pass() -> None:
    assert holds_markers(b"a\n<<<<<<< HEAD\nx\n=======\ny\n>>>>>>> b\n")
    assert holds_markers(b"<<<<<<< HEAD\r\n=======\r\n>>>>>>> b")
    assert not holds_markers(b">>>>>>> b\n=======\n<<<<<<< HEAD\n")
    assert not holds_markers(b"Title\n=======\n\n<<<<<<< and >>>>>>> in the text\n")
    assert not holds_markers(b"<<<<<<< a\n=======\n" * 200_000)


LONG = "".join(f"Line {number} of the common text.\n" for number in range(40))


def two_sides(
    kb: KnowledgeBase, here: Callable[[KnowledgeBase], object], there: Callable[[KnowledgeBase], object]
) -> MergeResult:
    """Do one thing on main and another on a branch of it, and merge the branch into main."""
    kb.branches.switch("side", create=True)
    there(kb)
    kb.commit("there")
    kb.branches.switch("main")
    here(kb)
    kb.commit("here")
    return kb.branches.merge("side")


@pytest.fixture
def moved(tmp_path: Path) -> KnowledgeBase:
    return new_kb(tmp_path, {"e.md": LONG, "d.md": "# Dogs\n"})


def test_a_rename_never_writes_over_what_the_other_side_put_there(moved: KnowledgeBase) -> None:
    def here(kb: KnowledgeBase) -> None:
        save(kb, "x.md", "# Cats\n", "e.md", LONG.replace("Line 3 ", "LINE 3 "))

    result = two_sides(moved, here, lambda kb: kb.mv(["e.md"], "x.md"))
    assert dict(zip(result.conflicts, result.reasons, strict=True)) == {
        "e.md": "changed here, deleted there", "x.md": "added on both sides",
    }  # fmt: skip
    assert "# Cats" in read(moved, "x.md")
    assert "LINE 3 " in read(moved, "e.md")
    moved.branches.abort_merge()
    moved.branches.switch("side")
    result = moved.branches.merge("main")
    assert set(result.conflicts) == {"e.md", "x.md"}
    assert "# Cats" in read(moved, "x.md")


def test_a_rename_over_a_rename_of_another_document(moved: KnowledgeBase) -> None:
    def here(kb: KnowledgeBase) -> None:
        kb.mv(["d.md"], "x.md")
        save(kb, "e.md", LONG.replace("Line 3 ", "LINE 3 "))

    result = two_sides(moved, here, lambda kb: kb.mv(["e.md"], "x.md"))
    assert "x.md" in result.conflicts
    assert "# Dogs" in read(moved, "x.md")


def test_a_document_renamed_to_two_names_is_a_conflict(moved: KnowledgeBase) -> None:
    def rename(name: str, line: str) -> Callable[[KnowledgeBase], object]:
        def act(kb: KnowledgeBase) -> None:
            kb.mv(["e.md"], name)
            save(kb, name, LONG.replace(line, line.upper()))

        return act

    result = two_sides(moved, rename("here.md", "Line 3 "), rename("there.md", "Line 30 "))
    assert result.conflicts == ("here.md", "there.md")
    assert set(result.reasons) == {"renamed from e.md: here to here.md, there to there.md"}
    moved.rm(["there.md"])
    moved.add(["here.md"])
    moved.commit("one of them")
    assert [path for path, _ in moved.ls()] == ["d.md", "here.md"]
    assert moved.status().clean


def test_a_document_renamed_to_one_name_by_both_is_merged(moved: KnowledgeBase) -> None:
    def rename(line: str) -> Callable[[KnowledgeBase], object]:
        def act(kb: KnowledgeBase) -> None:
            kb.mv(["e.md"], "new.md")
            save(kb, "new.md", LONG.replace(line, line.upper()))

        return act

    assert two_sides(moved, rename("Line 3 "), rename("Line 30 ")).kind == "merged"
    assert "LINE 3 " in read(moved, "new.md")
    assert "LINE 30 " in read(moved, "new.md")


def conflict_at_a_new_name(kb: KnowledgeBase) -> None:
    """Both change one line of a document, and the other side renames it."""

    def there(kb: KnowledgeBase) -> None:
        kb.mv(["e.md"], "new/e.md")
        save(kb, "new/e.md", LONG.replace("Line 3 ", "THERE "))

    result = two_sides(kb, lambda kb: save(kb, "e.md", LONG.replace("Line 3 ", "HERE ")), there)
    assert result.conflicts == ("new/e.md",)


def test_a_conflict_under_their_new_name_leaves_no_file_when_it_is_left(moved: KnowledgeBase) -> None:
    conflict_at_a_new_name(moved)
    assert "HERE " in read(moved, "new/e.md")
    assert "THERE " in read(moved, "new/e.md")
    moved.branches.abort_merge()
    assert not (moved.folder.parent / "new").exists()
    assert read(moved, "e.md") == LONG.replace("Line 3 ", "HERE ")
    assert moved.status().clean


@pytest.mark.parametrize("how", ["keep", "remove", "add the removal"])
def test_a_conflict_under_their_new_name_is_resolved_like_any_other(moved: KnowledgeBase, how: str) -> None:
    conflict_at_a_new_name(moved)
    if how == "keep":
        save(moved, "new/e.md", "# Cats\n")
    elif how == "remove":
        moved.rm(["new/e.md"])
    else:
        (moved.folder.parent / "new" / "e.md").unlink()
        moved.add()
    moved.commit("resolved")
    assert [path for path, _ in moved.ls()] == ["d.md"] + ["new/e.md"] * (how == "keep")
    assert moved.status().clean


@pytest.mark.parametrize("mirrored", [False, True])
def test_deleted_on_one_side_and_renamed_on_the_other_is_a_conflict(
    moved: KnowledgeBase, mirrored: bool
) -> None:
    def delete(kb: KnowledgeBase) -> object:
        return kb.rm(["e.md"])

    def rename(kb: KnowledgeBase) -> object:
        return kb.mv(["e.md"], "x.md")

    result = two_sides(moved, rename, delete) if mirrored else two_sides(moved, delete, rename)
    assert result.conflicts == ("x.md",)
    assert result.reasons == ("renamed here, deleted there" if mirrored else "deleted here, renamed there",)
    assert [change.status for change in moved.status().unstaged] == ["U"]
    moved.rm(["x.md"])
    assert not moved.repo.stage().conflicts
    moved.commit("without it")
    assert [path for path, _ in moved.ls()] == ["d.md"]
    assert moved.status().clean


@pytest.mark.parametrize("how", ["add", "add everything", "add -u", "rm", "keep"])
def test_a_conflict_with_a_deletion_can_be_resolved_either_way(moved: KnowledgeBase, how: str) -> None:
    result = two_sides(moved, lambda kb: kb.rm(["e.md"]), lambda kb: save(kb, "e.md", LONG + "more\n"))
    assert result.reasons == ("deleted here, changed there",)
    state = moved.status()
    assert (state.staged, [(c.status, c.path) for c in state.unstaged], state.untracked) == (
        (),
        [("U", "e.md")],
        (),
    )
    assert moved.fs_root is not None
    if how == "rm":
        moved.rm(["e.md"])
    elif how == "keep":
        moved.add(["e.md"])
    else:
        (moved.fs_root / "e.md").unlink()
        if how == "add":
            moved.add(["e.md"])
        else:
            moved.add(update=how == "add -u")
    assert not moved.repo.stage().conflicts
    moved.commit("resolved")
    assert (moved.fs_root / "e.md").exists() == (how == "keep")
    assert moved.repo.snapshot(bytes.fromhex(moved.resolve().hex())).find("e.md") is None or how == "keep"
    assert moved.status().clean


def test_a_document_where_the_other_side_has_a_folder_is_said_before_anything_changes(
    moved: KnowledgeBase,
) -> None:
    moved.branches.switch("side", create=True)
    save(moved, "foo.md/in.md", "in\n")
    moved.commit("there")
    moved.branches.switch("main")
    save(moved, "foo.md", "foo\n")
    moved.commit("here")
    with pytest.raises(ConflictError, match="a document on one side and a folder on the other"):
        moved.branches.merge("side")
    assert moved.status().clean
    moved.branches.switch("side")
    with pytest.raises(ConflictError, match=r"'foo\.md' is a document"):
        moved.branches.merge("main")
    assert moved.status().clean


def test_a_revert_of_a_rename_keeps_what_came_to_the_old_name(moved: KnowledgeBase) -> None:
    moved.mv(["e.md"], "f.md")
    moved.commit("rename")
    save(moved, "e.md", "# Something new\n", "f.md", LONG.replace("Line 3 ", "LINE 3 "))
    moved.commit("more")
    result = moved.branches.revert("HEAD~1")
    assert result.kind == "conflict"
    assert "# Something new" in read(moved, "e.md")
    assert "LINE 3 " in read(moved, "f.md")


@pytest.mark.parametrize("seed", range(25))
def test_what_either_side_wrote_is_there_after_a_merge(tmp_path: Path, seed: int) -> None:
    """Lines that only one side has are in some file afterwards, be it merged or marked, whatever was moved where."""
    source = random.Random(seed)
    names = [f"{letter}.md" for letter in "abcdef"]
    kb = new_kb(tmp_path, {name: f"# {name}\n" + LONG for name in names[:4]})
    written: list[str] = []

    def act(kb: KnowledgeBase) -> None:
        for _ in range(source.randint(1, 4)):
            have = [path for path, _ in kb.ls()]
            free = [name for name in names if name not in have]
            name = source.choice(have)
            line = f"word{len(written)}\n"
            step = source.choice(["edit", "edit", "move", "move", "move and edit", "add", "rm"])
            if step.startswith("move") and free:
                target = source.choice(free)
                kb.mv([name], target)
                name = target
            if step == "add" and free:
                save(kb, source.choice(free), line)
                written.append(line)
            elif step.endswith("edit"):
                text = read(kb, name).splitlines(keepends=True)
                text.insert(source.randrange(len(text) + 1), line)
                save(kb, name, "".join(text))
                written.append(line)
            elif step == "rm" and len(have) > 1 and not any(word in read(kb, name) for word in written):
                kb.rm([name], force=True)
            if kb.status().staged:
                kb.commit(step, index=False)

    kb.branches.switch("side", create=True)
    act(kb)
    kb.branches.switch("main")
    act(kb)
    try:
        result = kb.branches.merge("side")
    except ConflictError:
        return
    text = "".join(path.read_text() for path in sorted(tmp_path.glob("*.md")))
    assert not [line for line in written if line not in text], (result.conflicts, result.reasons)
    if result.conflicts:
        kb.branches.abort_merge()
        assert kb.status().clean


def test_what_both_keep_under_no_path_is_the_same_whoever_merges() -> None:
    """Of two values for one key both sides take the same."""
    assert _merge_value(b"a", b"b") == _merge_value(b"b", b"a") == b"b"
    assert _merge_value(None, b"b") == _merge_value(b"b", None) == b"b"
    assert _merge_value(None, None) is None


def test_a_conflict_does_not_overwrite_what_was_edited_meanwhile(tmp_path: Path) -> None:
    kb = new_kb(tmp_path, {"a.md": "line\n"})
    kb.branches.switch("side", create=True)
    record(kb, {"a.md": "their line\n"})
    kb.branches.switch("main")
    record(kb, {"a.md": "our line\n"})
    write(tmp_path, {"a.md": "edited\n"})
    with pytest.raises(ConflictError, match="local changes would be overwritten"):
        kb.branches.merge("side")
    assert files_in(tmp_path)["a.md"] == b"edited\n"
    assert kb.repo.stage().is_empty


@pytest.mark.parametrize("mirrored", [False, True], ids=["renamed here", "renamed there"])
def test_what_is_no_text_is_renamed_on_one_side_and_changed_on_the_other(
    moved: KnowledgeBase, mirrored: bool
) -> None:
    """There is nothing to merge by lines in it: one side has the name, the other the bytes."""
    old, new = b"\0\1\2" * 40, b"\0\1\3" * 40
    assert moved.fs_root is not None
    fs_path = moved.fs_root / "e.bin"
    fs_path.write_bytes(old)
    moved.add()
    moved.commit("no text")

    def rename(kb: KnowledgeBase) -> object:
        return kb.mv(["e.bin"], "moved.bin")

    def change(kb: KnowledgeBase) -> object:
        fs_path.write_bytes(new)
        return kb.add()

    result = two_sides(moved, change, rename) if mirrored else two_sides(moved, rename, change)
    assert (result.kind, result.conflicts) == ("merged", ())
    assert not fs_path.exists()
    assert (moved.fs_root / "moved.bin").read_bytes() == new
    assert moved.status().clean
    assert moved.verify().ok


def _add_resolved(kb: KnowledgeBase) -> None:
    save(kb, "core:x", "both\n")
    kb.commit("merged")


def _mark_and_add(kb: KnowledgeBase) -> None:
    assert kb.add().warnings == (("core:x", "it still holds conflict markers"),)
    kb.commit("merged")


def _take_ours(kb: KnowledgeBase) -> None:
    kb.restore(["core:x"], source="HEAD", staged=True)
    kb.commit("merged")


def _remove(kb: KnowledgeBase) -> None:
    kb.rm(["core:x"])
    kb.commit("merged")


@pytest.mark.parametrize(
    ("end", "content"),
    [
        (_add_resolved, "both\n"),
        (_mark_and_add, None),
        (_take_ours, "ours\n"),
        (_remove, ""),
        (lambda kb: kb.branches.abort_merge(), "ours\n"),
        (lambda kb: kb.branches.switch("side", force=True), "theirs\n"),
        (lambda kb: kb.branches.reset("HEAD", mode="hard"), "ours\n"),
    ],
    ids=["add", "markers", "restore", "rm", "abort", "switch", "reset"],
)
def test_a_conflict_in_a_document_that_is_called_as_a_core_ends_as_others_do(
    kb: KnowledgeBase, end: Callable[[KnowledgeBase], None], content: str | None
) -> None:
    save(kb, "core:x", "base\n")
    kb.commit("base")
    kb.branches.switch("side", create=True)
    save(kb, "core:x", "theirs\n")
    kb.commit("theirs")
    kb.branches.switch("main")
    save(kb, "core:x", "ours\n")
    kb.commit("ours")
    assert kb.branches.merge("side").conflicts == ("./core:x",)
    assert [(each.status, each.path) for each in kb.status().unstaged] == [("U", "./core:x")]
    with pytest.raises(ConflictError, match="in conflict"):
        kb.mv(["core:x"], "y.md")
    end(kb)
    assert kb.status().clean
    assert not kb.repo.stage().in_progress
    held = kb.cat("core:x") if "core:x" in dict(kb.snapshot().paths()) else []
    assert content in (None, b"".join(held).decode())
    assert not content or read(kb, "core:x") == content
