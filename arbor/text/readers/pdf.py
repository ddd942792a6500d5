"""PDF: the text of each page, in the order in which it is written there."""

from __future__ import annotations

import io
import logging
import re
from collections.abc import Callable
from contextlib import suppress
from functools import partial

import pypdf

from arbor.text.extraction import ChunkPolicy, FrontValue
from arbor.text.readers.extracted_text import ExtractedText
from arbor.text.readers.pdf_fonts import mend_fonts
from arbor.text.readers.reading_result import Reading

EXTRACTOR_ID = f"pdf/3 pypdf/{pypdf.__version__}"
"""What text a page gives is pypdf's doing, so its version is part of the name."""
_SECOND_ID = f"pdf/2 pypdf/{pypdf.__version__}"
_FIRST_ID = f"pdf/1 pypdf/{pypdf.__version__}"

_PAGES_MAX = 5000
_TEXT_MAX_CHARS = 20_000_000

_HYPHENATED = re.compile(r"([^\W\d_])([-\u2010\u00ad])\n(?=([^\W\d_]))")
_HYPHENATED_AT_FIRST = re.compile(r"(?<=[a-z])-\n(?=[a-z])")
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]+")

logging.getLogger("pypdf").addHandler(logging.NullHandler())  # else its remarks would reach standard error


def read(data: bytes, policy: ChunkPolicy) -> Reading:
    """Read a PDF.

    Args:
        data: The file.
        policy: Passage sizes.

    Returns:
        Passages of extracted text, each under the page on which it begins; nothing but a warning where
        the file is damaged, encrypted or only pictures.
    """
    return _read(data, policy, EXTRACTOR_ID)


def _read_as_first(data: bytes, policy: ChunkPolicy) -> Reading:
    return _read(data, policy, _FIRST_ID)


def _read_as_second(data: bytes, policy: ChunkPolicy) -> Reading:
    return _read(data, policy, _SECOND_ID)


EARLIER = {_FIRST_ID: _read_as_first, _SECOND_ID: _read_as_second}


def _read(data: bytes, policy: ChunkPolicy, extractor: str) -> Reading:
    text = ExtractedText()
    warnings: list[str] = []
    title = ""
    fields: dict[str, FrontValue] = {}
    try:
        reader = pypdf.PdfReader(io.BytesIO(data))
        if reader.is_encrypted and not reader.decrypt(""):
            return text.finish(policy, extractor, warnings=("the PDF is encrypted",))
        title, fields = _read_information(reader)
        join = partial(_HYPHENATED_AT_FIRST.sub, "") if extractor == _FIRST_ID else _join_hyphenated
        warnings += _read_pages(reader, text, join, mends=extractor == EXTRACTOR_ID)
    except Exception as error:  # noqa: BLE001  (a damaged file can make pypdf raise anything)
        warnings.append(f"the PDF is damaged: {_describe(error)}")
    reading = text.finish(policy, extractor, title, fields, warnings)
    if not reading.passages and not warnings:
        return reading._replace(warnings=("the PDF holds no text, perhaps only pictures of it",))
    return reading


def _join_hyphenated(text: str) -> str:
    """Words that a line end divides made whole: small letters stand on both sides, or the hyphen is a soft one."""

    def join(match: re.Match[str]) -> str:
        before, hyphen, after = match.groups()
        return before if hyphen == "\u00ad" or (before.islower() and after.islower()) else match[0]

    return _HYPHENATED.sub(join, text)


def _read_pages(
    reader: pypdf.PdfReader, text: ExtractedText, join: Callable[[str], str], *, mends: bool
) -> list[str]:
    warnings: list[str] = []
    fonts_done: set[int] = set()
    chars = 0
    for number, page in enumerate(reader.pages, 1):
        if number > _PAGES_MAX or chars > _TEXT_MAX_CHARS:
            warnings.append(f"the PDF is too long; its text is read up to page {number - 1}")
            break
        if mends:
            # A damaged font can make pypdf raise anything; the page may be read all the same.
            with suppress(Exception):
                mend_fonts(page, fonts_done)
        try:
            shown = page.extract_text()
        except Exception as error:  # noqa: BLE001  (one damaged page does not spoil the others)
            warnings.append(f"page {number} cannot be read: {_describe(error)}")
            continue
        shown = join(_CONTROLS.sub("", shown.replace("\r\n", "\n")))
        chars += len(shown)
        if shown.strip():
            text.begin_section(f"page {number}")
            text.add_paragraph("\n".join(line.rstrip() for line in shown.strip("\n").split("\n")))
    return warnings[:20]


def _read_information(reader: pypdf.PdfReader) -> tuple[str, dict[str, FrontValue]]:
    """Title and fields from the document information, each as far as it can be read."""
    information = reader.metadata
    fields: dict[str, FrontValue] = {}
    if information is None:
        return "", fields
    for name, value in (
        ("author", information.author),
        ("subject", information.subject),
        ("date", information.creation_date_raw),
    ):
        shown = _clean(value)
        if shown:
            fields[name] = _format_date(shown) if name == "date" else shown
    return _clean(information.title), fields


def _clean(value: object) -> str:
    text = " ".join(_CONTROLS.sub(" ", value).split())[:1000] if isinstance(value, str) else ""
    return text.encode("utf-8", "replace").decode("utf-8")


def _format_date(raw: str) -> str:
    """`D:20240131120000+01'00'` as `2024-01-31`; anything else as it is."""
    match = re.match(r"(?:D:)?(\d{4})(\d{2})(\d{2})", raw)
    return "-".join(match.groups()) if match else raw


def _describe(error: Exception) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__
