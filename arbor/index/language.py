"""A guess at the language of a text, good enough for the `lang:` filter: script first, then common words.

A filter that misses half of the notes is worse than none, so a short note or one that begins with badges and links
is decided by what there is: a single common word where no other language has as many.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from arbor.lazy import lazy_pattern

BEGINNING_CHARS = 500
SAMPLE_CHARS = 2000

_SCRIPTS = (
    ("ja", lazy_pattern("[\u3040-\u30ff]")),
    ("ko", lazy_pattern("[\uac00-\ud7af]")),
    ("zh", lazy_pattern("[\u3400-\u4dbf\u4e00-\u9fff]")),
    ("ru", lazy_pattern("[\u0400-\u04ff]")),
    ("ar", lazy_pattern("[\u0600-\u06ff]")),
    ("he", lazy_pattern("[\u0590-\u05ff]")),
    ("el", lazy_pattern("[\u0370-\u03ff]")),
    ("hi", lazy_pattern("[\u0900-\u097f]")),
    ("th", lazy_pattern("[\u0e00-\u0e7f]")),
)
_LATIN = re.compile("[A-Za-z\u00c0-\u024f]")
# Words that are frequent in one language and rare in most of the others; one that two share speaks for both.
_WORDS = """
en the and of is that with for this are you be from a an in to on it as at by was were not have has had how what when
en where which who can will would we they my your his her its their there here or if but about into some do does i
de der die das und ist nicht ein eine einen einem zu zum zur mit auf für den dem des von werden im in ich wir es sich
de auch wie man war habe hat sind bei aus nach über kein keine nur noch gibt er sie am an als oder wird
fr le la les des est une un dans pour que vous avec sur pas et de du au aux il elle nous je ne ce cette qui sont par
fr plus à en se son ses ou mais où
es el la los las una un por con para del es como más y de que en se no su al lo cómo está son hoy sobre sin muy ya
it il la che di per una un sono con della del dei delle gli nel nella sul sulla non è e i ha in come ho si da al lo le
pt o a os as um uma não com para que dos das do da de em no na se são mais é por ao está como foi
nl het een van en niet voor op zijn met dat wordt ook de is in je we wij ik naar geen te hoe over bij heeft
"""
_COMMON: dict[str, frozenset[str]] = {}
for _code, *_words in map(str.split, _WORDS.strip().splitlines()):
    _COMMON[_code] = _COMMON.get(_code, frozenset()).union(_words)
_ALL_COMMON = frozenset().union(*_COMMON.values())
_AROUND_WORDS = ".,;:!?()[]{}<>\"'*_`#|-\u201c\u201d\u2018\u2019\u00ab\u00bb\u2026"
_CODE = re.compile(r"[a-z]{2,3}(-[a-z0-9]+)*")
_NON_ASCII = re.compile(r"[^\x00-\x7f]")
_KANA_SHARE, _SCRIPT_SHARE, _COMMON_MIN = 0.05, 0.2, 3
# A short text may have a single common word; one this much longer that has no more is a list or a program.
_TOKENS_FOR_ONE = 40


def declared_language(front_matter: Mapping[str, Any]) -> str:
    """The primary code of `lang` or `language` in front matter (`zh` of `zh-CN`); "" where there is none."""
    for key in ("lang", "language"):
        value = front_matter.get(key)
        if isinstance(value, str):
            code = value.strip().lower().replace("_", "-")
            if _CODE.fullmatch(code):
                return code.split("-")[0]
    return ""


def guess_language(text: str) -> str:
    """An ISO 639 code, or "" where the text gives too little to go by.

    Args:
        text: The beginning of a document; at most `SAMPLE_CHARS` characters of it are looked at, and the first
            `BEGINNING_CHARS` of them are enough where they tell.
    """
    beginning = text[:BEGINNING_CHARS]
    by_script = _guess_by_script(beginning) or _guess_by_script(text[:SAMPLE_CHARS])
    if by_script:
        return by_script
    found = _by_common_words(beginning.lower().split(), _COMMON_MIN)
    if found:
        return found
    tokens = [token.strip(_AROUND_WORDS) for token in text[:SAMPLE_CHARS].lower().split()]
    return _by_common_words(tokens, min(_COMMON_MIN, 1 + len(tokens) // _TOKENS_FOR_ONE))


def _by_common_words(tokens: list[str], least: int) -> str:
    """The one language that most of the common words among these are of, where it has at least so many of them."""
    words = _ALL_COMMON.intersection(tokens)
    if len(words) < least:
        return ""
    ranked = sorted((len(words & common), code) for code, common in _COMMON.items())
    (second, _), (count, best) = ranked[-2:]
    return best if count >= least and count > second else ""


def _guess_by_script(sample: str) -> str:
    """The script that a fifth of the letters are in; a little kana makes Han text Japanese."""
    if sample.isascii() or len(_NON_ASCII.findall(sample)) <= _SCRIPT_SHARE / 3 * len(sample):
        return ""
    counts = {code: len(pattern.findall(sample)) for code, pattern in _SCRIPTS}
    letters = sum(counts.values()) + len(_LATIN.findall(sample)) / 3  # a word of Han is about a third as long
    if counts["ja"] and counts["ja"] >= _KANA_SHARE * (counts["ja"] + counts["zh"]):
        counts["ja"] += counts["zh"]
        counts["zh"] = 0
    best = max(counts, key=lambda code: counts[code])
    return best if counts[best] > _SCRIPT_SHARE * letters else ""
