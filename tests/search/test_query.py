from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from arbor.errors import UsageError
from arbor.search.plan import quote
from arbor.search.query import (
    MAX_QUERY_CHARS,
    Condition,
    Term,
    parse_plain_query,
    parse_query,
    parse_raw_query,
    parse_span,
)

NOW = datetime(2024, 6, 15, 12, tzinfo=UTC).timestamp()


def word(text: str) -> Term:
    return Term(text, "word")


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("merkle proof", (word("merkle"), word("proof"))),
        ("proof proof proof", (word("proof"), word("proof"), word("proof"))),
        ('"merkle proof" tree', (Term("merkle proof", "phrase"), word("tree"))),
        ("distil*", (Term("distil", "prefix"),)),
        ("foo-bar a_b node.js C++ v1.2.3", tuple(map(word, ("foo-bar", "a_b", "node.js", "C++", "v1.2.3")))),
        ("don't user@example.com", (word("don't"), word("user@example.com"))),
        ("http://example.org note: Path:x", (word("http://example.org"), word("note:"), word("Path:x"))),
        ("path: kind:", (word("path:"), word("kind:"))),
        ("--force x --", (word("--force"), word("x"))),
        ("什么是 知识库", (word("什么是"), word("知识库"))),
        ("全角\u3000空格", (word("全角"), word("空格"))),
        ('5" pipe', (word('5"'), word("pipe"))),
        ('"a""b"', (Term("a", "phrase"), Term("b", "phrase"))),
        ("x AND y OR NOT NEAR(z)", tuple(map(word, ("x", "AND", "y", "OR", "NOT", "NEAR(z)")))),
        ("* ( ) ^ x", (word("x"),)),
        ("caf\udce9 \udcff x", (word("caf\ufffd"), word("x"))),  # what a terminal makes of bytes that are no UTF-8
        ('unknown:"two words"', (word('unknown:"two words"'),)),
        ('"merkle pro*"', (Term("merkle pro", "begun phrase"),)),
        ('"pro*" "**bold**" "a *"', (Term("pro", "begun phrase"), Term("**bold**", "phrase"), Term("a *", "phrase"))),
        ("“two words” x", (Term("two words", "phrase"), word("x"))),
        ("„two words“ „a”", (Term("two words", "phrase"), Term("a", "phrase"))),
        ("«two words» » a b «", (Term("two words", "phrase"), Term(" a b ", "phrase"))),
        ("”två ord” “mixed\" ＂全 角＂", (Term("två ord", "phrase"), Term("mixed", "phrase"), Term("全 角", "phrase"))),
        ("“所有权”和借用 什么是“所有权”", (Term("所有权", "phrase"), word("和借用"), word("什么是“所有权”"))),
        ("「東京」 《红楼梦》", (word("「東京」"), word("《红楼梦》"))),
        ("say “open Home » Docs", tuple(map(word, ("say", "“open", "Home", "Docs")))),
    ],
)  # fmt: skip
def test_words(text: str, terms: tuple[Term, ...]) -> None:
    assert parse_query(text, NOW).terms == terms


def test_marks_of_other_keyboards_close_what_a_filter_and_a_minus_ask_for() -> None:
    query = parse_query("tree -“old name” title:«two words» path:“my notes/”", NOW)
    assert query.excluded == (Term("old name", "phrase"),)
    assert query.titles == ((Term("two words", "phrase"), False),)
    assert query.paths == (Condition("my notes/", False),)


def test_half_surrogate_pairs_are_signs_in_every_part_and_reading() -> None:
    query = parse_query('a\ud800 -b\udfff "c\udc80" path:\ud800 lang:\ud800 title:\ud800x', NOW)
    read = (query, parse_raw_query("a\ud800"), parse_plain_query("a\ud800"))
    assert all(str(each).encode("utf-8") for each in read)


