"""What is kept of a text when its document goes cold: headings and its most used words, for searches to find it by."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from arbor.text.analyzer import terms

WORDS_KEPT = 32
HEADINGS_KEPT = 40
_CANDIDATES = 4 * WORDS_KEPT
_ADDRESS = re.compile(r"(?:https?://|www\.)\S+")
_WORD = re.compile(r"[^\W_][\w'\u2019-]*")
_HEADING = re.compile(r"^ {0,3}#{1,6}\s+(.+?)\s*#*\s*$", re.MULTILINE)


def words_to_keep(texts: Sequence[str]) -> str:
    """Markdown's headings and the frequent words of a document, given as its passages, as lines of text."""
    text = "\n".join(texts)
    headings = list(dict.fromkeys(found.strip() for found in _HEADING.findall(text)))
    counts = Counter(_WORD.findall(_ADDRESS.sub(" ", text).lower()))
    if not text.isascii():
        counts.update(term for term in terms(text) if not term.isascii())
    kept: dict[str, str] = {}
    for word, _ in counts.most_common(_CANDIDATES):
        stems = terms(word)
        if len(stems) == 1:
            kept.setdefault(stems[0], word)
        if len(kept) == WORDS_KEPT:
            break
    return "\n".join([*headings[:HEADINGS_KEPT], " ".join(kept.values())]).strip()
