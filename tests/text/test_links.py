"""Links: what is one, what only looks like one, and agreement with a Markdown parser."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from urllib.parse import unquote

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from arbor.objects.links import Link, check_rows, expand_links
from arbor.text.links import LinkFinder, find_front_matter_links, split_destination
from arbor.text.reading import extract


def find_links(text: str) -> tuple[Link, ...]:
    data = b"\n" + text.encode()
    finder = LinkFinder(data, 1)
    finder.find_links(data)
    check_rows(finder.rows)
    return expand_links(finder.rows, text.encode())


def found(text: str) -> list[tuple[str, str, str, str]]:
    return [(link.kind, link.target, link.anchor, link.text) for link in find_links(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[a](b.md)", ("markdown", "b.md", "", "a")),
        ("[a](b.md#c)", ("markdown", "b.md", "c", "a")),
        ("[a](#c)", ("markdown", "", "c", "a")),
        ('[a](b.md "title")', ("markdown", "b.md", "", "a")),
        ("[a](b.md 'title')", ("markdown", "b.md", "", "a")),
        ("[a]( b.md )", ("markdown", "b.md", "", "a")),
        ("[a](<my note.md>)", ("markdown", "my note.md", "", "a")),
        ("[a](my%20note.md)", ("markdown", "my note.md", "", "a")),
        ("[a](x_(y).md)", ("markdown", "x_(y).md", "", "a")),
        ("[a](https://x.org/p#q)", ("markdown", "https://x.org/p#q", "", "a")),
        ("[a [b] c](d.md)", ("markdown", "d.md", "", "a [b] c")),
        ("[two\nlines](b.md)", ("markdown", "b.md", "", "two lines")),
        ("[`code`](b.md)", ("markdown", "b.md", "", "code")),
        ("[]( b.md)", ("markdown", "b.md", "", "")),
        (r"[a\]b](c.md)", ("markdown", "c.md", "", "a]b")),
        (r"[a](b\(c.md)", ("markdown", "b(c.md", "", "a")),
        (r"[a \[x\]](b\#c%20d.md#e)", ("markdown", "b", "c d.md#e", "a [x]")),
        ("[a](b%20c.md#d%20e)", ("markdown", "b c.md", "d e", "a")),
        ("[a](https://x.org/b%20c#d)", ("markdown", "https://x.org/b%20c#d", "", "a")),
        ("[`a` two\n  words](b.md)", ("markdown", "b.md", "", "a two words")),
        ("[[ page ]]", ("wikilink", "page", "", "")),
        (r"[[page\|a \[b\]]]", ("wikilink", "page", "", "a [b]")),
        ("[[page]]", ("wikilink", "page", "", "")),
        ("[[page|shown]]", ("wikilink", "page", "", "shown")),
        ("[[page#part]]", ("wikilink", "page", "part", "")),
        ("[[page#part|shown]]", ("wikilink", "page", "part", "shown")),
        ("[[page#^block]]", ("wikilink", "page", "^block", "")),
        ("[[#part]]", ("wikilink", "", "part", "")),
        ("[[folder/my page & more, 🗂️]]", ("wikilink", "folder/my page & more, 🗂️", "", "")),
        (r"| [[page\|shown]] |", ("wikilink", "page", "", "shown")),
        ("中文[[页面|别名]]中文", ("wikilink", "页面", "", "别名")),
        ("<https://x.org/a>", ("url", "https://x.org/a", "", "")),
        ("see https://x.org/a.", ("url", "https://x.org/a", "", "")),
        ("(https://x.org/a_(b))", ("url", "https://x.org/a_(b)", "", "")),
        ("见https://x.org/a。后面", ("url", "https://x.org/a", "", "")),
        ('<a class="x" href="b.html#c">t</a>', ("html", "b.html", "c", "")),
        ("<a href='b.html'>t</a>", ("html", "b.html", "", "")),
        ("[a]\n\n[a]: b.md", ("markdown", "b.md", "", "a")),
        ("[a][r]\n\n[r]: <my b.md> 'title'", ("markdown", "my b.md", "", "a")),
        ("[A Label][]\n\n[a  label]: b.md", ("markdown", "b.md", "", "A Label")),
        ("[`Box<T>`]\n\n[`Box<T>`]: b.md", ("markdown", "b.md", "", "Box<T>")),
        ("a \\` [b](c.md) \\`", ("markdown", "c.md", "", "b")),
        ("`` ` `` [b](c.md) `x`", ("markdown", "c.md", "", "b")),
        ("a ` b\n\n[c](d.md) ` e", ("markdown", "d.md", "", "c")),
    ],
)
def test_one_link(text: str, expected: tuple[str, str, str, str]) -> None:
    assert found(text) == [expected]


@pytest.mark.parametrize(
    "text",
    [
        "`[a](b.md)`",
        "``[a](b.md) ` [[c]]``",
        "`code\nover [a](b.md) lines`",
        "<!-- [a](b.md) [[c]] -->",
        "words <!-- [a](b.md) --> words",
        "<!-- ` --> `[[a]]`",
        r"\[a](b.md)",
        r"\[[page]]",
        "[a]\n(b.md)",
        "[a\n\nb](c.md)",
        "[a](b c.md)",
        "[ ] task",
        "[x] done",
        "[[]]",
        "[a](",
        "[[page",
        "[[two\nlines]]",
        "[footnote^1] [^1]",
        "#tag @mention a:b",
        "http://",
        "`https://x.org`",
        "\\`[a](b.md)` is code\n\n".replace("\\", ""),
    ],
)
def test_no_link(text: str) -> None:
    assert found(text) == []


def test_an_image_in_a_link_gives_both() -> None:
    assert [(link.relation, link.target) for link in find_links("[![alt](pic.png)](page.md)")] == [
        ("embeds", "pic.png"),
        ("links", "page.md"),
    ]


def test_a_link_in_a_link_is_the_inner_one() -> None:
    assert [link.target for link in find_links("[a [b](c.md) d](e.md)")] == ["c.md"]


def test_embeds() -> None:
    links = find_links("![[note#part]] ![alt](pic.png) [[note]]")
    assert [link.relation for link in links] == ["embeds", "links", "embeds"] or [
        link.relation for link in links
    ] == ["embeds", "embeds", "links"]


def test_lines_are_absolute() -> None:
    text = "---\ntags: x\n---\n\n# T\n\n[a](b.md) [[c]]\n```\n[[no]]\n```\nhttps://x.org\n<!--\n\n-->\n[d](e.md)\r\n[[f]]"
    lines = {link.target: link.line for link in extract(text.encode(), "n.md").links}
    assert lines == {"b.md": 7, "c": 7, "https://x.org": 11, "e.md": 15, "f": 16}


def test_code_fences_hold_no_links() -> None:
    text = "```\n[a](b.md)\n```\n~~~~\n[[c]]\n~~~\n[[d]]\n~~~~\n[[e]]\n> ```\n> [[f]]\n> ```\n- ```\n  [[g]]\n  ```\n"
    assert [link.target for link in extract(text.encode(), "n.md").links] == ["e"]


@pytest.mark.parametrize(
    ("destination", "expected"),
    [
        ("a.md", ("a.md", "")),
        ("a.md#b%20c", ("a.md", "b c")),
        ("mailto:a@b.c", ("mailto:a@b.c", "")),
        ("obsidian://x#y", ("obsidian://x#y", "")),
        ("a%2.md", ("a%2.md", "")),
    ],
)
def test_destinations(destination: str, expected: tuple[str, str]) -> None:
    assert split_destination(destination) == expected


def test_front_matter_links() -> None:
    text = """---
