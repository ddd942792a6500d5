"""Finds links: Markdown, wikilinks, addresses written out, HTML anchors, and links in front matter.

The patterns use possessive repeats, so that each is linear in the length of the text whatever it holds,
and begin with a literal where they can, which the regular expression engine looks for several times
faster than for a choice. Text that must not count as a link (inline code, comments, escaped brackets) is
*hidden* first: its special characters are swapped for code points that Unicode reserves for internal
use, and swapped back in what is reported.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import unquote

from arbor.text.extraction import FrontValue, Link

_LABEL = r"[^\[\]]*+(?:\[[^\[\]]*+\][^\[\]]*+)*+"
_PLAIN_DESTINATION = r"(?!<)[^\s()]*+(?:\([^\s()]*+\)[^\s()]*+)*+"
_TITLE = r"""(?:\s++(?:"[^"]*+"|'[^']*+'|\([^()]*+\)))?+"""

_BRACKETED = re.compile(
    r"\[(?:"
    r"\[([^\[\]\n|#]*+)(?:#([^\[\]\n|]*+))?+(?:\|([^\[\]\n]*+))?+\]\]"
    rf"|({_LABEL})\]\(\s*+(?:<([^<>\n]*+)>|({_PLAIN_DESTINATION})){_TITLE}\s*+\)"
    r")"
)
"""`[[target#anchor|alias]]` and `[label](destination "title")`."""

_WIKILINK = re.compile(r"\[\[([^\[\]\n|#]*+)(?:#([^\[\]\n|]*+))?+(?:\|([^\[\]\n]*+))?+\]\]")
_DEFINITION = re.compile(
    r"\n {0,3}+\[([^\[\]\n^][^\[\]\n]*+)\]:[ \t]*+\n?[ \t]*+(?:<([^<>\n]*+)>|([^\s<]\S*+))"
)
_REFERENCE = re.compile(rf"\[({_LABEL})\](?:\[([^\[\]]*+)\])?+(?![(:])")
_HREF = re.compile(r"""href\s*+=\s*+(?:"([^"<>]*+)"|'([^'<>]*+)'|([^\s"'<>`]++))""")
_ADDRESS = re.compile(
    r"""http(?<![A-Za-z0-9_="'\[]http)(?<!\]\(http)(?<!\(<http)(?<!\]: http)s?+://"""
    r"""[^\s<>"`|、。，；：！？（）「」『』【】《》\ufdd0-\ufdef]++"""
)
_ADDRESS_TAIL = ".,;:!?'*_~"

_SPECIAL = "[]()<>`:|#!"
_HIDE = str.maketrans({char: chr(0xFDD0 + number) for number, char in enumerate(_SPECIAL)})
_SHOW = str.maketrans({chr(0xFDD0 + number): char for number, char in enumerate(_SPECIAL)})
_LINKISH = re.compile(r"[\[\]]|http|href")
_BACKTICKS = re.compile(r"``*+")
_LITERAL = re.compile(r"`++|<!--|\\[\[\]()<>`:#!\\]")
_PARAGRAPH_END = re.compile(r"\n[ \t\r]*+(?:\n|#{1,6}[ \t]|(?:[-*+]|\d{1,9}[.)])[ \t])")

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

_new_link = tuple.__new__


def find_links(text: str, first_line: int = 1) -> list[Link]:
    """Find the links of a Markdown text whose fenced code has been blanked out.

    Args:
        text: Begins at the start of a line.
        first_line: Number of the first line of `text`.

    Returns:
        Bracketed links in text order, then those through reference definitions, addresses, and HTML anchors.
        Links inside inline code and comments are not among them; links inside indented code are.
    """
    visible, is_changed = _hide_literals(text)
    links = _find_bracketed(visible, first_line) if "[" in visible else []
    if "]:" in visible:
        links += _find_references(visible, first_line)
    if "http" in visible:
        links += find_addresses(visible, first_line)
    if "href" in visible:
        links += _find_anchors(visible, first_line)
    return list(map(_show, links)) if is_changed else links


def _show(link: Link) -> Link:
    kind, relation, target, anchor, label, line = link
    return Link(
        kind, relation, target.translate(_SHOW), anchor.translate(_SHOW), label.translate(_SHOW), line
    )


def _find_bracketed(text: str, line: int) -> list[Link]:
    links: list[Link] = []
    counted = 0
    for match in _BRACKETED.finditer(text):
        page, anchor, alias, label, angled, plain = match.groups()
        start = match.start()
        line += text.count("\n", counted, start)
        counted = start
        relation = "embeds" if start and text[start - 1] == "!" else "links"
        if page is not None:
            page = page.strip().removesuffix("\\")
            if page or anchor:
                links.append(_new_link(Link, ("wikilink", relation, page, anchor or "", alias or "", line)))
            continue
        if "\n" in label or "[" in label or "`" in label:
            inner = _find_bracketed(label, line) if "[" in label else []
            links += inner
            if _PARAGRAPH_END.search(label) or any(link.relation == "links" for link in inner):
                continue  # paragraphs end a link, and a link holds no other link: the brackets are only text
            label = " ".join(label.replace("`", "").split())
        if plain and "#" not in plain and "%" not in plain:
            links.append(_new_link(Link, ("markdown", relation, plain, "", label, line)))
            continue
        target, fragment = split_destination(plain if angled is None else angled)
        if target or fragment:
            links.append(_new_link(Link, ("markdown", relation, target, fragment, label, line)))
    return links


def split_destination(destination: str) -> tuple[str, str]:
    """Split a Markdown destination into target and anchor: `my%20note.md#part` gives `my note.md` and `part`.

    Addresses (`scheme://…`, `mailto:…`) stay whole, as a fragment is part of what they name.
    """
    head = destination[:64]
    if "://" in head or head.startswith(("mailto:", "data:", "tel:")):
        return destination, ""
    target, _, anchor = destination.partition("#")
    if "%" in destination:
        return unquote(target), unquote(anchor)
    return target, anchor


def _find_references(text: str, first_line: int) -> list[Link]:
    """Full, collapsed and shortcut references, resolved through the text's own definitions."""
    padded = "\n" + text
    definitions: dict[str, str] = {}
    for match in _DEFINITION.finditer(padded):
        definitions.setdefault(_fold_label(match[1]), match[3] if match[2] is None else match[2])
    if not definitions:
        return []
    links = []
    line, counted = first_line, 0
    for match in _REFERENCE.finditer(text):
        destination = definitions.get(_fold_label(match[2] or match[1])) if len(match[1]) < 1000 else None
        if destination is None:
            continue
        start = match.start()
        line += text.count("\n", counted, start)
        counted = start
        relation = "embeds" if start and text[start - 1] == "!" else "links"
        target, anchor = split_destination(destination)
        links.append(
            Link("markdown", relation, target, anchor, " ".join(match[1].replace("`", "").split()), line)
        )
    return links


def _fold_label(label: str) -> str:
    return " ".join(label.split()).casefold()


def find_addresses(text: str, line: int) -> list[Link]:
    """Find the `http` and `https` addresses written out in a text whose first line has the number `line`."""
    links = []
    counted = 0
    for match in _ADDRESS.finditer(text):
        start = match.start()
        line += text.count("\n", counted, start)
        counted = start
        address = _trim_address(match[0])
        if len(address) > 8:
            links.append(_new_link(Link, ("url", "links", address, "", "", line)))
    return links


def _trim_address(address: str) -> str:
    """Leave off the punctuation and the closing brackets that belong to the sentence around an address."""
    while address:
        last = address[-1]
        if last in _ADDRESS_TAIL:
            address = address.rstrip(_ADDRESS_TAIL)
        elif last in ")]" and address.count(last) > address.count("(" if last == ")" else "["):
            surplus = address.count(last) - address.count("(" if last == ")" else "[")
            run = len(address) - len(address.rstrip(last))
            address = address[: -min(surplus, run)]
        else:
            break
    return address


def _find_anchors(text: str, line: int) -> list[Link]:
    links = []
    counted = 0
    for match in _HREF.finditer(text):
        line += text.count("\n", counted, match.start())
        counted = match.start()
        target, anchor = split_destination((match[1] or match[2] or match[3] or "").strip())
        if target or anchor:
            links.append(Link("html", "links", target, anchor, "", line))
    return links


def _hide_literals(text: str) -> tuple[str, bool]:
    """Hide what only looks like a link.

    Returns:
        The text, with as many line ends as before, and whether any character in it was swapped.
    """
    if "\\" in text:
        return _hide_each(text, _LITERAL)
    if "<!--" in text:
        without = _drop_comments(text)
        if without is None:
            return _hide_each(text, _LITERAL)
        text = without
    if "`" not in text:
        return text, False
    parts = text.split("`")
    code = "".join(parts[1::2])
    if len(parts) & 1 and "\n" not in code and "" not in parts[1:-1] and not _LINKISH.search(code):
        return text, False
    return _hide_each(text, _BACKTICKS)


def _drop_comments(text: str) -> str | None:
    """Leave comments out; None where it takes a closer look to tell comments from inline code."""
    pieces = []
    done = 0
    start = text.find("<!--")
    while start >= 0:
        end = text.find("-->", start + 4)
        if end < 0:
            break
        comment = text[start:end]
        if "`" in comment or text.count("`", done, start) & 1:
            return None
        pieces.append(text[done:start])
        pieces.append(" " + "\n" * comment.count("\n"))  # the space keeps what was apart apart
        done = end + 3
        start = text.find("<!--", done)
    pieces.append(text[done:])
    return "".join(pieces)


def _hide_each(text: str, literals: re.Pattern[str]) -> tuple[str, bool]:
    """Hide the code spans, comments and escapes that begin where `literals` says."""
    pieces: list[str] = []
    done = 0
    is_changed = False
    for start, end in _iter_literals(text, literals):
        literal = text[start:end]
        if literal[0] == "<":
            hidden = " " + "\n" * literal.count("\n")
        elif literal[0] == "\\":
            hidden = literal[1].translate(_HIDE)
            is_changed = True
        elif _LINKISH.search(literal):
            hidden = literal.translate(_HIDE)
            is_changed = True
        else:
            continue
        pieces += text[done:start], hidden
        done = end
    pieces.append(text[done:])
    return "".join(pieces), is_changed


def _iter_literals(text: str, literals: re.Pattern[str]) -> Iterator[tuple[int, int]]:
    """Start and end of each code span, comment and escaped character, whichever begins first."""
    tokens = [match.span() for match in literals.finditer(text)]
    next_runs = _find_next_runs(text, tokens)
    resume = 0  # tokens before this position lie inside code or a comment
    blank = -1
    last_comment_end = text.rfind("-->")
    for number, (start, end) in enumerate(tokens):
        if start < resume:
            continue
        first = text[start]
        if first == "`":
            closer = next_runs[number]
            if closer < 0:
                continue
            if blank < start:
                found = _PARAGRAPH_END.search(text, start)
                blank = found.start() if found else len(text)
            if blank < closer:
                continue
            resume = closer + end - start
        elif first == "<":
            if start + 4 > last_comment_end:
                continue
            resume = text.find("-->", start + 4) + 3
        else:
            resume = end
        yield start, resume


def _find_next_runs(text: str, tokens: list[tuple[int, int]]) -> list[int]:
    """For each run of backticks, where the next run of the same length starts; -1 when there is none.

    Inside code a backslash is only a backslash, so a run behind one opens nothing but can close.
    """
    starts = [-1] * len(tokens)
    next_runs: dict[int, int] = {}
    for number in range(len(tokens) - 1, -1, -1):
        start, end = tokens[number]
        if text[start] == "`":
            starts[number] = next_runs.get(end - start, -1)
            if not (number and tokens[number - 1][1] == start and text[start - 1] == "`"):
                next_runs[end - start] = start
        elif text[start] == "\\" and text[start + 1] == "`":
            rest = tokens[number + 1] if number + 1 < len(tokens) else (0, 0)
            length = 1 + (rest[1] - rest[0] if rest[0] == end and text[end] == "`" else 0)
            next_runs[length] = start + 1
    return starts


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
            for match in _WIKILINK.finditer(text)
            if match[1].strip() or match[2]
        ]
    text = text.strip()
    if relation in _PLACED_KEYS:
        if "/" not in text and not text.endswith((".md", ".txt", ".pdf", ".html")):
            return []
    elif relation not in _TITLED_KEYS:
        return []
    match = _BRACKETED.fullmatch(text)
    label = match[4] or "" if match else ""
    target, anchor = split_destination((match[6] or match[5] or "") if match else text)
    return [Link("frontmatter", relation, target, anchor, label, 0)] if target or anchor else []


def _find_line(source: str, key: str, text: str) -> int:
    """Line of the first place under `key` where `text` is written, else the line of the key."""
    under = re.search(rf"^[ \t]*['\"]?{re.escape(key)}['\"]?[ \t]*[:=]", source, re.MULTILINE)
    start = under.start() if under else 0
    found = source.find(text.splitlines()[0] if text.strip() else key, start)
    return source.count("\n", 0, found if found >= 0 else start) + 1
