"""Links as places in the document's own text: cheap to store, and bound to where they stand.

The links of a document are one flat list, seven values for each link. Where target, anchor and label stand in the
text letter for letter, the values are numbers that say where:

    [code, start - start of the link before, target - start, target bytes, anchor bytes, label - start, label bytes]

and the anchor follows the target behind one byte (`#`). Where they do not, the values are

    [code, line, relation, target, anchor, label, 0]

`code` is four times the number of the kind, one more for what is embedded, and two more where the text says it in
Markdown's way: target and anchor percent-encoded, the label with backticks and with white space of any length.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple
from urllib.parse import unquote

from arbor.errors import IntegrityError

Rows = Sequence[Any]


class Link(NamedTuple):
    """One link found in a document.

    Attributes:
        kind: `markdown`, `wikilink`, `frontmatter`, `html`, `rst`, or `url` (an address in plain sight).
        relation: `links`; `embeds` for images and `![[embeds]]`; or the front matter key in lower case with
            hyphens (`contradicts`, `see-also`).
        target: Path, title or address without the anchor; empty for a link within the document itself.
            Addresses (`https://…`) keep their fragment.
        anchor: Heading or block the link points at, without the `#`.
        text: What the reader sees: the label or the alias; empty when the target itself is shown.
        line: Line the link starts on, 1-based, counted from the start of the file.
    """

    kind: str
    relation: str
    target: str
    anchor: str
    text: str
    line: int


KINDS = ("markdown", "wikilink", "frontmatter", "html", "url", "rst")
MARKDOWN, WIKILINK, FRONT_MATTER, HTML, URL, RST = range(0, 24, 4)
"""The code of each kind."""

EMBEDS, MARKUP = 1, 2

WIDTH = 7
MAX_EXPANDED_BYTES = 64 * 1024 * 1024
"""Rows are small and can all point at one long stretch, so what they come to is bounded."""

MAX_WALKS = 16
"""How often rows may go over the whole text: each kind of link is looked for once from its beginning."""

_CODES = {name: 4 * number for number, name in enumerate(KINDS)}
_RELATIONS = ("links", "embeds")


def explicit_rows(links: Iterable[Link]) -> list[Any]:
    """The values of links that do not say where in the text they stand."""
    rows: list[Any] = []
    for kind, relation, target, anchor, text, line in links:
        embeds = relation == "embeds"
        named = "" if embeds or relation == "links" else relation
        rows += (_CODES[kind] + embeds, line, named, target, anchor, text, 0)
    return rows


def expand_links(rows: Rows, data: bytes) -> tuple[Link, ...]:
    """The links of stored values.

    Args:
        rows: As stored.
        data: The passages, joined.

    Raises:
        IntegrityError: when a link points outside of the text or is of another shape.
    """
    links: list[Link] = []
    line, start, expanded, walked = 1, 0, 0, 0
    try:
        for code, gap, target, target_bytes, anchor, label, label_bytes in _records(rows):
            kind, relation = KINDS[code >> 2], _RELATIONS[code & EMBEDS]
            if type(target) is str:
                link = Link(kind, target or relation, target_bytes, anchor, label, gap)
            else:
                walked += abs(gap)
                if walked > MAX_WALKS * len(data):
                    raise ValueError("walked")
                line += _lines_between(data, start, start + gap)
                start += gap
                place, end = start + target, start + target + target_bytes
                section = _read(data, end + 1, anchor) if anchor else ""
                shown = _read(data, start + label, label_bytes) if label_bytes else ""
                path = _read(data, place, target_bytes)
                if code & MARKUP:
                    path = path if is_address(path) else unquote(path)
                    section, shown = unquote(section), plain_label(shown)
                link = Link(kind, relation, path, section, shown, line)
            links.append(link)
            expanded += len(link.target) + len(link.anchor) + len(link.text)
            if expanded > MAX_EXPANDED_BYTES:
                raise ValueError("expanded")
    except (ValueError, TypeError, LookupError) as error:
        raise IntegrityError("a stored link does not fit its document") from error
    return tuple(links)


def is_address(target: str) -> bool:
    """Whether a target is an address (`scheme://…`, `mailto:…`) and no path."""
    return "://" in target[:64] or target.startswith(("mailto:", "data:", "tel:"))


def plain_label(label: str) -> str:
    """A label without backticks, its words one space apart."""
    return " ".join(label.replace("`", "").split())


def _records(rows: Rows) -> Iterable[tuple[Any, ...]]:
    values = iter(rows)
    return zip(*[values] * WIDTH, strict=True)


def _lines_between(data: bytes, before: int, start: int) -> int:
    """Line ends from one place to another, negative when that lies before it."""
    if not 0 <= start <= len(data):
        raise ValueError("place")
    return data.count(b"\n", before, start) if start >= before else -data.count(b"\n", start, before)


def _read(data: bytes, start: int, size: int) -> str:
    if start < 0 or size < 0 or start + size > len(data):
        raise ValueError("place")
    # Files whose bytes are not all sound are kept as they are.
    return data[start : start + size].decode("utf-8", "replace")


def check_rows(rows: Any) -> None:
    """Whether stored values have the right shape, without the text they point into.

    Raises:
        ValueError: when they do not.
    """
    if not isinstance(rows, (list, tuple)) or len(rows) % WIDTH:
        raise ValueError("links")
    if {int}.issuperset(map(type, rows)):  # nearly always: then columns are slices
        _check_placed([rows[place::WIDTH] for place in range(WIDTH)])
        return
    records = list(_records(rows))
    placed = [record for record in records if type(record[2]) is int]
    told = [record for record in records if type(record[2]) is str]
    if len(placed) + len(told) != len(records) or not all(map(_is_told, told)):
        raise ValueError("link")
    _check_placed(list(zip(*placed, strict=True)))


def _check_placed(columns: Sequence[Sequence[Any]]) -> None:
    if not columns or not columns[0]:
        return
    for numbers in columns:
        _only_ints(numbers)
    _check_codes(columns[0])
    if min(map(min, (columns[3], columns[4], columns[6]))) < 0:
        raise ValueError("link")


def _is_told(record: tuple[Any, ...]) -> bool:
    code, line, _, target, anchor, label, rest = record
    _only_ints((code, line, rest))
    _check_codes((code,))
    return {str}.issuperset(map(type, (target, anchor, label))) and line >= 1 and not rest


def _check_codes(codes: Sequence[int]) -> None:
    if min(codes) < 0 or max(codes) >= 4 * len(KINDS):
        raise ValueError("link")


def _only_ints(values: Iterable[Any]) -> None:
    if not {int}.issuperset(map(type, values)):
        raise ValueError("link")
