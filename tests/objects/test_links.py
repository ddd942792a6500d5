"""Links are stored as places in the text, and come back as they were found."""

from __future__ import annotations

import msgpack
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arbor.errors import IntegrityError
from arbor.objects import links
from arbor.objects.links import LinkRef, check_rows, compact_links, expand_links

WORDS = st.sampled_from(
    ["alpha", "beta.md", "目录/安装.md", "カード", "https://example.org/a?b=c", "x", "", "👍🏽 emoji", "é"]
)
FOREIGN = st.text(max_size=12)
PARTS = WORDS | FOREIGN
LINKS = st.lists(
    st.builds(
        LinkRef,
        st.sampled_from(links.KINDS) | st.just("citation"),
        st.sampled_from(["links", "embeds", "contradicts"]),
        PARTS,
        PARTS,
        PARTS,
        st.integers(1, 400),
    ),
    max_size=12,
)


def as_stored(rows: object) -> object:
    return msgpack.unpackb(msgpack.packb(rows))


@given(LINKS, st.lists(PARTS, max_size=30), st.sampled_from(["utf-8", "utf-16-le", "gb18030"]))
@settings(max_examples=400)
def test_links_come_back_whatever_the_text_is(found: list[LinkRef], words: list[str], encoding: str) -> None:
    data = " ".join(words).encode(encoding)
    rows = as_stored(compact_links(found, data))
    check_rows(rows)
    assert expand_links(rows, data) == tuple(found)  # type: ignore[arg-type]


def test_what_stands_in_the_text_is_not_stored_again() -> None:
    text = "\n".join(f"See [the chapter on 安装 {n}](guide/安装-{n}.md#第{n}节) for more." for n in range(50))
    found = [
        LinkRef("markdown", "links", f"guide/安装-{n}.md", f"第{n}节", f"the chapter on 安装 {n}", n + 1)
        for n in range(50)
    ]
    rows = compact_links(found, text.encode())
    assert expand_links(rows, text.encode()) == tuple(found)
    assert all(isinstance(target, list) for _, _, _, target, _, _ in rows)
    assert len(msgpack.packb(rows)) < len(text.encode()) / 3


def test_a_target_that_is_not_in_the_text_is_stored_itself() -> None:
    link = LinkRef("markdown", "links", "with spaces.md", "", "label", 1)
    rows = compact_links([link], b"[label](with%20spaces.md)")
    assert rows[0][3] == "with spaces.md"
    assert expand_links(rows, b"[label](with%20spaces.md)") == (link,)


def test_lines_may_go_back() -> None:
    found = [LinkRef("markdown", "links", "a", "", "", 9), LinkRef("wikilink", "links", "b", "", "", 2)]
    assert expand_links(compact_links(found, b""), b"") == tuple(found)


@pytest.mark.parametrize(
    "row",
    [
        [9, "", 1, "", "", ""],
        [-1, "", 1, "", "", ""],
        [True, "", 1, "", "", ""],
        [0, 1, 1, "", "", ""],
        [0, "", "1", "", "", ""],
        [0, "", 1.0, "", "", ""],
        [0, "", 1, b"", "", ""],
        [0, "", 1, [1], "", ""],
        [0, "", 1, [1, 2, 3], "", ""],
        [0, "", 1, [1, -2], "", ""],
        [0, "", 1, [True, 2], "", ""],
        [0, "", 1, [0, 2**31], "", ""],
        [0, "", 1, "", "", ""][:5],
        [0, "", 1, "", "", "", ""],
        None,
        5,
        "abcdef",
    ],
)
def test_a_row_of_another_shape_is_refused(row: object) -> None:
    with pytest.raises((ValueError, TypeError)):
        check_rows([row])


@pytest.mark.parametrize("rows", ["", {}, b"", None, (), "abc"])
def test_only_a_list_is_a_list_of_links(rows: object) -> None:
    with pytest.raises(ValueError, match="links"):
        check_rows(rows)


@pytest.mark.parametrize("span", [[0, 40], [-1, 3], [38, 3], [2**62, 4], [0, 1]])
def test_a_span_outside_of_the_text_or_inside_a_character_is_refused(span: list[int]) -> None:
    data = "中文字符".encode() + b" and what follows it in it"
    with pytest.raises(IntegrityError):
        expand_links([[0, "", 1, span, "", ""]], data)


def test_many_small_rows_cannot_grow_beyond_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(links, "MAX_EXPANDED_BYTES", 10_000)
    data = b"x" * 1000
    with pytest.raises(IntegrityError):
        expand_links([[0, "", 1, [0, 1000], "", ""]] * 11, data)
    assert len(expand_links([[0, "", 1, [0, 1000], "", ""]] * 9, data)) == 9


@pytest.mark.parametrize("size", [3, 4, 65_535, 65_536, 65_537, 200_000])
def test_labels_and_targets_of_every_length(size: int) -> None:
    label, target = "l" * size, "t" * size
    for text in (f"[{label}]({target})", f"[[{target}|{label}]]"):
        link = LinkRef("markdown", "links", target, "", label, 1)
        rows = as_stored(compact_links([link], text.encode()))
        check_rows(rows)
        assert expand_links(rows, text.encode()) == (link,)  # type: ignore[arg-type]
