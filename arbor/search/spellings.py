"""Other ways to write the same name: versions, identifiers, measures, and the numbers of books and papers.

A tokenizer cuts names at their signs, so `v1.2.3` and `1.2.3`, or `parseRequest` and `parse_request`, have no token or
not the same ones in common. A query asks for the others beside the one that was typed.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from arbor.lazy import lazy_pattern
from arbor.text.analyzer import Unit
from arbor.text.folding import camel_parts

_SIGNS_AROUND = " \t\n()[]{}<>.,;:!?'\"`"
_VERSION = lazy_pattern(r"([vV]?)(\d+(?:\.\d+)+(?:[-+.][0-9A-Za-z]+)*)")
_LONG_PART = lazy_pattern(r"\d\d")
_ARXIV = lazy_pattern(
    r"(?i)(?:arxiv:|(?:https?://)?(?:www\.)?arxiv\.org/(?:abs|pdf|html)/)?(\d{4}\.\d{4,5})(v\d+)?(?:\.pdf)?"
)
_DOI = lazy_pattern(r"(?i)(?:doi:|(?:https?://)?(?:dx\.)?doi\.org/)(10\.\d{4,9}/\S+)")
_ISBN = lazy_pattern(r"(?i)(?:isbn(?:-1[03])?:?)?((?:97[89]-?)?\d(?:-?\d){8}-?[\dXx])")
_ISBN_DIGITS_MAX, _ISBN_GROUP_MAX = 13, 5
"""The longer form's length, and how many digits at most stand for a country or language, which come first."""
_SNAKE = lazy_pattern(r"[A-Za-z0-9]*[A-Za-z][A-Za-z0-9]*(?:_[A-Za-z0-9]+)+")
_CAMEL = lazy_pattern(r"[A-Za-z0-9]+")
_MEASURE = lazy_pattern(r"(\d+(?:[.,]\d+)?)( ?)([A-Za-z]{1,3})")


def other_spellings(typed: str) -> list[Unit]:
    """What else a word may stand as in a text.

    Args:
        typed: One word or a phrase as typed; phrases have none, but for measures such as `16 GB`.

    Returns:
        Phrases and beginnings, the typed spelling not among them; usually none.
    """
    word = typed.strip(_SIGNS_AROUND)
    if not word.isascii() or len(word) < 3 or (word.isalpha() and not camel_parts(word)):
        return []
    return [*_identifiers(word), *_measures(word), *_versions(word), *_papers(word), *_books(word)]


def _identifiers(word: str) -> Iterator[Unit]:
    """`parse request` for `parseRequest`, and `parserequest`, as that stands in the index, for `parse_request`."""
    if _SNAKE.fullmatch(word):
        yield Unit(word.replace("_", ""))
    elif _CAMEL.fullmatch(word) and (parts := camel_parts(word)):
        yield Unit(" ".join(parts))


def _measures(word: str) -> Iterator[Unit]:
    """`16 GB` for `16GB`, and for the phrase `16 GB` the other way round."""
    found = _MEASURE.fullmatch(word)
    if found:
        yield Unit(f"{found[1]}{'' if found[2] else ' '}{found[3]}")


def _versions(word: str) -> Iterator[Unit]:
    """`v1.2.3` for `1.2.3`; the other way round only for such as `v1.22.3`, since many texts hold `1, 2, 3`."""
    found = _VERSION.fullmatch(word)
    if found and not found[1]:
        yield Unit(f"v{word}")
    elif found and found[2].count(".") > 1 and _LONG_PART.search(found[2]):
        yield Unit(found[2])


def _papers(word: str) -> Iterator[Unit]:
    """A DOI or an arXiv number without what says that it is one, and any version of the paper."""
    doi, arxiv = _DOI.fullmatch(word), _ARXIV.fullmatch(word)
    if doi:
        yield Unit(doi[1])
    if arxiv:
        number, version = arxiv[1], arxiv[2] or ""
        yield from map(Unit, sorted({number, number + version} - {word}))
        if not version:
            yield Unit(f"{number}v", prefix=True)


def _books(word: str) -> Iterator[Unit]:
    """An ISBN with and without its hyphens, whose places depend on the publisher, so each is tried."""
    found = _ISBN.fullmatch(word)
    digits = found[1].replace("-", "") if found else ""
    if not found or not _is_isbn(digits):
        return
    head = [digits[:3]] if len(digits) == _ISBN_DIGITS_MAX else []
    body, check = digits[3 * len(head) : -1], digits[-1]
    spelled = [digits, "-".join([*head, body + check])]
    for first, second in combinations(range(1, len(body)), 2):
        if first <= _ISBN_GROUP_MAX:
            spelled.append("-".join([*head, body[:first], body[first:second], body[second:], check]))
    yield from map(Unit, dict.fromkeys(each for each in spelled if each != word))


def _is_isbn(digits: str) -> bool:
    """Whether the check digit is right, so that no other number of ten or thirteen digits is taken for an ISBN."""
    values = [10 if digit in "xX" else int(digit) for digit in digits]
    if len(values) == 10:
        return sum(value * (10 - place) for place, value in enumerate(values)) % 11 == 0
    return sum(value * (3 if place % 2 else 1) for place, value in enumerate(values)) % 10 == 0
