"""Three-way merge of lines, with conflict markers where both sides changed the same place.

Source: Khanna, Kunal and Pierce, A Formal Investigation of Diff3 (FSTTCS 2007).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from arbor.records import dataclass
from arbor.repo.merge.line_matching import match_lines
from arbor.text.encodings import STATEFUL, UTF8, detect_encoding

MAX_LINES = 50_000
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_WIDE = ("utf-16", "utf-32")
"""How the names of encodings begin in which a line feed is not one byte."""
MARK_CHARS = 7
"""How many characters a conflict marker has, as in git."""
_MARKS = (b"<<<<<<< ", b"=======", b">>>>>>> ")


@dataclass(frozen=True, slots=True)
class MergedText:
    """The outcome: the merged bytes, and how many places are in conflict."""

    data: bytes
    conflicts: int


def common_encoding(sides: Sequence[bytes]) -> str:
    """The encoding in which several versions of a text can be merged by lines; "" where there is none.

    Plain ASCII, and no text at all, go with any encoding that has ASCII in it as it is.
    """
    found = [(detect_encoding(side), side) for side in sides]
    telling = {encoding for encoding, side in found if encoding != UTF8 or not side.isascii()}
    if len(telling) > 1 or not all(encoding for encoding, _ in found):
        return ""
    encoding = telling.pop() if telling else "utf-8"
    if encoding.startswith(_WIDE) and any(side and other != encoding for other, side in found):
        return ""
    if encoding in STATEFUL and not all(_is_text_by_line(side, encoding) for side in sides):
        return ""
    return encoding


def _is_text_by_line(data: bytes, encoding: str) -> bool:
    """Whether each line of a text is one by itself, and does not go on in what the line before has switched to."""
    lines = data.splitlines(keepends=True)
    return "".join([line.decode(encoding, "replace") for line in lines]) == data.decode(encoding, "replace")


def merge_text(
    base: bytes, ours: bytes, theirs: bytes, our_name: str, their_name: str, *, encoding: str = "utf-8",
    mark_chars: int = MARK_CHARS, favour: str = "",
) -> MergedText | None:  # fmt: skip
    """Merge two changes of one text; None where it cannot be compared line by line: it is too long, or damaged.

    Args:
        base: The common version.
        ours: Our version, in the same encoding.
        theirs: Their version, in the same encoding.
        our_name: Shown in conflict markers.
        their_name: The same for the other side.
        encoding: Theirs all; markers are written in it, and with the line ends around them.
        mark_chars: How many characters a marker has; `holds_markers` looks for the usual number.
        favour: Whose lines stand where both changed the same: `ours`, `theirs`, or "" for markers.
    """
    texts = [base, ours, theirs]
    if encoding.startswith(_WIDE):
        try:
            texts = [text.decode(encoding).encode() for text in texts]
        except UnicodeError:
            return None
    # Where a file begins with a byte order mark, no conflict marker may come before it.
    marks = [text.startswith(_BYTE_ORDER_MARK) for text in texts]
    sides = [text.removeprefix(_BYTE_ORDER_MARK).splitlines(keepends=True) for text in texts]
    if max(map(len, sides)) > MAX_LINES:
        return None
    narrow = "utf-8" if encoding.startswith(_WIDE) else encoding
    names = our_name.encode(narrow, "replace"), their_name.encode(narrow, "replace")
    merged = [_BYTE_ORDER_MARK] if marks[1 if marks[1] != marks[0] else 2] else []
    conflicts = 0
    for base_part, our_part, their_part in _regions(*sides):
        if our_part == their_part or their_part == base_part:
            merged += our_part
        elif our_part == base_part:
            merged += their_part
        elif favour:
            merged += our_part if favour == "ours" else their_part
        else:
            conflicts += 1
            end = next(filter(None, map(_line_end, (our_part, their_part, *sides))), b"\n")
            head, tail = _agreed(our_part, their_part)
            merged += our_part[:head]
            ours_apart, theirs_apart = (part[head : len(part) - tail] for part in (our_part, their_part))
            merged += _marked(ours_apart, theirs_apart, names, mark_chars, end)
            merged += our_part[len(our_part) - tail :]
    data = b"".join(merged)
    return MergedText(data.decode().encode(encoding) if encoding.startswith(_WIDE) else data, conflicts)


def holds_markers(data: bytes) -> bool:
    """Whether a place in a text is still marked as `merge_text` marks conflicts: the three lines, in this order."""
    encoding = detect_encoding(data) if b"\0" in data else ""
    if encoding.startswith(_WIDE):
        data = data.decode(encoding, "replace").encode("utf-8", "replace")
    if not all(mark in data for mark in _MARKS):
        return False
    seen, (ours, between, theirs) = 0, _MARKS
    for line in data.removeprefix(_BYTE_ORDER_MARK).splitlines():
        if seen == 0 and line.startswith(ours):
            seen = 1
        elif seen == 1 and line == between:
            seen = 2
        elif seen == 2 and line.startswith(theirs):
            return True
    return False


def _marked(
    ours: Sequence[bytes], theirs: Sequence[bytes], names: tuple[bytes, bytes], chars: int, end: bytes
) -> list[bytes]:
    return [
        b"<" * chars + b" " + names[0] + end, *_ended(ours, end), b"=" * chars + end, *_ended(theirs, end),
        b">" * chars + b" " + names[1] + end,
    ]  # fmt: skip


def _agreed(ours: Sequence[bytes], theirs: Sequence[bytes]) -> tuple[int, int]:
    """How many lines both sides have in common at the start and at the end: nobody has to decide about those."""
    most = min(len(ours), len(theirs))
    head = next((place for place in range(most) if ours[place] != theirs[place]), most)
    tail = next(
        (place for place in range(most - head) if ours[-1 - place] != theirs[-1 - place]), most - head
    )
    return head, tail


def _line_end(lines: Sequence[bytes]) -> bytes:
    """The first line end of a text; b"" where there is none."""
    for line in lines[:1]:
        return line[len(line.rstrip(b"\r\n")) :]
    return b""


def _ended(lines: Sequence[bytes], end: bytes) -> list[bytes]:
    """The lines with a line end after the last, so that a marker stands on its own line."""
    ended = list(lines)
    if ended and not ended[-1].endswith((b"\n", b"\r")):
        ended[-1] += end
    return ended


def _regions(
    base: Sequence[bytes], ours: Sequence[bytes], theirs: Sequence[bytes]
) -> Iterator[tuple[Sequence[bytes], Sequence[bytes], Sequence[bytes]]]:
    """The three texts cut at the same places: stable regions, and between them regions that a side changed."""
    at_base = at_ours = at_theirs = 0
    for start, end, our_start, their_start in _stable(base, ours, theirs):
        if start > at_base or our_start > at_ours or their_start > at_theirs:
            yield base[at_base:start], ours[at_ours:our_start], theirs[at_theirs:their_start]
        if end > start:
            same = base[start:end]
            yield same, same, same
        at_base, at_ours, at_theirs = end, our_start + end - start, their_start + end - start


def _stable(
    base: Sequence[bytes], ours: Sequence[bytes], theirs: Sequence[bytes]
) -> Iterator[tuple[int, int, int, int]]:
    """(start, end in base, start in ours, start in theirs) of lines that neither side touched, then the very end."""
    left, right = match_lines(base, ours), match_lines(base, theirs)
    i = j = 0
    while i < len(left) and j < len(right):
        our_block, their_block = left[i], right[j]
        start = max(our_block.a, their_block.a)
        end = min(our_block.a + our_block.size, their_block.a + their_block.size)
        if start < end:
            yield start, end, our_block.b + start - our_block.a, their_block.b + start - their_block.a
        if our_block.a + our_block.size < their_block.a + their_block.size:
            i += 1
        else:
            j += 1
    yield len(base), len(base), len(ours), len(theirs)
