"""HTML: the text that a person would read, its headings, links, and what the head says about the page."""

from __future__ import annotations

import html
import re

from selectolax.lexbor import LexborHTMLParser, LexborNode

from arbor.objects.links import Link
from arbor.text.charsets import DECLARED_WITHIN_BYTES, LABELS, MARKS, find_codec
from arbor.text.encodings import decode_whole
from arbor.text.extraction import ChunkPolicy, FrontValue
from arbor.text.links import split_destination
from arbor.text.readers.extracted_text import ExtractedText
from arbor.text.readers.reading_result import Reading

EXTRACTOR_ID = "html/3"
_SECOND_ID = "html/2"
_FIRST_ID = "html/1"

_DEPTH_MAX = 1000
"""The parser's time grows with the square of the depth; no page that people write is nested half as deep."""

_SKIPPED = frozenset(
    """
    button canvas embed iframe math nav noscript object script select style svg template textarea
    """.split()  # noqa: SIM905
)
_BLOCKS = frozenset(
    """
    address article aside audio blockquote body caption center dd details div dl dt fieldset figcaption figure
    footer form header hgroup hr legend main ol optgroup option p section summary table tbody tfoot thead ul
    video
    """.split()  # noqa: SIM905
)
_VOID = frozenset(
    """
    area base br col dd dt embed hr img input li link meta option p param source td th tr track wbr
    """.split()  # noqa: SIM905
)
"""Elements that hold nothing, or that the next one of their kind closes: they do not nest."""

_HEADINGS = {f"h{level}": level for level in range(1, 7)}

_TAG = re.compile(rb"<(/?)([A-Za-z][A-Za-z0-9]{0,20}+)")
_CHARSET = re.compile(rb"<meta[^<>]{0,200}?charset\s*+=\s*+[\"']?([A-Za-z0-9_-]{2,30})", re.IGNORECASE)
_SPACE = re.compile(r"[ \t\r\n\f]++")
_SPACES = re.compile(r" {2,}+")
_ANY_TAG = re.compile(r"<[^<>]*+>")
_RAW = re.compile(r"<(script|style)\b[^<>]*+>.*?(?:</\1|\Z)", re.IGNORECASE | re.DOTALL)

_FIELDS = {
    "article:published_time": "date",
    "author": "author",
    "date": "date",
    "dc.creator": "author",
    "dc.date": "date",
    "description": "description",
    "keywords": "keywords",
    "og:site_name": "site",
    "og:url": "url",
}
"""Names of `meta` elements, and the field that each becomes."""


def read(data: bytes, policy: ChunkPolicy) -> Reading:
    """Read a page.

    Args:
        data: The file in any encoding; a `meta` element is believed where the bytes allow it.
        policy: Passage sizes.

    Returns:
        Passages of extracted text; links with the line in that text where their paragraph begins.
    """
    return _read(data, policy, EXTRACTOR_ID)


def _read_as_first(data: bytes, policy: ChunkPolicy) -> Reading:
    return _read(data, policy, _FIRST_ID)


def _read_as_second(data: bytes, policy: ChunkPolicy) -> Reading:
    return _read(data, policy, _SECOND_ID)


EARLIER = {_FIRST_ID: _read_as_first, _SECOND_ID: _read_as_second}


def _read(data: bytes, policy: ChunkPolicy, extractor: str) -> Reading:
    text = decode(data) if extractor == EXTRACTOR_ID else _decode_as_second(data)
    if _measure_depth(data) > _DEPTH_MAX:
        return _read_without_structure(text, policy, extractor)
    tree = LexborHTMLParser(text.replace("\0", ""))
    page = _Page(is_first=extractor == _FIRST_ID)
    root = tree.body
    if root is not None:
        _walk(root, page)
    page.end_block()
    fields = _read_head(tree)
    title = tree.css_first("title")
    shown = title.text().strip() if title is not None else ""
    return page.text.finish(policy, extractor, shown, fields)


def decode(data: bytes) -> str:
    """The text of a page of which nobody has said how it is encoded but the page itself.

    Source: the HTML standard, "prescan a byte stream": UTF-16 cannot be said in ASCII, and means UTF-8.
    """
    label = _find_declared(data)
    codec = find_codec(label)
    if codec.startswith("utf-16"):
        codec = "utf-8"
    return _decode(data, "" if "ascii" in label else codec) or decode_whole(data)


def _decode_as_second(data: bytes) -> str:
    return _decode(data, LABELS.get(_find_declared(data), "")) or decode_whole(data, is_first=True)


def _find_declared(data: bytes) -> str:
    """The encoding that a page names, as it names it; "" for none, and where a byte order mark says it already."""
    declared = None if data.startswith(MARKS) else _CHARSET.search(data[:DECLARED_WITHIN_BYTES])
    return declared[1].decode("ascii").lower() if declared else ""


def _decode(data: bytes, codec: str) -> str:
    """The text in a codec; "" where there is none, or where the page is not what it declares, as many are not."""
    try:
        return data.decode(codec) if codec else ""
    except UnicodeDecodeError:
        return ""


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


