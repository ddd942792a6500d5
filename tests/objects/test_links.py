"""Links are stored as places in the text, and come back as they were found."""

from __future__ import annotations

from typing import Any

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbor.errors import IntegrityError
from arbor.objects import links
from arbor.objects.links import (
    EMBEDS,
    FRONT_MATTER,
    MARKDOWN,
    MARKUP,
    URL,
    WIKILINK,
    Link,
    check_rows,
    expand_links,
    explicit_rows,
)

TEXT = (
    "第一 line\n[the label](note%20one.md#part) and\n![[page#^b|shown]] https://example.org/a%20b\n".encode()
)
LINKS = st.lists(
    st.builds(
        Link,
        st.sampled_from(links.KINDS),
        st.sampled_from(["links", "embeds", "contradicts"]),
        st.text(max_size=12),
        st.text(max_size=12),
        st.text(max_size=12),
        st.integers(1, 400),
    ),
    max_size=12,
)


def place(of: str, within: str) -> int:
    """Where a part stands in what is found in the text."""
    return TEXT.index(within.encode()) + within.encode().index(of.encode())


@given(LINKS)
def test_links_that_are_told_come_back(found: list[Link]) -> None:
    rows = msgpack.unpackb(msgpack.packb(explicit_rows(found)))
    check_rows(rows)
    assert expand_links(rows, b"") == tuple(found)


def test_links_that_are_placed_come_back() -> None:
    first, second = place("[", "[the label]"), place("[[", "[[page")
    third = place("https", "https")
    rows = [
        *(MARKDOWN + MARKUP, first, 12, 13, 4, 1, 9),
        *(WIKILINK + EMBEDS, second - first, 2, 4, 2, 10, 5),
        *(URL + MARKUP, third - second, 0, 25, 0, 0, 0),
        *(FRONT_MATTER, 1, "see-also", "c.md", "", "", 0),
        *(MARKDOWN, first - third, 12, 13, 0, 0, 0),
    ]
    check_rows(rows)
    assert expand_links(rows, TEXT) == (
        Link("markdown", "links", "note one.md", "part", "the label", 2),
        Link("wikilink", "embeds", "page", "^b", "shown", 3),
        Link("url", "links", "https://example.org/a%20b", "", "", 3),
        Link("frontmatter", "see-also", "c.md", "", "", 1),
        Link("markdown", "links", "note%20one.md", "", "", 2),
    )


PLACED = [MARKDOWN, 0, 0, 1, 0, 0, 0]
TOLD = [MARKDOWN, 1, "", "a", "", "", 0]


def changed(row: list[Any], number: int, value: object) -> list[Any]:
    return [*row[:number], value, *row[number + 1 :]]


@pytest.mark.parametrize(
    "rows",
    [
        *[changed(PLACED, 0, code) for code in (-1, 4 * len(links.KINDS), True, 1.0, "0", None)],
        *[changed(PLACED, number, value) for number in range(1, 7) for value in (True, 1.5, None, b"", [])],
        *[changed(PLACED, number, "x") for number in (1, 3, 4, 5, 6)],
        *[changed(PLACED, number, -1) for number in (3, 4, 6)],
        *[changed(TOLD, number, value) for number in (3, 4, 5) for value in (1, b"", None)],
        *[changed(TOLD, number, value) for number, value in ((1, 0), (1, -3), (1, "1"), (6, 1), (6, ""))],
        changed(TOLD, 2, 5),
        *[
            [*TOLD, *changed(PLACED, number, value)]
            for number, value in ((3, -1), (4, -1), (5, True), (6, -1))
        ],
        PLACED[:6],
        [*PLACED, 0],
        *["", {}, b"", None, "abcdefg", 7],
    ],
)
def test_rows_of_another_shape_are_refused(rows: object) -> None:
    with pytest.raises((ValueError, TypeError)):
        check_rows(rows)


@pytest.mark.parametrize(
    "row",
    [
        *[changed(PLACED, 1, start) for start in (-1, len(TEXT) + 1, 2**62)],
        *[changed(PLACED, 2, start) for start in (-1, len(TEXT), 2**62)],
        changed(PLACED, 3, len(TEXT) + 1),
        changed(PLACED, 4, len(TEXT)),
        changed(changed(PLACED, 6, 1), 5, -1),
        changed(changed(PLACED, 6, 5), 5, len(TEXT)),
        PLACED[:6],
    ],
)
def test_a_place_outside_of_the_text_is_refused(row: list[int]) -> None:
    with pytest.raises(IntegrityError):
        expand_links(row, TEXT)


def test_many_small_rows_cannot_grow_beyond_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(links, "MAX_EXPANDED_BYTES", 10_000)
    row = [MARKDOWN, 0, 0, 1000, 0, 0, 0]
    with pytest.raises(IntegrityError):
        expand_links(row * 11, b"x" * 1000)
    assert len(expand_links(row * 9, b"x" * 1000)) == 9


def test_what_is_not_sound_utf8_is_shown_as_far_as_it_is() -> None:
    """Files are kept as they are, and one bad byte must not take a document's links away."""
    assert expand_links([MARKDOWN, 0, 0, 4, 0, 0, 0], b"caf\xe9")[0].target == "caf\ufffd"


def test_rows_that_go_to_and_fro_are_refused_before_they_cost_much() -> None:
    data = b"\n" * 100_000
    rows = [MARKDOWN, len(data), 0, 0, 0, 0, 0, MARKDOWN, -len(data), 0, 0, 0, 0, 0] * 5_000
    check_rows(rows)
    with pytest.raises(IntegrityError):
        expand_links(rows, data)


def test_rows_may_go_over_the_text_as_often_as_there_is_a_bound_and_no_more() -> None:
    data = b"\n" * 100
    there, back = [MARKDOWN, len(data), 0, 0, 0, 0, 0], [MARKDOWN, -len(data), 0, 0, 0, 0, 0]
    rows = (there + back) * (links.MAX_WALKS // 2)
    assert len(expand_links(rows, data)) == links.MAX_WALKS
    with pytest.raises(IntegrityError):
        expand_links([*rows, MARKDOWN, 1, 0, 0, 0, 0, 0], data)
