"""Which lines two texts share: always so, in order, and as many as another implementation finds where it can tell."""

from __future__ import annotations

import random
from difflib import SequenceMatcher

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbor.repo.merge import line_matching
from arbor.repo.merge.line_matching import match_lines

LINES = st.lists(st.sampled_from([b"a\n", b"b\n", b"c\n", b"\n"]), max_size=30)


def check(one: list[bytes], other: list[bytes]) -> int:
    """The blocks are what they say; how many lines are in them."""
    a = b = 0
    for block in match_lines(one, other):
        assert block.size > 0
        assert (block.a >= a, block.b >= b) == (True, True)
        assert one[block.a : block.a + block.size] == other[block.b : block.b + block.size]
        a, b = block.a + block.size, block.b + block.size
    assert (a <= len(one), b <= len(other)) == (True, True)
    return sum(block.size for block in match_lines(one, other))


@given(LINES, LINES)
def test_blocks_are_shared_lines_in_order(one: list[bytes], other: list[bytes]) -> None:
    check(one, other)


def longest(one: list[bytes], other: list[bytes]) -> int:
    """The length of the longest common subsequence, by the textbook."""
    row = [0] * (len(other) + 1)
    for line in one:
        before = 0
        for place, its in enumerate(other, 1):
            before, row[place] = row[place], before + 1 if line == its else max(row[place], row[place - 1])
    return row[-1]


@given(LINES, LINES)
def test_myers_finds_the_fewest_differences(one: list[bytes], other: list[bytes]) -> None:
    part = line_matching._Part(0, len(one), 0, len(other))
    left, right = ([line[0] for line in side] for side in (one, other))
    found = line_matching._walk(left, right, part)
    assert sum(block.size for block in found) == longest(one, other)
    for a, b, size in found:
        assert left[a : a + size] == right[b : b + size]


@pytest.mark.parametrize("seed", range(20))
def test_long_texts_share_about_what_difflib_finds(seed: int) -> None:
    source = random.Random(seed)
    kinds = source.choice([5, 50, 5000])
    one = [b"%d\n" % source.randrange(kinds) for _ in range(700)]
    other = list(one)
    for _ in range(source.choice([3, 30, 200])):
        place = source.randrange(len(other))
        other[place : place + source.randrange(3)] = [b"%d\n" % source.randrange(kinds)] * source.randrange(3)
    matcher = SequenceMatcher(None, one, other, autojunk=False)
    assert check(one, other) >= 0.9 * sum(block.size for block in matcher.get_matching_blocks())


def test_what_is_too_different_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line_matching, "_MAX_DIFFERENCES", 3)
    monkeypatch.setattr(line_matching, "_SMALL_CELLS", 1)
    assert match_lines([b"a", b"x", b"x", b"b"], [b"a", b"y", b"y", b"b"]) == [(0, 0, 1), (3, 3, 1)]
    assert match_lines([b"x", b"y"] * 9, [b"y", b"z"] * 9) == []


def test_dividing_ends_when_lines_were_looked_at_often_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line_matching, "_LOOKS_PER_LINE", 1)
    monkeypatch.setattr(line_matching, "_SMALL_CELLS", 1)
    one = [b"%d" % number for number in range(40)]
    assert check(one, [line for line in one if line != b"20"][::-1]) <= 1
