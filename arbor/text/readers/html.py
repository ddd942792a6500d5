"""HTML: the text that a person would read, its headings, links, and what the head says about the page."""

from __future__ import annotations

import html
import re

import selectolax
from selectolax.lexbor import LexborHTMLParser, LexborNode

from arbor.text.encodings import decode_passage, detect_encoding
from arbor.text.extraction import ChunkPolicy, FrontValue, Link
from arbor.text.links import split_destination
from arbor.text.readers.extracted_text import ExtractedText
from arbor.text.readers.reading_result import Reading

EXTRACTOR_ID = "html/1"

_DEPTH_MAX = 1000
"""The parser's time grows with the square of the depth; no page that people write is nested half as deep."""

_SKIPPED = frozenset(
    "script style template noscript svg math iframe object embed canvas nav button select textarea".split()  # noqa: SIM905
)
_BLOCKS = frozenset(
    "p div section article main aside header footer address blockquote ul ol dl dd dt figure figcaption form fieldset "  # noqa: SIM905
    "table thead tbody tfoot caption details summary body hr center hgroup legend optgroup option video audio".split()
)
_VOID = frozenset(
    "area base br col embed hr img input link meta param source track wbr p li dt dd option tr td th".split()  # noqa: SIM905
)
_HEADINGS = {f"h{level}": level for level in range(1, 7)}

_TAG = re.compile(rb"<(/?)([A-Za-z][A-Za-z0-9]{0,20}+)")
_CHARSET = re.compile(rb"<meta[^<>]{0,200}?charset\s*+=\s*+[\"']?([A-Za-z0-9_-]{2,30})", re.IGNORECASE)
_SPACE = re.compile(r"[ \t\r\n\f]++")
_ANY_TAG = re.compile(r"<[^<>]*+>")
_RAW = re.compile(r"<(script|style)\b[^<>]*+>.*?(?:</\1|\Z)", re.IGNORECASE | re.DOTALL)

_FIELDS = {
    "author": "author", "description": "description", "keywords": "keywords", "date": "date", "dc.date": "date",
    "article:published_time": "date", "og:url": "url", "og:site_name": "site", "dc.creator": "author",
}  # fmt: skip
"""Names of `meta` elements, and the field that each becomes."""


def read(data: bytes, policy: ChunkPolicy) -> Reading:
    """Read a page.

    Args:
        data: The file in any encoding; a `meta` element is believed where the bytes allow it.
        policy: Passage sizes.

    Returns:
        Passages of extracted text; links with the line in that text where their paragraph begins.
    """
    text = _decode(data)
    if _measure_depth(data) > _DEPTH_MAX:
        return _read_without_structure(text, policy)
    return read_markup(text, policy)


def read_markup(text: str, policy: ChunkPolicy) -> Reading:
    """Read a page whose encoding is settled and which is not nested too deeply."""
    tree = LexborHTMLParser(text.replace("\0", ""))
    page = _Page()
    root = tree.body
    if root is not None:
        _walk(root, page)
    page.end_block()
    fields = _read_head(tree)
    title = tree.css_first("title")
    shown = title.text().strip() if title is not None else ""
    return page.text.finish(policy, EXTRACTOR_ID, shown, fields)


def is_too_deep(data: bytes) -> bool:
    """Whether a page is nested so deeply that parsing it could take minutes."""
    return _measure_depth(data) > _DEPTH_MAX


def _decode(data: bytes) -> str:
    declared = _CHARSET.search(data[:2048])
    if declared and not data.startswith((b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")):
        encoding = _DECLARED.get(declared[1].decode("ascii").lower())
        if encoding:
            try:
                return data.decode(encoding)
            except UnicodeDecodeError:
                pass  # many pages declare what they are not
    return decode_passage(data, detect_encoding(data) or "latin_1")


_DECLARED = {
    "utf-8": "utf-8", "gb2312": "gb18030", "gbk": "gb18030", "gb18030": "gb18030", "big5": "big5hkscs",
    "shift_jis": "cp932", "shift-jis": "cp932", "x-sjis": "cp932", "windows-31j": "cp932", "euc-jp": "euc_jp",
    "euc-kr": "cp949", "ks_c_5601-1987": "cp949", "iso-8859-1": "cp1252", "windows-1252": "cp1252", "latin1": "cp1252",
    "windows-1251": "cp1251", "koi8-r": "koi8_r", "windows-1250": "cp1250", "iso-8859-2": "iso8859_2",
    "iso-8859-15": "iso8859_15", "windows-1253": "cp1253", "windows-1254": "cp1254", "iso-8859-9": "cp1254",
    "windows-1255": "cp1255", "windows-1256": "cp1256", "iso-2022-jp": "iso2022_jp", "tis-620": "cp874",
}  # fmt: skip


def _measure_depth(data: bytes) -> int:
    """An upper bound of how deep elements lie in each other."""
    depth = deepest = 0
    for match in _TAG.finditer(data):
        if match[2].lower().decode("ascii") in _VOID:
            continue
        if match[1]:
            depth -= depth > 0
        else:
            depth += 1
            if depth > deepest:
                deepest = depth
    return deepest


def _read_without_structure(text: str, policy: ChunkPolicy) -> Reading:
    result = ExtractedText()
    plain = html.unescape(_ANY_TAG.sub(" ", _RAW.sub(" ", text)))
    for paragraph in plain.split("\n\n"):
        result.add_paragraph("\n".join(" ".join(line.split()) for line in paragraph.splitlines()))
    return result.finish(policy, EXTRACTOR_ID, warnings=("the page is nested too deeply to tell its structure",))
