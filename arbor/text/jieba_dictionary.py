"""jieba with its dictionary read straight from the package, so that no file is written or trusted.

jieba's own start keeps the prepared dictionary in the temporary folder that all users share, and
unmarshals whatever it finds there under that name. Reading the word list anew takes 0.3 s, no longer
than jieba's own way without its cache.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

with warnings.catch_warnings():
    # jieba 0.42 compiles old string escapes, and asks for pkg_resources, which takes 0.1 s and which it can do without.
    warnings.simplefilter("ignore")
    _asked_for = sys.modules.get("pkg_resources")
    sys.modules["pkg_resources"] = None  # type: ignore[assignment]
    try:
        import jieba
    finally:
        del sys.modules["pkg_resources"]
        if _asked_for is not None:
            sys.modules["pkg_resources"] = _asked_for

_FIELDS = 3
"""A word, how often it was counted, and what kind of word it is."""
_SILENT = 100
"""Above every logging level: jieba reports its loading on standard error."""

jieba.setLogLevel(_SILENT)


def load_tokenizer() -> jieba.Tokenizer:
    """A tokenizer that is ready to cut and will not load anything by itself."""
    tokenizer = jieba.Tokenizer()
    word_list = (Path(jieba.__file__).parent / "dict.txt").read_text(encoding="utf-8")
    tokenizer.FREQ, tokenizer.total = _parse_word_list(word_list)
    tokenizer.initialized = True
    return tokenizer


def _parse_word_list(word_list: str) -> tuple[dict[str, int], int]:
    """What jieba calls its prefix dictionary: frequencies, 0 for what only begins words, and their sum."""
    fields = word_list.split()
    words, counts = fields[::_FIELDS], list(map(int, fields[1::_FIELDS]))
    shorter = {word[:-1] for word in words}
    beginnings = set(shorter)
    while shorter:
        shorter = {beginning[:-1] for beginning in shorter} - beginnings
        beginnings |= shorter
    frequencies = dict.fromkeys(beginnings - {""}, 0)
    frequencies.update(zip(words, counts, strict=True))
    return frequencies, sum(counts)
