"""Three-way merge of lines, with conflict markers where both sides changed the same place.

Source: Khanna, Kunal and Pierce, A Formal Investigation of Diff3 (FSTTCS 2007).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

MAX_LINES = 50_000
MARK_CHARS = 7
"""How many characters a conflict marker has, as in git."""
_MARKS = (b"<<<<<<< ", b"=======", b">>>>>>> ")


@dataclass(frozen=True, slots=True)
class MergedText:
    """The outcome: the merged bytes, and how many places are in conflict."""

    data: bytes
    conflicts: int


def merge_text(
    base: bytes, ours: bytes, theirs: bytes, our_name: str, their_name: str, *, mark_chars: int = MARK_CHARS
) -> MergedText | None:
    """Merge two changes of one text; None where it is too long to be compared line by line.

    Args:
        base: The common version, in an encoding whose line feed is the byte 0x0A.
        ours: Our version, in the same encoding.
        theirs: Their version, in the same encoding.
        our_name: Shown in conflict markers.
        their_name: The same for the other side.
        mark_chars: How many characters a marker has; `holds_markers` looks for the usual number.
    """
    sides = [side.splitlines(keepends=True) for side in (base, ours, theirs)]
    if max(map(len, sides)) > MAX_LINES:
        return None
    merged: list[bytes] = []
    conflicts = 0
    for base_part, our_part, their_part in _regions(*sides):
        if our_part == their_part or their_part == base_part:
            merged += our_part
        elif our_part == base_part:
            merged += their_part
        else:
            conflicts += 1
            merged += _marked(our_part, their_part, our_name, their_name, mark_chars)
    return MergedText(b"".join(merged), conflicts)


def holds_markers(data: bytes) -> bool:
    """Whether a place in a text is still marked as `merge_text` marks conflicts: the three lines, in this order."""
    if not all(mark in data for mark in _MARKS):
        return False
    seen, (ours, between, theirs) = 0, _MARKS
    for line in data.splitlines():
        if seen == 0 and line.startswith(ours):
            seen = 1
        elif seen == 1 and line == between:
            seen = 2
        elif seen == 2 and line.startswith(theirs):
            return True
    return False


def _marked(
    ours: Sequence[bytes], theirs: Sequence[bytes], our_name: str, their_name: str, chars: int
) -> list[bytes]:
    return [
        f"{'<' * chars} {our_name}\n".encode(), *_ended(ours), b"=" * chars + b"\n", *_ended(theirs),
        f"{'>' * chars} {their_name}\n".encode(),
    ]  # fmt: skip


def _ended(lines: Sequence[bytes]) -> list[bytes]:
    """The lines with a line end after the last, so that a marker stands on its own line."""
    ended = list(lines)
    if ended and not ended[-1].endswith((b"\n", b"\r")):
        ended[-1] += b"\n"
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
    left = SequenceMatcher(None, base, ours, autojunk=False).get_matching_blocks()
    right = SequenceMatcher(None, base, theirs, autojunk=False).get_matching_blocks()
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
