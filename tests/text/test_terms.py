"""Terms: the words that say what a text is about."""

from __future__ import annotations

import logging
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from arbor.text.analyzer import terms
from arbor.text.segmentation import longest_words, segment_han
from arbor.text.stemming import stem_word
from arbor.text.stopwords import CHINESE, ENGLISH
from arbor.text.terms import typed_words
from tests.text.strategies import any_texts


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The quick brown foxes are jumping", ["quick", "brown", "fox", "jump"]),
        ("we don't know, you’ll see", ["know", "see"]),
        ("Node.js v1.2.3 and C++ and C#", ["node", "js", "v1", "cplusplus", "csharp"]),
        ("in 7 or 42 or 365 or 2024", ["365", "2024"]),
        ("café CAFÉ cafe\u0301 naïve", ["cafe", "cafe", "cafe", "naiv"]),
        ("Straße œuvre ﬁles", ["strass", "oeuvr", "file"]),
        ("foo_bar user@example.com", ["foo", "bar", "user", "exampl", "com"]),
        ("Москва москва", ["москва", "москва"]),
        ("知识库是一个文件夹", ["知识库", "文件夹"]),
        ("我们使用Merkle树来证明", ["merkl", "证明"]),
        ("東京都の検索エンジンについて", ["東京都", "検索", "エンジン"]),
        ("한국어를 공부하는 학생은", ["한국어", "공부", "학생"]),
        ("문서들에서는 이전합니다. 학생입니다", ["문서", "이전", "학생"]),
        ("아들은 북한의 하드웨어로", ["아들", "북한", "하드웨어"]),
        ("それはそれはとてもすばらしいデー\n  タベースと", ["データベース"]),
        ("それはそれはとてもすばらしいデー\r\n> タベースと", ["データベース"]),
        ("这也是我们的，是它们的，是他们的分布式版本控\n制系统", ["分布式", "版本", "控制系统"]),
        ("東京\n大阪\n名古屋は", ["東京", "大阪", "名古屋"]),
        ("水を飲む犬", ["水", "飲", "犬"]),
        ("1日は㏠", ["日", "日"]),
        ("한국어\n문법", ["한국어", "문법"]),
        ("我們可以這樣", []),
        ("good 😀 day", ["good", "day"]),
        ("", []),
        ("?! … 的 了", []),
    ],
)
def test_terms(text: str, expected: list[str]) -> None:
    found = terms(text)
    assert [term for term in found if term != "树来"] == expected


def test_order_and_repetition_are_kept() -> None:
    assert terms("trees and trees of trees") == [stem_word("trees")] * 3


@example("ぁ㏠")
@given(any_texts)
def test_terms_are_folded_words(text: str) -> None:
    for term in terms(text):
        assert term == term.lower()
        assert term not in ENGLISH | CHINESE
        assert len(term) > 1 or term >= "々"  # a single kanji is a word in Japanese
        assert not any(char.isspace() for char in term)
        term.encode()


@given(any_texts)
def test_repeating_a_text_repeats_its_terms(text: str) -> None:
    assert terms(f"{text}\n\n{text}") == terms(text) * 2


def test_stems_are_the_same_from_both_packages() -> None:
    import snowballstemmer

    other = snowballstemmer.stemmer("english")
    words = Path(__file__).read_text(encoding="utf-8").lower().replace("_", " ").split()
    words += [
        "generically",
        "knowledge",
        "relational",
        "happily",
        "skis",
        "dying",
        "internationalization",
        "agreement",
    ]
    for word in {word for word in words if word.isalpha() and word.isascii()}:
        assert stem_word(word) == other.stemWord(word)


def test_words_join_to_their_run() -> None:
    assert "".join(segment_han("版本控制系统的核心数据结构")) == "版本控制系统的核心数据结构"


def test_jieba_agrees_with_its_own_dictionary_loading() -> None:
    from arbor.text.jieba_dictionary import jieba, load_tokenizer

    own = jieba.Tokenizer()
    frequencies, total = own.gen_pfdict(own.get_dict_file())
    ours = load_tokenizer()
    assert ours.total == total
    assert frequencies == ours.FREQ


def test_threads_share_one_dictionary() -> None:
    results: list[tuple[str, ...]] = []
    threads = [
        threading.Thread(target=lambda: results.append(tuple(terms("计算机科学与技术")))) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 8
    assert len(set(results)) == 1


def test_jieba_writes_no_file_and_says_nothing(tmp_path: Path) -> None:
    program = (
        "import sys; from arbor.text.analyzer import terms\n"
        "assert 'jieba' not in sys.modules\n"
        "terms('only English here'); assert 'jieba' not in sys.modules\n"
        "assert terms('知识库') == ['知识库']; assert 'jieba' in sys.modules\n"
    )
    environment = {
        "TMPDIR": str(tmp_path),
        "TEMP": str(tmp_path),
        "PYTHONPATH": ":".join(sys.path),
        "HOME": str(tmp_path),
    }
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert list(tmp_path.iterdir()) == []


def test_the_logger_of_jieba_is_silent() -> None:
    segment_han("知识")
    assert logging.getLogger("jieba").level > logging.CRITICAL


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        ("所有权", ["所有权"]),
        ("什么是所有权和借用", ["所有权", "借用"]),
        ("什么", ["什么"]),
        ("蔚来的汽车", ["蔚来", "汽车"]),
        ("我的", []),
        ("所有権", ["所有権"]),
        ("東京特許許可局", ["東京", "京特", "特許", "許許", "許可", "可局"]),
        ("検索エンジンについて", ["検索", "エンジン"]),
        ("ありがとう", ["ありがとう"]),
        ("食べる", []),
        ("고양이는", ["고양이"]),
        ("이전하는", ["이전"]),
    ],
)
def test_the_words_that_are_typed(run: str, expected: list[str]) -> None:
    assert typed_words(run) == expected


@given(st.text(st.characters(min_codepoint=0x4E00, max_codepoint=0x9FFF), max_size=40))
def test_longest_words_stand_in_the_run_in_its_order(run: str) -> None:
    at = -1
    for word in longest_words(run):
        assert len(word) > 1
        at = run.index(word, at + 1)  # each begins behind the one before


@given(
    st.sampled_from(["所有权", "知识库", "中华人民共和国", "生命周期", "机器", "资本主义"]),
    st.sampled_from(["", "的", "和"]),
)
def test_a_word_of_the_dictionary_is_one_word(word: str, beside: str) -> None:
    assert longest_words(beside + word) == (word,)
    assert longest_words(word + beside) == (word,)
