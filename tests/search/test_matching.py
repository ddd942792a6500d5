"""What is marked in a text is what the index calls a match."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arbor.index.tokens import Tokenizer
from arbor.search.matching import Matcher
from arbor.search.plan import unit_expression, units_of
from arbor.search.query import Term
from arbor.text.analyzer import TOKENIZER, index_text

TOKENIZER_AT_HAND = Tokenizer()


def matcher(*terms: Term | str) -> Matcher:
    units = [
        unit for term in terms for unit in units_of(term if isinstance(term, Term) else Term(term, "word"))
    ]
    return Matcher(units, TOKENIZER_AT_HAND)


def marked(text: str, *terms: Term | str) -> list[str]:
    return [text[span.start : span.end] for span in matcher(*terms).spans(text)]


@pytest.mark.parametrize(
    ("text", "terms", "expected"),
    [
        ("Linking links, linked to a link.", ["link"], ["Linking", "links", "linked", "link"]),
        ("unlink blink linker", ["link"], []),
        ("Happiness is being happy", ["happy"], ["Happiness", "happy"]),
        ("Ponies and a pony", ["ponies"], ["Ponies", "pony"]),
        ("Café, CAFÉ, cafe", ["cafe"], ["Café", "CAFÉ", "cafe"]),
        ("Éclair eclair", ["éclair"], ["Éclair", "eclair"]),
        ("snake_case and snake", ["snake"], ["snake", "snake"]),
        ("C++ or C# or .NET or c", ["C++", "c#", ".net"], ["C++", "C#", ".NET"]),
        ("use node.js or node js, not node", ["node.js"], ["node.js", "node js"]),
        ("全部知识库的版本", ["知识库"], ["知识", "知识库", "识库"]),
        ("东京都と京都", [Term("京都", "phrase")], ["京都", "京都"]),
        ("知识管理", ["知"], ["知"]),
        ("用Merkle树", ["merkle"], ["Merkle"]),
        ("merkle trees; the tree of merkle", [Term("merkle tree", "phrase")], ["merkle trees"]),
        ("distillation distils still", [Term("distil", "prefix")], ["distillation", "distils"]),
        ("知识库 version", [Term("知识库 version", "phrase")], ["知识库 version"]),
        ("关于知识\n库的", [Term("知识库", "phrase")], ["知识\n库"]),
        ("> データベ\r\n> ースの", [Term("データベース", "phrase")], ["データベ\r\n> ース"]),
        ("ASP.NET, VB.NET and .NET", ["asp.net"], ["ASP.NET"]),
        ("co\u00adoper\u00adation cooperate", ["cooperate"], ["co\u00adoper\u00adation", "cooperate"]),
        ("Ce\u0301re\u0301ale, céréale", ["céréale"], ["Ce\u0301re\u0301ale", "céréale"]),
        ("Йогурт, ЙОГУРТ и и\u0306огурт", ["йогурт"], ["Йогурт", "ЙОГУРТ", "и\u0306огурт"]),
        ("Łódź, Ørsted, Œuvre, İstanbul, ılık", ["lodz", "orsted", "oeuvre", "istanbul", "ilik"],
         ["Łódź", "Ørsted", "Œuvre", "İstanbul", "ılık"]),
        ("eﬃcient oﬀice", ["efficient", "office"], ["eﬃcient", "oﬀice"]),
        ("ｶﾞｲﾄﾞ か\u3099いと", ["ガイド", "がいと"], ["ｶﾞｲ", "ｶﾞｲﾄﾞ", "ｲﾄﾞ", "か\u3099い", "か\u3099いと", "いと"]),
        ("\u1112\u1161\u11ab\u1100\u1173\u11af", ["한글"], ["\u1112\u1161\u11ab\u1100\u1173\u11af"]),
        ("see 😀 and ❤️!", ["😀", "❤"], ["😀", "❤️"]),
        ("हिन्दी में", ["हिन्दी"], ["हिन्दी"]),
        ("العَرَبِيَّة وعِבְ", ["العربية"], ["العَرَبِيَّة"]),
        ("Ａ™ … ½cup of the ⅷ", ["atm", "cup", "viii"], ["Ａ™", "ⅷ"]),
        ("知识管理 and 知识 管理", [Term("知识 管理", "phrase")], ["知识 管理"]),
        ("", ["x"], []),
    ],
)  # fmt: skip
def test_what_is_marked(text: str, terms: list[Term | str], expected: list[str]) -> None:
    assert marked(text, *terms) == expected


WORDS = st.sampled_from([
    "run", "running", "runs", "Ran", "C++", "C#", "foo-bar", "foo_bar", "node.js", "a", "I'm", "x1", "ﬁne",
    "知识", "知识库", "识", "한국어", "ｶﾀｶﾅ", "カタカナ", "naïve", "NAIVE", "résumé", ".NET", "2024-05-31",
    "Straße", "é", "e\u0301", "ASP.NET", "c++17", "f#", "co\u00adop", "\u00ad", "Йод", "и\u0306од", "Łódź", "œuvre",
    "İst", "ılık", "ﬀﬃ", "Ǆ", "ŉ", "ｶﾞｷﾞ", "カ\u3099", "\u1112\u1161\u11ab", "😀", "👨\u200d👩", "❤️", "हिन्दी",
    "ไทยภาษา", "العَرَبِيَّة", "½cup", "™", "…", "ⅷ", "㈱", "λόγος", "x²", "µm", "\u200b", "々", "٣٤",
])  # fmt: skip
TEXTS = st.lists(WORDS | st.text(max_size=5), max_size=12).flatmap(
    lambda parts: st.sampled_from([" ", "", ", ", "\n"]).map(lambda join: join.join(parts))
)
KNOWN_TEXTS = st.lists(WORDS | st.sampled_from(list(" -_.\n\u0301\u00ad'")), max_size=20).map("".join)
TERMS = st.builds(
    Term, WORDS | st.text(min_size=1, max_size=6), st.sampled_from(["word", "phrase", "prefix"])
)


@settings(max_examples=400)
@given(text=TEXTS, term=TERMS)
def test_marks_and_evidence_agree_with_the_index(text: str, term: Term) -> None:
    with closing(sqlite3.connect(":memory:")) as connection:
        check_agreement(connection, text, term)


@settings(max_examples=400)
@given(text=KNOWN_TEXTS, words=KNOWN_TEXTS, kind=st.sampled_from(["word", "phrase", "prefix"]))
def test_whatever_the_index_finds_is_marked(text: str, words: str, kind: str) -> None:
    units = units_of(Term(words, kind))
    for unit in units:
        finder = Matcher([unit], TOKENIZER_AT_HAND)
        assert bool(finder.spans(text)) == finder.has_match(text, [])


def check_agreement(connection: sqlite3.Connection, text: str, term: Term) -> None:
    connection.execute(f"CREATE VIRTUAL TABLE f USING fts5(body, content='', tokenize='{TOKENIZER}')")
    connection.execute("INSERT INTO f(rowid, body) VALUES(1, ?)", (index_text(text),))
    units = units_of(term)
    found = any(
        connection.execute("SELECT 1 FROM f WHERE f MATCH ?", (unit_expression(unit),)).fetchone()
        for unit in units
    )
    finder = Matcher(units, TOKENIZER_AT_HAND)
    spans = finder.spans(text)
    assert finder.has_match(text, spans) == found
    assert finder.has_match(text, []) == found
    assert all(0 <= span.start < span.end <= len(text) for span in spans)
    assert spans == sorted(spans)


PLAIN = ("running", "ponies", "happy", "relational", "sky", "dying", "C++", "知识库", "café", "foo_bar")


@settings(max_examples=200)
@given(words=st.lists(st.sampled_from(PLAIN), min_size=1))
def test_plain_words_are_always_marked(words: list[str]) -> None:
    text = " ".join(words)
    for one in set(words):
        assert marked(text, one), f"{one} is not marked in {text}"


def test_the_tokenizer_forgets_when_it_knows_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("arbor.index.tokens.CACHED_TEXTS_MAX", 10)
    tokenizer = Tokenizer()
    for number in range(50):
        assert tokenizer.tokens(f"words{number}") == (f"words{number}",)
    assert tokenizer.tokens_of(["running late", "", "running late"]) == {
        "running late": ("run", "late"),
        "": (),
    }


def test_a_text_that_cannot_be_tokenized_leaves_the_tokenizer_as_it_was() -> None:
    tokenizer = Tokenizer()
    with pytest.raises(UnicodeEncodeError):
        tokenizer.tokens("half a pair \ud800")
    assert tokenizer.tokens("words") == ("word",)
    with pytest.raises(UnicodeEncodeError):
        tokenizer.matches("half a pair \ud800", ['"half"'])
    assert tokenizer.matches("words", ['"word"'])
