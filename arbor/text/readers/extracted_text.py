"""Builds the text of a file that is not text itself, with the headings and links found on the way."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from arbor.objects.links import Link, explicit_rows
from arbor.text.chunker import HEADING_BYTES_MAX, Block, Mark, Structure, cut_buffer
from arbor.text.extraction import ChunkPolicy, FrontValue
from arbor.text.front_matter import clean_text
from arbor.text.readers.reading_result import Reading


class ExtractedText:
    """Paragraphs, headings and code in the order of the document, kept apart by blank lines."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = [b"\n"]
        self._size = 1
        self._line = 1
        self._marks: list[Mark] = []
        self._blocks: list[Block] = []
        self._links: list[Link] = []
        self._title = ""
        self._title_level = 100

    def add_paragraph(self, text: str, links: Iterable[Link] = ()) -> None:
        """Add a paragraph, or several; the lines of its links count from 1 at its beginning."""
        if text.strip():
            self._add_links(links)
            self._add(text.rstrip("\n"))

    def add_heading(self, level: int, text: str, links: Iterable[Link] = ()) -> None:
        """Add a heading on a line of its own."""
        title = clean_text(" ".join(text.split()))
        if title:
            self._add_links(links)
            start = self._size
            self._add(title)
            shown = title.encode("utf-8", "replace")[:HEADING_BYTES_MAX].decode("utf-8", "ignore")
            self._marks.append(Mark(start, self._size - 2, level, shown))
            if level < self._title_level:
                self._title, self._title_level = shown, level

    def begin_section(self, title: str) -> None:
        """Say where in the document the text that follows stands, without adding to it."""
        self._marks.append(Mark(self._size, self._size, 1, title))

    def add_code(self, text: str) -> None:
        """Add text whose lines stay as they are and stay together."""
        text = text.strip("\n")
        if text.strip():
            start = self._size
            self._add(text)
            self._blocks.append(Block(start, self._size - 1))

    def _add_links(self, links: Iterable[Link]) -> None:
        self._links += [link._replace(line=self._line + link.line - 1) for link in links]

    def _add(self, text: str) -> None:
        piece = text.encode("utf-8", "replace") + b"\n\n"
        self._pieces.append(piece)
        self._size += len(piece)
        self._line += piece.count(b"\n")

    def finish(
        self,
        policy: ChunkPolicy,
        extractor: str,
        title: str = "",
        fields: dict[str, FrontValue] | None = None,
        warnings: Sequence[str] = (),
    ) -> Reading:
        """The reading; without a title, the first heading of the outermost level is the title."""
        buffer = b"".join(self._pieces)
        if len(buffer) > 1:
            buffer = buffer[:-1]
        structure = Structure(self._marks, self._blocks)
        passages, _ = cut_buffer(buffer, 1, structure, policy, [], final=True)
        shown = " ".join(title.split()) or self._title
        rows = explicit_rows(self._links)
        return Reading(passages, clean_text(shown), fields or {}, rows, warnings, extractor, self._marks)
