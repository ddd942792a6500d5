"""What an http answer without packets means: from `arbor serve`, or from a proxy in front of it, which speaks first."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

from arbor.errors import RemoteError, printable
from arbor.remote.protocol.wire import CROWDED, HTTP_PATH, UNKNOWN_NAME, Interrupted
from arbor.repo.importing.proxies import LOGIN_HINT

EXPLAINED = (400, 403, 503)
"""Refusals whose content says more than their status."""
_BAD_REQUEST, _FORBIDDEN, _UNAVAILABLE = EXPLAINED
_UNAUTHORIZED = 401
_BUSY = 429
_UNREACHED = (502, 504)
_TOO_LARGE = 413
_PROXY_LOGIN = 407

Headers = Mapping[bytes, bytes]
"""Of an answer, by names in lower case."""


def asks_for_login(status: int, headers: Headers) -> bool:
    """Whether a name with a password is asked for, as proxies do, and no token. Source: RFC 7617."""
    return status == _UNAUTHORIZED and headers.get(b"www-authenticate", b"").lower().startswith(b"basic")


def refusal(
    url: str, status: int, headers: Headers, begun: bytes, *, with_login: bool, way: str = ""
) -> RemoteError:
    """The error of an answer whose status is not 200.

    Args:
        url: What was asked, without a secret.
        status: Of the answer.
        headers: Of the answer.
        begun: How its content begins, b"" where that was not read.
        with_login: Whether a name and a password were sent.
        way: The proxy that it was asked through, in words.
    """
    if 300 <= status < 400:
        place = headers.get(b"location", b"")[:200].decode("latin-1").removesuffix(HTTP_PATH)
        return RemoteError(f"{url} redirects to '{printable(place)}', which is not followed",
                           "give the address where the knowledge base is")  # fmt: skip
    if status == _FORBIDDEN and begun.startswith(UNKNOWN_NAME.encode()):
        return RemoteError(f"the server at {url} does not answer to this name",
                           f"its owner can let it: arbor serve --name {urlsplit(url).hostname or ''}")  # fmt: skip
    if asks_for_login(status, headers):
        return RemoteError(
            f"{url} does not take this name and password"
            if with_login
            else f"{url} asks for a name and a password",
            "set ARBOR_TOKEN to NAME:PASSWORD",
        )
    if status in (_UNAUTHORIZED, _FORBIDDEN):
        return RemoteError(f"{url} does not allow this", "set ARBOR_TOKEN, or ask its owner for a token")
    if status == _PROXY_LOGIN:
        return RemoteError(f"the proxy on the way to {url} asks for a name and a password", LOGIN_HINT)
    if status in (_BUSY, _UNAVAILABLE):
        is_busy = status == _BUSY or begun.startswith(CROWDED.encode())
        state = "has too much to do now" if is_busy else "is out of service, or has too much to do"
        return Interrupted(f"{url} {state} (status {status})", "try again in a moment")
    if status in _UNREACHED:
        return Interrupted(
            f"a proxy on the way to {url} gets no answer from what is behind it (status {status})",
            "its owner can see whether arbor serve is running",
        )
    if status == _TOO_LARGE:
        return RemoteError(
            f"{url} takes no request as large as this one (status {status})",
            "its owner can let the proxy in front take more, in nginx with client_max_body_size",
        )
    hint = "is there a knowledge base at this address?"
    if status == _BAD_REQUEST and url.startswith("http:") and b"https" in begun.lower():
        hint = f"its address is https:{url.removeprefix('http:')}"
    return RemoteError(f"{url} answers{way} with status {status}", hint)