def _read_without_structure(text: str, policy: ChunkPolicy, extractor: str) -> Reading:
    result = ExtractedText()
    plain = html.unescape(_ANY_TAG.sub(" ", _RAW.sub(" ", text)))
    for paragraph in plain.split("\n\n"):
        result.add_paragraph("\n".join(" ".join(line.split()) for line in paragraph.splitlines()))
    return result.finish(policy, extractor, warnings=("the page is nested too deeply to tell its structure",))


class _Page:
    """The paragraph that is being read, and all that came before it."""

    def __init__(self, *, is_first: bool) -> None:
        """Begin a page; `is_first` says that it is to be read as the first version of this module did."""
        self.text = ExtractedText()
        self._is_first = is_first
        self._outside: list[str] | None = None
        self._readings: list[str] = []
        self._parts: list[str] = []
        self._links: list[Link] = []
        self._anchors: list[tuple[str, int]] = []
        self._code_depth = 0

    def skips(self, tag: str) -> bool:
        """Whether nothing of an element is read."""
        return tag in _SKIPPED or tag.startswith(("-", "!")) or (tag == "rp" and not self._is_first)

    def add_text(self, text: str) -> None:
        self._parts.append(text if self._code_depth else _SPACE.sub(" ", text))

    def enter(self, tag: str, node: LexborNode) -> None:
        if tag in _HEADINGS or tag in _BLOCKS:
            self.end_block()
        elif tag == "pre":
            self.end_block()
            self._code_depth += 1
        elif tag in ("li", "tr", "br"):
            self._parts.append("\n- " if tag == "li" else "\n")
        elif tag in ("td", "th"):
            self._parts.append(" | ")
        elif tag == "a":
            self._anchors.append((node.attributes.get("href") or "", len(self._parts)))
        elif tag == "img":
            self._add_image(node)
        elif tag == "rt" and not self._is_first and self._outside is None:
            self._outside, self._parts = self._parts, []

    def leave(self, tag: str) -> None:
        if tag in _HEADINGS:
            self.end_block(_HEADINGS[tag])
        elif tag in _BLOCKS:
            self.end_block()
        elif tag == "pre":
            self.end_block()
            self._code_depth -= 1
        elif tag == "a" and self._anchors:
            address, start = self._anchors.pop()
            self._add_link("links", address, "".join(self._parts[start:]))
        elif tag == "rt" and self._outside is not None:
            self._readings += self._parts
            self._parts = self._outside
            self._outside = None
        elif tag == "ruby" and self._readings:
            self._readings.append(" ")

    def end_block(self, level: int = 0) -> None:
        """Close the paragraph; with a level it is a heading."""
        self._add_readings()
        text = "".join(self._parts)
        if self._code_depth and not level:
            self.text.add_code(text)
        else:
            lines = (line.strip().removeprefix("| ").strip() for line in text.split("\n"))
            shown = "\n".join(line for line in lines if line not in ("", "-"))
            if not self._is_first:
                shown = _SPACES.sub(" ", shown)
            if level:
                self.text.add_heading(level, shown, self._links)
            else:
                self.text.add_paragraph(shown, self._links)
        self._parts.clear()
        self._links.clear()
        self._anchors = [(address, 0) for address, _ in self._anchors]

    def _add_readings(self) -> None:
        """Put how characters are read behind their paragraph: between them they would cut its words."""
        if self._outside is not None:
            self._parts = self._outside + self._parts
            self._outside = None
        readings = " ".join("".join(self._readings).split())
        self._readings.clear()
        if readings:
            self._parts.append(f" ({readings})")

    def _add_image(self, node: LexborNode) -> None:
        label = node.attributes.get("alt") or ""
        self.add_text(label if self._is_first or not label else f" {label} ")  # an image is no part of a word
        source = node.attributes.get("src") or ""
        if not source.startswith("data:"):
            self._add_link("embeds", source, label)

    def _add_link(self, relation: str, address: str, label: str) -> None:
        target, anchor = split_destination(address.strip())
        if (target or anchor) and not target.lower().startswith("javascript:"):
            self._links.append(Link("html", relation, target, anchor, " ".join(label.split()), 1))


def _walk(root: LexborNode, page: _Page) -> None:
    """Visit the elements and texts under `root` in order, without recursion."""
    node: LexborNode | None = root
    stop = root.mem_id
    while node is not None:
        tag = node.tag or ""
        if tag == "-text":
            page.add_text(node.text_content or "")
        elif not page.skips(tag):
            page.enter(tag, node)
            if node.child is not None:
                node = node.child
                continue
            page.leave(tag)
        while node is not None and node.mem_id != stop and node.next is None:
            node = node.parent
            if node is not None:
                page.leave(node.tag or "")
        node = None if node is None or node.mem_id == stop else node.next


def _read_head(tree: LexborHTMLParser) -> dict[str, FrontValue]:
    fields: dict[str, FrontValue] = {}
    for element in tree.css("meta")[:200]:
        attributes = element.attributes
        field = _FIELDS.get((attributes.get("name") or attributes.get("property") or "").lower())
        content = " ".join((attributes.get("content") or "").split())[:2000]
        if field and content:
            fields.setdefault(field, content)
    for element in tree.css('link[rel="canonical"]')[:1]:
        if element.attributes.get("href"):
            fields["url"] = str(element.attributes["href"]).strip()[:2000]
    return fields
