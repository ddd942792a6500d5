"""Where a KB is, as people write it: a path, a bundle, `ssh://`, `host:path`, `https://`, or an object store."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit, urlunsplit

from arbor.errors import UsageError
from arbor.lazy import lazy_pattern
from arbor.records import dataclass
from arbor.store.files import without_dots

STORE_SCHEMES = ("s3", "gs", "az", "azure", "abfs", "memory")
_SCHEME = lazy_pattern(r"^([A-Za-z][A-Za-z0-9+.-]*)://")
_SCP = lazy_pattern(r"^(?P<user>[^@:/\s]+@)?(?P<host>\[[0-9A-Fa-f:.]+\]|[^@:/\\\s]+):(?P<path>[^\s].*)$")
_DRIVE = lazy_pattern(r"^[A-Za-z]:[\\/]")
_HOST = lazy_pattern(r"^[A-Za-z0-9_.:\[\]-]+$")
_AS_THEY_ARE = "/%:@!$&'*+,;=~()"
"""In the path of an URL, besides letters, digits and `-._`; the rest goes over the wire percent-encoded."""
_USER = lazy_pattern(r"^[A-Za-z0-9_.+-]+$")


@dataclass(frozen=True, slots=True)
class Address:
    """Where a KB is.

    Attributes:
        kind: `path`, `ssh`, `http` or `store`.
        url: How it is shown and recorded, without a secret.
        path: The path on the other side, or on this disk.
        host, user, port: For ssh and http; "" and None where not given, and no user where there is no password.
        secret: A token or a password that stood in an http URL.
    """

    kind: str
    url: str
    path: str
    host: str = ""
    user: str = ""
    port: int | None = None
    secret: str = ""


def parse_address(text: str, cwd: Path | None = None) -> Address:
    """What an address means.

    Args:
        text: As typed.
        cwd: Where a relative path starts; without it, it stays as it is.

    Raises:
        UsageError: when it is none, or one that another program could take for an option or a command.
    """
    if not text or any(not char.isprintable() for char in text):
        raise UsageError("the address of a knowledge base is empty or has control characters")
    scheme = _SCHEME.match(text)
    if scheme is not None:
        return _parse_url(text, scheme.group(1).lower())
    scp = _SCP.match(text)
    # For a name that is too long os.path.exists says no, where Path.exists is an error.
    if scp and not _DRIVE.match(text) and not os.path.exists(text):
        return _ssh(text, scp["host"].strip("[]"), (scp["user"] or "").rstrip("@"), None, scp["path"])
    return _path(text, cwd)


def _parse_url(text: str, scheme: str) -> Address:
    try:
        parts = urlsplit(text)
        host, port = parts.hostname or "", parts.port
    except ValueError as error:
        raise UsageError(f"'{text}' is not a URL: {error}") from error
    if parts.query or parts.fragment:
        raise UsageError(f"'{text}' has a query or a fragment, which no knowledge base has")
    if scheme == "file":
        if host not in ("", "localhost"):
            raise UsageError(f"'{text}' names another machine", "use ssh:// or http:// for that")
        return _path(unquote(parts.path), None)
    if scheme == "ssh":
        if parts.password:
            raise UsageError("a password does not belong into an ssh URL", "use a key")
        path = unquote(parts.path)
        return _ssh(
            text, host, unquote(parts.username or ""), port, path[1:] if path.startswith("/~") else path
        )
    if scheme in ("http", "https"):
        if not host:
            raise UsageError(f"'{text}' names no host")
        shown = f"[{host}]" if ":" in host else _ascii_host(text, host)
        path = quote(parts.path.rstrip("/"), safe=_AS_THEY_ARE)
        url = urlunsplit((scheme, shown + (f":{port}" if port else ""), path, "", ""))
        user, password = unquote(parts.username or ""), unquote(parts.password or "")
        return Address("http", url, parts.path, host, user if password else "", port, password or user)
    if scheme in STORE_SCHEMES:
        if parts.password:
            raise UsageError("a secret does not belong into the URL of an object store")
        return Address("store", text.rstrip("/"), parts.path)
    ways = "the ways are: a path, file, ssh, http, https, s3, gs, az"
    raise UsageError(f"'{scheme}://' is not a way to reach a knowledge base", ways)


def _ascii_host(text: str, host: str) -> str:
    """A host name as it goes over the wire, where only ASCII does, and no part is empty or longer than 63 signs."""
    try:
        encoded = host.encode("idna").decode()
        return host if host.isascii() else encoded
    except UnicodeError as error:
        raise UsageError(f"'{text}' has an impossible host name") from error


def _ssh(text: str, host: str, user: str, port: int | None, path: str) -> Address:
    """An address that ssh is given as arguments: nothing in it may look like an option (CVE-2017-1000117)."""
    fits = _HOST.match(host) and (not user or _USER.match(user))
    if not fits or host.startswith("-") or user.startswith("-"):
        raise UsageError(f"'{text}' has an impossible host or user name")
    if not path:
        raise UsageError(f"'{text}' names no folder on that machine", f"the home folder there is {text}/~")
    if path.startswith("-"):
        raise UsageError(f"'{text}' has a path that looks like an option", "write ./-name for a folder -name")
    return Address("ssh", text, path, host, user, port)


def _path(text: str, cwd: Path | None) -> Address:
    path = str(without_dots(Path(cwd, text))) if cwd is not None else text
    return Address("path", path, path)
