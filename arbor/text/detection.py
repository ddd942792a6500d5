"""Tells the encoding of text that is not plain UTF-8, from its bytes alone and always in the same way.

Every candidate encoding is tried on the parts of the file that hold bytes outside ASCII, wherever they stand, and
the one under which those are likeliest wins (`encoding_fit`). This also works on a line or two, where statistics of
byte pairs do not. No library is asked, since the encoding is part of a document's identity and must not change with
a library's version; of jieba only the word list is read, and only where a short text could be two things.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from arbor.text.charsets import find_declared
from arbor.text.common_characters import (
    ARABIC_COMMON,
    CHINESE,
    CHINESE_TRADITIONAL,
    CJK_MARKS,
    CYRILLIC_COMMON,
    GREEK_COMMON,
    HEBREW_COMMON,
    JAPANESE,
    KOREAN,
    THAI_COMMON,
    WESTERN,
    WESTERN_RARER,
)
from arbor.text.encoding_fit import (
    CANDIDATES,
    FIRST_CANDIDATES,
    Candidate,
    count_characters,
    rate_characters,
    rate_foreign,
    rate_odd_letters,
    rate_seams,
    rate_wide,
    rate_words,
)

SAMPLE_MAX_BYTES = 32 * 1024
"""How much is judged: of a longer file its beginning where that tells, else stretches from all of it."""

_WINDOW_BYTES = 1024
_CONTEXT_BYTES = 48
_OUTSIDE_ASCII = re.compile(rb"[\x80-\xff]")
_BREAK = re.compile(rb"[\x00-\x2f]")
"""Bytes that are no part of a longer character in any of the encodings, so that a file can be cut behind them."""

_ISO_2022_JP = re.compile(rb"\x1b\$[@B](?:[\x21-\x7e]{2})+\x1b\([BJ]")

_HIGH = bytes(range(0x80, 0x100))
_CONTROLS = bytes(code for code in range(32) if code not in b"\t\n\v\f\r\b\x1a\x1b") + b"\x7f"

_MARKS = (
    (b"\xef\xbb\xbf", "utf-8", 1),
    (b"\xff\xfe\0\0", "utf-32-le", 4),
    (b"\0\0\xfe\xff", "utf-32-be", 4),
    (b"\xff\xfe", "utf-16-le", 2),
    (b"\xfe\xff", "utf-16-be", 2),
)

_WIDE = ("utf-16-le", "utf-16-be")

_WIDE_LIKELY = frozenset("\n\r\t").union(
    *(CHINESE, CHINESE_TRADITIONAL, JAPANESE, KOREAN, CJK_MARKS, map(chr, range(0x3041, 0x30FF))),
    *(WESTERN, WESTERN_RARER, CYRILLIC_COMMON, GREEK_COMMON, HEBREW_COMMON, ARABIC_COMMON, THAI_COMMON),
)
_WIDE_LIKELY_MIN = 0.3


_UNREADABLE_MAX = 4
"""One in so many characters outside ASCII may be unreadable; with more, no candidate explains the bytes."""

_CLOSE = 20.0
"""Candidates that are closer than this, in nats, are told apart by the words of Chinese."""

_DECLARED = 25.0
"""How much a file's own word for its encoding weighs, in nats: a page that tells of another one may say the same."""


def detect_unusual_encoding(data: bytes, *, is_first: bool = False) -> str:
    """Tell the encoding of a file that is not clean UTF-8.

    Args:
        data: The whole file.
        is_first: Whether to go by what the first versions knew.

    Returns:
        A codec name; empty when this is no text.
    """
    marked = _detect_by_mark(data)
    if marked:
        return marked
    if b"\0" in data:
        wide = _detect_wide(data[:SAMPLE_MAX_BYTES])
        if wide or _count_controls(data) * 64 > len(data):
            return wide
    if _ISO_2022_JP.search(data):
        return "iso2022_jp"
    if _is_damaged_utf8(data):  # or not damaged at all, with a terminal's escapes or the odd NUL in it
        return "utf-8"
    sample = _take_sample(data)
    even = b"" if len(data) % 2 else data[:SAMPLE_MAX_BYTES]
    if is_first:
        encoding = _rank_candidates(sample, even, FIRST_CANDIDATES)
    else:
        encoding = _rank_candidates(sample, even, CANDIDATES, find_declared(data))
    if encoding not in _WIDE and _count_controls(sample) * 10 > len(sample):
        return ""
    return encoding


