"""How differences look."""

from __future__ import annotations

import difflib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbor.cli.output import Output
from arbor.cli.showing.diff_view import diff_fields, name_lines, patch_lines, stat_lines
from arbor.repo.commits.diffing import CONTEXT_LINES, unified_diff
from arbor.repo.results import TextDiff


def change(path: str, added: int, removed: int, status: str = "M", old_path: str = "") -> TextDiff:
    return TextDiff(
        status, path, old_path or path, 90, ("--- a", "+++ b", "@@ -1 +1 @@", "-x", "+y"), added, removed
    )


@pytest.fixture
def out(monkeypatch: pytest.MonkeyPatch) -> Output:
    monkeypatch.setenv("COLUMNS", "60")
    return Output()


def test_small_changes_have_a_sign_for_each_line(out: Output) -> None:
    changes = [change("a.md", 3, 1), change("folder/b.md", 0, 2), change("c.md", 0, 0, "R", "old.md")]
    assert list(stat_lines(out, changes)) == [
        "a.md           | 4 +++-",
        "folder/b.md    | 2 --",
        "old.md -> c.md | 0",
        "3 documents changed, 3 lines added, 3 lines removed",
    ]


def test_large_changes_are_drawn_in_proportion(out: Output) -> None:
    changes = [change("a.md", 90_000, 10_000), change("默克尔" * 20 + ".md", 1, 1), change("c.md", 0, 5)]
    lines = list(stat_lines(out, changes))
    assert [line.count("+") for line in lines[:3]] == [pytest.approx(9 * lines[0].count("-"), abs=9), 1, 0]
    assert [line.count("-") for line in lines[1:3]] == [1, 1]
    assert lines[1].startswith("…")
    assert "| 100,000 +" in lines[0]
    assert all(sum(2 if char > "\u1100" and char != "…" else 1 for char in line) <= 60 for line in lines[:3])


def test_nothing_changed(out: Output) -> None:
    assert list(stat_lines(out, [])) == []
    assert list(name_lines(out, [], "status")) == []


def test_odd_names_are_quoted(out: Output) -> None:
    odd = change('say "hi".md', 1, 1)
    assert list(name_lines(out, [odd], "status")) == ['M\t"say \\"hi\\".md"']
    assert next(iter(patch_lines(out, odd))) == 'diff --git "a/say \\"hi\\".md" "b/say \\"hi\\".md"'


def test_json_says_what_was_not_compared() -> None:
    assert diff_fields(change("a.md", 1, 1), with_lines=False, with_patch=True) == {
        "status": "M", "path": "a.md", "old_path": None, "similarity": None, "added": None, "removed": None,
        "diff": None,
    }  # fmt: skip
    assert diff_fields(change("a.md", 1, 1, "R", "b.md"), with_lines=True)["old_path"] == "b.md"


@given(st.text(st.sampled_from("ab\n"), max_size=20))
def test_a_text_that_is_new_or_gone_needs_no_comparison(text: str) -> None:
    lines = text.split("\n")
    lines = lines[:-1] if lines[-1] == "" else [*lines[:-1], lines[-1] + "\n\\ No newline at end of file"]
    for before, after in (([], lines), (lines, [])):
        expected = difflib.unified_diff(before, after, "a", "b", n=CONTEXT_LINES, lineterm="")
        found = unified_diff(text if before else "", text if after else "", "a", "b")
        assert found == [part for line in expected for part in line.split("\n", 1)]


def test_the_names_above_a_patch_hide_no_sign(out: Output, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Output, "shows_raw_text", False)
    lines = ("--- a/on e\u200b.md\t", "+++ b/on e\u200b.md\t", "@@ -1 +1 @@", "-x\u200by", "+y")
    shown = list(patch_lines(out, TextDiff("M", "on e\u200b.md", "on e\u200b.md", 90, lines, 1, 1)))
    assert shown == [
        'diff --git "a/on e\\342\\200\\213.md" "b/on e\\342\\200\\213.md"',
        "--- a/on e<U+200B>.md\t", "+++ b/on e<U+200B>.md\t", "@@ -1 +1 @@", "-x\u200by", "+y",
    ]  # fmt: skip
