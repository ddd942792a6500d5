"""Front matter: what is read, what stays text, and that hostile fields do no harm."""

from __future__ import annotations

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from arbor.text.extraction import FrontValue
from arbor.text.front_matter import DEPTH_MAX, FRONT_MATTER_MAX_BYTES, find_title, read_front_matter
from arbor.text.reading import extract


def fields(source: str) -> dict[str, FrontValue]:
    front = read_front_matter(f"---\n{source}\n---\n\ntext\n".encode())
    assert front.warnings == ()
    return front.fields


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("text", "text"), ("12", 12), ("-3", -3), ("+4", 4), ("0", 0), ("true", True), ("False", False),
        ("null", None),
        ("~", None), ("", None), ("1.10", "1.10"), ("1e3", "1e3"), (".inf", ".inf"), ("2024-01-31", "2024-01-31"),
        ("2024-02-31", "2024-02-31"), ("2001-12-14T21:59:43Z", "2001-12-14T21:59:43Z"), ("12:30", "12:30"),
        ("007", "007"),
        ("0x1F", "0x1F"), ("1_000", "1_000"), ("yes", "yes"), ("NO", "NO"), ("on", "on"), ("'12'", "12"),
        ('"true"', "true"),
        ("!!str 12", "12"), ("9223372036854775807", 2**63 - 1), ("9223372036854775808", "9223372036854775808"),
        ("99999999999999999999999", "99999999999999999999999"), ("[a, 1, true]", ["a", 1, True]),
        ("{b: 2}", {"b": 2}), ('"\\u00e9"', "é"), ("https://x.org/a?b=c#d", "https://x.org/a?b=c#d"),
        ("[[page]]", [["page"]]), ('"[[page]]"', "[[page]]"), ("|\n  two\n  lines", "two\nlines\n"),
    ],
)  # fmt: skip
def test_values(written: str, value: FrontValue) -> None:
    got = fields(f"key: {written}")["key"]
    assert got == value
    assert type(got) is type(value)


def test_a_usual_note() -> None:
    source = "title: My Note\naliases:\n- A\n- B b\ntags: \n- \npublish: true\n日期: 2024-01-01"
    assert fields(source) == {
        "title": "My Note", "aliases": ["A", "B b"], "tags": [None], "publish": True, "日期": "2024-01-01",
    }  # fmt: skip


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("closing", ["---", "..."])
def test_the_block_is_measured(line_end: str, mark: str, closing: str) -> None:
    block = f"{mark}---{line_end}a: 1{line_end}{closing}{line_end}"
    front = read_front_matter((block + "text").encode())
    assert front.size_bytes == len(block.encode())
    assert front.fields == {"a": 1}


@pytest.mark.parametrize(
    "text", ["", "---", "--- a\n---\n", "text\n---\na: 1\n---\n", "---\na: 1\n", "----\na: 1\n----\n",
    "---\nwords\n---\n",
             " ---\na: 1\n---\n"]
)  # fmt: skip
def test_no_front_matter(text: str) -> None:
    assert read_front_matter(text.encode()) == (0, {}, ())


@pytest.mark.parametrize("text", ["---\n---\n", "---\n\n---\n", "---\n# only a comment\n---\n"])
def test_an_empty_block_is_front_matter_without_fields(text: str) -> None:
    assert read_front_matter(text.encode()) == (len(text), {}, ())


@pytest.mark.parametrize(
    "source", ["a: b: c", "- @x\na: 1", "a: [1", "\tx: 1", "a: 'b", "a: &x [*x, *y]", "? [a]\n: b", "a: \x01",
    "{" * 2000]
)  # fmt: skip
def test_bad_fields_keep_the_text_and_warn(source: str) -> None:
    data = f"---\n{source}\n---\n# Title\n\n[[link]]\n".encode()
    extraction = extract(data, "n.md")
    assert b"".join(passage.data for passage in extraction.passages) == data
    assert extraction.front_matter == {}
    assert extraction.title == "Title"
    assert [link.target for link in extraction.links] == ["link"]
    assert len(extraction.warnings) == 1
    assert "front matter" in extraction.warnings[0]


def test_a_yaml_error_names_the_line() -> None:
    assert "line 3" in read_front_matter(b"---\na: 1\nb: c: d\n---\n").warnings[0]


def test_aliases_are_not_written_out_without_end() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 8)]
    front = read_front_matter("\n".join(["---", *lines, "---", ""]).encode())
    assert front.fields == {}
    assert "too large" in front.warnings[0]


def test_merge_keys_are_not_followed() -> None:
    assert fields("a: &x {b: 1}\nc:\n  <<: *x") == {"a": {"b": 1}, "c": {"<<": {"b": 1}}}


