"""Where the units of a query stand in a text, by the same rules as the index.

The index works on prepared text, whose positions are not those of the original. Here the folded text is
searched: places that may match are found by their first letters, each is decided by the index's own
tokenizer, and what is told are the places in the original.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from arbor.index.tokens import Tokenizer
from arbor.lazy import lazy_pattern
from arbor.search.plan import unit_expression
from arbor.text.analyzer import Unit, index_text
from arbor.text.folded_text import fold_in_place, without_accents
from arbor.text.folding import UNSPACED

_RUN = lazy_pattern(f"[{UNSPACED}]++")
_REGION = lazy_pattern(rf"[{UNSPACED}]+|[^\W_{UNSPACED}]+")
_ASCII_REGION = re.compile(r"[A-Za-z0-9]+")
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
    """A unit as consecutive atoms. Every place that matches begins with `lead`, accents aside."""

    atoms: tuple[_Atom, ...]
    prefix: bool
    lead: str


class Matcher:
    """Finds the units of one query in texts."""

    def __init__(self, units: Sequence[Unit], tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._expressions = [unit_expression(unit) for unit in units]
        self._patterns = [_make_pattern(unit, tokenizer) for unit in units]

    def spans(self, text: str) -> list[Span]:
        """The matches in a text, in order of their place; they may overlap."""
        folded = fold_in_place(text)
        bare = without_accents(folded.text)
        found = [
            Span(folded.starts[start], folded.ends[end - 1], number)
            for number, pattern in enumerate(self._patterns)
            if pattern is not None
            for start, end in self._places(pattern, bare, folded.text)
        ]
        found.sort()
        return found

    def has_match(self, text: str, spans: Sequence[Span]) -> bool:
        """Whether the index calls this text a match.

        Places marked in plain ASCII are matches for sure. Elsewhere the index is asked: rare characters depend on what
        stands beside them.

        Args:
            text: The text.
            spans: What `spans` found in it.
        """
        if spans and text.isascii():
            return True
        return bool(self._expressions) and self._tokenizer.matches(index_text(text), self._expressions)

    def _places(self, pattern: _Pattern, bare: str, folded: str) -> Iterator[tuple[int, int]]:
        position = bare.find(pattern.lead)
        while position >= 0:
            end = self._match_at(pattern, folded, position)
            if end:
                yield position, end
            position = bare.find(pattern.lead, end or position + 1)

    def _match_at(self, pattern: _Pattern, folded: str, start: int) -> int:
        """Where the match that begins here ends; 0 where there is none."""
        if not pattern.atoms[0].is_run and start and _is_letter(folded[start - 1]):
            return 0  # inside a word
        last = len(pattern.atoms) - 1
        end = start
        for number, atom in enumerate(pattern.atoms):
            if number:
                region = _region_pattern(folded).search(folded, end)
                if region is None:
                    return 0
                start = region.start()
                if start == end and atom.is_run and pattern.atoms[number - 1].is_run:
                    return 0  # without anything between them both are one run, which the index cuts otherwise
            end = self._match_atom(atom, folded, start, pattern.prefix and number == last)
            if not end:
                return 0
        return end

    def _match_atom(self, atom: _Atom, folded: str, start: int, prefix: bool) -> int:
        if atom.is_run:
            return start + len(atom.text) if folded.startswith(atom.text, start) else 0
        region = _region_pattern(folded).match(folded, start)
        if region is None:
            return 0
        tokens = self._tokenizer.tokens(region[0])
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
    return _Pattern(
        tuple(atoms), unit.prefix, without_accents(first.text) if first.is_run else _lead_of(first.text)
    )


def _lead_of(token: str) -> str:
    """What every word with this stem begins with, without accents.

    Stemming changes the end of a word only, at most two letters of what is left.
    """
    return without_accents(token[: max(1, min(_LEAD_CHARS, len(token) - 2))])
