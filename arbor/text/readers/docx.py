"""Word documents (.docx): paragraphs, headings by style, lists, tables, links, from the XML inside."""

from __future__ import annotations

import io
import re
import zipfile
import zlib
from collections.abc import Callable
from xml.parsers import expat

from arbor.objects.links import Link
from arbor.text.extraction import ChunkPolicy, FrontValue
from arbor.text.links import split_destination
from arbor.text.readers.extracted_text import ExtractedText
from arbor.text.readers.reading_result import Reading

EXTRACTOR_ID = "docx/2"
_FIRST_ID = "docx/1"

_MEMBER_MAX_BYTES = 64 * 1024 * 1024
"""A larger member is refused unread: a few kilobytes can unpack to gigabytes."""

_READ_BYTES = 64 * 1024
_TEXT_MAX_CHARS = 16 * 1024 * 1024

_HEADING = re.compile(r"heading ([1-9])", re.IGNORECASE)
_FIELDS = {"creator": "author", "modified": "date", "subject": "subject", "keywords": "keywords"}

_Start = Callable[[str, dict[str, str]], None]
_End = Callable[[str], None]


_LEFT_OUT = frozenset(["Fallback", "moveFrom"])
"""What is there for other programs that cannot show what stands before it, and what has been moved elsewhere."""

_BOXES_DEPTH_MAX = 50

_SIGNS = {"noBreakHyphen": "-", "softHyphen": "\u00ad"}

_NOTES = {"word/footnotes.xml": "Footnotes", "word/endnotes.xml": "Endnotes"}


class _Unreadable(ValueError):
    """A member of the archive cannot be read, or will not be."""


def read(data: bytes, policy: ChunkPolicy) -> Reading:
    """Read a document, its footnotes and endnotes last; a damaged one gives what could be read and a warning."""
    return _read(data, policy, EXTRACTOR_ID)


def _read_main_text(data: bytes, policy: ChunkPolicy) -> Reading:
    return _read(data, policy, _FIRST_ID)


EARLIER = {_FIRST_ID: _read_main_text}


def _read(data: bytes, policy: ChunkPolicy, extractor: str) -> Reading:
    text = ExtractedText()
    warnings: list[str] = []
    properties: dict[str, str] = {}
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            properties = _read_properties(archive)
            headings = _read_headings(archive)
            make = _Body if extractor == _FIRST_ID else _Asides
            body = make(text, headings, _read_targets(archive))
            _parse(archive, "word/document.xml", body.start, body.end, body.add_text)
            if extractor != _FIRST_ID:
                _read_notes(archive, text, headings)
    except (zipfile.BadZipFile, zlib.error, expat.ExpatError, OSError, EOFError, _Unreadable) as error:
        warnings.append(f"the document is damaged: {error}")
    except (RuntimeError, ValueError, LookupError) as error:
        warnings.append(f"the document cannot be unpacked: {error}")
    fields: dict[str, FrontValue] = {
        field: properties[name] for name, field in _FIELDS.items() if properties.get(name)
    }
    return text.finish(policy, extractor, properties.get("title", ""), fields, warnings)


def _parse(
    archive: zipfile.ZipFile, name: str, start: _Start, end: _End | None = None, text: _End | None = None
) -> None:
    """Hand the elements of a member to the functions given, by their names without a namespace."""
    information = archive.getinfo(name)
    if information.file_size > _MEMBER_MAX_BYTES:
        raise _Unreadable(f"{name} is larger than {_MEMBER_MAX_BYTES} bytes once unpacked")

    def refuse(*_: object) -> None:
        raise _Unreadable(f"{name} defines entities")

    parser = expat.ParserCreate(namespace_separator="}")
    parser.StartDoctypeDeclHandler = refuse
    parser.StartElementHandler = lambda tag, attributes: start(
        tag.rpartition("}")[2], {key.rpartition("}")[2]: value for key, value in attributes.items()}
    )
    if end is not None:
        finish = end
        parser.EndElementHandler = lambda tag: finish(tag.rpartition("}")[2])
    if text is not None:
        parser.CharacterDataHandler = text
    with archive.open(information) as member:
        while piece := member.read(_READ_BYTES):
            parser.Parse(piece, False)
    parser.Parse(b"", True)


def _read_notes(archive: zipfile.ZipFile, text: ExtractedText, headings: dict[str, int]) -> None:
    for name, section in _NOTES.items():
        if name in archive.namelist():
            notes = _Asides(text, headings, {}, section)
            _parse(archive, name, notes.start, notes.end, notes.add_text)


def _read_properties(archive: zipfile.ZipFile) -> dict[str, str]:
    """What the document says about itself: title, creator, modified and the like."""
    properties: dict[str, str] = {}
    name = ""

    def start(tag: str, _: dict[str, str]) -> None:
        nonlocal name
        name = tag

    def add_text(text: str) -> None:
        if len(properties.get(name, "")) < 2000:
            properties[name] = properties.get(name, "") + text.strip()

    if "docProps/core.xml" in archive.namelist():
        _parse(archive, "docProps/core.xml", start, text=add_text)
    return properties


