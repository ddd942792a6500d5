"""The keywords distiller: the terms that a document uses most and, with statistics, others use least.

Words are stemmed, and Chinese is cut by jieba. A term counts once for each occurrence, more in headings and
the title; what a knowledge base uses everywhere counts less. All of it is done in integers, so that no
machine rounds otherwise.
Source: tf-idf with idf = log2(N / df), taken in 1/16 of a bit by whole numbers.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from types import MappingProxyType

from arbor.errors import UsageError
from arbor.repo.distillation.distillers.contract import Distillate, Parameters, Source, Statistics
from arbor.repo.distillation.distillers.prose import prose_of
from arbor.text.analyzer import terms
from arbor.text.folding import UNSPACED, fold
from arbor.text.language import common_words, guess_language

_TITLE, _HEADING = 6, 3
_SIXTEENTHS = 16
_WORD = re.compile(rf"[A-Za-z\u00c0-\u024f](?:(?![{UNSPACED}])[\w'\u2019-])*")
_LETTERS_MIN = 2
_KANA = re.compile("[\u3041-\u30fa]")
_KANJI = re.compile("[\u3005\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")
_KANJI_PAIR = re.compile(f"{_KANJI.pattern}{{2}}")
_GROWN_MAX = 12


class Keywords:
    """The most telling terms, one line of them."""

    name = "keywords"
    version = 3
    deterministic = True
    defaults: Parameters = MappingProxyType({"count": 12, "statistics": "own"})

    def uses_statistics(self, parameters: Parameters) -> bool:
        """With `statistics=kb`; raises UsageError where that is neither `own` nor `kb`."""
        if parameters["statistics"] not in ("own", "kb"):
            raise UsageError(
                f"'{parameters['statistics']}' is no kind of statistics", "statistics are own or kb"
            )
        return parameters["statistics"] == "kb"

    def distill(
        self, source: Source, parameters: Parameters, statistics: Statistics | None
    ) -> Distillate | None:
        """The terms, best first, as the document spells them most often."""
        prose = [" ".join(each) for each in prose_of(source)]
        common = _common_terms(" ".join(prose))
        found = [[term for term in terms(text) if term not in common] for text in prose]
        weights: Counter[str] = Counter(term for each in found for term in each)
        headings = [name for path in dict.fromkeys(source.headings) for name in path[-1:]]
        for text, weight in ((source.title, _TITLE), *((name, _HEADING) for name in headings)):
            for term in set(terms(text)):
                if term in weights:
                    weights[term] += weight
        written = [*prose, source.title]
        chosen = _choose(_ranked(weights, statistics), int(parameters["count"]), written)
        if not chosen:
            return None
        spelled = _spellings(set(chosen), written)
        used = sorted({next(i for i, each in enumerate(found) if term in each) for term in chosen})
        shown = [spelled.get(term, word) for term, word in chosen.items()]
        return Distillate(", ".join(shown) + "\n", tuple(used))


@cache
def _terms_of(code: str) -> frozenset[str]:
    return frozenset(term for word in common_words(code) for term in terms(word))


def _common_terms(text: str) -> frozenset[str]:
    """What holds the sentences of the text's language together; of English the analyzer leaves it out already."""
    code = guess_language(text)
    return frozenset() if code in ("", "en") else _terms_of(code)


def _ranked(weights: Counter[str], statistics: Statistics | None) -> list[str]:
    """The heaviest terms first; of equal ones the first in the alphabet."""
    scores = {
        term: weight * (_idf(term, statistics) if statistics is not None else 1)
        for term, weight in weights.items()
        if len(term) >= _LETTERS_MIN and not term.isdecimal()
    }
    return sorted(scores, key=lambda term: (-scores[term], term))


def _choose(ranked: list[str], count: int, texts: list[str]) -> dict[str, str]:
    """The first terms, with the word that each stands for where that is another: no word is there twice.

    Of long runs of kanji the terms are all pairs, pieces of words among them. A pair that stands in the same longer
    run wherever it is in these texts is shown as that.
    """
    folded = fold("\n".join(texts))
    is_japanese = _KANA.search(folded) is not None
    words: dict[str, str] = {}
    for term in ranked:
        if len(words) >= count:
            break
        word = _grow(term, folded) if is_japanese and _KANJI_PAIR.fullmatch(term) else term
        words.setdefault(word, term)
    return {term: word for word, term in words.items()}


def _grow(pair: str, text: str) -> str:
    """The longest run of kanji that is around this pair at all of its places; the pair itself where there is none."""
    word = pair
    while len(word) < _GROWN_MAX:
        places = [place.start() for place in re.finditer(word, text)]
        before = {text[place - 1 : place] for place in places}
        after = {text[place + len(word) : place + len(word) + 1] for place in places}
        grown = (before.pop() if len(before) == 1 else "") + word
        if grown == word or not _KANJI.match(grown):
            grown = word + (after.pop() if len(after) == 1 else "")
        if grown == word or not _KANJI.match(grown[-1]):
            break
        word = grown
    return word


def _idf(term: str, statistics: Statistics) -> int:
    """16 x log2(N / df), rounded down, at least 1."""
    df = max(statistics.document_frequency(term), 1)
    ratio = int(max(statistics.documents, df) ** _SIXTEENTHS // df**_SIXTEENTHS)
    return max(ratio.bit_length() - 1, 1)


def _spellings(wanted: set[str], texts: list[str]) -> dict[str, str]:
    """How each stem is spelled most often in the texts; of equal ones the first in the alphabet."""
    starts = {term[:3] for term in wanted}
    words = Counter(word.lower() for text in texts for word in _WORD.findall(text))
    found: dict[str, Counter[str]] = {}
    for word, times in words.items():
        if word[:3] in starts and len(stems := terms(word)) == 1 and stems[0] in wanted:
            found.setdefault(stems[0], Counter())[word] += times
    return {term: min(each, key=lambda word: (-each[word], word)) for term, each in found.items()}
