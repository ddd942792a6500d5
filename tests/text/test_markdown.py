"""Markdown: what is a heading, what only looks like one, and the title."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from arbor.objects.links import expand_links
from arbor.text.readers.markdown import clean_title, find_structure
from arbor.text.reading import extract


def headings(text: str) -> list[tuple[int, str]]:
    return [(mark.level, mark.title) for mark in find_structure(b"\n" + text.encode(), 1).marks]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# A", [(1, "A")]),
        ("###### A\n", [(6, "A")]),
        ("   # A\n", [(1, "A")]),
        ("#\tA\n", [(1, "A")]),
        ("# A #\n", [(1, "A")]),
        ("## C#\n", [(2, "C#")]),
        ("#\n", [(1, "")]),
        ("##", [(2, "")]),
        ("# A\r\n## B\r\n", [(1, "A"), (2, "B")]),
        ("words\n# A\n", [(1, "A")]),
        ("A\n===\n", [(1, "A")]),
        ("A\n---\n", [(2, "A")]),
        ("words\n\nA b\n=\n", [(1, "A b")]),
        ("words\r\n\r\nA b\r\n---\r\n", [(2, "A b")]),
        ("# A\n\nB\n--", [(1, "A"), (2, "B")]),
        ("    # code\n", []),
        ("#tag\n", []),
        ("####### seven\n", []),
        ("> # quoted\n", []),
        ("\\# escaped\n", []),
        ("words # no\n", []),
        ("\n---\n", []),
        ("- item\n---\n", []),
        ("a\nb\n---\n", []),
        ("| a |\n---\n", []),
        ("```\n# code\n```\n", []),
        ("```\n# code\n\nA\n===\n", []),
        ("~~~ py\n# code\n```\n# code\n~~~\n# A\n", [(1, "A")]),
        ("````\n```\n# code\n````\n# A\n", [(1, "A")]),
        ("- ```\n  # code\n  ```\n# A\n", [(1, "A")]),
        ("> ```\n> x\n> ```\n# A\n", [(1, "A")]),
        ("```not`a`fence\n# A\n", [(1, "A")]),
        ("<!--\n# hidden\n-->\n# A\n", [(1, "A")]),
        ("<!-- x --> y\n# A\n", [(1, "A")]),
        ("```\n<!--\n```\n# A\n", [(1, "A")]),
        ("<!--\n```\n-->\n# A\n", [(1, "A")]),
        ("<!-->\n# A\n", [(1, "A")]),
        ("<pre>\n# raw\n\n# raw\n</pre>\n# A\n", [(1, "A")]),
        ("  <PRE class='x'>\n# raw\n</Script> # raw\n# A\n", [(1, "A")]),
        ("<pre>x</pre>\n# A\n", [(1, "A")]),
        ("<pre\n# raw\n", []),
        ("<presto>\n# A\n", [(1, "A")]),
        ("    <pre>\n# A\n", [(1, "A")]),
        ("words <pre>\n# A\n</pre>\n", [(1, "A")]),
        ("words\n<script>\n# raw\n</script>\n# A\n", [(1, "A")]),
        ("<style>\n# raw {}\n\nraw\n===\n</style>\n# A\n", [(1, "A")]),
        ("<textarea>\r\n# raw\r\n</textarea>\r\n# A\r\n", [(1, "A")]),
        ("<?php\n# raw\n?>\n# A\n", [(1, "A")]),
        ("<?\n\nraw ?> raw\n===\n", []),
        ("<!DOCTYPE x [\n# raw\n>\n# A\n", [(1, "A")]),
        ("<![CDATA[\n# raw >\n]]>\n# A\n", [(1, "A")]),
        ("<div>\n\n# A\n\n</div>\n", [(1, "A")]),
        ("<pre>\n```\n</pre>\n# A\n", [(1, "A")]),
        ("```\n<pre>\n```\n# A\n", [(1, "A")]),
    ],
)
def test_headings(text: str, expected: list[tuple[int, str]]) -> None:
    assert headings(text) == expected


@pytest.mark.parametrize(
    ("raw", "title"),
    [
        ("plain", "plain"),
        ("The `String` **Type**", "The String Type"),
        ("[Label](x.md) and [[page|alias]] and [[page]]", "Label and alias and page"),
        ("![logo](x.png) Name", "logo Name"),
        ('A <a id="x"></a>', "A"),
        ("snake_case * star", "snake_case * star"),
        ("\\# hash", "# hash"),
        ("a < b", "a < b"),
        ("中文 标题", "中文 标题"),
        ("函数签名 {#function-signature}", "函数签名"),
        ("Set {a, b} {: #sets .wide} ##", "Set {a, b}"),
        ("The set {a, b}", "The set {a, b}"),
        ("{#only}", ""),
    ],
)
def test_titles_are_shown_without_markup(raw: str, title: str) -> None:
    assert clean_title(raw.encode()) == title


def test_a_title_full_of_spaces_is_read_in_one_pass() -> None:
    title = f"a{' ' * 300_000}b}}"
    assert clean_title(title.encode()) == title  # to begin anew at each space would take minutes


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("", ""),
        ("words\n", ""),
        ("## B\n\n# A\n", "A"),
        ("## B\n\n### C\n", "B"),
        ("---\ntitle: T\n---\n# A\n", "T"),
        ("---\ntitle:\n---\n# A\n", "A"),
        ("---\n# comment\nA: 1\n---\n\nwords\n", ""),
        ("#\n\n# A\n", "A"),
    ],
)
def test_the_title(text: str, title: str) -> None:
    assert extract(text.encode(), "a.md").title == title


def test_links_in_raw_html_are_kept() -> None:
    text = b"<pre>\n<a href='b.md'>b</a>\n</pre>\n<!--\n[c](c.md)\n-->\n[d](d.md)\n"
    links = expand_links(extract(text, "a.md").link_rows, text)
    assert sorted(link.target for link in links) == ["b.md", "d.md"]


PARTS = ["<pre>\n", "x </script> y\n", "<?a\n", "b ?>\n", "<![CDATA[\n", "]]>\n",
         "# A\n", "## B c\n", "words\n", "\n", "```\n", "~~~\n", "````\n", "    # code\n", "<!--\n", "-->\n\n",
         "- item\n", "> quote\n",
         "### C ###\n", "#tag\n", "Under\n===\n", "\nLine\n---\n", "|a|\n"]  # fmt: skip


@given(parts=st.lists(st.sampled_from(PARTS), max_size=12))
@example(parts=["````\n", "```\n", "# A\n", "````\n", "# A\n"])
def test_atx_headings_agree_with_a_markdown_parser(parts: list[str]) -> None:
    text = "".join(parts)
    tokens = MarkdownIt("commonmark").parse(text)
    levels = [
        (int(token.tag[1]), after.content)
        for token, after in itertools.pairwise(tokens)
        if token.type == "heading_open" and token.markup.startswith("#") and token.level == 0
    ]
    ours = [(level, title) for level, title in headings(text) if title not in ("Under", "Line")]
    if "- item\n" not in parts and "> quote\n" not in parts:  # whose blocks end with them
        assert ours == levels
