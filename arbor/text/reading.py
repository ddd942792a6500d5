"""Reads a file: kind, encoding, text, passages, links and fields, whatever the bytes are."""

from __future__ import annotations

import codecs
import os
from collections.abc import Iterator, Sequence
from typing import BinaryIO, NamedTuple

from arbor.objects.links import expand_links, explicit_rows
from arbor.objects.model import ENCODINGS
from arbor.text.charsets import Said, join_recorded, read_as_said, split_recorded
from arbor.text.encodings import STATEFUL, UTF8, detect_encoding, split_as_encoded
from arbor.text.extraction import CHUNKER_ID, DEFAULT_POLICY, ChunkPolicy, Extraction, Passage, shrink_policy
from arbor.text.media import find_format, format_of_suffix
from arbor.text.readers import BINARY, PLAIN, Format, get_decoder, get_reader, get_streamer
from arbor.text.readers.reading_result import Reading
from arbor.text.streaming import can_be_streamed, iter_encoded_passages, iter_passages

PIECE_BYTES = 64 * 1024
"""Size of the pieces in which an original is kept whose passages do not partition it."""

BINARY_ID = "binary/1"
"""In place of a reader, for files whose text is not read."""

_TOO_LARGE = "the file is too large for its text to be read"
_NO_TEXT = "it is named as a text, but its bytes are none, and no search will find what it holds"

_POINTER = b"version https://git-lfs.github.com/spec/v1\n"
_POINTER_MAX_BYTES = 1024
_POINTER_REMARK = (
    "it is a Git LFS pointer, a few lines in the place of the file; get the file with: git lfs pull"
)
"""Source: the Git LFS specification, "The Pointer": how it begins, and how large it can be."""

HEAD_BYTES = 256 * 1024
"""How much of a streamed file is looked at to tell its kind, title and front matter."""


def extract(
    data: bytes,
    name: str,
    policy: ChunkPolicy = DEFAULT_POLICY,
    *,
    extractor: str = "",
    charset: str = "",
) -> Extraction:
    """Read a file.

    Args:
        data: Its bytes, of any kind.
        name: Its name or path, which helps to tell the kind of file; may be empty.
        policy: Passage sizes in bytes.
        extractor: As a document records it: text that is extracted is made as that version of its reader makes it,
            where this arbor still has it, in the encoding that a server named then.
        charset: The encoding that a server names for it. It counts before what stands in a page, not before a byte
            order mark, and only where the bytes allow it.

    Returns:
        Everything found. Whatever is wrong with the file becomes a warning; this never raises.
    """
    form = find_format(data, name)
    extractor, recorded = split_recorded(extractor)
    said = read_as_said(data, charset or recorded)
    if form.is_text:
        encoding = detect_encoding(data)
        if encoding and said and said.text != data.decode(encoding, "replace"):
            return _extract_encoded(data, form, policy, said.codec, is_recorded=True)
        if encoding == UTF8:
            reading = get_reader(form.reader)(data, policy)
            if data.startswith(_POINTER) and len(data) < _POINTER_MAX_BYTES:
                reading = reading._replace(warnings=(*reading.warnings, _POINTER_REMARK))
            return _assemble(form, reading, UTF8)
        if encoding:
            return _extract_encoded(data, form, policy, encoding, is_recorded=encoding not in ENCODINGS)
        return _unread(BINARY, _split(data), _no_text(name))
    if form is BINARY:
        return _unread(form, _split(data))
    try:
        reading = _read_original(form, data, policy, extractor, said, is_recorded=bool(recorded))
    except Exception as error:  # noqa: BLE001  (a library may be absent, or fail in any way on a hostile file)
        remark = f"the text cannot be read: {' '.join(str(error).split())[:200] or type(error).__name__}"
        return _unread(form, _split(data), (remark,))
    return _assemble(form, reading, UTF8, _split(data))


def _read_original(
    form: Format, data: bytes, policy: ChunkPolicy, extractor: str, said: Said | None, *, is_recorded: bool
) -> Reading:
    """The text of a file whose text is extracted, in the encoding that a server named where that makes it another.

    That it did is recorded, and then the bytes are not asked: they may say another thing to a later version.
    """
    read, decode = get_reader(form.reader, extractor), get_decoder(form.reader)
    if said is None or decode is None or (not is_recorded and decode(data) == said.text):
        return read(data, policy)
    reading = read(codecs.BOM_UTF8 + said.text.encode(UTF8), policy)
    return reading._replace(extractor=join_recorded(reading.extractor, said.codec))


def extract_text(text: str, title: str = "") -> Extraction:
    """Read what is known to be plain text of a known title, even where it looks like another kind of file; as UTF-8."""
    reading = get_reader(PLAIN.reader)(text.encode(UTF8), DEFAULT_POLICY)._replace(title=title)
    return _assemble(PLAIN, reading, UTF8)


class TextStream(NamedTuple):
    """A file that is read while its passages are taken.

    Attributes:
        is_text: Whether there are passages; otherwise the file is to be kept in pieces.
        extraction: All but the passages, the links and the original; from the head of the file alone.
        passages: Each is read when it is taken. The file must stay open until then.
    """

    is_text: bool
    extraction: Extraction
    passages: Iterator[Passage]


