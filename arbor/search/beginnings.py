"""What the index is asked for words that begin in one way, such as `pay*`.

The index holds stems, and SQLite stems what it is asked for too, the beginning of a word as if it were a whole one:
`pay*` would look for words that begin with `pai`, and miss `payment`. So a beginning becomes two kinds of units: a word
whose stem is the beginning as typed, for all stems that begin so; and the words that go on from the beginning and whose
stems are shorter or other than it, as `community` stands in the index as `commun` and belongs to `communi*`.
"""

from __future__ import annotations

from collections.abc import Iterator
from string import ascii_letters, digits

from arbor.index.tokens import Tokenizer
from arbor.search.common_words import ENDINGS, STOP_WORDS
from arbor.text.analyzer import Unit

MIN_STEM_CHARS, MAX_SUFFIX_CHARS = 2, 7
_STEMMED_CHARS_MIN = 3
"""SQLite's stemmer leaves shorter words as they are."""
_UNSTEMMED = "x" * 65
"""A tail that makes any word too long for SQLite's stemmer, which leaves words of more than 64 bytes as they are."""
_LETTERS_AND_DIGITS = ascii_letters + digits
_TAKEN_OFF = ("ness", "e")
"""Endings one of which the stemmer takes off almost any word, without touching what is left."""


def widen(unit: Unit, tokenizer: Tokenizer) -> list[Unit]:
    """The units that stand for a beginning, any of which may match; the unit itself where no stem is in the way.

    Args:
        unit: As `phrase_unit` makes it with `prefix`; in front of the last word others may stand.
        tokenizer: SQLite's, which stems.
    """
    beginning = _last_word(unit, tokenizer) if unit.prefix else ""
    head = unit.text[: len(unit.text) - len(beginning)]
    if len(beginning) < _STEMMED_CHARS_MIN or not beginning.isascii():
        return [unit]
    continued = [head + word for word in _iter_continued(beginning)]
    carriers = [head + beginning + ending for ending in _TAKEN_OFF]
    tokens = tokenizer.tokens_of([unit.text, *carriers, *continued])
    texts = (text for text in (unit.text, *carriers) if tokens[text][-1] == beginning)
    widest = Unit(next(texts, unit.text), True)
    known = tokens[widest.text][-1]
    others: dict[str, Unit] = {}
    for number, text in enumerate(continued):
        stem = tokens[text][-1]
        if not stem.startswith(known) and not (number and stem in STOP_WORDS):
            others.setdefault(stem, Unit(text))
    return [widest, *others.values()]


def _last_word(unit: Unit, tokenizer: Tokenizer) -> str:
    """The last word of a unit as the tokenizer writes it before it is stemmed; "" where a sign ends the unit."""
    if unit.text.isascii():
        return unit.text[len(unit.text.rstrip(_LETTERS_AND_DIGITS)) :].lower()
    word = tokenizer.tokens(unit.text + _UNSTEMMED)[-1].removesuffix(_UNSTEMMED)
    is_last = tokenizer.tokens(unit.text[: len(unit.text) - len(word)] + word) == tokenizer.tokens(unit.text)
    return word if is_last else ""


def _iter_continued(beginning: str) -> Iterator[str]:
    """The beginning as a word, and words that go on from it by an ending that began within it."""
    yield beginning
    for length in range(len(beginning), max(MIN_STEM_CHARS, len(beginning) - MAX_SUFFIX_CHARS) - 1, -1):
        begun = beginning[length:]
        yield from (beginning[:length] + ending for ending in ENDINGS if ending.startswith(begun))
