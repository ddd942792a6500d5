"""Where the units of a query stand in a text, by the same rules as the index.

The index works on prepared text, whose positions are not those of the original. Here the original is
searched: places that may match are found by their first letters, and each is decided by the index's own
tokenizer.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from arbor.index.tokens import Tokenizer
from arbor.lazy import lazy_pattern
from arbor.search.plan import unit_expression
from arbor.text.analyzer import Unit, index_text
from arbor.text.folding import UNSPACED

_RUN = lazy_pattern(f"[{UNSPACED}]++")
_NAMES = r"[CcGgHh]\+\+|[CcFfJjQq]#|\.[Nn][Ee][Tt](?![^\W_])"
_REGION = lazy_pattern(rf"[{UNSPACED}]+|{_NAMES}|[^\W_{UNSPACED}]+|[^\x00-\x7f\W_]+|[\u2600-\U0001faff]")
_ASCII_REGION = re.compile(rf"{_NAMES}|[A-Za-z0-9]+")
"""What `_REGION` comes to in plain ASCII."""
_LEAD_CHARS = 4


class Span(NamedTuple):
    """A match: from where to where, in characters of the text, and which unit of the query it is."""

    start: int
    end: int
    unit: int


class _Atom(NamedTuple):
    """Part of a pattern: a run of unspaced characters to be found as it is, or one token of a spaced word."""

    text: str
    is_run: bool


class _Pattern(NamedTuple):
    """A unit as consecutive atoms. Every place that matches begins with one of `leads`."""

    atoms: tuple[_Atom, ...]
    prefix: bool
    leads: tuple[str, ...]


class _FoldedChars(dict[int, str]):
    """For `str.translate`: each character folded where that gives one character, so positions stay."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        folded = unicodedata.normalize("NFKC", char).casefold()
        base = unicodedata.normalize("NFD", folded)[:1] if _RUN.fullmatch(folded) is None else folded
        self[code] = base if len(base) == 1 else char
        return self[code]


_FOLDED = _FoldedChars()


class Matcher:
    """Finds the units of one query in texts."""

    def __init__(self, units: Sequence[Unit], tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._expressions = [unit_expression(unit) for unit in units]
        self._patterns = [_make_pattern(unit, tokenizer) for unit in units]
        self._has_names = any(
            _is_name(atom.text) for pattern in self._patterns if pattern for atom in pattern.atoms
        )

    def spans(self, text: str) -> list[Span]:
        """The matches in a text, in order of their place; they may overlap."""
        folded = text.lower() if text.isascii() else text.translate(_FOLDED)
        found = [
            Span(start, end, number)
            for number, pattern in enumerate(self._patterns)
            if pattern is not None
            for lead in pattern.leads
            for start, end in self._places(pattern, lead, folded, text)
        ]
        found.sort()
        return found

    def has_match(self, text: str, spans: Sequence[Span]) -> bool:
        """Whether the index calls this text a match.

        Places marked in plain ASCII are matches for sure. Elsewhere the index is asked: names that are spelled out and
        rare characters depend on what stands beside them.

        Args:
            text: The text.
            spans: What `spans` found in it.
        """
        if spans and not self._has_names and text.isascii():
            return True
        return bool(self._expressions) and self._tokenizer.matches(index_text(text), self._expressions)

    def _places(self, pattern: _Pattern, lead: str, folded: str, text: str) -> Iterator[tuple[int, int]]:
        first = pattern.atoms[0]
        position = folded.find(lead)
        while position >= 0:
            end = self._match_at(pattern, folded, text, position, first)
            if end:
                yield position, end
            position = folded.find(lead, end or position + 1)

    def _match_at(self, pattern: _Pattern, folded: str, text: str, start: int, first: _Atom) -> int:
        """Where the match that begins here ends; 0 where there is none."""
        if not first.is_run and start and _is_letter(folded[start - 1]):
            return 0  # inside a word
        last = len(pattern.atoms) - 1
        end = start
        for number, atom in enumerate(pattern.atoms):
            if number:
                region = _region_pattern(folded).search(folded, end)
                if region is None:
                    return 0
                start = region.start()
            end = self._match_atom(atom, folded, text, start, pattern.prefix and number == last)
            if not end:
                return 0
        return end

    def _match_atom(self, atom: _Atom, folded: str, text: str, start: int, prefix: bool) -> int:
        if atom.is_run:
            return start + len(atom.text) if folded.startswith(atom.text, start) else 0
        region = _region_pattern(folded).match(folded, start)
        if region is None:
            return 0
        tokens = self._tokenizer.tokens(index_text(text[start : region.end()]))
        if tokens and (tokens[0] == atom.text or (prefix and tokens[0].startswith(atom.text))):
            return region.end()
        return 0


def _is_letter(char: str) -> bool:
    """Whether a character is part of a word that is written with spaces around it."""
    return char.isalnum() and (char.isascii() or not _RUN.match(char))


def _region_pattern(text: str) -> re.Pattern[str]:
    return _ASCII_REGION if text.isascii() else _REGION


def _make_pattern(unit: Unit, tokenizer: Tokenizer) -> _Pattern | None:
    atoms: list[_Atom] = []
    joined = False
    for word in unit.text.split():
        if word.isascii() or not _RUN.fullmatch(word):
            atoms += [_Atom(token, False) for token in tokenizer.tokens(word)]
            joined = False
        elif joined and atoms[-1].text[-1] == word[0]:
            atoms[-1] = _Atom(atoms[-1].text + word[1:], True)
            joined = len(word) == 2
        else:
            atoms.append(_Atom(word, True))
            joined = len(word) == 2
    if not atoms:
        return None
    first = atoms[0]
    return _Pattern(tuple(atoms), unit.prefix, (first.text,) if first.is_run else _leads_of(first.text))


def _is_name(token: str) -> bool:
    """Whether the analyzer may have spelled it out."""
    return token == "dotnet" or token.endswith(("plusplu", "sharp"))


def _leads_of(token: str) -> tuple[str, ...]:
    """What every word with this stem begins with.

    Stemming changes the end of a word only, at most two letters of what is left. Names that the analyzer
    spells out (`C++` as `cplusplus`) begin with their letter, `.NET` with its dot.
    """
    if token == "dotnet":
        return ".net", "dotn"
    if _is_name(token):
        return (token[0],)
    return (token[: max(1, min(_LEAD_CHARS, len(token) - 2))],)