def _take_sample(data: bytes) -> bytes:
    """A short file itself; of a long one the parts that hold bytes outside ASCII, evenly chosen if they are many."""
    if len(data) <= SAMPLE_MAX_BYTES:
        return data
    windows: list[bytes] = []
    done = 0
    while found := _OUTSIDE_ASCII.search(data, done):
        start = max(found.start() - _CONTEXT_BYTES, done)
        stop = _BREAK.search(data, start + _WINDOW_BYTES, start + 2 * _WINDOW_BYTES)
        done = stop.end() if stop else start + 2 * _WINDOW_BYTES
        windows.append(data[start:done])
    count = SAMPLE_MAX_BYTES // _WINDOW_BYTES
    if len(windows) > count:
        windows = [windows[number * len(windows) // count] for number in range(count)]
    return b"\n".join(windows)[:SAMPLE_MAX_BYTES]


def _detect_by_mark(data: bytes) -> str:
    """By a byte order mark, if what follows it is not plainly something else."""
    for mark, encoding, width in _MARKS:
        if data.startswith(mark):
            text = data[len(mark) : SAMPLE_MAX_BYTES].decode(encoding, "replace")
            odd = sum(text.count(char) for char in "\0\ufffd")
            return encoding if odd * 20 <= len(text) or len(data) <= 2 * width else ""
    return ""


def _detect_wide(sample: bytes) -> str:
    """UTF-16 without a mark: in one byte order the text looks like text, in the other like noise."""
    sample = sample[: len(sample) & ~1]
    ratings = []
    for encoding in _WIDE:
        text = sample.decode(encoding, "replace")
        if "\0" in text or "\ufffd" in text[:-1]:
            continue
        counts = Counter(text)
        likely = sum(
            count for char, count in counts.items() if char.lower() in _WIDE_LIKELY or " " <= char < "\x7f"
        )
        ratings.append((likely / max(len(text), 1), encoding))
    rating, encoding = max(ratings, default=(0.0, ""))
    return encoding if rating >= _WIDE_LIKELY_MIN else ""


def _count_controls(sample: bytes) -> int:
    """Control characters that text does not hold."""
    return len(sample) - len(sample.translate(None, _CONTROLS))


def _is_damaged_utf8(data: bytes) -> bool:
    """Whether this is UTF-8 apart from a few bytes; other encodings hardly ever hold valid sequences."""
    text = data.decode("utf-8", "replace")
    errors = text.count("\ufffd")
    valid = len(text) - len(data.translate(None, _HIGH)) - errors
    return valid >= 4 * errors


def _rank_candidates(sample: bytes, even: bytes, candidates: Sequence[Candidate], declared: str = "") -> str:
    """The likeliest encoding of a sample, or of the beginning of a file whose size UTF-16 could have."""
    texts = {each.encoding: "" for each in candidates}
    texts |= {name: sample.decode(name, "replace") for name in texts}
    counted = {name: count_characters(text) for name, text in texts.items()}
    rough = dict.fromkeys(texts, float("-inf"))
    for each in candidates:
        rough[each.encoding] = max(rough[each.encoding], rate_characters(counted[each.encoding], each))
    if declared in rough:
        rough[declared] += _DECLARED
    ratings: dict[str, float] = {}
    if even:
        ratings |= {encoding: rate_wide(even.decode(encoding, "replace")) for encoding in _WIDE}
    for encoding in sorted(rough, key=rough.__getitem__, reverse=True):
        if rough[encoding] < max(ratings.values(), default=rough[encoding]) - _CLOSE:
            break  # this and what comes after is out of reach: more than the characters only makes it unlikelier
        ratings[encoding] = rough[encoding] + rate_seams(texts[encoding])
        if candidates is CANDIDATES:
            ratings[encoding] += rate_odd_letters(texts[encoding], encoding)
        if encoding == "cp1252":
            ratings[encoding] += rate_foreign(texts[encoding])
    chinese = ratings.pop("gb18030", float("-inf"))
    if abs(chinese - max(ratings.values(), default=float("-inf"))) < _CLOSE:
        chinese += rate_words(texts["gb18030"])
    ratings["gb18030"] = chinese
    best = max(ratings, key=ratings.__getitem__)
    text = texts.get(best, "")
    unreadable = text.count("\ufffd") * _UNREADABLE_MAX
    return "latin_1" if unreadable and unreadable > sum(char >= "\x80" for char in text) else best
