"""Which lines of two texts are the same ones, found in about linear time however repetitive the texts are.

Common beginnings and ends are set aside first. Where much is left, lines that are in both texts once divide it, as
in Bram Cohen's patience diff. What is then small is compared as a whole (Ratcliff and Obershelp, in `difflib`), what
is not by Myers, An O(ND) Difference Algorithm and Its Variations (Algorithmica 1986), for as many differences as are
worth it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

_SMALL_CELLS = 40_000
"""Lines of one text times lines of the other that are compared as a whole: the time for it grows with this number."""
_MAX_DIFFERENCES = 500
"""Of two texts without a line of their own; what differs more counts as wholly different."""
_LOOKS_PER_LINE = 40
"""How often a line is looked at on the average while texts are divided; beyond that, the rest counts as different."""


class Block(NamedTuple):
    """Lines that two texts share: where they begin in either, and how many they are."""

    a: int
    b: int
    size: int


class _Part(NamedTuple):
    """Lines `a` up to `a_end` of one text and `b` up to `b_end` of the other."""

    a: int
    a_end: int
    b: int
    b_end: int


def match_lines(one: Sequence[bytes], other: Sequence[bytes]) -> list[Block]:
    """The lines that two texts share, in the same order in both; longest runs where there is a choice.

    Every block is as it says; that no more is shared is not promised.
    """
    numbers: dict[bytes, int] = {}
    left = [numbers.setdefault(line, len(numbers)) for line in one]
    right = [numbers.setdefault(line, len(numbers)) for line in other]
    found: list[Block] = []
    parts = [_Part(0, len(left), 0, len(right))]
    looks = _LOOKS_PER_LINE * (len(left) + len(right))
    while parts:
        part = _trim(left, right, parts.pop(), found)
        lines = part.a_end - part.a + part.b_end - part.b
        looks -= lines
        if part.a == part.a_end or part.b == part.b_end or looks < 0:
            continue
        if (part.a_end - part.a) * (part.b_end - part.b) <= _SMALL_CELLS:
            found += _compare(left, right, part)
            continue
        anchors = _anchors(left, right, part)
        if anchors:
            parts += _divide(part, anchors)
        else:
            found += _walk(left, right, part)
    return _joined(sorted(found))


def _trim(left: Sequence[int], right: Sequence[int], part: _Part, found: list[Block]) -> _Part:
    """The part without what both texts begin and end with, which is noted."""
    a, a_end, b, b_end = part
    while a < a_end and b < b_end and left[a] == right[b]:
        a, b = a + 1, b + 1
    while a < a_end and b < b_end and left[a_end - 1] == right[b_end - 1]:
        a_end, b_end = a_end - 1, b_end - 1
    if a > part.a:
        found.append(Block(part.a, part.b, a - part.a))
    if a_end < part.a_end:
        found.append(Block(a_end, b_end, part.a_end - a_end))
    return _Part(a, a_end, b, b_end)


def _compare(left: Sequence[int], right: Sequence[int], part: _Part) -> Iterator[Block]:
    matcher = SequenceMatcher(None, left[part.a : part.a_end], right[part.b : part.b_end], autojunk=False)
    for a, b, size in matcher.get_matching_blocks():
        if size:
            yield Block(part.a + a, part.b + b, size)


def _anchors(left: Sequence[int], right: Sequence[int], part: _Part) -> list[tuple[int, int]]:
    """Places of lines that are in both texts once, as many as are in the same order in both."""
    in_left, in_right = Counter(left[part.a : part.a_end]), Counter(right[part.b : part.b_end])
    places = {right[b]: b for b in range(part.b, part.b_end) if in_right[right[b]] == 1}
    pairs = [
        (a, places[left[a]]) for a in range(part.a, part.a_end) if in_left[left[a]] == 1 and left[a] in places
    ]
    # The longest ascending run of places: for each length the pair with the least last place, and what came before it.
    lasts: list[int] = []
    ends: list[int] = []
    before: list[int] = []
    for number, (_, place) in enumerate(pairs):
        length = bisect_left(lasts, place)
        before.append(ends[length - 1] if length else -1)
        lasts[length : length + 1] = [place]
        ends[length : length + 1] = [number]
    run = []
    number = ends[-1] if ends else -1
    while number >= 0:
        run.append(pairs[number])
        number = before[number]
    return run[::-1]


def _divide(part: _Part, anchors: Sequence[tuple[int, int]]) -> Iterator[_Part]:
    """The parts that begin at the anchors, which head them, and the one before the first."""
    a, b = part.a, part.b
    for next_a, next_b in anchors:
        yield _Part(a, next_a, b, next_b)
        a, b = next_a, next_b
    yield _Part(a, part.a_end, b, part.b_end)


def _walk(left: Sequence[int], right: Sequence[int], part: _Part) -> list[Block]:
    """Myers' greedy search for the fewest differences; nothing where there are too many."""
    a_size, b_size = part.a_end - part.a, part.b_end - part.b
    reach = {1: 0}
    history: list[dict[int, int]] = []
    for differences in range(_MAX_DIFFERENCES + 1):
        history.append(dict(reach))
        for diagonal in range(-differences, differences + 1, 2):
            down = diagonal == -differences or (
                diagonal != differences and reach[diagonal - 1] < reach[diagonal + 1]
            )
            x = reach[diagonal + 1] if down else reach[diagonal - 1] + 1
            y = x - diagonal
            while x < a_size and y < b_size and left[part.a + x] == right[part.b + y]:
                x, y = x + 1, y + 1
            reach[diagonal] = x
            if x >= a_size and y >= b_size:
                return list(_walk_back(part, history, x, y))
    return []


def _walk_back(part: _Part, history: Sequence[dict[int, int]], x: int, y: int) -> Iterator[Block]:
    """The shared lines on the way that `_walk` has found."""
    for differences in range(len(history) - 1, -1, -1):
        reach, diagonal = history[differences], x - y
        down = diagonal == -differences or (
            diagonal != differences and reach[diagonal - 1] < reach[diagonal + 1]
        )
        from_x = reach[diagonal + 1] if down else reach[diagonal - 1]
        from_y = from_x - (diagonal + 1 if down else diagonal - 1)
        start = 0 if not differences else from_x if down else from_x + 1
        if x > start:
            yield Block(part.a + start, part.b + start - diagonal, x - start)
        x, y = from_x, from_y


def _joined(blocks: Sequence[Block]) -> list[Block]:
    """The blocks with those that touch made one."""
    joined: list[Block] = []
    for block in blocks:
        last = joined[-1] if joined else None
        if last is not None and (last.a + last.size, last.b + last.size) == (block.a, block.b):
            joined[-1] = Block(last.a, last.b, last.size + block.size)
        else:
            joined.append(block)
    return joined
