"""Finds links: Markdown, wikilinks, addresses written out, HTML anchors, and links in front matter.

Texts are searched as bytes, so that a link is known by its place in the file. The patterns use possessive repeats of
single characters, so that each is linear in the length of the text whatever it holds, and begin with a literal where
they can, which the regular expression engine looks for several times faster than for a choice. What repeats a whole
group is greedy instead: before 3.11.5 Python goes wrong after a possessive group, and giving an item back leads
nowhere in these patterns, since the next character never fits. Text that must not count as a link (inline
code, comments, escaped brackets) is *hidden* first: its special characters are swapped for bytes that UTF-8 never
uses, and swapped back in what is reported. Hiding moves nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

from arbor.objects.links import (
    EMBEDS,
    HTML,
    MARKDOWN,
    MARKUP,
    MAX_EXPANDED_BYTES,
    URL,
    WIKILINK,
    Link,
    expand_links,
    is_address,
    plain_label,
)
from arbor.text.extraction import FrontValue
from arbor.text.unseen import LINKISH, PARAGRAPH_END, blank_unseen, hide_literals, show_hidden

_LABEL = r"[^\[\]]*+(?:\[[^\[\]]*+\][^\[\]]*+)*"
_PLAIN_DESTINATION = r"(?!<)[^\s()]*+(?:\([^\s()]*+\)[^\s()]*+)*"
_TITLE = r"""(?:\s++(?:"[^"]*+"|'[^']*+'|\([^()]*+\)))?"""
_WIKI = r"\[([^\[\]\n|#]*+)(?:#([^\[\]\n|]*+))?(?:\|([^\[\]\n]*+))?\]\]"
_BRACKETS = rf"\[(?:{_WIKI}|({_LABEL})\]\(\s*+(?:<([^<>\n]*+)>|({_PLAIN_DESTINATION})){_TITLE}\s*+\))"
"""`[[target#anchor|alias]]` and `[label](destination "title")`."""

_BRACKETED = re.compile(_BRACKETS.encode())
_BRACKETED_TEXT = re.compile(_BRACKETS)
_WIKILINK_TEXT = re.compile(rf"\[{_WIKI}")
_DEFINITION = re.compile(
    rb"\n {0,3}+\[([^\[\]\n^][^\[\]\n]*+)\]:[ \t]*+\n?[ \t]*+(?:<([^<>\n]*+)>|([^\s<]\S*+))"
)
_REFERENCE = re.compile(rf"\[({_LABEL})\](?:\[([^\[\]]*+)\](?![(:])|(?![(:]|\[[^\[\]]*+\]))".encode())
_HREF = re.compile(rb"""href\s*+=\s*+(?:"([^"<>]*+)"|'([^'<>]*+)'|([^\s"'<>`]++))""")
_WIDE_SPACES = "\u0085\u00a0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))
_WIDE_ENDS = "|".join(_WIDE_SPACES + "、。，；：！？（）「」『』【】《》").encode()
_WIDE_EDGES = tuple(space.encode() for space in _WIDE_SPACES)
_WIDE_LEADS = b"\xc2\xe1\xe2\xe3"
_ADDRESS = re.compile(
    rb"""http(?<![A-Za-z0-9_="'\[]http)(?<!\]\(http)(?<!\(<http)(?<!\]: http)s?+://"""
    rb"""(?:[^\s<>"`|\\\x80-\xff]++|\\(?![\xc1\xf5-\xff])|(?!%b)[\xc2-\xf4][\x80-\xbf]++)+""" % _WIDE_ENDS
)
_ADDRESS_TAIL = b".,;:!?'*_~"

_EMBED = ord("!")
_ODD_ENDS = b" \t\r\x0b\x0c\\"

Span = tuple[int, int]
"""Start and end of a part of a match; -1 and -1 where there is none."""

_TITLED_KEYS = frozenset(
    """
    based-on children cites contradicts derived-from down extends link links next parent part-of prev previous
    references refutes related relates replaces same-as see-also seealso supersedes supports up
    """.split()  # noqa: SIM905
)
"""Front matter keys whose every value names another document, by path, title or address."""

_PLACED_KEYS = frozenset(["source", "sources", "url", "uri", "origin", "canonical", "via", "ref", "refs"])
"""Front matter keys whose value is a link when it looks like a path or an address."""

_FRONT_LINKS_MAX = 1000


class LinkFinder:
    """Gathers the links of one UTF-8 text, as `arbor.objects.links` stores them.

    Attributes:
        rows: What was found so far.
        is_full: Whether some were left out, since all of them in full would be beyond `MAX_EXPANDED_BYTES`.
    """

    def __init__(self, source: bytes, start: int = 0) -> None:
        """Begin with nothing.

        Args:
            source: Holds the text from `start` on; tells the lines.
            start: Places are counted from here.
        """
        self.rows: list[Any] = []
        self.is_full = False
        self._told_bytes = 0
        self._source = source
        self._place = start
        self._line, self._counted = 1, start

    def find_links(self, text: bytes) -> None:
        """Find the links of a Markdown text.

        They come as bracketed links in text order, then those through reference definitions, addresses, and HTML
        anchors. Links inside inline code, indented code and comments are not among them.

        Args:
            text: The source with fenced code blanked out, every other byte in its place; begins with a line end.
        """
        if not LINKISH.search(text):
            return
        visible = hide_literals(blank_unseen(text))
        if b"[" in visible:
            self._find_bracketed(visible, 0, len(visible), b"\\" in visible)
        if b"]:" in visible:
            self._find_references(visible)
        if b"http" in visible:
            self.find_addresses(visible)
        if b"href" in visible:
            self._find_anchors(visible)

    def find_addresses(self, text: bytes) -> None:
        """Find the `http` and `https` addresses written out in a text."""
        for match in _ADDRESS.finditer(text):
            size = len(_trim_address(match[0]))
            if size > 8:
                at = match.start()
                self.rows += (URL, at - self._place, 0, size, 0, 0, 0)
                self._place = at

    def _find_bracketed(self, text: bytes, start: int, end: int, has_escapes: bool) -> bool:
        """Whether one of the links found is no embed."""
        has_links = False
        for match in _BRACKETED.finditer(text, start, end):
            (at, stop), page, anchor, alias, label, angled, plain = match.regs
            embeds = EMBEDS if at and text[at - 1] == _EMBED else 0
            escaped = has_escapes and text.find(b"\\", at, stop) >= 0
            if page[0] >= 0:
                self._add_wikilink(text, WIKILINK + embeds, at, page, anchor, alias, escaped)
                has_links |= not embeds
                continue
            shown = text[label[0] : label[1]]
            code = MARKDOWN + embeds
            if b"\n" in shown or b"[" in shown or b"`" in shown:
                inner = b"[" in shown and self._find_bracketed(text, label[0], label[1], has_escapes)
                has_links |= inner
                if inner or PARAGRAPH_END.search(shown):
                    continue  # paragraphs end a link, and a link holds no other link: the brackets are only text
                code += MARKUP
            has_links |= not embeds
            self._add_link(text, code, at, label, plain if plain[0] >= 0 else angled, escaped)
        return has_links

    def _add_wikilink(
        self, text: bytes, code: int, at: int, page: Span, anchor: Span, alias: Span, escaped: bool
    ) -> None:
        start, end = page
        section_bytes = anchor[1] - anchor[0]
        if text[start] <= 32 or text[end - 1] in _ODD_ENDS or escaped or _has_wide_edge(text, start, end):
            target, section, label = (show_hidden(text[start:end]) for start, end in (page, anchor, alias))
            target = target.strip().removesuffix("\\")
            if target or section:
                self.rows += (code, self._line_at(at), "", target, section, label, 0)
        elif end > start or section_bytes:
            shown = alias[0] - at if alias[1] > 0 else 0
            self.rows += (code, at - self._place, 2, end - start, section_bytes, shown, alias[1] - alias[0])
            self._place = at

    def _add_link(self, text: bytes, code: int, at: int, label: Span, target: Span, escaped: bool) -> None:
        """Add a link that leads to a destination.

        Args:
            text: What is searched.
            code: Kind, and what else the code says.
            at: Where the link stands.
            label: Where its label stands.
            target: Where its destination stands.
            escaped: Whether label or destination hold escaped characters.
        """
        start, end = target
        self._told_bytes += end - start + label[1] - label[0]
        if self._told_bytes > MAX_EXPANDED_BYTES:
            self.is_full = True
            return
        mark, percent = text.find(b"#", start, end), text.find(b"%", start, end)
        if escaped:
            path, section = split_destination(show_hidden(text[start:end]))
            if path or section:
                shown = plain_label(show_hidden(text[label[0] : label[1]]))
                self.rows += (code & ~MARKUP, self._line_at(at), "", path, section, shown, 0)
            return
        section_bytes = 0
        if (mark >= 0 or percent >= 0) and not is_address(show_hidden(text[start : min(end, start + 64)])):
            if percent >= 0:
                code |= MARKUP
            if mark >= 0:
                section_bytes, end = end - mark - 1, mark
        if end > start or section_bytes:
            self.rows += (code, at - self._place, start - at, end - start, section_bytes,
                          label[0] - at, label[1] - label[0])  # fmt: skip
            self._place = at

    def _find_references(self, text: bytes) -> None:
        """Full, collapsed and shortcut references, resolved through the text's own definitions."""
        definitions: dict[str, tuple[Span, bool]] = {}
        for match in _DEFINITION.finditer(text):
            span = match.span(2 if match[3] is None else 3)
            definitions.setdefault(_fold_label(match[1]), (span, text.find(b"\\", *span) >= 0))
        if not definitions:
            return
        for match in _REFERENCE.finditer(text):
            label = match[1]
            found = definitions.get(_fold_label(match[2] or label)) if len(label) < 1000 else None
            if found is not None:
                target, escaped = found
                at = match.start()
                code = MARKDOWN + MARKUP + (EMBEDS if at and text[at - 1] == _EMBED else 0)
                self._add_link(text, code, at, match.span(1), target, escaped or b"\\" in label)

    def _find_anchors(self, text: bytes) -> None:
        for match in _HREF.finditer(text):
            at, (start, end) = match.start(), match.span(match.lastindex or 0)
            address = text[start:end]
            start += len(address) - len(address.lstrip())
            end = start + len(address.strip())
            self._add_link(text, HTML, at, (at, at), (start, end), b"\\" in address)

    def _line_at(self, place: int) -> int:
        """The line of a place; places ask in nearly ascending order, so little is counted twice."""
        counted = self._counted
        if place >= counted:
            self._line += self._source.count(b"\n", counted, place)
        else:
            self._line -= self._source.count(b"\n", place, counted)
        self._counted = place
        return self._line


def find_addresses(text: str) -> list[Link]:
    """Find the `http` and `https` addresses written out in a text."""
    data = text.encode("utf-8", "replace")
    finder = LinkFinder(data)
    finder.find_addresses(data)
    return list(expand_links(finder.rows, data))


def split_destination(destination: str) -> tuple[str, str]:
    """Split a Markdown destination into target and anchor: `my%20note.md#part` gives `my note.md` and `part`.

    Addresses (`scheme://…`, `mailto:…`) stay whole, as a fragment is part of what they name.
    """
    if is_address(destination):
        return destination, ""
    target, _, anchor = destination.partition("#")
    if "%" in destination:
        return unquote(target), unquote(anchor)
    return target, anchor


def _fold_label(label: bytes) -> str:
    return " ".join(label.decode("utf-8", "surrogateescape").split()).casefold()


def _trim_address(address: bytes) -> bytes:
    """Leave off the punctuation and the closing brackets that belong to the sentence around an address."""
    surplus = {
        ord(")"): address.count(b")") - address.count(b"("),
        ord("]"): address.count(b"]") - address.count(b"["),
    }
    end = len(address)
    while end:
        last = address[end - 1]
        if last in surplus and surplus[last] > 0:
            surplus[last] -= 1
        elif last not in _ADDRESS_TAIL:
            break
        end -= 1
    return address[:end]


def _has_wide_edge(text: bytes, start: int, end: int) -> bool:
    """Whether a stretch begins or ends with white space outside of ASCII."""
    lead = text[start] in _WIDE_LEADS and text.startswith(_WIDE_EDGES, start, end)
    return lead or (text[end - 1] >= 0x80 and text.endswith(_WIDE_EDGES, start, end))


def find_front_matter_links(fields: dict[str, FrontValue], source: str) -> list[Link]:
    """Find the links that front matter holds.

    Args:
        fields: The parsed front matter.
        source: Its text, from the first line of the file on; tells the line of each link.

    Returns:
        Wikilinks under any key, and under keys that name other documents (`related`, `contradicts`, …)
        every value; `source` and its like count when they look like a path or an address. The relation
        is the key.
    """
    links: list[Link] = []
    for key, value in fields.items():
        relation = "-".join(key.lower().replace("_", " ").split())
        for text in _iter_strings(value):
            if len(links) >= _FRONT_LINKS_MAX:
                return links
            found = _read_front_value(relation, text)
            if found:
                line = _find_line(source, key, text)
                links += [link._replace(line=line) for link in found]
    return links


def _iter_strings(value: FrontValue) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            if isinstance(item, list) and len(item) == 1 and isinstance(item[0], str):
                yield f"[[{item[0]}]]"  # an unquoted [[page]] is, to YAML, a list in a list
            else:
                yield from _iter_strings(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from _iter_strings(item)


def _read_front_value(relation: str, text: str) -> list[Link]:
    if "[[" in text:
        return [
            Link("frontmatter", relation, match[1].strip(), match[2] or "", match[3] or "", 0)
            for match in _WIKILINK_TEXT.finditer(text)
            if match[1].strip() or match[2]
        ]
    text = text.strip()
    if relation in _PLACED_KEYS:
        if "/" not in text and not text.endswith((".md", ".txt", ".pdf", ".html")):
            return []
    elif relation not in _TITLED_KEYS:
        return []
    match = _BRACKETED_TEXT.fullmatch(text)
    label = match[4] or "" if match else ""
    target, anchor = split_destination((match[6] or match[5] or "") if match else text)
    return [Link("frontmatter", relation, target, anchor, label, 0)] if target or anchor else []


def _find_line(source: str, key: str, text: str) -> int:
    """Line of the first place under `key` where `text` is written, else the line of the key."""
    under = re.search(rf"^[ \t]*['\"]?{re.escape(key)}['\"]?[ \t]*[:=]", source, re.MULTILINE)
    start = under.start() if under else 0
    found = source.find(text.splitlines()[0] if text.strip() else key, start)
    return source.count("\n", 0, found if found >= 0 else start) + 1
