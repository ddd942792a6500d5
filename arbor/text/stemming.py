"""Stems of English words by the Porter2 algorithm (Snowball English), from the package that is installed."""

from __future__ import annotations

import threading

try:
    from Stemmer import Stemmer

    _STEM_WORD = Stemmer("english").stemWord
except ImportError:
    import snowballstemmer

    _STEM_WORD = snowballstemmer.stemmer("english").stemWord

_LOCK = threading.Lock()


def stem_word(word: str) -> str:
    """The stem of a word in lower case and without accents."""
    with _LOCK:  # a stemmer keeps the word that it works on in itself
        stem: str = _STEM_WORD(word)
    return stem
