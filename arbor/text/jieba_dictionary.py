"""jieba with its dictionary read straight from the package, so that no file is written or trusted.

jieba's own start keeps the prepared dictionary in the temporary folder that all users share, and
unmarshals whatever it finds there under that name. Reading the word list anew takes 0.4 s, no longer
than jieba's own way without its cache.
"""

from __future__ import annotations

import warnings
from pathlib import Path

with warnings.catch_warnings():
    # jieba 0.42 compiles old string escapes and asks for pkg_resources.
    warnings.simplefilter("ignore")
    import jieba

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
    words: list[str] = []
    counts: list[int] = []
    for line in word_list.split("\n"):
        fields = line.split(" ")
        if len(fields) > 1:
            words.append(fields[0])
            counts.append(int(fields[1]))
    frequencies = dict(zip(words, counts, strict=True))
    for word in words:
        for length in range(1, len(word)):
            prefix = word[:length]
            if prefix not in frequencies:
                frequencies[prefix] = 0
    return frequencies, sum(counts)
