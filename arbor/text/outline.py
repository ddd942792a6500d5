"""Which heading a place in a passage stands under.

Small sections share a passage, which records the heading path of the first of them only. The others are found again
in the passage's own text by the reader that cut it. Their levels tell which of the recorded headings they close;
where the passage alone does not tell, the text before it does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from arbor.records import dataclass
from arbor.text.chunker import BLANK_LINE_BYTES, Mark, enter_heading
from arbor.text.extraction import DEFAULT_POLICY
from arbor.text.readers import HeadingFinder, get_heading_finder, get_reader

_READ_AGAIN = frozenset(["docx", "html"])
"""Readers whose headings only the file shows, and which are quick enough to read it again for them. PDFs are not."""

Outline = list[tuple[int, str]]
"""(level, title) of the headings in force, outermost first."""


@dataclass(frozen=True, slots=True)
class SharedPassage:
    """A passage whose sections are to be told apart.

    Attributes:
        extractor: Name and version of its reader, as its document records it.
        text: All of it.
        headings: The path that is recorded with it.
        is_first: Whether nothing of the document comes before it.
        get_before: Gives the document's text before it; None where that cannot be had or is too long. Called only
            where the passage alone does not tell.
    """

    extractor: str
    text: str
    headings: tuple[str, ...]
    is_first: bool
    get_before: Callable[[], str | None]


def find_heading_path(passage: SharedPassage, at: int) -> tuple[str, ...]:
    """The heading path at a character of a passage; the recorded one in its first section."""
    reader = passage.extractor.partition("/")[0]
    find = get_heading_finder(reader)
    if find is None or not at:
        return passage.headings
    marks, recorded = _find_marks(find, "", passage.text, at, is_head=passage.is_first)
    if len(marks) == recorded:
        return passage.headings
    if passage.is_first:
        return _continue_known(passage.headings, marks, recorded)
    # In reStructuredText the order of the styles of underlines in the whole text decides their levels.
    path = None if reader == "rst" else _continue(passage.headings, marks, recorded)
    if path is not None:
        return path
    before = passage.get_before()
    if before is None:
        return passage.headings
    marks, recorded = _find_marks(find, before, passage.text, at, is_head=True)
    return _continue_known(passage.headings, marks, recorded)


def has_own_headings(extractor: str) -> bool:
    """Whether the headings are to be found by reading the file again, since the extracted text does not show them."""
    return extractor.partition("/")[0] in _READ_AGAIN


class Sections(NamedTuple):
    """An extracted text and the headings in it.

    Attributes:
        text: UTF-8.
        marks: Their places are offsets in `text`.
    """

    text: bytes
    marks: tuple[Mark, ...]

    def find_path(self, start: int, passage: str, at: int, headings: tuple[str, ...]) -> tuple[str, ...]:
        """The heading path at a character of a passage.

        Args:
            start: Where the passage begins, in bytes.
            passage: Its text.
            at: The character.
            headings: The path that is recorded with the passage; given back where no other heading comes before, and
                where the text is no more what it was when the passage was cut.
        """
        if not self.text.startswith(passage.encode("utf-8", "replace"), start):
            return headings
        place = start + len(passage[:at].encode("utf-8", "replace"))
        if not any(start < mark.start <= place for mark in self.marks):
            return headings
        return _titles(_enter_all([], [mark for mark in self.marks if mark.start <= place]))


def read_sections(extractor: str, original: bytes) -> Sections:
    """Read a file again for the headings of its sections; without any where it cannot be read."""
    try:
        reading = get_reader(extractor.partition("/")[0], extractor)(original, DEFAULT_POLICY)
    except Exception:  # noqa: BLE001  (as in `extract`: a reader may fail in any way on a hostile file)
        return Sections(b"", ())
    text = b"".join([passage.data for passage in reading.passages])
    return Sections(
        text, tuple(mark._replace(start=mark.start - 1, end=mark.end - 1) for mark in reading.marks)
    )


def _find_marks(
    find: HeadingFinder, before: str, text: str, at: int, *, is_head: bool
) -> tuple[list[Mark], int]:
    """The headings up to a character of a passage, and how many of them its recorded path counts in."""
    head = b"\n" + before.encode("utf-8", "replace")
    place = len(head) + len(text[:at].encode("utf-8", "replace"))
    buffer = head + text.encode("utf-8", "replace")
    marks = [mark for mark in find(buffer, is_head=is_head) if mark.start <= place]
    recorded, lead = 0, len(head)
    while recorded < len(marks) and marks[recorded].start <= lead:
        if marks[recorded].start >= len(head):
            lead = marks[recorded].end + BLANK_LINE_BYTES
        recorded += 1
    return marks, recorded


def _continue_known(headings: tuple[str, ...], marks: list[Mark], recorded: int) -> tuple[str, ...]:
    """The path after all of a document's headings up to a place, the first few of which are recorded."""
    outline = _enter_all([], marks[:recorded])
    following = recorded
    while not outline and following < len(marks):  # a preamble goes by the name of the first section
        enter_heading(outline, marks[following])
        following += 1
    if _titles(outline) != headings:
        return headings  # the text ends within front matter, say, and what looks like headings there is none
    return _titles(_enter_all(outline, marks[following:]))


def _continue(headings: tuple[str, ...], marks: list[Mark], recorded: int) -> tuple[str, ...] | None:
    """The path after `marks`, the first few of which are in the recorded path already; None where it does not tell."""
    tail = _enter_all([], marks[:recorded])
    if not tail or headings[-len(tail) :] != tuple(title for _, title in tail):
        return None  # it begins within a section of unknown level, perhaps within a block
    floor = tail[0][0]
    base = headings[: -len(tail)]
    lowest = min(mark.level for mark in marks[recorded:])
    if lowest >= floor:
        return base + _titles(_enter_all(tail, marks[recorded:]))
    if len(base) == floor - 1 or lowest == 1:  # every level above is taken, so that each title's is known
        known = list(enumerate(base, 1)) if lowest > 1 else []
        return _titles(_enter_all(known + tail, marks[recorded:]))
    return None


def _enter_all(outline: Outline, marks: Sequence[Mark]) -> Outline:
    for mark in marks:
        enter_heading(outline, mark)
    return outline


def _titles(outline: Outline) -> tuple[str, ...]:
    return tuple(title for _, title in outline)