def open_stream(file: BinaryIO, name: str, policy: ChunkPolicy = DEFAULT_POLICY) -> TextStream:
    """Read a file of any size in flat memory.

    Args:
        file: Open for reading and able to seek.
        name: Its name or path.
        policy: Passage sizes in bytes.

    Returns:
        For UTF-8 text of a kind whose structure shows as one reads on (Markdown, plain text, source code), the same
        passages as `extract` gives; other kinds of text are cut as plain text. Text in another encoding is read
        twice, first to see that its passages will join to the file. Links are not looked for. Other files give no
        passages, and a warning where that was to be expected of them.
    """
    head = file.read(HEAD_BYTES)
    file.seek(0, os.SEEK_SET)
    form = find_format(head, name)
    encoding = UTF8 if _is_utf8(head) else detect_encoding(head)
    if form.is_text and encoding:
        return _open_text_stream(file, head, form, encoding, policy)
    if form.is_text:
        return _without_text(BINARY, _no_text(name))
    return _without_text(form, [] if form is BINARY else [_TOO_LARGE])


def _open_text_stream(
    file: BinaryIO, head: bytes, form: Format, encoding: str, policy: ChunkPolicy
) -> TextStream:
    if encoding != UTF8 and (encoding not in ENCODINGS or not can_be_streamed(file, encoding)):
        remark = f"{_TOO_LARGE}, and no search will find it: it is in {encoding}; convert it to UTF-8"
        return _without_text(BINARY, [remark])
    streamer = get_streamer(form.reader) or get_streamer(PLAIN.reader)
    assert streamer is not None
    if encoding != UTF8:
        head = head.decode(encoding, "replace").encode(UTF8, "replace")
    reading = get_reader(streamer.reader)(head, policy)
    warnings = (*reading.warnings, "the file is too large for its links to be looked for")
    front_bytes = streamer.measure_front(head)
    passages = (
        iter_passages(file, policy, streamer.find_structure, front_bytes)
        if encoding == UTF8
        else iter_encoded_passages(file, encoding, policy, streamer.find_structure, front_bytes)
    )
    reading = reading._replace(passages=(), link_rows=(), warnings=warnings)
    return TextStream(True, _assemble(form, reading, encoding), passages)


def _no_text(name: str) -> Sequence[str]:
    """What is said of a file without text: nothing where its name promises none."""
    return (_NO_TEXT,) if format_of_suffix(name) else ()


def _without_text(form: Format, remarks: Sequence[str]) -> TextStream:
    return TextStream(False, _unread(form, (), remarks), iter(()))


def _unread(form: Format, original: Sequence[bytes], remarks: Sequence[str] = ()) -> Extraction:
    return Extraction(form.media_type, "", "", BINARY_ID, CHUNKER_ID, (), original, {}, (), remarks)


def _is_utf8(head: bytes) -> bool:
    if b"\0" in head or b"\x1b" in head:  # a wide encoding, or one with shifts, perhaps
        return False
    try:
        codecs.getincrementaldecoder(UTF8)().decode(head)
    except UnicodeDecodeError:
        return False
    return True


def _assemble(form: Format, reading: Reading, encoding: str, original: Sequence[bytes] = ()) -> Extraction:
    return Extraction(
        form.media_type, reading.title, encoding, reading.extractor, CHUNKER_ID, reading.passages, original,
        reading.front_matter, reading.link_rows, reading.warnings,
    )  # fmt: skip


def _extract_encoded(
    data: bytes, form: Format, policy: ChunkPolicy, encoding: str, *, is_recorded: bool
) -> Extraction:
    """Read a text in another encoding: as UTF-8 first, and then the file is cut at the same places.

    Where a server named the encoding, or a document has no name for it, it is recorded with the reader, so that the
    same text is made again.
    """
    text = data.decode(encoding, "replace").encode(UTF8, "replace")
    for shrink in (1, 2, 4):  # a character can take up to four times the bytes that it takes in UTF-8
        reading = get_reader(form.reader)(text, shrink_policy(policy, shrink))
        if is_recorded:
            reading = reading._replace(extractor=join_recorded(reading.extractor, encoding))
        if encoding in STATEFUL or encoding not in ENCODINGS:  # passages cannot be in it
            return _assemble(form, reading, UTF8, _split(data))
        pieces = split_as_encoded(data, encoding, [passage.data.decode(UTF8) for passage in reading.passages])
        if max(map(len, pieces), default=0) <= policy.cap_bytes:
            break
    passages = [
        Passage(piece, passage.newlines, passage.headings)
        for piece, passage in zip(pieces, reading.passages, strict=True)
    ]
    links = expand_links(reading.link_rows, text)  # their places are those in UTF-8
    reading = reading._replace(passages=passages, link_rows=explicit_rows(links))
    return _assemble(form, reading, encoding)


def _split(data: bytes) -> list[bytes]:
    return [data[start : start + PIECE_BYTES] for start in range(0, len(data), PIECE_BYTES)]
