"""Differences: which documents, which lines, and what became of what."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arbor.errors import UsageError
from arbor.repo.commits.diffing import Comparing, unified_diff
from tests.repo.kit import new_kb, record, write

LONG = "".join(f"## Part {n}\n\n{'words of this part ' * 60}{n}\n\n" for n in range(12))


def lines_of(text: str) -> list[str]:
    return text.split("\n")


def test_each_kind_of_change(tmp_path: Path) -> None:
    kb = new_kb(tmp_path, {"gone.md": "g\n", "mod.md": "one\ntwo\n", "same.md": "s\n", "old.md": LONG})
    kb.mv(["old.md"], "new.md")
    kb.rm(["gone.md"])
    record(kb, {"mod.md": "one\n2\n", "added.md": "a\n"})
    found = {diff.path: diff for diff in kb.diff("HEAD~1", "HEAD")}
    assert {path: (d.status, d.old_path, d.similarity, d.added, d.removed) for path, d in found.items()} == {
        "added.md": ("A", "added.md", 0, 1, 0),
        "gone.md": ("D", "gone.md", 0, 0, 1),
        "mod.md": ("M", "mod.md", 0, 1, 1),
        "new.md": ("R", "old.md", 100, 0, 0),
    }
    assert found["mod.md"].lines == ("--- a/mod.md", "+++ b/mod.md", "@@ -1,2 +1,2 @@", " one", "-two", "+2")
    assert found["added.md"].lines[:2] == ("--- /dev/null", "+++ b/added.md")
    assert found["gone.md"].lines[:2] == ("--- a/gone.md", "+++ /dev/null")
    assert kb.show()[1] == kb.diff("HEAD~1", "HEAD")
    assert [d.status for d in kb.diff("HEAD", "HEAD~1")] == ["D", "A", "M", "R"]


def test_a_rename_with_changes_is_found_by_what_both_have(tmp_path: Path) -> None:
    kb = new_kb(tmp_path, {"old.md": LONG, "other.md": "nothing alike\n"})
    kb.mv(["old.md"], "new.md")
    kb.rm(["other.md"])
    record(kb, {"new.md": LONG + "## More\n\nadded\n", "unlike.md": "quite different\n"})
    found = {diff.path: diff for diff in kb.diff("HEAD~1", "HEAD")}
    assert (found["new.md"].status, found["new.md"].old_path) == ("R", "old.md")
    assert 50 <= found["new.md"].similarity < 100
    assert (found["other.md"].status, found["unlike.md"].status) == ("D", "A")


def test_equal_files_are_paired_one_to_one(tmp_path: Path) -> None:
    kb = new_kb(tmp_path, {f"{n}.md": "same\n" for n in "abc"})
    kb.rm(["a.md", "b.md"])
    record(kb, {"x.md": "same\n", "y.md": "same\n", "z.md": "same\n"})
    assert [(d.status, d.old_path, d.path) for d in kb.diff("HEAD~1", "HEAD")] == [
        ("R", "a.md", "x.md"),
        ("R", "b.md", "y.md"),
        ("A", "z.md", "z.md"),
    ]


def test_work_tree_stage_and_head(tmp_path: Path) -> None:
    kb = new_kb(tmp_path, {"a.md": "head\n", "x/b.md": "b\n", "c.md": "c\n"})
    write(tmp_path, {"a.md": "stage\n"})
    kb.add()
    write(tmp_path, {"a.md": "work\n", "untracked.md": "u\n"})
    (tmp_path / "c.md").unlink()
    assert [(d.status, d.path) for d in kb.diff()] == [("M", "a.md"), ("D", "c.md")]
    assert "-stage" in kb.diff(paths=["a.md"])[0].lines
    assert "+work" in kb.diff(paths=["a.md"])[0].lines
    [staged] = kb.diff(staged=True)
    assert {"-head", "+stage"} <= set(staged.lines)
    assert kb.diff(paths=["x"]) == ()
    assert [d.path for d in kb.diff(paths=["."], cwd=tmp_path)] == ["a.md", "c.md"]
    with pytest.raises(UsageError):
        kb.diff("nowhere")
    assert all(not d.lines for d in kb.diff(with_text=False))
    for wrong in (Comparing(context=-1), Comparing(spaces="some")):
        with pytest.raises(UsageError, match="a context of 0 or more"):
            kb.diff(comparing=wrong)


def test_a_revision_against_the_work_tree(tmp_path: Path) -> None:
    kb = new_kb(tmp_path, {"a.md": "one\n", "b.md": "b\n", "c.md": "c\n"})
    record(kb, {"a.md": "two\n", "later.md": "l\n"})
    write(tmp_path, {"a.md": "three\n", "untracked.md": "u\n"})
    kb.rm(["b.md"], cached=True)
    (tmp_path / "c.md").unlink()
    assert [(d.status, d.path) for d in kb.diff("HEAD~1")] == [
        ("M", "a.md"),
        ("D", "b.md"),
        ("D", "c.md"),
        ("A", "later.md"),
    ]
    assert {"-one", "+three"} <= set(kb.diff("HEAD~1", paths=["a.md"])[0].lines)
    write(tmp_path, {"a.md": "one\n"})
    assert [(d.status, d.path) for d in kb.diff("HEAD~1", paths=["a.md"])] == []
    assert [(d.status, d.path) for d in kb.diff("HEAD", staged=True)] == [("D", "b.md")]


def test_a_revision_against_the_work_tree_tells_renames_as_between_revisions(tmp_path: Path) -> None:
    kb = new_kb(tmp_path, {"old.md": LONG, "gone.md": "g\n", "mod.md": "one\n"})
    kb.mv(["old.md"], "new.md")
    kb.rm(["gone.md"])
    record(kb, {"mod.md": "two\n", "added.md": "a\n"})
    assert kb.diff("HEAD~1") == kb.diff("HEAD~1", "HEAD")


def test_a_file_that_was_only_touched_is_no_difference(tmp_path: Path) -> None:
    kb = new_kb(tmp_path, {"a.md": "a\n"})
    write(tmp_path, {"a.md": "a\n"})
    assert kb.diff() == ()


def test_binary_documents_and_odd_encodings(tmp_path: Path) -> None:
    kb = new_kb(tmp_path, {"a.bin": bytes(range(256)), "u.txt": "eins\nzwei\n".encode("utf-16"), "e.md": ""})
    record(kb, {"a.bin": bytes(range(255)), "u.txt": "eins\ndrei\n".encode("utf-16"), "e.md": "text"})
    found = {diff.path: diff.lines for diff in kb.diff("HEAD~1", "HEAD")}
    assert found["a.bin"] == ("Binary files a/a.bin and b/a.bin differ",)
    assert found["u.txt"][3:] == (" eins", "-zwei", "+drei")
    assert found["e.md"][2:] == ("@@ -0,0 +1 @@", "+text", "\\ No newline at end of file")


def test_very_long_texts_are_not_compared_line_by_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("arbor.repo.commits.diffing._MAX_DIFF_LINES", 10)
    assert unified_diff("a\n" * 6, "b\n" * 6, "a/x", "b/x") == [
        "Documents a/x and b/x differ (6 and 6 lines)"
    ]


TEXTS = st.lists(
    st.sampled_from(["a", "b", "c", "", "long line", "中文", "tab\t", "cr\r"]), max_size=12
).flatmap(lambda lines: st.sampled_from(["\n".join(lines), "\n".join(lines) + "\n"]))


@pytest.mark.skipif(shutil.which("patch") is None, reason="patch is not installed")
@given(TEXTS, TEXTS)
@settings(max_examples=60)
def test_a_diff_is_a_patch_from_one_text_to_the_other(
    tmp_path_factory: pytest.TempPathFactory, old: str, new: str
) -> None:
    folder = tmp_path_factory.mktemp("patch")
    (folder / "f").write_bytes(old.encode())
    lines = unified_diff(old, new, "a/f", "b/f")
    if old == new:
        assert lines == []
        return
    patch = "\n".join(lines) + "\n"
    done = subprocess.run(
        ["patch", "--binary", "-s", "f"], cwd=folder, input=patch.encode(), capture_output=True, check=False
    )
    assert done.returncode == 0, done.stdout
    assert (
        (folder / "f").read_bytes() == new.encode()
        if new
        else not (folder / "f").exists() or (folder / "f").read_bytes() == b""
    )


def test_a_short_note_that_was_moved_and_edited_is_a_rename_everywhere(tmp_path: Path) -> None:
    text = "".join(f"Line {n} of a short note.\n" for n in range(12))
    kb = new_kb(tmp_path, {"old/a.md": text, "old/b.md": "# B\n\nAnother one.\n"})
    kb.mv(["old"], "new")
    write(tmp_path, {"new/a.md": text.replace("Line 3 ", "LINE 3 ")})
    kb.add()
    renames = [("R", "new/a.md", "old/a.md"), ("R", "new/b.md", "old/b.md")]
    assert [(c.status, c.path, c.old_path) for c in kb.status().staged] == renames
    made = kb.commit("moved")
    assert [(c.status, c.path, c.old_path) for c in made.changes] == renames
    [first, second] = kb.diff("HEAD~1", "HEAD")
    assert (first.status, first.path, first.old_path, second.similarity) == (*renames[0], 100)
    assert first.similarity > 80
    assert "+LINE 3 of a short note." in first.lines


def test_notes_that_share_only_what_many_have_are_no_renames(tmp_path: Path) -> None:
    common = "---\ntags: [daily]\n---\n\n## Today\n\n## Tomorrow\n\n"
    kb = new_kb(tmp_path, {f"day{n}.md": common + f"On day {n} it rained on {n * 7}.\n" for n in range(80)})
    for number in range(80):
        (tmp_path / f"day{number}.md").unlink()
        write(tmp_path, {f"night{number}.md": common + f"In night {number} it cleared up by {number * 3}.\n"})
    kb.add()
    assert {change.status for change in kb.status().staged} == {"A", "D"}
