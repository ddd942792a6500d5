"""What documents and file names hold never reaches a terminal as a command, and lines fit their width."""

from __future__ import annotations

import json
import os
import subprocess
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbor.cli.safe_text import (
    cell_width,
    clean,
    clean_line,
    columns,
    escape_json,
    pad,
    quote_path,
    truncate,
    truncate_left,
    wrap,
)

BIDI = set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
ODD = st.text(st.sampled_from("a \t\n\r\x00\x07\x1b\x7f\x80\x9b\u2028\u202e\u2066\udcff\ud800中é\u0301🌳"))


def obeyed(text: str) -> set[str]:
    """What a terminal would obey, or could not show."""
    return {char for char in text if unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp") or char in BIDI}


@given(st.one_of(st.text(), ODD))
def test_clean_leaves_nothing_to_obey(text: str) -> None:
    assert obeyed(clean(text)) <= {"\n", "\t", "\u2028", "\u2029"}
    assert obeyed(clean_line(text)) == set()
    clean_line(text).encode()


@given(st.text(st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp", "Cf"])))
def test_clean_leaves_ordinary_text_alone(text: str) -> None:
    assert clean(text) == text
    assert clean_line(text) == text


def test_clean_shows_what_was_there() -> None:
    assert clean("\x1b[31mred\x07\n\tx") == "␛[31mred␇\n\tx"
    assert clean_line("a\n\n b\tc") == "a b c"
    assert clean_line("\x9b\u202e\udc80\x7f") == "<U+009B><U+202E>\\x80␡"


@given(st.one_of(st.text(), ODD))
def test_escaped_json_leaves_nothing_to_obey(text: str) -> None:
    assert obeyed(escape_json(text)) <= {char for char in text if char < " "}


@given(st.one_of(st.text(), ODD))
def test_escaped_json_can_be_read_by_the_strictest(text: str) -> None:
    """RFC 8259 lets a reader refuse half of a surrogate pair, and several do."""
    read = json.loads(escape_json(json.dumps({"text": text}, ensure_ascii=False)))["text"]
    read.encode("utf-8")
    if not any("\ud800" <= char <= "\udfff" for char in text):
        assert read == text


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("notes/a.md", "notes/a.md"),
        ("a b.md", "a b.md"),
        ("默克尔.md", "默克尔.md"),
        ('quote".md', '"quote\\".md"'),
        ("back\\slash", '"back\\\\slash"'),
        ("bell\x07.md", '"bell\\a.md"'),
        ("new\nline", '"new\\nline"'),
        ("esc\x1b[31m", '"esc\\033[31m"'),
        ("latin\udce9.md", '"latin\\351.md"'),
        ("c1\x9b", '"c1\\302\\233"'),
        ("half\ud800", '"half\\355\\240\\200"'),
    ],
)
def test_paths_are_quoted_as_git_quotes_them(path: str, shown: str) -> None:
    assert quote_path(path) == shown


def test_spaces_are_quoted_on_request() -> None:
    assert quote_path("a b.md", spaces=True) == '"a b.md"'


def test_quoting_agrees_with_git(tmp_path: Path) -> None:
    # Every ASCII character that a name may hold, alone and inside a word, and text beyond ASCII.
    odd = [chr(code) for code in range(1, 128) if chr(code) not in "/."]
    names = {*odd, *(f"a{char}b" for char in odd), "é", "默克尔", "🌳 & co", 'all "of" \\ it\n'} - {".git"}
    for name in names:
        (tmp_path / name).touch()
    environment = {"PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}

    def git(*words: str) -> bytes:
        done = subprocess.run(["git", *words], cwd=tmp_path, env=environment, capture_output=True, check=True)
        return done.stdout

    git("init", "-q")
    listed = git("-c", "core.quotePath=false", "ls-files", "--others").decode()
    assert sorted(listed.splitlines()) == sorted(map(quote_path, names))


@given(st.text(), st.integers(1, 30))
def test_truncated_text_fits(text: str, cells: int) -> None:
    line = clean_line(text)
    for cut in (truncate(line, cells), truncate_left(line, cells)):
        assert cell_width(cut) <= cells
        assert cell_width(line) > cells or cut == line


def test_widths() -> None:
    assert cell_width("abc") == 3
    assert cell_width("默克尔") == 6
    assert cell_width("e\u0301") == 1
    assert cell_width("🌳") == 2
    assert pad("默", 4) == "默  "
    assert truncate("默克尔树", 6) == "默克…"
    assert truncate_left("notes/默克尔.md", 10) == "…默克尔.md"


@given(st.text(), st.integers(2, 40))
def test_wrapped_lines_fit_and_lose_only_spaces(text: str, cells: int) -> None:
    line = clean_line(text)
    spans = list(wrap(line, cells))
    at = 0
    for start, end in spans:
        assert line[at:start].strip(" ") == ""
        assert end > start or not line
        assert cell_width(line[start:end].rstrip(" ")) <= cells
        at = end
    assert line[at:].strip(" ") == ""


def test_lines_break_between_words_and_beside_wide_characters() -> None:
    def lines(text: str, cells: int) -> list[str]:
        return [text[start:end].rstrip() for start, end in wrap(text, cells)]

    assert lines("one two three", 8) == ["one two", "three"]
    assert lines("incomprehensibilities", 8) == ["incompre", "hensibil", "ities"]
    assert lines("默克尔树把数据", 8) == ["默克尔树", "把数据"]
    assert lines("a tree 默克尔树", 10) == ["a tree 默", "克尔树"]
    assert lines("", 8) == []


def test_columns_line_up() -> None:
    rows = [["1", "默克", "x"], ["23", "a", "y"]]
    assert ["".join(row) for row in columns(rows)] == ["1   默克  x", "23  a     y"]
    assert list(columns([])) == []


def test_what_only_joins_characters_takes_no_cell() -> None:
    assert cell_width("a\u200db") == cell_width("e\u0301x") == 2
