"""The one validator of document paths: every platform's rules, always, wherever a path comes from.

A path is relative, POSIX, in Unicode form C, and on Linux, macOS and Windows alike no checkout of it can leave the
folder or touch `.arbor`. What Windows would take for another name (a drive, a device, a dot or space at the end) is
refused. A name with `<>:"|?*` is valid, since note folders have them: Windows cannot hold it, which `add` warns about
and a checkout there refuses (`windows_fault`). Sources: git's verify_path with protectHFS and protectNTFS, and
Microsoft's naming rules.
"""

from __future__ import annotations

import re
import unicodedata

from arbor.errors import UsageError
from arbor.lazy import lazy_pattern

MAX_PATH_BYTES = 4096
MAX_NAME_BYTES = 255
PRIVATE_FOLDER = ".arbor"
# Windows takes `C:` at the start of a part for a drive and leaves the folder that it stands in.
_DRIVE = lazy_pattern(r"^[A-Za-z]:")
_CONTROL = lazy_pattern("[\x00-\x1f\x7f\x80-\x9f\u2028\u2029\\\\]")
_RESERVED = lazy_pattern(r"^(con|prn|aux|nul|conin\$|conout\$|com[0-9¹²³]|lpt[0-9¹²³])$", re.IGNORECASE)
# A colon is the worst: what follows it names a stream of the file before it, and nothing is refused.
_NOT_ON_WINDOWS = lazy_pattern(r'[<>:"|?*]')
# Characters that HFS+ and APFS ignore when they compare names, so that they can disguise a protected one.
_IGNORABLE = lazy_pattern(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\U000e0000-\U000e0fff]"
)
_SHORT_NAME = lazy_pattern(r"^\.?(arbor|git)~[0-9]+$|^(arbor|git)~[0-9]+$")
_PROTECTED = frozenset({PRIVATE_FOLDER, ".git"})


# Nearly every path: plain ASCII names that no rule below can object to.
_PLAIN = lazy_pattern(
    r"(?:(?!(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:[./ ]|\Z))"
    r"[A-Za-z0-9_](?:[A-Za-z0-9 _,&()'+@!-]*[A-Za-z0-9_)])?(?:\.[A-Za-z0-9_]+)*(?:/(?!\Z)|\Z))+",
    re.IGNORECASE,
)


def path_fault(path: str) -> str:
    """Why a path may not be used, or "" when it may."""
    if len(path) <= MAX_NAME_BYTES and path.isascii() and _PLAIN.fullmatch(path):
        return ""
    if not path or path.startswith("/"):
        return "it is not a relative path"
    try:
        encoded = path.encode()
    except UnicodeEncodeError:
        return "its name is not valid Unicode"
    if len(encoded) > MAX_PATH_BYTES:
        return f"it is longer than {MAX_PATH_BYTES} bytes"
    if _CONTROL.search(path):
        return "it has a control character or a backslash in its name"
    if not path.isascii() and not unicodedata.is_normalized("NFC", path):
        return "its name is not in Unicode form C"
    for name in path.split("/"):
        fault = _name_fault(name)
        if fault:
            return fault
    return ""


def _name_fault(name: str) -> str:
    if name in ("", ".", ".."):
        return "it has an empty, '.' or '..' part"
    if len(name) > MAX_NAME_BYTES // 4 and len(name.encode()) > MAX_NAME_BYTES:
        return f"a part of it is longer than {MAX_NAME_BYTES} bytes"
    if name[-1] in ". ":
        return "a part of it ends in a dot or a space, which Windows drops"
    if _DRIVE.match(name):
        return "a part of it begins like a drive on Windows"
    if _RESERVED.match(name.split(".", 1)[0].split(":", 1)[0].rstrip(" ")):
        return "a part of it is a device name on Windows"
    if name[0] == "." or "~" in name or not name.isascii():
        plain = unicodedata.normalize("NFKC", _IGNORABLE.sub("", name)).casefold()
        plain = plain.split(":", 1)[0].rstrip(". ")
        if plain in _PROTECTED or _SHORT_NAME.match(plain):
            return f"'{plain}' is a protected name"
    return ""


def windows_fault(path: str) -> str:
    """Why Windows cannot hold a file of a valid path, or "" when it can."""
    found = _NOT_ON_WINDOWS.search(path)
    return f"Windows allows no {found[0]} in a name" if found else ""


def check_path(path: str) -> str:
    """The path, when it may be used.

    Raises:
        UsageError: when it may not; the message says why.
    """
    fault = path_fault(path)
    if fault:
        raise UsageError(f"{path!r} cannot be a document path: {fault}")
    return path


def in_form_c(name: str) -> str:
    """The name in Unicode form C, as paths are; one that has no such form as it is."""
    try:
        return unicodedata.normalize("NFC", name)
    except UnicodeError:
        return name


def collision_key(path: str) -> str:
    """A key that is equal for paths which a case-insensitive or NFD file system takes for one."""
    if path.isascii():
        return path.lower()
    return unicodedata.normalize("NFC", unicodedata.normalize("NFD", path).casefold())
