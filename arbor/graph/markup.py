"""Takes from a document what its author says, and leaves out code, addresses, comments and fields."""

from __future__ import annotations

import re

READ_MAX_CHARS = 400_000
"""Only the beginning of a longer text is weighed: a book of this length has long said what it is about."""

_FRONT_MATTER = re.compile(
    r"\A\ufeff?(---|\+\+\+)[ \t]*\r?\n.*?^(?:\1|\.\.\.)[ \t]*$", re.DOTALL | re.MULTILINE
)
_FENCED = re.compile(r"^[ \t>]*(`{3,}|~{3,}).*?(?:^[ \t>]*\1[`~]*[ \t]*$|\Z)", re.DOTALL | re.MULTILINE)
_HTML_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_OBSIDIAN_COMMENT = re.compile(r"%%[^%\n]*%%|^%%[ \t]*$.*?^%%[ \t]*$", re.DOTALL | re.MULTILINE)
_DESTINATION = re.compile(r"\]\([^()\n]*(?:\([^()\n]*\)[^()\n]*)*\)")
_DEFINITION = re.compile(r"^ {0,3}\[[^\]\n]+\]:[^\n]*$", re.MULTILINE)
_WIKI_TARGET = re.compile(r"\[\[[^\[\]|\n]*\|")
_ADDRESS = re.compile(r"\b[a-z][a-z0-9+.-]{1,15}://[^\s<>\"')\]]+", re.IGNORECASE)
_TAG = re.compile(r"</?[a-zA-Z][^<>]*>")

_STEPS = (
    # Each pattern is tried only where its sign occurs at all: most notes have few of them.
    ("```", _FENCED),
    ("~~~", _FENCED),
    ("<!--", _HTML_COMMENT),
    ("%%", _OBSIDIAN_COMMENT),
    ("](", _DESTINATION),
    ("]:", _DEFINITION),
    ("[[", _WIKI_TARGET),
    ("://", _ADDRESS),
    ("<", _TAG),
)


def consensus_text(text: str, media_type: str = "text/markdown") -> str:
    """The part of a document that consensus weighs.

    Args:
        text: The document's text, passages joined; for Markdown as written, front matter included.
        media_type: In formats other than Markdown only addresses are left out.

    Returns:
        Prose of the first `READ_MAX_CHARS` characters. Left out are front matter, fenced code, comments, HTML tags,
        link destinations and addresses; the words of a link stay.
    """
    text = text[:READ_MAX_CHARS]
    if media_type != "text/markdown":
        return _ADDRESS.sub(" ", text) if "://" in text else text
    if text.startswith(("---", "+++", "\ufeff")):
        text = _FRONT_MATTER.sub("", text, count=1)
    for sign, pattern in _STEPS:
        if sign in text:
            text = pattern.sub("] " if sign == "](" else " ", text)
    return text
