"""A KB behind `arbor serve`, over http or https. No redirect is followed, and nothing is unpacked on the way."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from urllib.parse import urlsplit

import httpcore

from arbor.errors import RemoteError
from arbor.remote.protocol.limits import Limits
from arbor.remote.protocol.pacing import PacedReader
from arbor.remote.protocol.wire import (
    CONTENT_TYPE,
    HTTP_PATH,
    UNKNOWN_NAME,
    Interrupted,
    Message,
    Packets,
    encode_packet,
    first_line,
    read_packets,
    request_packets,
)
from arbor.remote.transports.http_streams import PacedBackend, PacedStream

_CONNECT_S = 15.0
_FORBIDDEN = 403
_REFUSED = (401, _FORBIDDEN)
_FAILURES = (httpcore.NetworkError, httpcore.ProtocolError, httpcore.ProxyError, OSError)


class HttpTransport:
    """Talks to one server; a connection is kept between calls.

    Args:
        url: The address without a secret.
        token: Sent with every request; "" for none.
        limits: Bounds.
    """

    is_peer = True

    def __init__(self, url: str, token: str, limits: Limits) -> None:
        self.url = url
        self._limits = limits
        self._headers = {
            "Content-Type": CONTENT_TYPE,
            "Accept": CONTENT_TYPE,
            "Accept-Encoding": "identity",
            "User-Agent": "arbor",
        }
        if token:
            if not (token.isascii() and token.isprintable()):
                raise RemoteError("a token may have printable ASCII characters only")
            self._headers["Authorization"] = f"Bearer {token}"
        self._pool = httpcore.ConnectionPool(network_backend=PacedBackend(limits))

    def call(self, command: str, arguments: Message, frames: Iterable[bytes] = ()) -> Packets:
        """Post a request; see `arbor.remote.protocol.wire.Transport`."""
        pieces = map(encode_packet, request_packets(command, arguments, frames))
        headers = list(self._headers.items())
        body: bytes | Iterator[bytes] = pieces
        if frames == ():
            body = b"".join(pieces)
            headers.append(("Content-Length", str(len(body))))
        idle_s = self._limits.idle_s
        timeouts = {"connect": _CONNECT_S, "read": idle_s, "write": idle_s, "pool": _CONNECT_S}
        try:
            with self._pool.stream(
                "POST", self.url + HTTP_PATH, headers=headers, content=body, extensions={"timeout": timeouts}
            ) as response:
                stream = response.extensions["network_stream"]
                if isinstance(stream, PacedStream):
                    stream.head_has_come()
                self._check(response)
                chunks = response.iter_stream()
                yield from read_packets(PacedReader(lambda: next(chunks, b""), self._limits).read)
        except httpcore.TimeoutException as error:
            raise Interrupted(f"{self.url} has not answered in time") from error
        except _FAILURES as error:
            raise Interrupted(f"{self.url} cannot be reached: {first_line(error)}") from error

    def _check(self, response: httpcore.Response) -> None:
        status = response.status
        headers = {name.lower(): value for name, value in response.headers}
        if 300 <= status < 400:
            place = headers.get(b"location", b"")[:200].decode("latin-1")
            shown = "".join(char for char in place if char.isprintable())
            hint = "give the address where the knowledge base is"
            raise RemoteError(f"{self.url} redirects to '{shown}', which is not followed", hint)
        if status == _FORBIDDEN and next(response.iter_stream(), b"").startswith(UNKNOWN_NAME.encode()):
            host = urlsplit(self.url).hostname or ""
            raise RemoteError(f"the server at {self.url} does not answer to this name",
                              f"its owner can let it: arbor serve --name {host}")  # fmt: skip
        if status in _REFUSED:
            raise RemoteError(
                f"{self.url} does not allow this", "set ARBOR_TOKEN, or ask its owner for a token"
            )
        if status == 503:
            raise Interrupted(f"{self.url} has too much to do now", "try again in a moment")
        if status != 200:
            hint = "is there a knowledge base at this address?"
            raise RemoteError(f"{self.url} answers with status {status}", hint)
        if headers.get(b"content-type") != CONTENT_TYPE.encode() or b"content-encoding" in headers:
            raise RemoteError(f"{self.url} is not served by arbor")

    def close(self) -> None:
        """End the connection."""
        self._pool.close()
