"""What is typed is found: checked in a real FTS5 table with the tokenizer the index uses."""

from __future__ import annotations

import sqlite3
import weakref
from collections.abc import Iterator

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from arbor.text.analyzer import ANALYZER_ID, TOKENIZER, Unit, index_text, match_units, phrase_unit, whole_run
from tests.text.strategies import any_texts


class Index:
    """One table of texts, as the index prepares them."""

    def __init__(self) -> None:
        self.connection = sqlite3.connect(":memory:")
        weakref.finalize(self, self.connection.close)
        self.connection.execute(f"CREATE VIRTUAL TABLE texts USING fts5(body, tokenize='{TOKENIZER}')")

    def holds(self, text: str, unit: Unit | None) -> bool:
        if unit is None:
            return False
        self.connection.execute("DELETE FROM texts")
        self.connection.execute("INSERT INTO texts(body) VALUES (?)", (index_text(text),))
        expression = f'"{unit.text}"' + (" *" if unit.prefix else "")
        return bool(
            self.connection.execute("SELECT 1 FROM texts WHERE texts MATCH ?", (expression,)).fetchall()
        )


@pytest.fixture(scope="module")
def index() -> Iterator[Index]:
    opened = Index()
    yield opened
    opened.connection.close()


FOUND = [
    ("we use node.js here", "node.js"),
    ("we use Node.js here", "node.JS"),
    ("written in C++ and C", "C++"),
    ("written in c++.", "C++"),
    ("C++, C# and F#.", "C#"),
    ("C++11 is old", "c++11"),
    ("the .NET runtime", ".net"),
    ("ASP.NET pages", "asp.net"),
    ("call foo_bar() now", "foo_bar"),
    ("since v1.2.3 it works", "v1.2.3"),
    ("we don't know", "don't"),
    ("we don’t know", "don't"),
    ("we don't know", "don’t"),
    ("mail user@example.com today", "user@example.com"),
    ("see src/lib/foo.py for it", "src/lib/foo.py"),
    (r"in C:\Users\me\a.txt there", r"C:\Users\me\a.txt"),
    ("run --no-verify first", "--no-verify"),
    ("set ARBOR_HOME=/x", "ARBOR_HOME"),
    ("ｆｕｌｌ ｗｉｄｔｈ Ｃ＋＋", "full"),
    ("ｆｕｌｌ ｗｉｄｔｈ Ｃ＋＋", "C++"),
    ("full width", "ｆｕｌｌ"),
    ("die Straße", "strasse"),
    ("die Strasse", "Straße"),
    ("STRASSE", "straße"),
    ("a ﬁle and a ﬂow", "file"),
    ("œuvre complète", "oeuvre"),
    ("smørrebrød", "smorrebrod"),
    ("Łódź", "lodz"),
    ("a café", "cafe"),
    ("a cafe", "café"),
    ("a cafe\u0301", "café"),
    ("Ångström", "angstrom"),
    ("İstanbul", "istanbul"),
    ("ΑΘΉΝΑ", "αθηνα"),
    ("Ἀθῆναι", "αθηναι"),
    ("ёлка", "елка"),
    ("tiếng Việt", "tieng"),
    ("tiếng Việt", "viet"),
    ("МОСКВА", "москва"),
    ("H₂O and x²", "h2o"),
    ("H₂O and x²", "x2"),
    ("soft\u00adhyphen", "softhyphen"),
    *(
        (f"zero{sign}width", "zerowidth")
        for sign in "\u200b\u200c\u200d\u2060\u2063\ufeff\u200e\u061c\u180e\u2066"
    ),
    ("zerowidth", "zero\u200bwidth"),
    ("漢\u200b字", "漢字"),
    ("葛\U000e0100城", "葛城"),
    ("ភាសា\u200bខ្មែរ", "ភាសាខ្មែរ"),
    ("می\u200cخواهم", "میخواهم"),
    ("обʼєкт", "об'єкт"),
    ("Qurʾān", "qur'an"),
    ("сѐ и ѝ", "се и и"),
    ("Ǿ", "o"),
    ("٢٠٢٤ and २०२५", "2024"),
    ("٢٠٢٤ and २०२५", "2025"),
    ("ปี ๒๕๖๗", "2567"),
    ("أحمد", "احمد"),
    ("القاهره", "القاهرة"),
    ("كتابي", "کتابی"),
    ("फ़ोन", "फोन"),
    ("⏫ due ⏳ 2024", "⏫"),
    ("⏫ due ⏳ 2024", "⏳"),
    ("∑ xᵢ → ∞", "∑"),
    ("∑ xᵢ → ∞", "∞"),
    ("created: 2024-05-31T09:30:00", "2024-05-31"),
    ("created: 2024-05-31T09:30:00", "09:30"),
    ("created: 2024-05-31T09:30:00", "2024-05-31T09:30"),
    ("Step 12-34T56 there", "34t56"),
    ("good 😀 day", "😀"),
    ("\uf0b7Item \U000f0142one", "item one"),
    ("thumbs 👍🏽 up", "👍"),
    ("love ❤️ it", "❤"),
    ("知识库是一个文件夹", "知识库"),
    ("知识库是一个文件夹", "库是一"),
    ("知识库是一个文件夹", "夹"),
    ("知识库是一个文件夹", "知"),
    ("知识库是一个文件夹", "识"),
    ("战国无双", "战国无双"),
    ("使用Merkle树来证明", "merkle"),
    ("使用Merkle树来证明", "Merkle树"),
    ("使用Merkle树来证明", "使用Merkle"),
    ("C语言很好", "C语言"),
    ("学习Rust语言", "语言"),
    ("臺灣的夜市", "夜市"),
    ("𠮷野家の牛丼", "𠮷野家"),
    ("日本語テキストの検索", "テキスト"),
    ("日本語テキストの検索", "検索"),
    ("ｶﾀｶﾅ", "カタカナ"),
    ("パ", "パ"),
    ("한국어를 공부하는 학생", "한국어"),
    ("한국어를 공부하는 학생", "공부"),
    ("한국어", "한국어"),
    ("สวัสดีชาวโลก", "ชาวโลก"),
    ("สวัสดีชาวโลก", "สวัสดี"),
    ("हिन्दी भाषा", "हिन्दी"),
    ("שָׁלוֹם", "שלום"),
    ("مُحَمَّد", "محمد"),
    ("running quickly", "run"),
    ("ran and runs", "running"),
]


