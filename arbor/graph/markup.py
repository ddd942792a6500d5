"""Takes from a document what its author says, and leaves out code, addresses, comments and fields."""

from __future__ import annotations

from arbor.lazy import lazy_pattern

READ_MAX_CHARS = 400_000
"""Only the beginning of a longer text is weighed: a book of this length has long said what it is about."""

_FRONT_MATTER = lazy_pattern(r"(?sm)\A\ufeff?(---|\+\+\+)[ \t]*\r?\n.*?^(?:\1|\.\.\.)[ \t]*$")
_FENCED = lazy_pattern(r"(?sm)^[ \t>]*(`{3,}|~{3,}).*?(?:^[ \t>]*\1[`~]*[ \t]*$|\Z)")
_HTML_COMMENT = lazy_pattern(r"(?s)<!--.*?(?:-->|\Z)")
_OBSIDIAN_COMMENT = lazy_pattern(r"(?sm)%%[^%\n]*%%|^%%[ \t]*$.*?^%%[ \t]*$")
_DESTINATION = lazy_pattern(r"\]\([^()\n]*(?:\([^()\n]*\)[^()\n]*)*\)")
_DEFINITION = lazy_pattern(r"(?m)^ {0,3}\[[^\]\n]+\]:[^\n]*$")
_WIKI_TARGET = lazy_pattern(r"\[\[[^\[\]|\n]*\|")
_ADDRESS = lazy_pattern(r"(?i)\b[a-z][a-z0-9+.-]{1,15}://[^\s<>\"')\]]+")
_TAG = lazy_pattern(r"</?[a-zA-Z][^<>]*>")

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
