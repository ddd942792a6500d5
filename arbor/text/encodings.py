"""Text encodings: which one a file is in, its text, and its bytes again, piece by piece.

Almost every file is UTF-8, which is settled here; anything else goes to `detection`.
"""

from __future__ import annotations

import codecs
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

from arbor.lazy import lazy_module
from arbor.objects.model import ENCODINGS

if TYPE_CHECKING:
    from arbor.text import detection
else:
    detection = lazy_module("arbor.text.detection")

UTF8 = "utf-8"

STATEFUL = frozenset(["iso2022_jp"])
"""Encodings whose bytes mean nothing when cut in the middle; their text is kept beside the original."""


def detect_encoding(data: bytes, *, is_first: bool = False) -> str:
    """Tell the encoding of a file; empty when it is no text.

    It may be one that no document can name: not in `ENCODINGS`. Then the text is kept beside the original. With
    `is_first` it is what the readers of earlier versions take it for.
    """
    # Escapes are looked for by their first byte, since ISO 2022 is ASCII by all other signs.
    if b"\0" not in data and b"\x1b" not in data and (data.isascii() or can_decode(data, UTF8)):
        return UTF8
    return detection.detect_unusual_encoding(data, is_first=is_first)


def decode_whole(data: bytes, *, is_first: bool = False) -> str:
    """The text of a file, or of a part of one, in the encoding that it looks like, without a byte order mark."""
    encoding = detect_encoding(data, is_first=is_first) or "latin_1"
    return data.decode(encoding, "replace").removeprefix("\ufeff")


def decode_passage(data: bytes, encoding: str) -> str:
    """The text of a passage, without a byte order mark.

    Args:
        data: Bytes of the passage.
        encoding: As recorded with its document; an unknown name is read as UTF-8.

    Returns:
        Text; bytes that cannot be decoded become U+FFFD. Never raises.
    """
    known = encoding if encoding in ENCODINGS else UTF8
    return data.decode(known, "replace").removeprefix("\ufeff")


def can_decode(data: bytes, encoding: str) -> bool:
    """Whether every byte of a passage belongs to a character in this encoding."""
    try:
        data.decode(encoding)
    except UnicodeDecodeError:
        return False
    return True


def split_as_encoded(data: bytes, encoding: str, texts: Sequence[str]) -> list[bytes]:
    """Cut a file where its decoded text was cut.

    Args:
        data: The whole file.
        encoding: Its encoding, not one of `STATEFUL`.
        texts: Pieces that join to `data.decode(encoding, "replace")`.

    Returns:
        As many pieces of `data`, each the bytes of the text piece at its place.
    """
    try:
        pieces = [text.encode(encoding) for text in texts]
    except UnicodeEncodeError:
        pieces = []
    if b"".join(pieces) == data:
        return pieces
    ends = _find_char_ends(data, encoding)
    chars = list(accumulate(map(len, texts)))
    cuts = [0, *(ends[count - 1] for count in chars[:-1]), len(data)]
    return [data[start:end] for start, end in pairwise(cuts)]


def _find_char_ends(data: bytes, encoding: str) -> list[int]:
    """Where each decoded character ends, for files that do not encode back to the same bytes."""
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    ends: list[int] = []
    for position in range(len(data)):
        text = decoder.decode(data[position : position + 1])
        ends.extend([position + 1] * len(text))
    ends.extend([len(data)] * len(decoder.decode(b"", True)))
    return ends
