"""reStructuredText: underlined titles, hyperlinks, and the field list at the head of a document."""

from __future__ import annotations

import re

from arbor.objects.links import Link, explicit_rows
from arbor.text.chunker import HEADING_BYTES_MAX, Mark, Structure, cut_buffer, without_mark
from arbor.text.extraction import ChunkPolicy, FrontValue
from arbor.text.front_matter import find_title
from arbor.text.links import find_addresses, split_destination
from arbor.text.readers.reading_result import Reading

EXTRACTOR_ID = "rst/1"

_ADORNMENT = rb"""([=\-`:.'"~^_*+#<>!$%&(),/;?@\[\\\]{|}])"""
_TITLE = re.compile(
    rb"\n(?:"
    + _ADORNMENT
    + rb"\1{2,}[ \t]*+\r?\n|(?!"
    + _ADORNMENT
    + rb"\2{2,}[ \t]*+\r?\n))[ \t]{0,8}+([^\s][^\n]{0,%d}+)\n" % HEADING_BYTES_MAX
    + _ADORNMENT
    + rb"\4{2,}[ \t]*+\r?(?=\n|\Z)"
)
_FIELD = re.compile(r":([A-Za-z][A-Za-z0-9 _-]{0,60}):[ \t]*+([^\n]{0,500}+)\n(?:[ \t]++[^\n]*+\n)*")
_REFERENCE = re.compile(r"`([^`<>]{0,300}+)<([^<>`\n]{1,500}+)>`__?")
_DIRECTIVE = re.compile(
    r"\n[ \t]*+\.\. (?:\|[^|\n]{1,100}+\| )?(image|figure|include|literalinclude)::[ \t]*+([^\n]{1,500}+)"
)
_ROLE = re.compile(r":(?:doc|ref|pep|rfc):`([^`]{1,300}+)`")
_TARGET = re.compile(
    r"(?:\A|\n)[ \t]*+\.\. _(?:`([^`\n]{1,200}+)`|([^:`\n]{1,200}+)):[ \t]++([^\s][^\n]{0,500}+)"
)
_NAMED = re.compile(
    r"(?<![\w`:<])(?:`([^`<>]{1,300}+)`|(?<!_)\b([A-Za-z0-9](?:[A-Za-z0-9]|[-.+:_](?=[A-Za-z0-9])){0,60}))_(?![\w_])"
)
_CONTENTS = re.compile(
    r"(?:\A|\n)([ \t]*+)\.\. toctree::[^\n]*+\n((?:[ \t]*+(?:\n|\Z)|\1[ \t]++[^\n]++(?:\n|\Z))*)"
)
_ENTRY = re.compile(r"[^\n]++")

_Found = tuple[int, str, str, str]
"""Where a link stands, its relation, destination and label."""


def read(text: bytes, policy: ChunkPolicy) -> Reading:
    """Read a reStructuredText; its first title is the title, a field list at its head the front matter."""
    buffer = b"\n" + text
    decoded = text.decode("utf-8-sig", "replace").replace("\r\n", "\n")
    marks = find_headings(without_mark(buffer), is_head=True)
    passages, _ = cut_buffer(buffer, 1, Structure(marks, []), policy, [], final=True)
    fields = _find_fields(decoded)
    title = find_title(fields) or (marks[0].title if marks else "")
    return Reading(passages, title, fields, explicit_rows(_find_links(decoded)), (), EXTRACTOR_ID)


def find_headings(buffer: bytes, *, is_head: bool) -> list[Mark]:
    """The titles; their levels hold where the buffer is the head of a document.

    Levels are not fixed: each new kind of line under (and over) a title opens the next level.
    """
    styles: dict[tuple[bytes, bytes], int] = {}
    marks = []
    for match in _TITLE.finditer(buffer):
        over, line, under = match[1], match[3], match[4]
        text = line.decode("utf-8", "ignore").strip()
        width = match.end() - match.start(4)
        if (
            (over and over != under)
            or width < len(text)
            or (not over and line[:1] == under and not line.strip(under))
        ):
            continue
        level = styles.setdefault((over or b"", under), len(styles) + 1)
        marks.append(Mark(match.start() + 1, match.end(), level, text))
    return marks


def _find_fields(text: str) -> dict[str, FrontValue]:
    """The first field list, if it stands at the head of the text or right under the title."""
    start = re.compile(r"\s*+(?:(?:[=~*#^-]{3,}+\n|(?![=~*#^-]{3,}+\n))[^\n]++\n[=~*#^-]{3,}+\s*+)?").match(
        text
    )
    position = start.end() if start else 0
    fields: dict[str, FrontValue] = {}
    while (match := _FIELD.match(text, position)) and len(fields) < 100:
        fields[match[1].strip().lower()] = match[2].strip()
        position = match.end()
    return fields


def _find_links(text: str) -> list[Link]:
    found = [(match.start(), "links", match[2], match[1].strip()) for match in _REFERENCE.finditer(text)]
    found += [(match.start() + 1, "embeds", match[2].strip(), "") for match in _DIRECTIVE.finditer(text)]
    for match in _ROLE.finditer(text):
        label, _, target = match[1].rpartition("<")
        found.append((match.start(), "links", target.rstrip(">").strip(), label.strip()))
    found += _find_named(text)
    found += _find_contents(text)
    found.sort()
    links = []
    line, counted = 1, 0
    for start, relation, destination, label in found:
        line += text.count("\n", counted, start)
        counted = start
        target, anchor = split_destination(destination)
        links.append(Link("rst", relation, target, anchor, " ".join(label.split()), line))
    known = {link.target for link in links}
    return links + [link for link in find_addresses(text) if link.target not in known]


def _find_named(text: str) -> list[_Found]:
    """References by a name that the text itself gives a destination: ``doc_`` or `` `the doc`_ ``."""
    destinations: dict[str, str] = {}
    for match in _TARGET.finditer(text):
        destinations.setdefault(_fold_name(match[1] or match[2]), match[3].strip())
    if not destinations:
        return []
    found: list[_Found] = []
    for match in _NAMED.finditer(_TARGET.sub(lambda target: "\n" + " " * (len(target[0]) - 1), text)):
        name = match[1] or match[2]
        destination = destinations.get(_fold_name(name), "")
        if destination.endswith("_"):  # another name for the same thing
            destination = destinations.get(_fold_name(destination[:-1].strip("`")), "_")
        if destination and not destination.endswith("_"):
            found.append((match.start(), "links", destination, name.strip()))
    return found


def _fold_name(name: str) -> str:
    return " ".join(name.replace("\\", "").split()).casefold()


def _find_contents(text: str) -> list[_Found]:
    """The entries of tables of contents: documents, each by its path or as `Title <path>`."""
    found: list[_Found] = []
    for match in _CONTENTS.finditer(text):
        for line in _ENTRY.finditer(match[2]):
            entry = line[0].strip()
            if not entry or entry.startswith((":", "..")) or entry == "self":
                continue
            label, _, target = entry.rpartition("<") if entry.endswith(">") else ("", "", entry)
            found.append((match.start(2) + line.start(), "links", target.rstrip(">").strip(), label.strip()))
    return found
