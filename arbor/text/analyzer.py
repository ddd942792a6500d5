"""Turns text into what the full-text index holds, queries into what finds it there, and text into terms.

SQLite's `porter unicode61` tokenizer does the work for scripts that put spaces between words. What it
cannot do is prepared here, for the index and for queries in the same way:

- Chinese, Japanese, Korean, Thai and other runs written without spaces become overlapping pairs of
  characters, and the last character of a run stands alone as well. So any two characters or more are found
  as a phrase of pairs, and a single character as the beginning of a word.
- Chinese and Japanese lines are broken anywhere, so a run goes on in the next line of its paragraph.
- Names that end or begin with signs (`C++`, `C#`, `.NET`) become words (`cplusplus`, `csharp`, `dotnet`).
- The day and the hour in `2024-05-31T09:30` become two words.
- Characters outside ASCII are folded (`folding`), and emoji and signs of mathematics become words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from operator import add
from typing import NamedTuple

from arbor.lazy import lazy_pattern
from arbor.text.folding import (
    INNER_CAPITAL,
    UNSPACED,
    find_camel_parts,
    fold,
    fold_run,
    join_lines,
    run_replacer,
    spell_names,
)
from arbor.text.terms import TERMS_ID, terms

__all__ = [
    "ANALYZER_ID",
    "TERMS_ID",
    "TOKENIZER",
    "Unit",
    "index_name",
    "index_text",
    "match_units",
    "phrase_unit",
    "terms",
    "unspaced_runs",
    "whole_run",
]

TOKENIZER = "porter unicode61 remove_diacritics 2"
"""The FTS5 tokenizer that this module prepares text for."""

ANALYZER_ID = f"arbor-analyzer/4 {TOKENIZER}"
"""Names everything that decides what an index holds; an index with another id is out of date."""

WHOLE_RUN_CHARS = range(3, 25)
"""How long a run is that is looked for as a whole, too; a longer one is a sentence, which no text repeats."""

_SHORT_RUN_CHARS = 4
_JOINT = "-"
"""A sign and no space, so that a query for `C++17` asks for one phrase and not for whatever holds a 17."""

_HANGUL = lazy_pattern("[\u1100-\u11ff\uac00-\ud7a3]")
_UNSPACED_RUN = lazy_pattern(f"[{UNSPACED}]++")
_UNSPACED_PARTS = lazy_pattern(f"([{UNSPACED}]++)")


class Unit(NamedTuple):
    """One thing to look for in the index.

    Attributes:
        text: Body of an FTS5 string, without quotes in it; more than one word means a phrase.
        prefix: Whether the last word stands for all words that begin with it, as with `"text" *` in FTS5.
    """

    text: str
    prefix: bool = False


def index_text(text: str) -> str:
    """Prepare a text for the full-text index; ASCII text without special names comes back as it is."""
    return spell_names(text if text.isascii() else _prepare_runs(join_lines(text)))


def index_name(text: str) -> str:
    """Prepare a title, headings or paths: as `index_text`, with the parts of words such as `parseRequest` at the end.

    There they are in the way of no phrase. In the text of a passage they would cost more than they bring.
    """
    prepared = index_text(text)
    return " ".join([prepared, *find_camel_parts(text)]) if INNER_CAPITAL.search(text) else prepared


def _prepare_any_run(run: str) -> str:
    return _prepare_short_run(run) if len(run) <= _SHORT_RUN_CHARS else _prepare_run(run)


def _prepare_run(run: str) -> str:
    folded = fold_run(run)
    return folded if folded.isascii() else _UNSPACED_RUN.sub(_pair_match, folded)


_prepare_short_run = lru_cache(maxsize=1 << 16)(_prepare_run)
_prepare_runs = run_replacer("arbor.index", _prepare_any_run)


def _pair_match(match: re.Match[str]) -> str:
    run = match[0]
    if len(run) == 1:
        return f" {run} "
    return f" {' '.join(map(add, run, run[1:]))} {run[-1]} "


def match_units(word: str) -> list[Unit]:
    """What to look for when a person types a word outside quotes; any of the units may match.

    Args:
        word: One word as typed, or several.

    Returns:
        For `node.js` the phrase `node js`; for a run of Chinese its pairs of characters, each a unit of
        its own, so that a long sentence finds passages that share much of it; for a single such
        character a prefix. In the order typed and with repetitions; empty when there is no letter or
        digit in `word`.
    """
    units: list[Unit] = []
    for part, is_run in _iter_parts(word):
        if not is_run:
            units += [Unit(piece) for piece in part.split() if _has_token(piece)]
        elif len(part) == 1:
            units.append(Unit(part, True))
        else:
            units += map(Unit, map(add, part, part[1:]))
    return units


def phrase_unit(text: str, *, prefix: bool = False) -> Unit | None:
    """What to look for when a person types a phrase in quotes, or a word with a `*` behind it.

    Args:
        text: The phrase.
        prefix: Whether its last word is only the beginning of a word. Runs of Chinese and the like are found
            at the beginning of longer runs in any case.

    Returns:
        One unit whose words stand next to each other in the index; None when there is no letter or digit
        in `text`.
    """
    parts = [(part, is_run) for part, is_run in _iter_parts(text) if is_run or _has_token(part)]
    if not parts:
        return None
    words: list[str] = []
    for number, (part, is_run) in enumerate(parts, 1):
        if not is_run:
            words += part.split()
        else:
            words += map(add, part, part[1:])
            if len(part) == 1 or number < len(parts):
                words.append(part[-1])
    last, is_run = parts[-1]
    return Unit(" ".join(words), len(last) == 1 if is_run else prefix)


def unspaced_runs(word: str) -> list[str]:
    """The runs of Chinese and the like in a word as typed, folded as `match_units` folds them before it cuts them."""
    return [part for part, is_run in _iter_parts(word) if is_run]


def whole_run(word: str) -> Unit | None:
    """A word as typed that is nothing but one run of Chinese or Japanese, as a phrase of its pairs, to go with those.

    Pairs alone forget their order: who types a name or a heading means the text that has it as it is. Korean has spaces
    between its words, and the endings of a word vary.
    """
    parts = [(part, is_run) for part, is_run in _iter_parts(word) if is_run or _has_token(part)]
    if len(parts) != 1 or not parts[0][1]:
        return None
    run = parts[0][0]
    return phrase_unit(run) if len(run) in WHOLE_RUN_CHARS and not _HANGUL.search(run) else None


def _iter_parts(text: str) -> Iterator[tuple[str, bool]]:
    """The folded text cut into runs written without spaces (True) and what lies between them (False)."""
    folded = spell_names(fold(join_lines(text)), _JOINT).replace('"', " ").replace("\0", " ")
    for number, part in enumerate(_UNSPACED_PARTS.split(folded)):
        if part and not part.isspace():
            yield part, number % 2 == 1


def _has_token(text: str) -> bool:
    return any(map(str.isalnum, text))