@pytest.mark.parametrize(("text", "typed"), FOUND)
def test_found_as_typed(index: Index, text: str, typed: str) -> None:
    assert index.holds(text, phrase_unit(typed)), (index_text(text), phrase_unit(typed))
    assert any(index.holds(text, unit) for unit in match_units(typed))


@pytest.mark.parametrize(
    ("text", "typed"),
    [
        ("C and C++", "C#"),
        ("the letter c", "C++"),
        ("example.com", ".net"),
        ("node and then js", "node.js"),
        ("库知识", "知识库"),
        ("知识 库存", "知识库"),
        ("知识库", "库知"),
        ("हिन्दू", "हिन्दी"),
        ("good day", "😀"),
        ("😁", "😀"),
        ("мои", "мой"),
        ("у", "ў"),
        ("की", "कि"),
    ],
)
def test_not_found(index: Index, text: str, typed: str) -> None:
    assert not index.holds(text, phrase_unit(typed))


def test_units() -> None:
    assert match_units("node.js") == [Unit("node.js")]
    assert match_units("战国无双") == [Unit("战国"), Unit("国无"), Unit("无双")]
    assert match_units("中") == [Unit("中", prefix=True)]
    assert match_units("test混合abc") == [Unit("test"), Unit("混合"), Unit("abc")]
    assert match_units("知识知识") == [Unit("知识"), Unit("识知"), Unit("知识")]
    assert match_units("two words") == [Unit("two"), Unit("words")]
    assert match_units("?! …") == []


