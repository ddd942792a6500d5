"""Source code: top-level definitions are its headings, so that a passage tells where it comes from."""

from __future__ import annotations

import re

from arbor.text.chunker import Mark, Structure, cut_buffer, without_mark
from arbor.text.extraction import ChunkPolicy
from arbor.text.links import LinkFinder
from arbor.text.readers.reading_result import Reading, Streamer

EXTRACTOR_ID = "source/1"

_DEFINITION = re.compile(
    rb"\n(?=[a-zA-Z@])(?:(?:@[\w.]{1,100}(?:\([^\n]{0,200}\))?[ \t\r]*\n){0,8})"
    rb"(?:(?:export|default|pub(?:\([a-z]{1,10}\))?|public|private|protected|internal|static|async|abstract|final|sealed"
    rb"|data|open|unsafe|const|inline|extern) +){0,4}"
    rb"(?:def|class|func|fn|function|fun|struct|enum|trait|interface|impl|module|namespace|type|object|protocol|extension"
    rb"|defmodule|defn|sub|package|record)(?:[ \t]+|(?=<))"
    rb"(?:\([^\n()]{0,100}\)[ \t]*)?(?:<[^\n<>]{0,100}>[ \t]*)?([A-Za-z_$](?:[\w$.]|::){0,120})"
)


def read(text: bytes, policy: ChunkPolicy) -> Reading:
    """Read source code; it has no title, and the only links are addresses in comments and strings."""
    buffer = b"\n" + text
    structure = find_structure(without_mark(buffer), 1)
    passages, _ = cut_buffer(buffer, 1, structure, policy, [], final=True)
    finder = LinkFinder(text)
    if b"http" in text:
        finder.find_addresses(text)
    return Reading(passages, "", {}, finder.rows, (), EXTRACTOR_ID)


def find_structure(buffer: bytes, start: int, opener: bytes = b"") -> Structure:
    """Find the top-level definitions from `start` on, each with the decorators above it."""
    marks = [
        Mark(match.start() + 1, match.end(), 1, match[1].decode("utf-8", "replace"))
        for match in _DEFINITION.finditer(buffer, start - 1)
    ]
    return Structure(marks, [])


def find_headings(buffer: bytes, *, is_head: bool) -> list[Mark]:
    """The top-level definitions in a buffer."""
    return find_structure(buffer, 1).marks


STREAMER = Streamer("source", find_structure, lambda _: 0)
