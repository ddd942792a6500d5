"""Encodings as pages and servers name them, and what a server says of a file beside its bytes.

What a server says is not in the bytes, so it is recorded where it was followed: after the name of the reader, as in
`html/2; charset=cp1251`. Equal bytes are read again in the same way by that.
"""

from __future__ import annotations

import codecs
from typing import NamedTuple

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

_SERVERS_ALSO_SAY = {
    "ascii": "cp1252",
    "big5-hkscs": "big5hkscs",
    "iso8859-1": "cp1252",
    "latin-1": "cp1252",
    "us-ascii": "cp1252",
    "utf-16": "utf-16-le",
    "utf-16be": "utf-16-be",
    "utf-16le": "utf-16-le",
    "utf8": "utf-8",
    "windows-874": "cp874",
    "x-gbk": "gb18030",
}
"""Labels of the Encoding Standard that count in a header. In a page they never did, and its text must stay the same."""

_MARKS = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_RECORDED = "; charset="


def find_codec(label: str) -> str:
    """The codec of a label, as browsers take it; "" for one that is not known. A name that was recorded is itself."""
    name = label.strip().lower()
    known = LABELS.get(name) or _SERVERS_ALSO_SAY.get(name)
    return known or (name if name in ENCODINGS or name in LABELS.values() else "")


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
    if not codec or data.startswith(_MARKS):
        return None
    try:
        return Said(codec, data.decode(codec))
    except UnicodeDecodeError:
        return None