def test_phrases() -> None:
    assert phrase_unit("战国无双") == Unit("战国 国无 无双")
    assert phrase_unit("语言rust") == Unit("语言 言 rust")
    assert phrase_unit("c语") == Unit("c 语", prefix=True)
    assert phrase_unit("two words") == Unit("two words")
    assert phrase_unit("two wor", prefix=True) == Unit("two wor", prefix=True)
    assert phrase_unit("文字", prefix=True) == Unit("文字")
    assert phrase_unit("!!!") is None
    assert phrase_unit("") is None


def test_a_prefix_finds_longer_words(index: Index) -> None:
    assert index.holds("unbelievable", phrase_unit("unbel", prefix=True))
    assert not index.holds("unbelievable", phrase_unit("unbel"))


def test_ascii_text_passes_untouched() -> None:
    text = "# Title\n\nSome words, foo_bar() and `code`.\n" * 50
    assert index_text(text) is text


def test_the_id_names_the_tokenizer() -> None:
    assert TOKENIZER in ANALYZER_ID


@given(text=any_texts)
def test_units_are_safe_in_an_fts5_string(text: str) -> None:
    phrase = phrase_unit(text)
    for unit in [*match_units(text), *([phrase] if phrase else [])]:
        assert '"' not in unit.text
        assert "\0" not in unit.text
        assert unit.text.strip()


@given(
    before=st.text(max_size=12),
    typed=st.text(min_size=1, max_size=10),
    after=st.text(max_size=12),
)
def test_any_phrase_is_found_between_any_words(before: str, typed: str, after: str) -> None:
    index = Index()
    text = f"{before} {typed} {after}".replace("\0", " ").encode("utf-8", "ignore").decode()
    unit = phrase_unit(typed.encode("utf-8", "ignore").decode())
    # unicode61 of an older Unicode does not know the letters of a newer one.
    assume(
        unit is not None and all(ord(char) < 0xD800 and char.isalnum() for char in unit.text.replace(" ", ""))
    )
    assert index.holds(text, unit)
    index.connection.close()


@given(
    text=st.text(st.sampled_from("知识库文件夹的一日本語テキスト한국어"), min_size=1, max_size=30),
    data=st.data(),
)
def test_any_part_of_a_run_is_found(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    index = Index()
    assert index.holds(f"abc {text} xyz", phrase_unit(text[start:end]))
    assert all(index.holds(text, unit) for unit in match_units(text[start:end]))
    index.connection.close()


@pytest.mark.parametrize(
    ("text", "prepared"),
    [
        ("知识\n库", index_text("知识库")),
        ("知识\r\n库", index_text("知识库")),
        ("> データベ\n> ース", "> " + index_text("データベース")),
        ("知识\n\n库", index_text("知识") + "\n\n" + index_text("库")),
        ("知识\n- 库", index_text("知识") + "\n- " + index_text("库")),
        ("知识\nbase\n库", index_text("知识") + "\nbase\n" + index_text("库")),
        ("검색\n엔진", index_text("검색") + "\n" + index_text("엔진")),
        ("café\nété", "café\nété"),
    ],
)
def test_a_run_goes_on_in_the_next_line_of_its_paragraph(text: str, prepared: str) -> None:
    assert index_text(text) == prepared


def test_a_phrase_that_was_copied_with_its_line_end_is_the_same_phrase() -> None:
    assert phrase_unit("知识\n库") == phrase_unit("知识库")


@pytest.mark.parametrize(
    ("word", "whole"),
    [
        ("外部データ", "外部 部デ デー ータ"),
        ("《外部データ》。", "外部 部デ デー ータ"),
        ("ﾃﾞｰﾀ", "デー ータ"),
        ("外部", ""),
        ("外部、データ", ""),
        ("外部API", ""),
        ("데이터베이스", ""),
        ("あ" * 25, ""),
        ("word", ""),
        ("!", ""),
    ],
)
def test_a_run_by_itself_is_looked_for_as_a_whole(word: str, whole: str) -> None:
    unit = whole_run(word)
    assert (unit.text if unit else "") == whole
