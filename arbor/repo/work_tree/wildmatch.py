"""One line of an ignore file as git reads it, and whether it matches a path.

Paths and patterns are compared byte by byte, as git does. Source: gitignore(5) and git's `wildmatch.c` and `dir.c`.
"""

from __future__ import annotations

import re

from arbor.records import dataclass

_NEVER = re.compile(rb"(?!)")
_CLASSES = {
    b"alnum": rb"0-9A-Za-z", b"alpha": rb"A-Za-z", b"blank": rb" \t", b"cntrl": rb"\x00-\x1f\x7f", b"digit": rb"0-9",
    b"graph": rb"!-~", b"lower": rb"a-z", b"print": rb" -~", b"punct": rb"!-/:-@\[-`{-~", b"space": rb" \t-\r",
    b"upper": rb"A-Z", b"xdigit": rb"0-9A-Fa-f",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Pattern:
    """One rule.

    Attributes:
        regex: Matches the whole name where `by_name`, else the whole path below the ignore file's folder.
        by_name: Whether only the last part of a path is looked at.
        only_folders: Whether it is for folders alone.
        ignores: False for a rule that takes back what an earlier one ignores.
    """

    regex: re.Pattern[bytes]
    by_name: bool
    only_folders: bool
    ignores: bool


def parse_pattern(line: bytes) -> Pattern | None:
    """The rule of a line without its line end; None for a comment or an empty line."""
    text = _without_trailing_spaces(line)
    if not text or text.startswith(b"#"):
        return None
    ignores = not text.startswith(b"!")
    text = text if ignores else text[1:]
    only_folders = text.endswith(b"/")
    text = text[:-1] if only_folders else text
    by_name = b"/" not in text
    regex = translate(text.removeprefix(b"/"), whole_paths=not by_name)
    return Pattern(regex, by_name, only_folders, ignores)


def _without_trailing_spaces(line: bytes) -> bytes:
    end = len(line)
    while end and line[end - 1 : end] == b" ":
        end -= 1
    backslashes = len(line[:end]) - len(line[:end].rstrip(b"\\"))
    return line[: end + 1] if backslashes % 2 and end < len(line) else line[:end]


def translate(pattern: bytes, *, whole_paths: bool) -> re.Pattern[bytes]:
    """A wild card pattern as a regular expression for `fullmatch`; one that is broken matches nothing.

    Every star but the last of a part, and every `**` but the last, takes the first fit and never another, which finds
    a match whenever there is one: so no pattern can make the search explode.

    Args:
        pattern: The pattern without a leading or trailing slash.
        whole_paths: Whether `**` spans folders; names have no slashes.
    """
    # git compares what comes before the first sign by itself, so that stars right after it stand at a beginning.
    plain = len(pattern) - len(pattern.lstrip(_PLAIN)) if whole_paths else 0
    rest = _tokens(pattern[plain:], whole_paths)
    if rest is None or not pattern:
        return _NEVER
    tokens = [_exactly(pattern[place : place + 1]) for place in range(plain)] + rest
    blocks = [_parts(block) for block in _split(tokens, _DEEP)]
    regex = blocks[0]
    for block in blocks[1:-1]:
        regex += rb"(?>(?:[^/]*+/)*?" + block + rb")"
    if len(blocks) > 1:
        regex += rb"(?:[^/]*+/)*" + blocks[-1]
    return re.compile(regex, re.DOTALL)


_PLAIN = bytes(code for code in range(256) if code not in b"*?[\\")
_STAR, _DEEP, _SLASH = b"*", b"**/", b"/"
_ALL, _ONE = rb".*", rb"[^/]"


def _tokens(pattern: bytes, whole_paths: bool) -> list[bytes] | None:
    """Regular expressions for one character each, slashes, and stars; None where the pattern is broken."""
    tokens: list[bytes] = []
    place = 0
    while place < len(pattern):
        char = pattern[place : place + 1]
        if char == b"*":
            token, place = _stars(pattern, place, whole_paths)
        elif char == b"[":
            found = _set(pattern, place + 1)
            if found is None:
                return None
            token, place = rb"(?!/)" + found[0], found[1]
        elif char == b"\\":
            if place + 1 == len(pattern):
                return None
            token, place = _exactly(pattern[place + 1 : place + 2]), place + 2
        else:
            token, place = _ONE if char == b"?" else _exactly(char), place + 1
        tokens.append(token)
    return tokens


def _exactly(char: bytes) -> bytes:
    return _SLASH if char == b"/" else _byte(char)


def _stars(pattern: bytes, place: int, whole_paths: bool) -> tuple[bytes, int]:
    end = place
    while pattern[end : end + 1] == b"*":
        end += 1
    alone = (place == 0 or pattern[place - 1 : place] == b"/") and pattern[end : end + 1] in (b"", b"/")
    if not whole_paths or end - place == 1 or not alone:
        return _STAR, end
    return (_DEEP, end + 1) if end < len(pattern) else (_ALL, end)


def _split(tokens: list[bytes], separator: bytes) -> list[list[bytes]]:
    groups: list[list[bytes]] = [[]]
    for token in tokens:
        if token == separator:
            groups.append([])
        else:
            groups[-1].append(token)
    return groups


def _parts(tokens: list[bytes]) -> bytes:
    """The parts of a path between slashes, stars in them included."""
    parts = []
    for part in _split(tokens, _SLASH):
        pieces = [b"".join(piece) for piece in _split(part, _STAR)]
        regex = pieces[0] + b"".join(rb"(?>[^/]*?" + piece + rb")" for piece in pieces[1:-1])
        parts.append(regex + (rb"[^/]*" + pieces[-1] if len(pieces) > 1 else b""))
    return b"/".join(parts)


def _set(pattern: bytes, place: int) -> tuple[bytes, int] | None:
    """A set in brackets from after its `[`, and where it ends; None where it does not."""
    negated = pattern[place : place + 1] in (b"!", b"^")
    place += negated
    items: list[bytes] = []
    first, low = True, b""
    while True:
        char = pattern[place : place + 1]
        if not char or (char == b"]" and not first):
            break
        first = False
        if char == b"[" and pattern[place + 1 : place + 2] == b":":
            named = _named_class(pattern, place)
            if named is None:
                return None
            item, place, low = named
            items.append(item)
            continue
        if char == b"-" and low and pattern[place + 1 : place + 2] not in (b"", b"]"):
            high, place = _literal(pattern, place + 1)
            if high and low <= high:
                items.append(_byte(low) + b"-" + _byte(high))
            low = b""
        else:
            low, place = _literal(pattern, place)
            items.append(_byte(low) if low else b"")
    if not char or not any(items):
        return None if not char else ((rb"." if negated else rb"(?!)"), place + 1)
    return b"[" + (b"^" if negated else b"") + b"".join(items) + b"]", place + 1


def _named_class(pattern: bytes, place: int) -> tuple[bytes, int, bytes] | None:
    """`[:name:]` as (items, place after it, the character that a range could begin with); None where it is broken."""
    end = pattern.find(b"]", place + 2)
    if end < 0:
        return None
    if pattern[end - 1 : end] != b":" or end - 1 < place + 2:
        return _byte(b"["), place + 1, b"["
    items = _CLASSES.get(pattern[place + 2 : end - 1])
    return None if items is None else (items, end + 1, b"")


def _literal(pattern: bytes, place: int) -> tuple[bytes, int]:
    """A character of a set, escaped or not, and the place after it."""
    if pattern[place : place + 1] == b"\\":
        place += 1
    return pattern[place : place + 1], place + 1


def _byte(char: bytes) -> bytes:
    return b"\\x%02x" % char[0]
