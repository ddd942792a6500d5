"""A guess at the language of a text, good enough for the `lang:` filter: script first, then common words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from arbor.lazy import lazy_pattern

SAMPLE_CHARS = 500

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
# Words that are frequent in one language and rare in the others.
_WORDS = """
en the and of is that with for this are you be from
de der das und ist nicht ein eine zu mit auf für den von werden
fr le les des est une dans pour que vous avec sur pas et
es el los las una por con para del es como más y
it il che di per una sono con della gli nel non è
pt os uma não com para que dos são mais em do é
nl het een van en niet voor op zijn met dat wordt ook
"""
_COMMON = {line.split()[0]: frozenset(line.split()[1:]) for line in _WORDS.strip().splitlines()}
_ALL_COMMON = frozenset().union(*_COMMON.values())
_CODE = re.compile(r"[a-z]{2,3}(-[a-z0-9]+)*")
_NON_ASCII = re.compile(r"[^\x00-\x7f]")
_KANA_SHARE, _SCRIPT_SHARE, _COMMON_MIN = 0.05, 0.2, 3


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
        text: The beginning of a document; at most `SAMPLE_CHARS` characters of it are looked at.
    """
    sample = text[:SAMPLE_CHARS]
    if not sample.isascii() and len(_NON_ASCII.findall(sample)) > _SCRIPT_SHARE / 3 * len(sample):
        by_script = _guess_by_script(sample)
        if by_script:
            return by_script
    words = _ALL_COMMON.intersection(sample.lower().split())
    if len(words) < _COMMON_MIN:
        return ""
    count, best = max((len(words & common), code) for code, common in _COMMON.items())
    return best if count >= _COMMON_MIN else ""


def _guess_by_script(sample: str) -> str:
    """The script that a fifth of the letters are in; a little kana makes Han text Japanese."""
    counts = {code: len(pattern.findall(sample)) for code, pattern in _SCRIPTS}
    letters = sum(counts.values()) + len(_LATIN.findall(sample)) / 3  # a word of Han is about a third as long
    if counts["ja"] and counts["ja"] >= _KANA_SHARE * (counts["ja"] + counts["zh"]):
        counts["ja"] += counts["zh"]
        counts["zh"] = 0
    best = max(counts, key=lambda code: counts[code])
    return best if counts[best] > _SCRIPT_SHARE * letters else ""
