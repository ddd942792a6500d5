"""Links as spans of the document's own bytes: small to store, and bound to where they stand.

Most targets and labels stand in the text letter for letter, so a stored link says where instead of repeating them.
A row is [kind, relation, lines after the link before, target, anchor, text]; each of the last three is a string, or
[bytes after the target before, length] where the passages hold it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from arbor.errors import IntegrityError


class LinkRef(NamedTuple):
    """One link found in the text; `line` is 1-based and absolute."""

    kind: str
    relation: str
    target: str
    anchor: str
    text: str
    line: int


KINDS = ("markdown", "wikilink", "frontmatter", "html", "url")
_CODES = {kind: code for code, kind in enumerate(KINDS)}
MAX_EXPANDED_BYTES = 256 * 1024 * 1024
"""Rows are small and can all point at one long span, so what they come to is bounded."""
WINDOW_BYTES = 64 * 1024
_MIN_SPAN = 4


def compact_links(links: Iterable[tuple[str, str, str, str, str, int]], data: bytes) -> list[list[Any]]:
    """Rows for links in the order of the text.

    Args:
        links: What was found, as the fields of `LinkRef`.
        data: The passages, joined.
    """
    rows: list[list[Any]] = []
    line = place = 0
    for kind, relation, target, anchor, text, at_line in links:
        field, found = _span(target, data, place, place)
        label = _label(text, data, found, len(field) if isinstance(field, str) else field[1]) if text else ""
        section = _span(anchor, data, found, found)[0] if anchor else ""
        code = _CODES.get(kind, kind)
        rows.append([code, "" if relation == "links" else relation, at_line - line, field, section, label])
        line, place = at_line, found
    return rows


def _label(text: str, data: bytes, found: int, length: int) -> Any:
    """The row field of a label: nearly always it stands right before its target, or right after it."""
    encoded = text.encode("utf-8", "surrogatepass")
    size = len(encoded)
    if _MIN_SPAN <= size <= WINDOW_BYTES:
        if data[found - size - 2 : found - 2] == encoded and found >= size + 2:
            return [-size - 2, size]
        if data[found + length + 1 : found + length + 1 + size] == encoded:
            return [length + 1, size]
    return _span(text, data, max(found - size - 8, 0), found)[0]


def _span(text: str, data: bytes, start: int, base: int) -> tuple[Any, int]:
    """(row field, place): a span relative to `base` where `text` stands within the window, else the text itself."""
    if len(text) < _MIN_SPAN:
        return text, base
    encoded = text.encode("utf-8", "surrogatepass")
    found = data.find(encoded, start, start + WINDOW_BYTES)
    if found < 0:
        return text, base
    return [found - base, len(encoded)], found


def expand_links(rows: Sequence[Sequence[Any]], data: bytes) -> tuple[LinkRef, ...]:
    """The links of stored rows.

    Raises:
        IntegrityError: when a row points outside of the text or is of another shape.
    """
    links: list[LinkRef] = []
    line, place, expanded = 0, 0, 0
    try:
        for kind, relation, lines, target, anchor, text in rows:
            line += lines
            target_text, found = _read(target, data, place)
            anchor_text, _ = _read(anchor, data, found)
            label, _ = _read(text, data, found)
            name = KINDS[kind] if isinstance(kind, int) else kind
            links.append(LinkRef(name, relation or "links", target_text, anchor_text, label, line))
            place = found
            expanded += len(target_text) + len(anchor_text) + len(label)
            if expanded > MAX_EXPANDED_BYTES:
                raise ValueError("expanded")
    except (ValueError, TypeError, IndexError) as error:
        raise IntegrityError("a stored link does not fit its document") from error
    return tuple(links)


def _read(value: Any, data: bytes, base: int) -> tuple[str, int]:
    if isinstance(value, str):
        return value, base
    offset, length = value
    start = base + offset
    if start < 0 or length < 0 or start + length > len(data):
        raise ValueError("span")
    return data[start : start + length].decode("utf-8"), start


def check_rows(rows: Any) -> None:
    """Whether stored rows have the right shape, without the text they point into.

    Raises:
        ValueError: when they do not.
    """
    if type(rows) is not list:
        raise ValueError("links")
    for kind, relation, lines, target, anchor, text in rows:
        if type(kind) is int:
            if not 0 <= kind < len(KINDS):
                raise ValueError("link")
        elif type(kind) is not str:
            raise ValueError("link")
        if type(relation) is not str or type(lines) is not int:
            raise ValueError("link")
        for value in (target, anchor, text):
            if type(value) is not str and not _is_span(value):
                raise ValueError("link")


def _is_span(value: Any) -> bool:
    if type(value) is not list or len(value) != 2 or type(value[0]) is not int or type(value[1]) is not int:
        return False
    return 0 <= value[1] <= WINDOW_BYTES
