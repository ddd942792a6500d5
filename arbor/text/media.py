"""Tells what kind a file is: by its name where that says it, by its content where it does not or lies."""

from __future__ import annotations

import re

from arbor.lazy import lazy_pattern
from arbor.text.readers import BINARY, DOCX, EMAIL, FORMATS_BY_SUFFIX, HTML, PDF, PLAIN, Format

_SNIFF_BYTES = 4096

_PACKED = (b"%PDF-", b"PK\x03\x04")
"""Beginnings of files that are never text, whatever their name says."""

_BINARY = lazy_pattern(
    rb"\x89PNG|\xff\xd8\xff|GIF8[79]a|RIFF....(?:WEBP|WAVE|AVI )|\x7fELF|MZ.{0,58}\x00|\x1f\x8b|BZh[1-9]1AY"
    rb"|\xfd7zXZ\x00|7z\xbc\xaf\x27\x1c|\x28\xb5\x2f\xfd|PK[\x03\x05\x07]|Rar!\x1a\x07|\xd0\xcf\x11\xe0\xa1\xb1\x1a"
    rb"|SQLite format 3\x00|OggS\x00|ID3[\x02-\x04]|fLaC\x00|....ftyp|\xca\xfe\xba\xbe|\x00asm|wOF[F2]",
    re.DOTALL,
)
_HTML = lazy_pattern(
    rb"(?:\xef\xbb\xbf)?\s*+(?:<\?xml[^<>]*+>\s*+)?(?:<!--(?:(?!-->).){0,1000}-->\s*+)?<(?:!doctype\s+html|html|head|body)[\s>]",
    re.IGNORECASE | re.DOTALL,
)
_MAIL_START = lazy_pattern(rb"(?:From \S[^\n]*+\n)?(?:[A-Za-z][A-Za-z-]*+: [^\n]*+\n(?:[ \t][^\n]*+\n)*){3,}")
_MAIL_FIELDS = (b"from:", b"date:", b"subject:", b"message-id:", b"received:", b"mime-version:")
_INTERPRETER = lazy_pattern(rb"#![^\n]*?\b(python|bash|zsh|sh|fish|node|ruby|perl|php|lua|Rscript)")
_INTERPRETER_SUFFIXES = {
    b"Rscript": ".r",
    b"bash": ".sh",
    b"fish": ".sh",
    b"lua": ".lua",
    b"node": ".js",
    b"perl": ".pl",
    b"php": ".php",
    b"python": ".py",
    b"ruby": ".rb",
    b"sh": ".sh",
    b"zsh": ".sh",
}


def format_of_suffix(name: str) -> Format | None:
    """What the last suffix of a name or path says; None where it says nothing."""
    dot = name.rfind(".")
    return FORMATS_BY_SUFFIX.get(name[dot:].lower()) if dot > name.rfind("/") else None


def find_format(data: bytes, name: str) -> Format:
    """Tell the kind of a file.

    Args:
        data: The file; only its first 4 KiB are looked at, and for an archive its list of members.
        name: Its name or path, of which only the last suffix counts; may be empty.

    Returns:
        A known format, `PLAIN` when nothing speaks for another, or `BINARY` for what is known to hold no
        text. Whether a text format really holds text is for the encoding to say.
    """
    named = format_of_suffix(name)
    if named is not None and named.is_text and not data.startswith(_PACKED):
        return named
    head = data[:_SNIFF_BYTES]
    if b"%PDF-" in head[:1024]:
        return PDF
    if head.startswith(b"PK\x03\x04"):
        return DOCX if named is DOCX or b"word/document.xml" in data else BINARY
    if _BINARY.match(head):
        return BINARY
    if named is HTML or named is EMAIL:
        return named
    return _find_text_format(head)


def _find_text_format(head: bytes) -> Format:
    """The kind of a text without a telling name."""
    if _HTML.match(head):
        return HTML
    interpreter = _INTERPRETER.match(head)
    if interpreter:
        return FORMATS_BY_SUFFIX[_INTERPRETER_SUFFIXES[interpreter[1]]]
    lines = _MAIL_START.match(head)
    if lines and sum(field in lines[0].lower() for field in _MAIL_FIELDS) >= 3:
        return EMAIL
    return PLAIN
