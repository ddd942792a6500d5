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
    clean_words,
    columns,
    escape_json,
    pad,
    quote_path,
    truncate,
    truncate_left,
    wrap,
)

UNSEEN_LETTERS = set("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2065\u3164\uffa0")
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
    assert clean_words(text) == text
    assert clean_line(text) == text or any(
        char in UNSEEN_LETTERS or "\ufe00" <= char <= "\U000e0fff" for char in text
    )


def test_clean_shows_what_was_there() -> None:
    assert clean("\x1b[31mred\x07\n\tx") == "␛[31mred␇\n\tx"
    assert clean_line("a\n\n b\tc") == "a b c"
    assert clean_line("\x9b\u202e\udc80\x7f") == "<U+009B><U+202E>\\x80␡"


@pytest.mark.parametrize(
    "sign",
    "\u00ad\u061c\u200b\u200c\u200d\u200e\u200f\u2060\u2064\u3164\ufe0f\ufeff\uffa0\U000e0001\U000e0061\U000e007f\U000e0100",
)
@pytest.mark.parametrize("name", ["main", "\u043c\u0430\u0438", "\u672c\u304b\u3089", "v1"])
def test_no_sign_that_nobody_sees_makes_two_names_look_alike(name: str, sign: str) -> None:
    for odd in (name + sign, sign + name, name[:1] + sign + name[1:], name[:2] + sign * 2 + name[2:]):
        if sign == "\U000e0100" and name[0] == "\u672c":
            continue  # a form of the Han character
        assert f"<U+{ord(sign):04X}>" in clean_line(odd)
        octal = "".join(f"\\{byte:03o}" for byte in sign.encode())
        assert quote_path(odd) == '"' + odd.replace(sign, octal) + '"'
        escaped = escape_json(json.dumps(odd, ensure_ascii=False))
        assert sign not in escaped
        assert json.loads(escaped) == odd
        assert (
            clean_words(odd) == odd
        )  # Thai is broken at such signs, and a web page's words are full of them


@pytest.mark.parametrize(
    "name",
    [
        "\u0646\u0627\u0645\u0647\u200c\u0647\u0627",  # Persian: letters, with the two words kept apart
        "\u0915\u094d\u200d\u0937",  # Hindi, half of a letter
        "\u0d28\u0d4d\u200d.md",  # Malayalam, a letter at the end of a word
        "\U0001f468\u200d\U0001f469\u200d\U0001f467",  # a family
        "\U0001f3f3\ufe0f\u200d\U0001f308",  # a rainbow flag
        "\U0001f44d\U0001f3fd",
        "\u2764\ufe0f",
        "1\ufe0f\u20e3",
        "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",  # the flag of England
        "\u845b\U000e0100",  # a form of a Han character
    ],
)
def test_signs_that_a_name_is_written_with_stay(name: str) -> None:
    assert clean_line(name) == quote_path(name) == escape_json(name) == name


def test_what_hides_behind_a_picture_is_shown() -> None:
    flag = "\U0001f3f4\U000e0067\U000e0062\U000e007f"
    assert clean_line(flag) == flag
    assert clean_line(flag + "\U000e0061") == flag + "<U+E0061>"
    assert clean_line("\U0001f3f4\U000e0067") == "\U0001f3f4<U+E0067>"
    assert clean_line("\u2764\ufe0f\ufe0f") == "\u2764\ufe0f<U+FE0F>"
    assert clean_line("\U0001f44d\u200d") == "\U0001f44d<U+200D>"


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
