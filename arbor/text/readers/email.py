"""E-mail: the subject, who wrote to whom and when, and the text; attached files that are text as well."""

from __future__ import annotations

import codecs
import email
import email.errors
import email.header
import email.policy
from collections.abc import Callable, Iterator, Sequence
from email.message import Message

from arbor.objects.links import Link, expand_links
from arbor.text.charsets import find_codec
from arbor.text.encodings import UTF8, decode_passage, decode_whole
from arbor.text.extraction import ChunkPolicy, FrontValue
from arbor.text.front_matter import clean_text
from arbor.text.links import find_addresses
from arbor.text.readers import get_reader
from arbor.text.readers.extracted_text import ExtractedText
from arbor.text.readers.reading_result import Reading

EXTRACTOR_ID = "email/4"

_Decode = Callable[[bytes, str], str]

_FIELDS = ("from", "to", "cc", "date", "message-id", "in-reply-to", "list-id")
_SHOWN_FIELDS = ("From", "To", "Cc", "Date", "Subject")
"""They begin the text, so that a search finds a message by them."""

_PARTS_MAX = 200

_PAGES = {"email/1": "html/1", "email/2": "html/1", "email/3": "html/2"}
"""As what earlier versions of this module read pages."""


def read(data: bytes, policy: ChunkPolicy) -> Reading:
    """Read a message.

    Args:
        data: The file, RFC 5322 with or without MIME.
        policy: Passage sizes.

    Returns:
        Passages of extracted text, which begins with who wrote to whom, when and about what; the subject is the title
        and the other headers are fields.
    """
    return _read(data, policy, EXTRACTOR_ID, _SHOWN_FIELDS)


def _read_with_first_pages(data: bytes, policy: ChunkPolicy) -> Reading:
    return _read(data, policy, "email/2", _SHOWN_FIELDS)


def _read_without_headers(data: bytes, policy: ChunkPolicy) -> Reading:
    return _read(data, policy, "email/1", ())


def _read_as_declared(data: bytes, policy: ChunkPolicy) -> Reading:
    return _read(data, policy, "email/3", _SHOWN_FIELDS)


EARLIER = {
    "email/1": _read_without_headers,
    "email/2": _read_with_first_pages,
    "email/3": _read_as_declared,
}


def _read(data: bytes, policy: ChunkPolicy, extractor: str, shown_fields: Sequence[str]) -> Reading:
    text = ExtractedText()
    warnings: list[str] = []
    fields: dict[str, FrontValue] = {}
    title = ""
    try:
        message = email.message_from_bytes(data, policy=email.policy.compat32)
        page_extractor = _PAGES.get(extractor, "")
        decode = _decode_as_declared if page_extractor else _decode
        title = _read_header(message, "subject", decode)
        fields = {name: value for name in _FIELDS if (value := _read_header(message, name, decode))}
        headers = [(name, value) for name in shown_fields if (value := _read_header(message, name, decode))]
        text.add_paragraph("\n".join(f"{name}: {value}" for name, value in headers))
        for part in _iter_texts(message, warnings):
            warnings += _add_part(part, text, policy, decode, page_extractor)
    except (RecursionError, ValueError, LookupError, TypeError, AttributeError) as error:
        warnings.append(f"the message is damaged: {error}")
    return text.finish(policy, extractor, title, fields, list(dict.fromkeys(warnings)))


def _read_header(message: Message, name: str, decode: _Decode) -> str:
    """A header with its encoded words decoded; empty where it is absent or cannot be read."""
    value = message.get(name)
    if value is None:
        return ""
    try:
        pieces = email.header.decode_header(str(value))
    except (ValueError, LookupError, email.errors.MessageError):
        return clean_text(" ".join(str(value).split()))
    shown = "".join(
        decode(piece, charset or "") if isinstance(piece, bytes) else piece for piece, charset in pieces
    )
    return clean_text(" ".join(shown.split()))[:2000]


def _iter_texts(message: Message, warnings: list[str]) -> Iterator[Message]:
    """The parts to read: of alternatives the plain one, of everything else whatever is text.

    Where there are too many, or they cannot be told apart, a warning says so.
    """
    pending = [message]
    for _ in range(_PARTS_MAX):
        if not pending:
            return
        part = pending.pop()
        payload = part.get_payload()
        if isinstance(payload, list):
            choices = [each for each in payload if isinstance(each, Message)]
            if part.get_content_subtype() == "alternative":
                plain = [each for each in choices if each.get_content_type() == "text/plain"]
                choices = plain[:1] or choices[-1:]
            pending += reversed(choices)
        elif part.get_content_maintype() == "text":
            yield part
        elif part.get_content_maintype() == "multipart" and str(payload).strip():
            warnings.append("a part of it is to have parts, which cannot be told; its text is not searched")
    if any(part.get_content_maintype() in ("text", "multipart", "message") for part in pending):
        warnings.append(f"it has more than {_PARTS_MAX} parts; the text of the others is not searched")


def _add_part(
    part: Message, text: ExtractedText, policy: ChunkPolicy, decode: _Decode, page_extractor: str
) -> Sequence[str]:
    """Add the text of a part; what could not be read of it as it should."""
    raw = part.get_payload(decode=True)
    if not isinstance(raw, bytes):
        return ()
    shown = decode(raw, str(part.get_content_charset() or "")).replace("\r\n", "\n").replace("\0", "")
    links: Sequence[Link]
    warnings: Sequence[str] = ()
    if part.get_content_type() == "text/html":
        # The page reader brings its parser with it, which a message in plain text does not need.
        # It is decoded by now: without a mark, a page that names its encoding would be decoded by that again.
        mark = b"" if page_extractor else codecs.BOM_UTF8
        page = get_reader("html", page_extractor)(mark + shown.encode("utf-8", "replace"), policy)
        shown = "".join(decode_passage(passage.data, UTF8) for passage in page.passages)
        links, warnings = expand_links(page.link_rows, b""), page.warnings
    else:
        shown = shown.strip("\n")
        links = find_addresses(shown)
    text.add_paragraph(shown, links)
    return warnings


def _decode(raw: bytes, charset: str) -> str:
    """Text in the declared charset, as mail programs and browsers take it, if the bytes allow it.

    Else in the one they look like, and so where the charset is ASCII, which says nothing of bytes outside it.
    """
    codec = find_codec(charset)
    if codec and "ascii" not in charset.lower() and not codec.startswith("utf-16"):
        try:
            return raw.decode(codec)
        except UnicodeError:
            pass  # a codec of Python's own may read it yet: Latin-1 has more than Windows makes of it
    return _decode_as_declared(raw, charset, is_first=False)


def _decode_as_declared(raw: bytes, charset: str, *, is_first: bool = True) -> str:
    if charset:
        try:
            return raw.decode(charset)
        except (UnicodeError, LookupError, ValueError):
            pass
    return decode_whole(raw, is_first=is_first)