def test_depth_is_bounded() -> None:
    deepest = fields("a: " + "[" * (DEPTH_MAX - 1) + "x" + "]" * (DEPTH_MAX - 1))
    assert depth(deepest) == DEPTH_MAX
    front = read_front_matter(("---\na: " + "[" * DEPTH_MAX + "x" + "]" * DEPTH_MAX + "\n---\n").encode())
    assert front.fields == {}
    assert "levels" in front.warnings[0]


def test_a_toml_key_has_few_parts_and_a_text_as_many_as_it_likes() -> None:
    front = read_front_matter(b"+++\na" + b".b" * 5000 + b" = 1\n+++\ntext\n")
    assert front.fields == {}
    assert "a key has more than 64 parts" in front.warnings[0]
    dotted = "a." * 200 + "b"
    for text in (
        f"'{dotted}'",
        f'"{dotted}"',
        f'"""\n{dotted} \\" """',
        f"'''{dotted}'''",
        f"1 # it's {dotted}",
    ):
        assert list(read_front_matter(f"+++\nx = {text}\ny = 2\n+++\n".encode()).fields) == ["x", "y"]


def test_a_block_that_is_too_large_is_text() -> None:
    data = b"---\n" + b"a: 1\n" * FRONT_MATTER_MAX_BYTES + b"---\n"
    assert read_front_matter(data).size_bytes == 0


def test_toml() -> None:
    fields = 'title = "T"\nn = 3\nx = 1.10\nd = 2024-01-31\nb = true\nl = ["a", 1]\n[t]\nk = 99999999999999999999\n'
    text = f"+++\n{fields}+++\n"
    assert read_front_matter(text.encode()).fields == {
        "title": "T", "n": 3, "x": "1.10", "d": "2024-01-31", "b": True, "l": ["a", 1],
        "t": {"k": "99999999999999999999"},
    }  # fmt: skip
    assert "TOML" in read_front_matter(b"+++\na = \n+++\n").warnings[0]


@pytest.mark.parametrize(
    ("title", "expected"), [("A\n B", "A B"), (2024, "2024"), (True, ""), (None, ""), (["a"], "")]
)
def test_titles(title: FrontValue, expected: str) -> None:
    assert find_title({"title": title}) == expected


def depth(value: FrontValue) -> int:
    if isinstance(value, dict):
        return 1 + max(map(depth, value.values()), default=0)
    return 1 + max(map(depth, value), default=0) if isinstance(value, list) else 0


scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.dates(),
    st.datetimes(),
    st.text(max_size=20),
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


def check(value: FrontValue) -> None:
    if isinstance(value, dict):
        for key, item in value.items():
            check(key)
            check(item)
    elif isinstance(value, list):
        for item in value:
            check(item)
    elif isinstance(value, str):
        value.encode()
    elif value is not None and not isinstance(value, bool):
        assert type(value) is int
        assert -(2**63) <= value < 2**63


@given(st.dictionaries(st.text(min_size=1, max_size=8), values, max_size=5))
def test_whatever_yaml_writes_gives_values_of_the_promised_kinds(document: dict[str, object]) -> None:
    front = read_front_matter(b"---\n" + yaml.safe_dump(document, allow_unicode=True).encode() + b"\n---\n")
    check(front.fields)
    assert depth(front.fields) <= DEPTH_MAX


@given(st.binary(max_size=300))
def test_any_bytes(source: bytes) -> None:
    check(read_front_matter(b"---\n" + source + b"\n---\n").fields)
    check(read_front_matter(b"+++\n" + source + b"\n+++\n").fields)


@given(
    st.dictionaries(
        st.from_regex(r"[a-z][a-z0-9_-]{0,8}", fullmatch=True).filter(lambda key: key not in YAML_11),
        st.from_regex(r"[A-Za-z][A-Za-z0-9 _./-]{0,20}[A-Za-z0-9]", fullmatch=True).filter(
            lambda value: value.lower() not in YAML_11
        ),
        max_size=6,
    )
)
def test_plain_text_values_are_what_yaml_reads(document: dict[str, str]) -> None:
    source = "".join(f"{key}: {value}\n" for key, value in document.items())
    assert read_front_matter(f"---\n{source}---\n".encode()).fields == (yaml.safe_load(source) or {})


YAML_11 = {"y", "n", "yes", "no", "on", "off", "true", "false", "null"}


@pytest.mark.parametrize("block", ["- a\n- b\n", "# tags\n- a: 1\n", "[a, b]\n"])
def test_a_list_is_warned_about_and_read_as_text(block: str) -> None:
    extraction = extract(f"---\n{block}---\nwords\n".encode(), "a.md")
    assert extraction.front_matter == {}
    assert extraction.warnings == ("front matter is a list and not fields with values: it is read as text",)
    assert b"".join(passage.data for passage in extraction.passages) == f"---\n{block}---\nwords\n".encode()


def test_a_rule_across_the_page_is_not_warned_about() -> None:
    assert extract(b"---\nwords alone\n---\nmore\n", "a.md").warnings == ()
