"""The names under which a server is reached, each in one spelling, so that two spellings of one name are the same."""

from __future__ import annotations

import ipaddress
import re

from arbor.errors import UsageError

_NAME = re.compile(r"[^\s\[\]:/\\@?#,]+")
_AUTHORITY = re.compile(rf"(?:\[([^\[\]]*)\]|({_NAME.pattern}))(?::[0-9]*)?")
_ABSOLUTE = re.compile(rb"https?://([^/]*)(/.*)?", re.IGNORECASE)
_WEB_ORIGIN = re.compile(r"https?://(.*)", re.IGNORECASE)


def parse_name(typed: str) -> str:
    """A host name or an address as somebody types it, in its one spelling.

    Raises:
        UsageError: when it is none, so that no client could ever send it.
    """
    bare = typed.removeprefix("[").removesuffix("]") if typed.startswith("[") else typed
    if not (_is_address(bare) or _NAME.fullmatch(typed)):
        raise UsageError(
            f"'{typed}' is no host name", "a name has no scheme, no port and no path: --name kb.example.org"
        )
    return _one_spelling(bare)


def name_in_host(value: str) -> str:
    """The name in a `Host` header; "" where it is malformed, which no server is called."""
    found = _AUTHORITY.fullmatch(value)
    if found is None or (found[1] is not None and not _is_address(found[1])):
        return ""
    return _one_spelling(found[1] or found[2])


def name_in_origin(value: str) -> str:
    """The name in an `Origin` header; "" for one that is not a place on the web."""
    found = _WEB_ORIGIN.fullmatch(value)
    return name_in_host(found[1]) if found else ""


def split_absolute(target: bytes) -> tuple[bytes, bytes] | None:
    """(authority, path) of a request's target that is a whole address; None for any other.

    Source: RFC 9112, section 3.2.2: a server takes such targets, and their host counts in place of the `Host` header's.
    """
    found = _ABSOLUTE.fullmatch(target)
    return (found[1], found[2] or b"/") if found else None


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _one_spelling(name: str) -> str:
    if _is_address(name):
        return str(ipaddress.ip_address(name.partition("%")[0]))  # a zone means something on one machine only
    name = name.lower().removesuffix(".")
    try:
        return name if name.isascii() else name.encode("idna").decode()
    except UnicodeError:
        return name
