"""What of a query may be meant otherwise than it is understood: signs of other keyboards, search engines and shells."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from arbor.lazy import lazy_pattern

_DOUBTED_CHARS = 3
_QUOTES = "\u201c\u201d\u201e\u201f\u00ab\u00bb\uff02"
_DASHES = "\u2010\u2011\u2012\u2013\u2014\u2212\uff0d"
_OPERATORS = {
    "AND": "hits hold any of the words, best those with all",
    "OR": "hits hold any of the words in any case",
    "NOT": "what begins with - is left out",
}
_ELSEWHERE = {
    "before": "the filter is called until:", "after": "the filter is called since:",
    "file": "the filter is called path:", "folder": "the filter is called path:",
    "ext": "the filter is written path:*.md", "filetype": "the filter is written path:*.md",
    "intitle": "the filter is called title:",
}  # fmt: skip
"""Filters of git and of search engines that are none here."""
_OF_DATES = ("before", "after")
_STAR_IN_PHRASE = lazy_pattern(r"(?<!\*)[^\W_]\*(?!\*|\Z)|\*[^*]+[^\W_]\*\Z")
_STAR_WITHIN = lazy_pattern(r"[*?]+\.?[^\W_]+|[^\W_]+\*+[^\W_]+")


def doubt_word(word: str, fields: Sequence[str], *, minus: bool) -> Iterator[str]:
    """What to say of a word outside of quotation marks that looks like something else, one sentence each.

    Args:
        word: As typed, without the minus in front of it.
        fields: The names of the filters.
        minus: Whether it is left out.
    """
    act = "left out" if minus else "looked for"
    if minus and len(word) == 1 and word.isascii():
        yield f"'-{word}' left out what holds '{word}', as -word does"
    if word[0] in _QUOTES and word[1:2].isalnum():
        yield f"'{word}' was {act} without its quotation mark, which none closes; write a phrase \"like this\""
    elif word[0] in _DASHES and word[1:2].isalnum():
        yield f"'{word}' was {act} as text; what is left out begins with another sign: -{word[1:]}"
    elif _STAR_WITHIN.match(word) and not word.endswith("*"):
        yield f"'{word}' was {act} as text; a * stands for letters at the end of a word, or in path:"
    name = _mistyped(word, fields)
    if word == f"{name}:":
        yield f"'{word}' was {act} as text; what a filter asks for stands right behind its colon"
    elif name:
        yield f"'{word}' was {act} as text; the filter is called {name}:"
    elif elsewhere := _filter_elsewhere(word):
        yield f"'{word}' was {act} as text; {elsewhere}"


def doubt_phrase(phrase: str) -> Iterator[str]:
    """What to say of a phrase, as typed between its quotation marks, that holds what stands for something elsewhere."""
    if _STAR_IN_PHRASE.search(phrase):
        yield f"the * in '{phrase}' was taken as text; it stands for letters at the end of a phrase only"


def doubt_operators(words: Sequence[str]) -> Iterator[str]:
    """What to say of AND, OR and NOT among the words of a query, unless all of them are in capitals."""
    if not all(map(str.isupper, words)):
        for word in filter(_OPERATORS.__contains__, dict.fromkeys(words)):
            yield f"'{word}' is a word like others here: {_OPERATORS[word]}"


def _mistyped(word: str, fields: Sequence[str]) -> str:
    """The filter that a word may have been meant for, "" for none.

    One is meant where its letters are in another order or case, one of them is missing, an s is too many, the value
    does not come right behind the colon, or the colon is as wide as a Chinese character.
    """
    name, colon, value = word.replace("\uff1a", ":", 1).partition(":")
    if not colon or value.startswith("//") or len(name) < _DOUBTED_CHARS:
        return ""
    if name in fields:
        return name
    lower = name.lower()
    for right in fields if value else ():
        shorter = {right[:at] + right[at + 1 :] for at in range(len(right))}
        if sorted(lower) == sorted(right) or lower == f"{right}s" or (lower in shorter and len(right) > 3):
            return right
    return ""


def _filter_elsewhere(word: str) -> str:
    """What to say of a filter that only others have, "" for other words; `after:` is one in front of a date only."""
    name, _, value = word.partition(":")
    is_one = value and not value.startswith("//") and (name not in _OF_DATES or value[0].isdecimal())
    return _ELSEWHERE.get(name, "") if is_one else ""
