"""Encodings as pages and servers name them, and what a server says of a file beside its bytes.

What a server says is not in the bytes, so it is recorded where it was followed: after the name of the reader, as in
`html/3; charset=cp1251`. Equal bytes are read again in the same way by that.
"""

from __future__ import annotations

import codecs
import re
from typing import NamedTuple

from arbor.lazy import lazy_pattern
from arbor.objects.model import ENCODINGS

LABELS = {
    "big5": "big5hkscs",
    "euc-jp": "euc_jp",
    "euc-kr": "cp949",
    "gb18030": "gb18030",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "iso-2022-jp": "iso2022_jp",
    "iso-8859-1": "cp1252",
    "iso-8859-15": "iso8859_15",
    "iso-8859-2": "iso8859_2",
    "iso-8859-9": "cp1254",
    "koi8-r": "koi8_r",
    "ks_c_5601-1987": "cp949",
    "latin1": "cp1252",
    "shift-jis": "cp932",
    "shift_jis": "cp932",
    "tis-620": "cp874",
    "utf-8": "utf-8",
    "windows-1250": "cp1250",
    "windows-1251": "cp1251",
    "windows-1252": "cp1252",
    "windows-1253": "cp1253",
    "windows-1254": "cp1254",
    "windows-1255": "cp1255",
    "windows-1256": "cp1256",
    "windows-31j": "cp932",
    "x-sjis": "cp932",
}
"""Names of encodings as pages give them, and the codecs that browsers take for them."""

_ALSO = {
    "ascii": "cp1252",
    "big5-hkscs": "big5hkscs",
    "cp1257": "cp1257",
    "cp866": "cp866",
    "gb_2312-80": "gb18030",
    "ibm866": "cp866",
    "iso-8859-13": "iso8859_13",
    "iso-8859-14": "iso8859_14",
    "iso-8859-16": "iso8859_16",
    "iso-8859-3": "iso8859_3",
    "iso-8859-4": "iso8859_4",
    "iso-8859-5": "iso8859_5",
    "iso-8859-6": "iso8859_6",
    "iso-8859-7": "iso8859_7",
    "iso-8859-8": "iso8859_8",
    "iso8859-1": "cp1252",
    "iso8859-2": "iso8859_2",
    "koi8-u": "koi8_u",
    "latin-1": "cp1252",
    "latin2": "iso8859_2",
    "macintosh": "mac_roman",
    "us-ascii": "cp1252",
    "utf-16": "utf-16-le",
    "utf-16be": "utf-16-be",
    "utf-16le": "utf-16-le",
    "utf8": "utf-8",
    "windows-1257": "cp1257",
    "windows-1258": "cp1258",
    "windows-874": "cp874",
    "windows-949": "cp949",
    "x-mac-cyrillic": "mac_cyrillic",
    "x-gbk": "gb18030",
}
"""Labels of the Encoding Standard that came later, so that readers of earlier versions do not take them from a page."""

_CODECS = frozenset([*LABELS.values(), *_ALSO.values()])

DECLARED_WITHIN_BYTES = 2048
_DECLARED = lazy_pattern(
    rb"<\?xml[^<>]{0,200}?\sencoding\s*=\s*[\"']([A-Za-z0-9_.:-]{2,30})|\bcharset\s*=\s*[\"']?([A-Za-z0-9_.:-]{2,30})"
    rb"|\b(?:file)?(?:en)?coding\s*[:=]\s*([A-Za-z0-9_.-]{2,30})|\\usepackage\s*\[(latin\d{1,2}|cp\d{3,4}|koi8-r|utf8)\]",
    re.IGNORECASE,
)
"""How XML, pages and message catalogues, programs and editors, and LaTeX say what a file is in."""

_WINDOWS = lazy_pattern(r"\Acp-?(?=12)", re.IGNORECASE)
MARKS = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
"""Byte order marks that count before whatever else names an encoding (HTML standard, "BOM sniff")."""

_RECORDED = "; charset="


def find_codec(label: str) -> str:
    """The codec of a label, as browsers take it; "" for one that is not known. A name that was recorded is itself."""
    name = label.strip().lower()
    known = LABELS.get(name) or _ALSO.get(name)
    return known or (name if name in ENCODINGS or name in _CODECS else "")


def find_declared(data: bytes) -> str:
    """The codec that a text says of itself in its beginning; "" where it says none that is known."""
    declared = _DECLARED.search(data, 0, DECLARED_WITHIN_BYTES)
    name = next(filter(None, declared.groups())).decode("ascii") if declared else ""
    return (
        find_codec(name) or find_codec(name.replace("_", "-")) or find_codec(_WINDOWS.sub("windows-", name))
    )


def split_recorded(extractor: str) -> tuple[str, str]:
    """(reader, codec or "") of what a document records as its extractor."""
    reader, _, codec = extractor.partition(_RECORDED)
    return reader, codec


def join_recorded(reader: str, codec: str) -> str:
    """What a document records as its extractor."""
    return f"{reader}{_RECORDED}{codec}" if codec else reader


class Said(NamedTuple):
    """What a server says of a file, where the bytes allow it: the codec, and the text as it has it."""

    codec: str
    text: str


def read_as_said(data: bytes, label: str) -> Said | None:
    """A file in the encoding that a server named; None where that is none, or the bytes say otherwise.

    Source: the HTML standard, "determining the character encoding": a byte order mark comes before what the transport
    says, and that before what stands in a page.
    """
    codec = find_codec(label)
    if not codec or data.startswith(MARKS):
        return None
    try:
        return Said(codec, data.decode(codec))
    except UnicodeDecodeError:
        return None
