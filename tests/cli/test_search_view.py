"""A snippet does not say again what stands above it."""

from __future__ import annotations

import re

import pytest

import arbor
from arbor.cli.showing.search_view import _without_heading
from arbor.errors import UsageError
from tests.cli.harness import Cli


@pytest.mark.parametrize(
    ("snippet", "heading", "rest"),
    [
        ("## Plain body", "Plain", "body"),
        (r"## The \* operator body", "The * operator", "body"),
        (r"## \[x\] and \_y\_ body", "[x] and _y_", "body"),
        ("## **Bold** and `code` body", "Bold and code", "body"),
        ("## See [the page](a.md) now ## body", "See the page now", "body"),
        ("## [[page|shown]] {#name} body", "shown", "body"),
        ("## 2 * 3 *= 6* body", "2 * 3 *= 6", "body"),
        ("## Introduction body", "Intro", "## Introduction body"),
        ("## Other body", "Plain", "## Other body"),
        ("## Plain", "Plain", "## Plain"),
        ("## C# body", "C#", "body"),
        ("Plain body", "Plain", "Plain body"),
        ("## " + r"\*" * 60 + "x", "*" * 40, "## " + r"\*" * 60 + "x"),
        ("## Plain" + " #" * 200 + "x", "Plain", "## Plain" + " #" * 200 + "x"),
    ],
)
def test_a_heading_is_known_with_its_markup(snippet: str, heading: str, rest: str) -> None:
    at = snippet.find("body")
    text, marks = _without_heading(snippet, ((at, at + 4),) if at >= 0 else (), ("Top", heading))
    assert text == rest
    assert [text[start:end] for start, end in marks] == ["body"] * (at >= 0)


def test_a_heading_with_escapes_is_shown_once(cli: Cli) -> None:
    cli("init")
    cli.write(
        "a.md", "# Signs\n\n" + "word " * 400 + "\n\n## The \\* of Kleene\n\nIt repeats what stands before.\n"
    )
    cli.commit("first")
    shown = cli("search", "repeats").out
    assert shown.count("of Kleene") == 1
    assert "It repeats what" in shown


def test_the_raw_query_that_is_offered_finds_something_and_marks_nothing(cli: Cli) -> None:
    cli("init")
    cli.write("a.md", "# A\n\nA merkle tree, and a proof.\n")
    cli.commit("first")
    with arbor.open(cli.folder) as kb, pytest.raises(UsageError) as caught:
        kb.search(" ", raw=True)
    offered = re.findall("'(.*)'", caught.value.hint)
    [hit] = cli("search", "--raw", *offered, "--json").json["hits"]
    assert (hit["audit"], hit["highlights"]) == ("STRICT", [])


def test_that_more_documents_match_is_said(cli: Cli) -> None:
    cli("init")
    for name in "abc":
        cli.write(f"{name}.md", f"# {name}\n\nA merkle tree.\n")
    cli.commit("first")
    assert re.match(
        "the first 2 documents at [0-9a-f]{12}, HYBRID; -n shows more\n", cli("search", "-n2", "merkle").err
    )
    assert re.match("3 documents at [0-9a-f]{12}, HYBRID\n", cli("search", "-n3", "merkle").err)
