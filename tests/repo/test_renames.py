"""The history of a document is told across its renames."""

from __future__ import annotations

from pathlib import Path

import pytest

from arbor.errors import UsageError
from arbor.kb import KnowledgeBase
from tests.repo.kit import new_kb, record, write

TEXT = "".join(f"line {number} of the note\n" for number in range(9))


def followed(kb: KnowledgeBase, path: str, revision: str | None = None) -> list[tuple[str, tuple[str, ...]]]:
    return [(info.subject, info.followed) for info in kb.log(revision, [path], follow=True)]


@pytest.fixture
def kb(tmp_path: Path) -> KnowledgeBase:
    """A note that is renamed, edited, renamed while edited, and moved with its folder."""
    kb = new_kb(tmp_path / "kb", {"a.md": TEXT, "other.md": "something else\n"})
    kb.mv(["a.md"], "b.md")
    kb.commit("b", index=False)
    record(kb, {"other.md": "changed\n"}, "not about it")
    record(kb, {"b.md": TEXT + "one more\n"}, "edited")
    kb.mv(["b.md"], "notes/c.md")
    record(kb, {"notes/c.md": TEXT + "one more\nand more\n"}, "c")
    kb.mv(["notes"], "texts")
    kb.commit("folder", index=False)
    return kb


def test_a_document_is_followed_to_its_first_name(kb: KnowledgeBase) -> None:
    assert followed(kb, "texts/c.md") == [
        ("folder", ("texts/c.md", "notes/c.md")),
        ("c", ("notes/c.md", "b.md")),
        ("edited", ("b.md",)),
        ("b", ("b.md", "a.md")),
        ("first", ("a.md",)),
    ]
    assert [info.subject for info in kb.log(paths=["texts/c.md"])] == ["folder"]
    assert [subject for subject, _ in followed(kb, "texts/c.md", "HEAD~2..HEAD")] == ["folder", "c"]
    assert [subject for subject, _ in followed(kb, "b.md", "HEAD~2")] == ["edited", "b", "first"]
    assert followed(kb, "never.md") == []


def test_what_went_is_followed_from_its_end(kb: KnowledgeBase) -> None:
    kb.rm(["texts/c.md"])
    kb.commit("gone", index=False)
    assert [subject for subject, _ in followed(kb, "texts/c.md")] == [
        "gone",
        "folder",
        "c",
        "edited",
        "b",
        "first",
    ]


def test_of_a_merge_the_side_that_gave_the_document_is_followed(kb: KnowledgeBase) -> None:
    kb.branches.switch("side", create=True)
    kb.mv(["texts/c.md"], "d.md")
    kb.commit("d", index=False)
    kb.branches.switch("main")
    record(kb, {"other.md": "changed again\n"}, "meanwhile")
    kb.branches.merge("side")
    assert [subject for subject, _ in followed(kb, "d.md")] == ["d", "folder", "c", "edited", "b", "first"]


def test_only_one_document_can_be_followed(kb: KnowledgeBase) -> None:
    assert kb.fs_root is not None
    write(kb.fs_root, {"x.md": "x\n"})
    for paths in ([], ["other.md", "texts/c.md"], ["texts"], [""]):
        with pytest.raises(UsageError, match="follow"):
            next(kb.log(paths=paths, follow=True), None)


@pytest.mark.parametrize(
    ("old", "new"), [("a.md", "a.txt"), ("a.txt", "d/a.md"), ("a.html", "a"), ("a.md", "b.md")]
)
def test_a_moved_document_is_what_the_file_would_be_if_it_were_added_there(
    old: str, new: str, tmp_path: Path
) -> None:
    text = "# Tides\n\n<p>the *moon* pulls, see [b](b.md)\n"
    (tmp_path / "moved").mkdir()
    (tmp_path / "added").mkdir()
    moved, added = new_kb(tmp_path / "moved", {old: text}), new_kb(tmp_path / "added", {new: text})
    assert moved.fs_root is not None
    (moved.fs_root / new).parent.mkdir(exist_ok=True)
    moved.mv([old], new)
    assert moved.status().clean is False
    moved.commit("moved")
    assert moved.repo.head_root() == added.repo.head_root()
    assert moved.status().clean
    assert moved.verify().ok


@pytest.mark.parametrize("new", ["a.txt", "a.html", "a.rst", "a.bin", "d/a"])
def test_a_document_that_got_another_kind_of_name_is_renamed_everywhere(new: str, tmp_path: Path) -> None:
    kb = new_kb(tmp_path / "kb", {"a.md": "# Tides\n\nthe moon pulls at the *sea*\n", "b.md": "# Else\n"})
    assert kb.fs_root is not None
    (kb.fs_root / "d").mkdir()
    kb.mv(["a.md"], new)
    assert [(each.status, each.path, each.old_path) for each in kb.status().staged] == [("R", new, "a.md")]
    kb.commit("renamed", index=False)
    [told] = kb.diff("HEAD~1", "HEAD")
    assert (told.status, told.path, told.old_path, told.similarity) == ("R", new, "a.md", 100)
    assert [subject for subject, _ in followed(kb, new)] == ["renamed", "first"]


@pytest.mark.parametrize("new", ["a.txt", "a.html"])
@pytest.mark.parametrize("edited_here", [False, True])
def test_an_edit_follows_a_document_that_the_other_side_gave_another_kind_of_name(
    new: str, edited_here: bool, tmp_path: Path
) -> None:
    (tmp_path / "merged").mkdir()
    (tmp_path / "added").mkdir()
    kb = new_kb(tmp_path / "merged", {"a.md": TEXT, "b.md": "# Else\n"})
    added = new_kb(tmp_path / "added", {new: TEXT + "one more\n", "b.md": "# Else\n"})
    kb.branches.switch("side", create=True)
    record(kb, {"a.md": TEXT + "one more\n"}, "edited")
    kb.branches.switch("main")
    kb.mv(["a.md"], new)
    kb.commit("renamed", index=False)
    if edited_here:
        kb.branches.switch("side")
    assert not kb.branches.merge("main" if edited_here else "side").conflicts
    assert [path for path, _ in kb.ls()] == [new, "b.md"]
    assert b"".join(kb.cat(new)).decode() == TEXT + "one more\n"
    assert kb.repo.head_root() == added.repo.head_root()
    assert kb.status().clean