def test_everything_at_once() -> None:
    query = parse_query(
        'tree -draft -"old name" title:merkle -title:test path:notes/ -path:"my notes/" kind:core lang:zh-CN '
        "label:novel since:2024-05 until:2024-06 rev:main~2",
        NOW,
    )
    assert query.terms == (word("tree"),)
    assert query.excluded == (word("draft"), Term("old name", "phrase"))
    assert query.titles == ((word("merkle"), False), (word("test"), True))
    assert query.paths == (Condition("notes/", False), Condition("my notes/", True))
    assert query.kinds == (Condition("core", False),)
    assert query.langs == (Condition("zh", False),)
    assert query.labels == (Condition("novel", False),)
    assert query.since == datetime(2024, 5, 1, tzinfo=UTC).timestamp()
    assert query.until == datetime(2024, 7, 1, tzinfo=UTC).timestamp() - 1
    assert query.rev == "main~2"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "empty"),
        ("  \n\u3000", "empty"),
        ('"open', "not closed"),
        ('x -"open', "not closed"),
        ('path:"open', "not closed"),
        ("-only", "leave out"),
        ('-a -"b c"', "leave out"),
        ("rev:main -a", "leave out"),
        ("-path:x", "leave out"),
        ("-title:x -kind:core", "leave out"),
        ("???", "no letter or digit"),
        ("rev:main", "no words"),
        ("x kind:note", "not a kind"),
        ("x lang:-", "not a language"),
        ("x since:soon", "neither a date"),
        ("x since:2024-13", "neither a date"),
        ("x since:3.minutes.ago", "neither a date"),
        ("x since:99999y", "neither a date"),
        ("x -since:2024", "no meaning"),
        ("x -until:2024", "no meaning"),
        ("x until:soon", "neither a date"),
        ("x -rev:main", "no meaning"),
        ("x path:" + "*a" * 9, "too long"),
        ("x " * MAX_QUERY_CHARS, "longer than"),
        (" ".join(f"-w{number}" for number in range(70)), "more than"),
    ],
)
def test_what_cannot_be_understood_says_so(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        parse_query(text, NOW)
    assert caught.value.hint


def test_what_looks_like_an_option_is_told() -> None:
    assert parse_query("-i Merkle", NOW).notes == ("'-i' left out what holds 'i', as -word does",)
    assert not parse_query("Merkle -ii -木", NOW).notes


def test_conditions_alone_are_a_query() -> None:
    wanted = (
        "path:notes/",
        "kind:core",
        "label:NOVEL",
        "since:2024",
        "until:2024",
        "title:merkle",
        "lang:en",
    )
    for text in (*wanted, *(f"{want} -draft -title:old -path:attic/" for want in wanted)):
        assert not parse_query(text, NOW).has_words


@pytest.mark.parametrize(
    ("value", "expected", "days"),
    [
        ("2024", datetime(2024, 1, 1, tzinfo=UTC), 366),
        ("2023", datetime(2023, 1, 1, tzinfo=UTC), 365),
        ("9999", datetime(9999, 1, 1, tzinfo=UTC), 365),
        ("2024-05", datetime(2024, 5, 1, tzinfo=UTC), 31),
        ("2024-02", datetime(2024, 2, 1, tzinfo=UTC), 29),
        ("2024-05-31", datetime(2024, 5, 31, tzinfo=UTC), 1),
        ("20240531", datetime(2024, 5, 31, tzinfo=UTC), 1),
        ("2024-W07", datetime(2024, 2, 12, tzinfo=UTC), 7),
        ("2024-W07-1", datetime(2024, 2, 12, tzinfo=UTC), 1),
        ("today", datetime(2024, 6, 15, tzinfo=UTC), 1),
        ("yesterday", datetime(2024, 6, 14, tzinfo=UTC), 1),
        ("2024-05-31T10:00:00+02:00", datetime(2024, 5, 31, 8, tzinfo=UTC), 0),
        ("2024-05-31T10", datetime(2024, 5, 31, 10, tzinfo=UTC), 0),
        ("12h", datetime(2024, 6, 15, 0, tzinfo=UTC), 0),
        ("30d", datetime(2024, 5, 16, 12, tzinfo=UTC), 0),
        ("30.days.ago", datetime(2024, 5, 16, 12, tzinfo=UTC), 0),
        ("30 Days ago", datetime(2024, 5, 16, 12, tzinfo=UTC), 0),
        ("1week", datetime(2024, 6, 8, 12, tzinfo=UTC), 0),
        ("2w", datetime(2024, 6, 1, 12, tzinfo=UTC), 0),
    ],
)
def test_moments(value: str, expected: datetime, days: int) -> None:
    first = int(expected.timestamp())
    assert parse_span(value, NOW) == (first, first + max(days * 86_400 - 1, 0))


def test_a_clock_beyond_all_dates_stops_no_search() -> None:
    assert parse_span("1d", 1e12)[0] == parse_span("9999-12-30T23:59:59", NOW)[0]
    assert parse_span("today", -1e12) == parse_span("1970-01-01", NOW)


def test_of_several_dates_the_narrowest_count() -> None:
    query = parse_query("x since:2023 since:2024-02 until:2025 until:2024-02 since:1960 until:2030", NOW)
    assert (query.since, query.until) == parse_span("2024-02", NOW)
    early = parse_query("x since:1950 until:1960", NOW)
    assert (early.since, early.until) == (parse_span("1950", NOW)[0], parse_span("1960", NOW)[1])


def test_languages_are_known_by_their_first_part() -> None:
    for value in ("zh", "zh-CN", "ZH_cn"):
        assert parse_query(f"x lang:{value}", NOW).langs == (Condition("zh", False),)


def test_paths_are_compared_in_one_normal_form() -> None:
    assert parse_query("path:cafe\u0301", NOW).paths == (Condition("caf\u00e9", False),)


@given(st.text(max_size=60) | st.text('ab "-*:()^+{}[]\\/\x00知pathkindsinceuntilrevtitle', max_size=60))
@example('"')
@example("-")
@example("\x00")
@example("path:")
@example('-"')
@example("title:*")
def test_any_text_is_a_query_or_a_usage_error(text: str) -> None:
    for parse in (lambda each: parse_query(each, NOW), parse_plain_query, parse_raw_query):
        try:
            query = parse(text)
        except UsageError:
            continue
        assert query.text == text


def test_plain_queries_know_no_fields_and_no_signs() -> None:
    query = parse_plain_query('kind:what -is "this')
    assert query.terms == (word("kind:what"), word("-is"), word('"this'))
    assert query.kinds == query.excluded == ()


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("lnag:en", "lang"),
        ("Path:notes/", "path"),
        ("kinds:core", "kind"),
        ("pth:notes/", "path"),
        ("tilte:x", "title"),
    ],
)
def test_a_mistyped_filter_is_looked_for_as_text_and_said(text: str, name: str) -> None:
    query = parse_query(f"tree {text}", NOW)
    assert [term.text for term in query.terms] == ["tree", text]
    [note] = query.notes
    assert text in note
    assert note.endswith(f"{name}:")


