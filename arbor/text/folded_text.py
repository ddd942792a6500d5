"""Folded text that knows where each of its characters stands in the text that it was made from.

The index holds folded text, in which a ligature is two letters and a soft hyphen none. Who marks a match in the
original needs the way back.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

from arbor.lazy import lazy_pattern
from arbor.text.folding import IGNORED, NAMES, UNSPACED_CHAR, WRAPS, fold, part_moments

_JOINING = f"{IGNORED}\u1160-\u11ff\u3099\u309a\uff9e\uff9f"
"""Inside of a character class: what belongs to the character before it, as accents, sounds of kana, and vowels of
hangul that is spelled out do."""

_JOINING_CHAR = lazy_pattern(f"[{_JOINING}]")


def joins(char: str) -> bool:
    """Whether a character belongs to the one before it, so that a text is not to be cut between them."""
    return unicodedata.category(char)[0] == "M" or _JOINING_CHAR.match(char) is not None


class FoldedText(NamedTuple):
    """A folded text, and for each of its characters from where to where it stands in the original."""

    text: str
    starts: Sequence[int]
    ends: Sequence[int]


class _FoldedChars(dict[int, str]):
    """For `str.translate`: each character folded where it becomes one character, so that places stay.

    Attributes:
        others: The characters met so far that become none or several, or join the one before.
    """

    def __init__(self) -> None:
        self.others: set[str] = set()

    def __missing__(self, code: int) -> str:
        char = chr(code)
        folded = char if char.isascii() else fold(char)
        if len(folded) != 1 or _JOINING_CHAR.match(char):
            self.others.add(char)
            folded = char
        self[code] = folded
        return folded


class _BareChars(dict[int, str]):
    """For `str.translate`: each folded letter without its accents, whatever a tokenizer makes of those."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        bare = char if UNSPACED_CHAR.match(char) else unicodedata.normalize("NFD", char)[0]
        self[code] = bare
        return bare


_FOLDED = _FoldedChars()
_BARE = _BareChars()


def fold_in_place(text: str) -> FoldedText:
    """Fold a text as the index does, names with signs spelled out, before runs without spaces are cut into pairs."""
    folded = _unmoved(text)
    if not text.isascii():
        for end, wrap in WRAPS:  # before anything is folded away, as the index does
            if end in text:
                folded = _rewrite(folded, wrap, "")
        folded = folded._replace(text=folded.text.translate(_FOLDED))
        others = _FOLDED.others.intersection(folded.text)
        if others:
            folded = _rewrite(folded, _others_pattern("".join(sorted(others))), fold)
    folded = folded._replace(text=part_moments(folded.text))
    for sign, pattern, spelled in NAMES:
        if sign in folded.text:
            folded = _rewrite(folded, pattern, spelled)
    return folded._replace(text=folded.text.lower())


def without_accents(folded: str) -> str:
    """Folded text with the base of each letter in its place, of the same length."""
    return folded if folded.isascii() else folded.translate(_BARE)


def _unmoved(text: str) -> FoldedText:
    return FoldedText(text, range(len(text)), range(1, len(text) + 1))


@lru_cache(maxsize=256)
def _others_pattern(others: str) -> re.Pattern[str]:
    return re.compile(f"(?s:.)[{_JOINING}]+|[{re.escape(others)}]")


def _rewrite(folded: FoldedText, pattern: re.Pattern[str], writing: str | Callable[[str], str]) -> FoldedText:
    """What the pattern finds put in other words, which all stand where it was found."""
    pieces: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    done = 0

    def keep(until: int) -> None:
        pieces.append(folded.text[done:until])
        starts.extend(folded.starts[done:until])
        ends.extend(folded.ends[done:until])

    for match in pattern.finditer(folded.text):
        keep(match.start())
        done = match.end()
        written = writing if isinstance(writing, str) else writing(match[0])
        pieces.append(written)
        starts += [folded.starts[match.start()]] * len(written)
        ends += [folded.ends[done - 1]] * len(written)
    if not done:
        return folded
    keep(len(folded.text))
    return FoldedText("".join(pieces), starts, ends)