def _read_headings(archive: zipfile.ZipFile) -> dict[str, int]:
    """Style ids that are headings and their levels; the ids differ with the language of the program."""
    levels: dict[str, int] = {}
    style = ""

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal style
        if tag == "style":
            style = attributes.get("styleId", "")
        elif tag == "name" and style:
            value = attributes.get("val", "")
            match = _HEADING.fullmatch(value)
            if match:
                levels[style] = int(match[1]) + 1
            elif value.lower() == "title":
                levels[style] = 1

    if "word/styles.xml" in archive.namelist():
        _parse(archive, "word/styles.xml", start)
    return levels


def _read_targets(archive: zipfile.ZipFile) -> dict[str, str]:
    """Where the document's links lead, by their relationship ids."""
    targets: dict[str, str] = {}

    def start(tag: str, attributes: dict[str, str]) -> None:
        if tag == "Relationship" and attributes.get("Type", "").endswith("/hyperlink"):
            targets[attributes.get("Id", "")] = attributes.get("Target", "")

    if "word/_rels/document.xml.rels" in archive.namelist():
        _parse(archive, "word/_rels/document.xml.rels", start)
    return targets


class _Body:
    """Collects the runs of a paragraph, and hands the paragraph on when it ends."""

    def __init__(self, text: ExtractedText, headings: dict[str, int], targets: dict[str, str]) -> None:
        self._text = text
        self._headings = headings
        self._targets = targets
        self._parts: list[str] = []
        self._links: list[Link] = []
        self._address = ""
        self._level = 0
        self._is_item = False
        self._is_text = False
        self._table_depth = 0
        self._chars = 0

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        if tag == "t":
            self._is_text = True
        elif tag == "pStyle":
            self._level = self._headings.get(attributes.get("val", ""), 0)
        elif tag == "numPr":
            self._is_item = True
        elif tag in ("br", "cr"):
            self._parts.append("\n")
        elif tag == "tab":
            self._parts.append("\t")
        elif tag == "tbl":
            self._table_depth += 1
        elif tag == "hyperlink":
            self._address = self._targets.get(attributes.get("id", ""), "")
            if self._address:
                target, anchor = split_destination(self._address)
                self._links.append(Link("html", "links", target, anchor, "", 1))

    def end(self, tag: str) -> None:
        if tag == "t":
            self._is_text = False
        elif tag == "p":
            self._end_paragraph()
        elif tag == "tc":
            self._parts.append(" | ")
        elif tag == "tr":
            self._parts.append("\n")
        elif tag == "tbl":
            self._table_depth -= 1
            if not self._table_depth:
                self._end_paragraph()

    def add_text(self, text: str) -> None:
        if self._is_text:
            self._chars += len(text)
            if self._chars > _TEXT_MAX_CHARS:
                raise _Unreadable("the text is too long to be read to its end")
            self._parts.append(text)

    def _end_paragraph(self) -> None:
        if self._table_depth:
            self._parts.append(" ")
            return
        lines = (line.strip().removesuffix("|").rstrip() for line in "".join(self._parts).split("\n"))
        shown = "\n".join(line for line in lines if line)
        if self._level:
            self._text.add_heading(self._level, shown, self._links)
        else:
            self._text.add_paragraph(f"- {shown}" if self._is_item and shown else shown, self._links)
        self._parts.clear()
        self._links.clear()
        self._level, self._is_item = 0, False


class _Asides:
    """Sorts out what stands beside the main text: boxes, readings of characters, and what is written twice."""

    def __init__(
        self, text: ExtractedText, headings: dict[str, int], targets: dict[str, str], section: str = ""
    ) -> None:
        self._text = text
        self._make_body: Callable[[], _Body] = lambda: _Body(text, headings, targets)
        self._bodies = [self._make_body()]
        self._section = section
        self._skipped_depth = 0
        self._is_reading = False
        self._readings: list[str] = []
        self._chars = 0

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        is_box = tag == "txbxContent"  # it stands within a paragraph and holds paragraphs
        if self._skipped_depth or tag in _LEFT_OUT or (is_box and len(self._bodies) > _BOXES_DEPTH_MAX):
            self._skipped_depth += 1
        elif tag == "rt":
            self._is_reading = True
        elif is_box:
            self._bodies.append(self._make_body())
        elif tag in _SIGNS:
            self._add(_SIGNS[tag])
        else:
            self._bodies[-1].start(tag, attributes)

    def end(self, tag: str) -> None:
        if self._skipped_depth:
            self._skipped_depth -= 1
        elif tag == "rt":
            self._is_reading = False
            self._readings.append(" ")
        elif tag == "txbxContent":
            self._bodies.pop()
        else:
            if tag == "p" and self._readings:
                self._add(f" ({''.join(self._readings).strip()})")
                self._readings.clear()
            self._bodies[-1].end(tag)

    def add_text(self, text: str) -> None:
        if self._skipped_depth:
            return
        self._chars += len(text)
        if self._chars > _TEXT_MAX_CHARS:
            raise _Unreadable("the text is too long to be read to its end")
        if self._section and text.strip():
            self._text.begin_section(self._section)
            self._section = ""
        if self._is_reading:
            self._readings.append(text)
        else:
            self._bodies[-1].add_text(text)

    def _add(self, text: str) -> None:
        self._bodies[-1].start("t", {})
        self._bodies[-1].add_text(text)
        self._bodies[-1].end("t")