@pytest.mark.parametrize(
    "text",
    [
        "http://x.org",
        "note:",
        "std::path",
        "a:b",
        '"lnag:en"',
        "10:30",
        "tree",
        "science:x",
        "math:x",
        "mind:set",
        "clang:tidy",
        "re:zero",
        "file://host/x",
        "after:effects",
        "ext:",
    ],
)
def test_other_words_with_colons_are_not_doubted(text: str) -> None:
    assert parse_query(f"tree {text}", NOW).notes == ()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("\u201cmerkle tree", "none closes"),
        ("\u00abmerkle tree", "none closes"),
        ('"mer* tree"', "at the end of a phrase only"),
        ('tree "*merkle pro*"', "at the end of a phrase only"),
        ("tree \u2013draft", "-draft"),
        ("tree \uff0d草稿", "-草稿"),
        ("tree path\uff1anotes/", "called path:"),
        ("tree since: 30d", "right behind its colon"),
        ("tree *.md", "in path:"),
        ("tree mer*le", "at the end of a word"),
        ("tree until: 2024", "right behind its colon"),
        ("tree before:2024", "called until:"),
        ("tree after:2024-05-31", "called since:"),
        ("tree ext:md", "path:*.md"),
        ("tree file:a.md", "called path:"),
        ("merkle AND tree", "best those with all"),
        ("知识 OR 树", "in any case"),
        ("tree NOT draft", "begins with - is left out"),
    ],
)
def test_signs_of_other_keyboards_and_engines_are_told_to_be_text(text: str, said: str) -> None:
    [note] = parse_query(text, NOW).notes
    assert said in note


