"""What a site lets robots fetch: its `robots.txt`, read as RFC 9309 says.

Of the rules that fit an address the longest one counts, wherever it stands, and of two of one length the one that
allows. In a rule `*` stands for anything, and `$` at its end for the end of the address.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from urllib.parse import quote

from arbor.records import dataclass

_ESCAPE = re.compile(r"%([0-9A-Fa-f]{2})")
_UNRESERVED = re.compile(r"[A-Za-z0-9._~-]")
_ASCII = "".join(map(chr, range(0x21, 0x7F)))
_RULES = {"allow": True, "disallow": False}


@dataclass(frozen=True, slots=True)
class Robots:
    """The rules of a site for one robot: (pattern, whether it allows)."""

    rules: tuple[tuple[str, bool], ...] = ()

    def allows(self, target: str) -> bool:
        """Whether a path, with its query, may be fetched."""
        wanted = _plain(target)
        fitting = [(len(pattern), allows) for pattern, allows in self.rules if _fits(pattern, wanted)]
        return max(fitting, default=(0, True))[1]


def parse_robots(text: str, product: str) -> Robots:
    """The rules of a `robots.txt` for a robot of this name: those of all groups that name it, else those for any.

    Source: RFC 9309, section 2.2. Lines that are no part of its grammar are passed over.
    """
    own: list[tuple[str, bool]] | None = None
    general: list[tuple[str, bool]] = []
    names: set[str] = set()
    goes_on = False  # whether the line before named a robot, too
    for name, value in _lines(text):
        if name == "user-agent":
            names = {*(names if goes_on else ()), value.partition("/")[0].strip().lower()}
            goes_on = True
            own = [] if own is None and product.lower() in names else own
        elif name in _RULES:
            goes_on = False
            rule = [(_plain(value), _RULES[name])] if value else []
            if own is not None and product.lower() in names:
                own += rule
            if "*" in names:
                general += rule
    return Robots(tuple(general if own is None else own))


def _lines(text: str) -> Iterable[tuple[str, str]]:
    """(name in lower case, value) of each line, without remarks."""
    for line in text.removeprefix("\ufeff").splitlines():
        name, colon, value = line.partition("#")[0].partition(":")
        if colon:
            yield name.strip().lower(), value.strip()


def _plain(path: str) -> str:
    """A path or pattern in the one form in which they are compared: only what must be escaped is."""
    return quote(_ESCAPE.sub(_unescape, path), safe=_ASCII)


def _unescape(found: re.Match[str]) -> str:
    char = chr(int(found[1], 16))
    return char if _UNRESERVED.fullmatch(char) else found[0].upper()


def _fits(pattern: str, target: str) -> bool:
    """Whether a target begins as a pattern says; the time is that of looking through it once."""
    is_whole = pattern.endswith("$")
    first, *parts = pattern.removesuffix("$").split("*")
    if not target.startswith(first):
        return False
    at = len(first)
    last = parts.pop() if is_whole and parts else ""
    for part in parts:
        found = target.find(part, at)
        if found < 0:
            return False
        at = found + len(part)
    if is_whole and "*" not in pattern:
        return at == len(target)
    return target.endswith(last) and len(target) - len(last) >= at