title: T
related:
  - "[[a|b]]"
  - c.md
  - [[d]]
see_also: [e.md#f, "g"]
Contradicts: h/i.md
refutes: "[label](j.md)"
source: https://x.org/k
origin: Wikipedia
author: "[[l]]"
tags: [m/n]
---
"""
    links = extract(text.encode(), "n.md").links
    assert [(link.kind, link.relation, link.target, link.anchor, link.text, link.line) for link in links] == [
        ("frontmatter", "related", "a", "", "b", 4),
        ("frontmatter", "related", "c.md", "", "", 5),
        ("frontmatter", "related", "d", "", "", 6),
        ("frontmatter", "see-also", "e.md", "f", "", 7),
        ("frontmatter", "see-also", "g", "", "", 7),
        ("frontmatter", "contradicts", "h/i.md", "", "", 8),
        ("frontmatter", "refutes", "j.md", "", "label", 9),
        ("frontmatter", "source", "https://x.org/k", "", "", 10),
        ("frontmatter", "author", "l", "", "", 12),
    ]


def test_front_matter_links_are_bounded() -> None:
    assert len(find_front_matter_links({"related": [f"n{number}" for number in range(5000)]}, "")) == 1000


@pytest.mark.parametrize(
    ("text", "targets"),
    [
        ("words\n\n    [[code]]\n", []),
        ("    [[code]]\n\nwords [[link]]\n", ["link"]),
        ("# T\n    [[code]]\n", []),
        ("words\n\n\t[[code]]\n\n    [a](b.md)\n\n[[link]]\n", ["link"]),
        ("words\n    [[lazy]]\n", ["lazy"]),
        ("- item\n\n    [[inner]]\n", ["inner"]),
        ("1. item\n   more\n\n    [[inner]]\n\n    [[inner2]]\n", ["inner", "inner2"]),
        ("- item\n    - [[nested]]\n        - [[deeper]]\n", ["nested", "deeper"]),
        ("- item\nlazy\n\n    [[inner]]\n", ["inner"]),
        ("- item\n\nA paragraph.\n\n    [[code]]\n", []),
        ("[^1]: A note.\n\n    [[inner]]\n", ["inner"]),
        ("!!! note\n    [[inner]]\n\n    [[inner2]]\n", ["inner", "inner2"]),
        ("a %%[[hidden]]%% b [[link]]\n", ["link"]),
        ("%%\n[[hidden]]\n\n[a](hidden.md)\n%%\n[[link]]\n", ["link"]),
        ("`%%` [[link]] `%%`\n", ["link"]),
        ("50%% of [[link]]\n", ["link"]),
        ("text\n\n%% a comment is no indent %% [[link]]\n", ["link"]),
        ("%%\n[[hidden]] and more\n\n    of it %% [[link]]\n", ["link"]),
        ("%% with `code` and [[hidden]] %% [[link]]\n", ["link"]),
        ("%% `[[hidden]] %% [[hidden]]\n\n%% [[link]] %%\n", ["link"]),
    ],
)
def test_code_and_comments_that_markdown_shows_without_fences(text: str, targets: list[str]) -> None:
    assert [link.target for link in extract(text.encode(), "n.md").links] == targets


# The oracle: markdown-it, for what CommonMark defines. Wikilinks are taken out of the comparison.


def oracle_links(text: str) -> list[tuple[str, str]]:
    """(relation, target) of links and images, in order."""
    links: list[tuple[str, str]] = []

    def walk(tokens: list[Token]) -> None:
        for token in tokens:
            if token.type == "link_open" and token.info != "auto":
                links.append(("links", str(token.attrs["href"])))
            elif token.type == "image":
                links.append(("embeds", str(token.attrs["src"])))
            if token.children:
                walk(token.children)

    walk(MarkdownIt("commonmark").parse(text))
    return sorted((relation, unquote(target)) for relation, target in links if target)


def our_links(links: list[Link]) -> list[tuple[str, str]]:
    return sorted(
        (link.relation, unquote(link.target + (f"#{link.anchor}" if link.anchor else "")))
        for link in links
        if link.kind == "markdown"
    )


SAFE = ["[a](b.md)", "[a b](c.md#d)", "![i](p.png)", "`", "``", "`code`", "`[x](y.md)`", "words ", " ", "\n", "\n\n",
        "[![i](p.png)](q.md)", "\\`", "\\[", "[", "]", "*", ")", "<!-- c -->", "\n```\n[x](y.md)\n```\n", "\n# T\n\n",
        "[r]", "é中文"]  # fmt: skip


INDENTED = ["\n\n    ", "\n- ", "\n1. ", "\n\n    [x](y.md)\n\n", "\n\nflush\n", "\n    ", "\n  ", "\n# T\n    ",
            "[a](b.md)", "\n\n"]  # fmt: skip


@settings(max_examples=300)
@given(pieces=st.lists(st.sampled_from(SAFE), max_size=12))
@example(pieces=["``", "[a](b.md)", "`", "\n\n", "`", "[a](b.md)", "``"])
@example(pieces=["\\`", "`[x](y.md)`"])
def test_agrees_with_a_markdown_parser(pieces: list[str]) -> None:
    text = "x" + "".join(pieces) + "\n"
    assert our_links(list(extract(text.encode(), "n.md").links)) == oracle_links(text)


@settings(max_examples=300)
@given(pieces=st.lists(st.sampled_from(INDENTED), max_size=12))
def test_indentation_takes_no_link_away(pieces: list[str]) -> None:
    """Which of it is code is told carefully: what is a link to a Markdown parser is never lost."""
    text = "x" + "".join(pieces) + "\n"
    missed = Counter(oracle_links(text)) - Counter(our_links(list(extract(text.encode(), "n.md").links)))
    assert not missed


@pytest.mark.slow
def test_agrees_with_a_markdown_parser_on_real_books(shared_data: Path) -> None:
    differing = []
    paths = sorted((shared_data / "kb" / "rust-book").rglob("*.md"))
    paths += sorted((shared_data / "kb" / "vue-zh").rglob("*.md"))
    for path in paths:
        data = path.read_bytes()
        extraction = extract(data, path.name)
        text = data.decode()
        if extraction.front_matter:
            text = text[text.index("\n---", 3) + 4 :]
        if our_links(list(extraction.links)) != oracle_links(text):
            differing.append(path.name)
    assert len(paths) > 200
    assert len(differing) <= len(paths) // 50, differing


# Hostile and damaged texts.


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("http://a.b/c\u202f!", "http://a.b/c"),
        ("http://a.b/c\u2009– x", "http://a.b/c"),
        ("http://a.b/c\u0085x", "http://a.b/c"),
        (r"http://a.b/c\[1\]", "http://a.b/c"),
        (r"http://a.b/c\d", r"http://a.b/c\d"),
        ("(http://a.b/c(d)).", "http://a.b/c(d)"),
        ("(see http://a.b/c[d])", "http://a.b/c[d]"),
        ("http://a.b/c).!).", "http://a.b/c"),
        ("[[\u3000页面\u3000]]", "页面"),
    ],
)
def test_where_an_address_or_a_page_ends(text: str, target: str) -> None:
    assert [link.target for link in extract(text.encode(), "n.md").links] == [target]


def test_a_bad_byte_takes_no_link_away() -> None:
    sound = "# Notiz\n\nÄpfel und Öl für Übung, 中文 段落。\n\n".encode() * 40
    links = extract(sound + b"See [caf\xe9](cafe.md) and [[b\xe9]].\n", "n.md").links
    assert [(link.target, link.text) for link in links] == [("cafe.md", "caf\ufffd"), ("b\ufffd", "")]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_links_that_would_come_to_too_much_are_left_out(
    encoding: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Many references to one long definition are small where they stand, and large in full."""
    for module in ("arbor.text.links", "arbor.objects.links"):
        monkeypatch.setattr(f"{module}.MAX_EXPANDED_BYTES", 100_000)
    text = "# 标题\n\nText 中文\n\n[a]: " + "x" * 9_000 + "\n\n" + "[a] " * 40
    found = extract(text.encode(encoding), "n.md")
    assert len(found.links) == 11
    assert any("more links" in warning for warning in found.warnings)


@pytest.mark.parametrize("piece", [b").", b")]", b".]", b")'"])
def test_a_long_tail_is_trimmed_in_one_pass(piece: bytes) -> None:
    """Twice the text takes about twice the time; a quadratic trim took minutes for this."""
    data = b"http://a.b/" + piece * 250_000
    assert len(extract(data, "u.txt").links) == 1
