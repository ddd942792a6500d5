from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from arbor.search.matching import Span
from arbor.search.snippet import SNIPPET_CHARS, make_snippet

TEXT = (
    "Lead in. "
    + "filler words here. " * 40
    + "The merkle tree is proven.\nAnd a\tproof. "
    + "more text. " * 40
)


def spans_of(text: str, *words: str) -> list[Span]:
    return sorted(
        Span(start, start + len(word), unit)
        for unit, word in enumerate(words)
        for start in range(len(text))
        if text.startswith(word, start)
    )


def test_the_window_covers_the_most_telling_words() -> None:
    found = make_snippet(TEXT, spans_of(TEXT, "filler", "merkle", "proof"), {0: 0.1, 1: 5.0, 2: 3.0})
    shown = {found.text[start:end] for start, end in found.highlights}
    assert {"merkle", "proof"} <= shown
    assert found.text.startswith("…")
    assert found.text.endswith("…")
    assert "\n" not in found.text
    assert "\t" not in found.text


def test_words_are_not_cut() -> None:
    found = make_snippet(TEXT, spans_of(TEXT, "merkle"), {0: 1.0})
    inner = found.text.strip("…")
    assert (" " + inner + " ") in (" " + TEXT.replace("\n", " ").replace("\t", " ") + " ")


def test_without_matches_it_is_the_beginning() -> None:
    found = make_snippet(TEXT, [], {})
    assert found.text.startswith("Lead in.")
    assert found.highlights == ()


def test_short_texts_are_whole_and_blank_ones_empty() -> None:
    assert make_snippet("short\n", [], {}) == ("short", (), 0)
    assert make_snippet(" \n\n", [], {})[:2] == ("", ())
    assert make_snippet("", [], {}) == ("", (), 0)


def test_a_snippet_knows_where_its_first_match_stands() -> None:
    text = "word " * 300 + "target and more " + "word " * 300
    place = text.index("target")
    found = make_snippet(text, [Span(place, place + 6, 0)], {0: 1.0})
    assert found.at == place
    start, end = found.highlights[0]
    assert found.text[start:end] == text[found.at : found.at + 6]


@example(before=0, gap=34, after=12)
@given(before=st.integers(0, 300), gap=st.integers(0, 250), after=st.integers(0, 300))
def test_the_matches_that_a_place_was_chosen_for_are_in_it(before: int, gap: int, after: int) -> None:
    text = "word " * before + "merkle " + "more " * gap + "proof" + " word" * after
    spans = spans_of(text, "merkle", "proof")
    found = make_snippet(text, spans, {0: 1.0, 1: 2.0})
    shown = [found.text[start:end] for start, end in found.highlights]
    assert shown in (["merkle", "proof"], ["proof"])
    if spans[1].end - spans[0].start <= 180:
        assert len(shown) == 2
    inner = found.text.strip("…")
    assert f" {inner} " in f" {text} ", "a word is cut"


def test_han_text_is_cut_shorter_and_marked_whole() -> None:
    text = "前言。" * 60 + "知识库的版本管理" + "结语。" * 60
    place = text.index("知识库")
    found = make_snippet(text, [Span(place, place + 2, 0), Span(place + 1, place + 3, 1)], {0: 1.0, 1: 1.0})
    assert [found.text[start:end] for start, end in found.highlights] == ["知识库"]
    assert len(found.text) <= 122


@given(
    text=st.text(max_size=900) | st.text("ab \n知识。", max_size=900),
    places=st.lists(st.tuples(st.integers(0, 899), st.integers(1, 40), st.integers(0, 3)), max_size=12),
)
def test_marks_lie_within_and_apart(text: str, places: list[tuple[int, int, int]]) -> None:
    spans = sorted(
        Span(start, min(start + size, len(text)), unit) for start, size, unit in places if start < len(text)
    )
    found = make_snippet(text, spans, {0: 1.0, 1: 2.0, 2: 0.5})
    assert len(found.text) <= SNIPPET_CHARS + 2
    assert len(found.text.splitlines()) <= 1
    previous = -1
    for start, end in found.highlights:
        assert previous < start < end <= len(found.text)
        previous = end
    inner = found.text.removeprefix("…").removesuffix("…")
    assert "…" in text or len(inner) <= len(text)


@example(shift=1, letter="ｶﾞ")
@given(shift=st.integers(0, 9), letter=st.sampled_from(["ｶﾞ", "か\u3099", "👍🏽", "กี่", "हि", "e\u0301", "각"]))
def test_no_letter_is_cut_off_from_its_marks(shift: int, letter: str) -> None:
    text = letter * 300 + "x" * shift + "merkle" + letter * 300
    found = make_snippet(text, spans_of(text, "merkle"), {0: 1.0})
    head, tail = found.text.strip("…").split("x" * shift + "merkle")
    assert head == letter * (len(head) // len(letter))
    assert tail == letter * (len(tail) // len(letter))


def test_marks_that_touch_are_one() -> None:
    marks = [Span(0, 2, 0), Span(2, 4, 1), Span(5, 7, 0)]
    assert make_snippet("知识管理 知识", marks, {0: 1.0, 1: 1.0}).highlights == ((0, 4), (5, 7))
