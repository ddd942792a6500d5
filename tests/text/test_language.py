from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import arbor
from arbor.text.language import declared_language, guess_language

SAMPLES = {
    "en": "The proof of a passage is that it hashes to the leaf which the document names, and you need no more.",
    "de": "Der Beweis ist nicht schwer: das Blatt und die Wurzel werden mit der Datei von Anfang an geführt.",
    "fr": "Les preuves sont dans le dépôt, et une branche est un nom pour des versions que vous avez.",
    "es": "Los documentos del archivo son para una persona que los busca, como el que más.",
    "zh": "知识库把每一段文字放进账本，任何人都可以证明它。",
    "ja": "知識ベースは文書を保存し、検索できます。",
    "ko": "지식 베이스는 문서를 보관하고 검색합니다.",
    "ru": "База знаний хранит документы и доказывает их.",
    "ca": "Aquesta és la pàgina que explica com es fan les còpies de seguretat dels fitxers.",
    "sv": "Det är inte svårt att bevisa vad som står i filen, om man har roten från början.",
    "da": "Det er ikke svært at bevise, hvad der står i filen, hvis den er af ny dato.",
    "no": "Det er ikke vanskelig å bevise hva som står i filen, hvis man også har roten etter en stund.",
    "fi": "Tiedosto on todistettu, kun sen juuri on sama kuin se joka on annettu, mutta ei muuten.",
    "cs": "Soubor je ověřen, pokud jeho kořen není jiný, ale to se může stát jen při změně.",
    "pl": "Plik jest sprawdzony, jeśli jego korzeń nie jest inny, ale to może się stać przez zmianę.",
    "hu": "A fájl akkor hiteles, ha a gyökere nem más, de ez csak akkor lehet, ha már van gyökér.",
    "ro": "Fișierul este dovedit dacă rădăcina nu este alta, dar acest lucru se poate întâmpla și din greșeală.",
    "tr": "Bu dosya için bir kök var, ama her zaman aynı değil ve daha sonra değişir.",
    "vi": "Tập tin này được chứng minh khi gốc của nó không khác với gốc đã cho.",
    "id": "Berkas ini tidak dapat diubah oleh orang lain, dan akarnya adalah sama dengan yang ada.",
    "uk": "Сховище зберігає документи й доводить їх.",
    "bg": "Хранилището съхранява документите и ги доказва, като пази корена.",
    "sr": "Ово складиште чува документе и доказује их, а корен је исти као пре.",
    "": "x1 y2 z3",
}


@pytest.mark.parametrize("code", SAMPLES)
def test_guesses(code: str) -> None:
    assert guess_language(SAMPLES[code]) == code


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("# Bread\n\nYeast makes the dough rise.\n", "en"),
        ("Ships sail on water.", "en"),
        ("Brot wird heiß gebacken.", "de"),
        ("Les moulins tournent.", "fr"),
        ("L'eau d'un puits, c'est l'affaire d'une commune.", "fr"),
        (".k { color: red } .o { color: blue } .s { x: y } .v { x: y }\n", ""),
        ("Alpha beta gamma", ""),
        (
            "![badge](https://example.com/for-the-badge?is=that) " * 9
            + "\n\nThis plugin is for the sidebar.",
            "en",
        ),
        ("import a from 'a'\n" + "x = [1, 2, 3]\n" * 50, ""),
        (
            "import { ref } from 'vue'\n" * 30
            + "# 事件\n\n"
            + "组件可以直接在模板表达式中触发自定义事件。" * 20,
            "zh",
        ),
    ],
)
def test_a_short_text_or_one_that_begins_with_signs_is_decided_by_what_there_is(text: str, code: str) -> None:
    assert guess_language(text) == code


def test_front_matter_as_a_passage_of_its_own_hides_no_language(tmp_path: Path) -> None:
    fields = "---\n" + "".join(f"key{number}: value{number}\n" for number in range(90)) + "---\n"
    kb = arbor.init(tmp_path / "kb")
    kb.add_bytes("long.md", (fields + "# Yeast\n\nThe dough is left to rise for a day.\n").encode())
    kb.add_bytes("short.md", b"Yeast makes the dough rise.\n")
    kb.commit("both")
    assert {hit.path for hit in kb.search("yeast lang:en").hits} == {"long.md", "short.md"}
    kb.close()


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


def test_two_common_words_are_too_few_to_tell_the_language_of_a_long_text() -> None:
    assert guess_language("Wer und wo: der Kanal") == "de"
    assert guess_language("Kanal " * 120 + "und der") == ""
    assert guess_language("Kanal " * 120 + "und der ist") == "de"


@given(st.text())
def test_any_text_has_a_code_or_none(text: str) -> None:
    assert len(guess_language(text)) in (0, 2)
