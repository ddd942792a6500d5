"""The prose in a passage: what is left without front matter, headings, code, tables and markup."""

from __future__ import annotations

import re

_FRONT_MATTER = re.compile(r"\A\ufeff?---[ \t]*\r?\n.*?\n(---|\.\.\.)[ \t]*(\r?\n|\Z)", re.DOTALL)
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})")
_SKIP = re.compile(
    r"^\s*(#{1,6}\s|\||!\[|<!--|</?[a-zA-Z][^>]*>\s*$|([-*_]\s*){3,}$|={3,}\s*$|\[[^\]]+\]:\s|:::|%%)"
)
_MARKER = re.compile(r"^\s*([-*+]|\d{1,3}[.)]|>+)\s+")
_IMAGE = re.compile(r"!\[[^\]]*\]\([^)]*\)|!\[\[[^\]]*\]\]")
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_WIKILINK = re.compile(r"\[\[(?:[^\]|]*\|)?([^\]|]*)\]\]")
_TAG = re.compile(r"</?[a-zA-Z][^>]{0,200}>")
_EMPHASIS = re.compile(r"(\*\*|__|\*|_|~~|`)(?=\S)(.+?)(?<=\S)\1")
# A full stop after these, or after a single letter, seldom ends a sentence.
_SHORT_FORMS = frozenset(
    "e.g i.e etc mr mrs ms dr prof st vs fig eq no vol al approx cf ca inc ltd co jr sr dept est".split()  # noqa: SIM905
)
_END = re.compile(
    "[.!?\u2026]+[\"')\\]\u201d\u2019]*(?=\\s|$)|[\u3002\uff01\uff1f]+[\u201d\u2019\u300d\u300f]*"
)
_LAST_WORD = re.compile(r"([^\W\d_][\w.]*)$")


def paragraphs(text: str, *, first: bool) -> list[str]:
    """The paragraphs of prose in a passage, in order, as plain text on one line each.

    Args:
        text: The decoded passage.
        first: Whether it is a document's first passage, which may begin with front matter.
    """
    if first:
        text = _FRONT_MATTER.sub("", text, count=1)
    found: list[str] = []
    lines: list[str] = []
    fence = ""
    for line in [*text.splitlines(), ""]:
        mark = _FENCE.match(line)
        if fence:
            fence = "" if mark and mark[1].startswith(fence) else fence
            continue
        if mark:
            fence = mark[1]
        if mark or not line.strip() or _SKIP.match(line):
            plain = plain_text(" ".join(lines))
            found += [plain] if plain else []
            lines = []
            continue
        lines.append(_MARKER.sub("", line))
    return found


def plain_text(text: str) -> str:
    """A line without markup and with single spaces."""
    if "[" in text:
        text = _WIKILINK.sub(r"\1", _LINK.sub(r"\1", _IMAGE.sub("", text)))
    if "<" in text:
        text = _TAG.sub("", text)
    if any(mark in text for mark in "*_~`"):
        text = _EMPHASIS.sub(r"\2", _EMPHASIS.sub(r"\2", text))
    return " ".join(text.split())


def first_sentence(text: str) -> str:
    """A text up to the end of its first sentence; the whole text where none ends."""
    for end in _END.finditer(text):
        before = text[: end.start()]
        word = _LAST_WORD.search(before)
        short = word is not None and (word[1].lower().rstrip(".") in _SHORT_FORMS or len(word[1]) == 1)
        if not (text[end.start()] == "." and short and end.end() < len(text)):
            return text[: end.end()]
    return text


def cut(text: str, max_chars: int) -> str:
    """A text of so many characters at most, cut between words and marked where it is cut."""
    if len(text) <= max_chars:
        return text
    head = text[: max_chars - 1]
    space = head.rfind(" ")
    return (head[:space] if space > max_chars // 2 else head).rstrip(" ,;:.") + "…"
