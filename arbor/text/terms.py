"""Words for weighing what texts are about: key terms, similarity, distillation. The index has its own."""

from __future__ import annotations

import unicodedata
from functools import lru_cache
from operator import add

from arbor.lazy import lazy_pattern
from arbor.text.folding import UNSPACED, fold, join_wrapped_lines, spell_names
from arbor.text.segmentation import longest_words, segment_han
from arbor.text.stemming import stem_word
from arbor.text.stopwords import CHINESE, ENGLISH, JAPANESE, KOREAN

TERMS_ID = "arbor-terms/3"
"""Names the rules of this module; whatever is computed from terms is out of date under another id."""

_DIGITS_MIN = 3
_KANJI_WORD_MAX = 4
_TYPED_WORD_MAX = 8
_CACHED_WORDS_MAX = 200_000
_SHORT_CHARS = 24

_SPACED_LOWER = bytes(
    code if code >= 0x80 else ord(chr(code).lower()) if chr(code).isalnum() else 0x20 for code in range(256)
)
"""For UTF-8: makes ASCII letters small, and all ASCII characters but letters and digits spaces."""

_WORD = lazy_pattern(r"[^\W_]++")
_UNSPACED_PARTS = lazy_pattern(f"([{UNSPACED}]++)")
_HIRAGANA = lazy_pattern(r"[\u3041-\u309f]")
_SCRIPT_RUN = lazy_pattern(
    r"([\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]++)"
    r"|([\u30a1-\u30ff\u31f0-\u31ff]++)"
    r"|([\u3006\u3041-\u309f]++)"
    r"|([\u1100-\u11ff\uac00-\ud7a3]++)"
    r"|([^\u3005-\u30ff\u31f0-\u31ff\u3400-\u9fff\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003ffff]++)"
)
_ENDING = lazy_pattern(
    r"(?<=..)(?:"
    r"(?:하|되)(?:는|고|며|면|여|어|게|기|지|다|거나|도록|려면|기를|기에|기는|지만|십시오|세요|였다|었다|였습니다|었습니다)"
    r"|(?:한|된)다|(?:합|됩)니다|했다|했습니다|해서|해야|하여야|되어야"
    r"|입니다|이다|이며|이고|이라는|라는"
    r"|들?(?:에게서|으로써|으로서|처럼|보다|이나|은|는|이|가|을|를|의|도|만)"
    r"|들?(?:에서|에게|에|으로|로|까지|부터|와|과)(?:는|도|만|의)?"
    r"|들)$"
)
"""What a Korean noun carries: particles, the plural, and forms of the verbs that make verbs of nouns."""

_EMOJI_WORD = lazy_pattern(r"u[0-9]{4,6}")


class _TermTable(dict[str, str]):
    """The term for each ASCII word met so far, empty for words that are none; texts share most of theirs."""

    def __missing__(self, word: str) -> str:
        term = _make_term(word)
        if len(self) >= _CACHED_WORDS_MAX:
            self.clear()
        self[word] = term
        return term


_TERMS = _TermTable()


def terms(text: str) -> list[str]:
    """The words of a text that say what it is about.

    Args:
        text: Any text; code and front matter are for the caller to leave out.

    Returns:
        In text order and with repetitions: Latin words folded and stemmed, other alphabets folded, words
        of two characters or more from Chinese runs by jieba, runs of katakana and of one kanji or more from Japanese,
        all across the ends of wrapped lines, Korean words without their endings, pairs of characters from other
        scripts without spaces. Stop words, single letters and numbers of less than three digits are left out.
    """
    is_ascii = text.isascii()
    raw = spell_names(text if is_ascii else join_wrapped_lines(text)).encode("utf-8", "replace")
    words = raw.translate(_SPACED_LOWER).decode("utf-8").split()
    if is_ascii:
        return list(filter(None, map(_TERMS.__getitem__, words)))
    is_japanese = _HIRAGANA.search(text) is not None
    found: list[str] = []
    for word in words:
        if not word.isascii():
            found += (
                _mixed_terms(word, is_japanese)
                if len(word) > _SHORT_CHARS
                else _short_terms(word, is_japanese)
            )
        elif term := _TERMS[word]:
            found.append(term)
    return found


def typed_words(run: str) -> list[str]:
    """The words that a person means by a run of characters that are written without spaces.

    For evidence: a text that holds only a piece of a word does not hold the word.

    Args:
        run: As `analyzer.unspaced_runs` gives it, folded.

    Returns:
        For simplified Chinese the longest words of the dictionary, without stop words where others are left; other
        Han runs and katakana as a whole, Korean without endings, and hiragana where there is nothing else. Nothing
        where words cannot be told apart.
    """
    words: list[str] = []
    rest: list[str] = []
    for han, katakana, hiragana, hangul, other in _SCRIPT_RUN.findall(run):
        if han:
            words += _typed_han(han)
        elif katakana:
            words += [katakana] if len(katakana) > 1 else []
        elif hangul:
            stem = _ENDING.sub("", hangul)
            words += [stem if len(stem) > 1 else hangul]
        else:
            rest += [part for part in (hiragana, other) if 1 < len(part) <= _TYPED_WORD_MAX]
    telling = [word for word in words if word not in CHINESE]
    return telling or words or (rest if rest == [run] else [])


def _typed_han(run: str) -> list[str]:
    try:
        run.encode("gb2312")
    except UnicodeEncodeError:  # Japanese or traditional: the dictionary would cut at what it does not know
        return [run] if 1 < len(run) <= _KANJI_WORD_MAX else list(map(add, run, run[1:]))
    return list(longest_words(run))


def _mixed_terms(word: str, is_japanese: bool) -> list[str]:
    """Terms of a stretch without ASCII spaces or signs, which may be a whole paragraph of Chinese."""
    found: list[str] = []
    folded = spell_names(fold(word)).lower()
    for number, part in enumerate(_UNSPACED_PARTS.split(folded)):
        if number % 2:
            found += _unspaced_terms(part, is_japanese)
        else:
            found += [term for piece in _WORD.findall(part) if (term := _make_term(piece))]
    return found


_short_terms = lru_cache(maxsize=1 << 15)(_mixed_terms)


def _make_term(word: str) -> str:
    if not word.isascii():
        parts = unicodedata.normalize("NFD", word)
        word = unicodedata.normalize(
            "NFC", "".join(part for part in parts if unicodedata.category(part) != "Mn")
        )
    if len(word) < 2 or word in ENGLISH or _EMOJI_WORD.fullmatch(word):
        return ""
    if word.isdecimal():
        return word if len(word) >= _DIGITS_MIN else ""
    stem = stem_word(word) if word.isascii() else word
    return "" if stem in ENGLISH else stem


def _unspaced_terms(run: str, is_japanese: bool) -> list[str]:
    found: list[str] = []
    for han, katakana, _, hangul, other in _SCRIPT_RUN.findall(run):
        if han:
            found += _kanji_terms(han) if is_japanese else _han_terms(han)
        elif katakana:
            found += [katakana] if len(katakana) > 1 else []
        elif hangul:
            word = _ENDING.sub("", hangul)
            found += [word] if len(word) > 1 and word not in KOREAN and hangul not in KOREAN else []
        elif other:
            found += map(add, other, other[1:])
    return found


def _han_terms(run: str) -> list[str]:
    return [word for word in segment_han(run) if len(word) > 1 and word not in CHINESE]


def _kanji_terms(run: str) -> list[str]:
    if len(run) <= _KANJI_WORD_MAX:
        return [] if run in JAPANESE else [run]
    return list(map(add, run, run[1:]))
