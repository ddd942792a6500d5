"""The heading path of a hit: that of the section in which its match stands, not of the passage's first section."""

from __future__ import annotations

from arbor.errors import ArborError
from arbor.repo.snapshot import Snapshot, passage_encoding
from arbor.search.audit import ProvenDocument
from arbor.text.encodings import decode_passage
from arbor.text.extraction import Extraction
from arbor.text.outline import Sections, SharedPassage, find_heading_path, has_own_headings, read_sections

_PASSAGES_BEFORE_MAX = 64
"""How many passages are read to learn the level of a heading; beyond, the recorded path stands."""

_ORIGINAL_MAX_BYTES = 512 * 1024
"""A larger file is not read again for the headings of its sections."""


def heading_at(
    snapshot: Snapshot, proven: ProvenDocument, ordinal: int, text: str, at: int
) -> tuple[str, ...]:
    """The heading path at a character of a stored passage.

    Args:
        snapshot: Where its document lies.
        proven: The document.
        ordinal: The passage's number.
        text: All of the passage.
        at: Where the match begins in it.
    """
    refs = proven.manifest.passages
    headings = tuple(refs[ordinal].headings)
    if "\n" not in text[:at]:
        return headings
    if has_own_headings(proven.document.extractor):
        sections = _sections_of(snapshot, proven)
        start = proven.offsets[ordinal]
        return sections.find_path(start, text, at, headings) if sections else headings

    def get_before() -> str | None:
        if ordinal > _PASSAGES_BEFORE_MAX:
            return None
        encoding = passage_encoding(proven.document)
        try:
            return "".join([decode_passage(snapshot.chunk(ref.oid), encoding) for ref in refs[:ordinal]])
        except ArborError:
            return None

    passage = SharedPassage(proven.document.extractor, text, headings, not ordinal, get_before)
    return find_heading_path(passage, at)


def heading_in_file(file: Extraction, ordinal: int, text: str, at: int) -> tuple[str, ...]:
    """The same for a file that was just read."""
    if ordinal >= len(file.passages):
        return ()
    headings = tuple(file.passages[ordinal].headings)
    if "\n" not in text[:at]:
        return headings
    if has_own_headings(file.extractor):
        start = sum(len(each.data) for each in file.passages[:ordinal])
        sections = read_sections(file.extractor, b"".join(file.original))
        return sections.find_path(start, text, at, headings)

    def get_before() -> str:
        return "".join([decode_passage(each.data, file.encoding) for each in file.passages[:ordinal]])

    return find_heading_path(SharedPassage(file.extractor, text, headings, not ordinal, get_before), at)


def _sections_of(snapshot: Snapshot, proven: ProvenDocument) -> Sections | None:
    """The sections of a document whose text is extracted, read once; None where its file cannot be had."""
    if proven.sections is None and proven.document.size <= _ORIGINAL_MAX_BYTES:
        try:
            original = b"".join(snapshot.file_pieces(proven.document, proven.manifest))
        except ArborError:
            return None
        proven.sections = read_sections(proven.document.extractor, original)
    return proven.sections
