from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbor.index.entries import find_date
from arbor.index.language import declared_language, guess_language

SAMPLES = {
    "en": "The proof of a passage is that it hashes to the leaf which the document names, and you need no more.",
    "de": "Der Beweis ist nicht schwer: das Blatt und die Wurzel werden mit der Datei von Anfang an geführt.",
    "fr": "Les preuves sont dans le dépôt, et une branche est un nom pour des versions que vous avez.",
    "es": "Los documentos del archivo son para una persona que los busca, como el que más.",
    "zh": "知识库把每一段文字放进账本，任何人都可以证明它。",
    "ja": "知識ベースは文書を保存し、検索できます。",
    "ko": "지식 베이스는 문서를 보관하고 검색합니다.",
    "ru": "База знаний хранит документы и доказывает их.",
    "": "x1 y2 z3",
}


@pytest.mark.parametrize("code", SAMPLES)
def test_guesses(code: str) -> None:
    assert guess_language(SAMPLES[code]) == code


def test_latin_words_within_chinese_text_do_not_change_it() -> None:
    assert (
        guess_language(
            "Vue 是一款用于构建用户界面的 JavaScript 框架。它基于标准 HTML、CSS 和 JavaScript 构建。"
        )
        == "zh"
    )


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"lang": "zh-CN"}, "zh"),
        ({"language": "EN_us"}, "en"),
        ({"lang": 3}, ""),
        ({"lang": "the English"}, ""),
        ({}, ""),
    ],
)
def test_declared(fields: dict[str, object], code: str) -> None:
    assert declared_language(fields) == code


def test_two_common_words_are_too_few_to_tell_a_language() -> None:
    assert guess_language("Wer und wo: der Kanal") == ""
    assert guess_language("Wer und wo: der Kanal ist zu") == "de"


@given(st.text())
def test_any_text_has_a_code_or_none(text: str) -> None:
    assert len(guess_language(text)) in (0, 2)


@pytest.mark.parametrize(
    ("fields", "seconds"),
    [
        ({"date": "1970-01-02"}, 86_400),
        ({"date": "1970-01-01", "updated": "1970-01-03"}, 2 * 86_400),
        ({"updated": "soon", "created": "1970-01-02T01:00:00+01:00"}, 86_400),
        ({"date": 1970}, None),
        ({}, None),
    ],
)
def test_dates(fields: dict[str, object], seconds: int | None) -> None:
    assert find_date(fields) == seconds


@pytest.mark.skipif(not hasattr(time, "tzset"), reason="the system has one time zone")
def test_a_date_without_a_zone_is_the_same_moment_on_every_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        assert find_date({"date": "1970-01-02"}) == 86_400
    finally:
        monkeypatch.undo()
        time.tzset()
