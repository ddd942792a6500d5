"""The part of a passage that answers best, with its matches marked, cut between words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from arbor.lazy import lazy_pattern
from arbor.search.matching import Span
from arbor.text.folded_text import joins

SNIPPET_CHARS = 240
_WIDE_CHARS = 120
_LEAD_CHARS = 60
_CUT_SEARCH_CHARS = 24
_ONE_LINE = {ord(char): " " for char in "\n\r\t\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029\0"}
_ELLIPSIS = "…"
_WIDE_CHAR = lazy_pattern("[\u1100-\U0010ffff]")


class Snippet(NamedTuple):
    """Text on one line, (start, end) of the matches in it, ascending and apart, and where it stands in the passage.

    `at` is the place of its first match; of its first character where nothing matches.
    """

    text: str
    highlights: tuple[tuple[int, int], ...]
    at: int = 0


def make_snippet(text: str, spans: Sequence[Span], weights: Mapping[int, float]) -> Snippet:
    """Choose the window that covers the most telling matches.

    Args:
        text: The passage.
        spans: Matches, in order.
        weights: What each unit is worth, by number.
    """
    length = SNIPPET_CHARS if _is_mostly_narrow(text) else _WIDE_CHARS
    window = _best_window(text, spans, weights, length)
    start = _cut_head(text, window, length) if window.start else len(text) - len(text.lstrip())
    end = min(len(text), start + length)
    end = max(_cut_before(text, end), min(window.last, end)) if end < len(text) else end
    if end <= start:
        end = min(len(text), start + length)
    while end > start and text[end - 1].isspace():
        end -= 1
    head = _ELLIPSIS if text[:start].strip() else ""
    tail = _ELLIPSIS if text[end:].strip() else ""
    shift = len(head) - start
    marks = [(max(span.start, start) + shift, min(span.end, end) + shift) for span in spans
             if span.start < end and span.end > start]  # fmt: skip
    at = marks[0][0] - shift if marks else start
    return Snippet(head + text[start:end].translate(_ONE_LINE) + tail, _merge(marks), at)


def _is_mostly_narrow(text: str) -> bool:
    """Han, kana and hangul are twice as wide and say twice as much."""
    if text.isascii():
        return True
    sample = text[:2000]
    return len(_WIDE_CHAR.findall(sample)) * 3 < len(sample)


class _Window(NamedTuple):
    """Where to begin, and the first and the last character of the matches for which the place was chosen."""

    start: int
    first: int
    last: int


def _best_window(text: str, spans: Sequence[Span], weights: Mapping[int, float], length: int) -> _Window:
    """A little before the group of matches whose different units are worth most."""
    best_value, best = 0.0, _Window(0, 0, 0)
    last = 0
    for first, span in enumerate(spans):
        last = max(last, first)
        while last + 1 < len(spans) and spans[last + 1].end <= span.start + length - _LEAD_CHARS:
            last += 1
        units = {each.unit for each in spans[first : last + 1]}
        value = sum(weights.get(unit, 0.0) for unit in units)
        if value > best_value:
            start = max(0, min(span.start - _LEAD_CHARS, len(text) - length))
            best_value = value
            best = _Window(start, span.start, max(each.end for each in spans[first : last + 1]))
    return best


def _cut_head(text: str, window: _Window, length: int) -> int:
    """Where no word goes on: before the window's start, or behind it where a match would else fall off the end."""
    start = _cut_before(text, window.start)
    if window.last - start <= length:
        return start
    return max(window.start, _cut_before(text, min(window.first, window.start + _CUT_SEARCH_CHARS)))


def _cut_before(text: str, position: int) -> int:
    """The nearest place at or before a position where no word goes on; the position where none is near.

    Between two characters of a script without spaces every place will do, if the second is no mark of the first.
    """
    for place in range(position, max(0, position - _CUT_SEARCH_CHARS), -1):
        is_between = text[place - 1] >= "\u2e80" and text[place] >= "\u2e80" and not joins(text[place])
        if text[place - 1].isspace() or is_between:
            return place
    while position > _CUT_SEARCH_CHARS and joins(text[position]):
        position -= 1
    return position if position > _CUT_SEARCH_CHARS else 0


def _merge(marks: list[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Overlapping and touching marks made one."""
    merged: list[tuple[int, int]] = []
    for start, end in sorted(marks):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        elif end > start:
            merged.append((start, end))
    return tuple(merged)