@pytest.mark.parametrize(
    "text",
    ["DO NOT PANIC", "and or not", "mer* **bold**", "a \u2013 b", "a \u2014", '"a AND b"', "I\u2019m", "\u300c树\u300d",
     "知识\uff1a树", "a* NOT*", "x \u201d y",
     '"merkle pro*"', '"**bold** text"', '"a * b"', '"glob *"', "\u201ca b\u201d"],
)  # fmt: skip
def test_ordinary_signs_are_not_doubted(text: str) -> None:
    assert parse_query(text, NOW).notes == ()


@pytest.mark.parametrize("text", ["tree rev:main rev:v1", 'tree rev:""'])
def test_a_query_names_one_revision(text: str) -> None:
    with pytest.raises(UsageError, match="one revision"):
        parse_query(text, NOW)
    assert parse_query("tree rev:v1 rev:v1", NOW).rev == "v1"


def test_a_path_may_begin_with_a_dot() -> None:
    assert parse_query("tree path:/notes", NOW).paths == (Condition("notes", False),)
    assert parse_query("tree path:. path:./notes", NOW).paths == (
        Condition("", False), Condition("notes", False)
    )  # fmt: skip


def test_a_mistyped_filter_that_leaves_out_is_told_so_and_few_are_told() -> None:
    [note] = parse_query("tree -lable:x", NOW).notes
    assert "left out as text" in note
    assert len(parse_query(" ".join(f"lable:{n}" for n in range(50)), NOW).notes) == 3


def test_a_kind_may_be_written_in_capitals_like_a_label() -> None:
    assert parse_query("kind:Core", NOW).kinds == (Condition("core", False),)
    assert parse_query("-kind:CORE tree", NOW).kinds == (Condition("core", True),)


def test_days_by_name() -> None:
    midnight = int(datetime(2024, 6, 15, tzinfo=UTC).timestamp())
    assert parse_query("tree since:today", NOW).since == midnight
    assert parse_query("tree since:yesterday", NOW).since == midnight - 86_400


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ("\uff0d東京 首都", "begins with another sign: -東京"),
        ("首都 \u2013draft", "begins with another sign: -draft"),
        ("首都 -\uff02東京", "was left out without its quotation mark"),
        ("首都 path\uff1a日記", "the filter is called path:"),
        ("title\uff1aガイド", "the filter is called title:"),
    ],
)
def test_the_signs_of_other_keyboards_are_plain_text_and_that_is_told(typed: str, told: str) -> None:
    [note] = parse_query(typed, NOW).notes
    assert told in note


def test_wide_signs_in_a_text_are_nothing_to_tell() -> None:
    for text in (
        "東京：首都",
        "10\uff1a30 に",
        "a\u2013b",
        "\u2014 首都",
        "彼は\u201cはい\u201dと",
        "「東京」",
    ):
        assert parse_query(text, NOW).notes == ()


def test_nothing_in_a_quoted_text_has_a_meaning_of_its_own() -> None:
    assert quote('say "a*" AND\0b') == '"say ""a*"" AND b"'
