"""A KB behind `arbor serve`, over http or https. No redirect is followed, and nothing is unpacked on the way."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import httpx

from arbor.errors import RemoteError
from arbor.remote.limits import Limits
from arbor.remote.pacing import PacedReader
from arbor.remote.wire import (
    CONTENT_TYPE,
    HTTP_PATH,
    Interrupted,
    Message,
    Packets,
    encode_packet,
    read_packets,
    request_packets,
)

_CONNECT_S = 15.0


class HttpTransport:
    """Talks to one server; a connection is kept between calls.

    Args:
        url: The address without a secret.
        token: Sent with every request; "" for none.
        limits: Bounds.
        transport: Replaces the network in tests.
    """

    whole_packs = False

    def __init__(
        self, url: str, token: str, limits: Limits, transport: httpx.BaseTransport | None = None
    ) -> None:
        self.url = url
        self._limits = limits
        headers = {"Content-Type": CONTENT_TYPE, "Accept": CONTENT_TYPE, "Accept-Encoding": "identity"}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        timeout = httpx.Timeout(limits.idle_s, connect=_CONNECT_S)
        # Loading the certificates takes longer than a whole request on loopback, and without TLS nobody reads them.
        self._client = httpx.Client(
            headers=headers, timeout=timeout, follow_redirects=False, trust_env=False, transport=transport,
            verify=url.startswith("https:"),
        )  # fmt: skip

    def call(self, command: str, arguments: Message, frames: Iterable[bytes] = ()) -> Packets:
        """Post a request; see `arbor.remote.wire.Transport`."""
        pieces = map(encode_packet, request_packets(command, arguments, frames))
        body: bytes | Iterator[bytes] = pieces if frames != () else b"".join(pieces)
        try:
            with self._client.stream("POST", self.url + HTTP_PATH, content=body) as response:
                self._check(response)
                chunks = response.iter_raw()  # as they arrive: with a size, a drip would be gathered unseen
                yield from read_packets(PacedReader(lambda: next(chunks, b""), self._limits).read)
        except httpx.TimeoutException as error:
            raise Interrupted(f"{self.url} has not answered in time") from error
        except httpx.InvalidURL as error:
            raise RemoteError(f"'{self.url}' is not a URL") from error
        except (httpx.TransportError, httpx.StreamError) as error:
            raise Interrupted(
                f"{self.url} cannot be reached: {str(error) or type(error).__name__}"
            ) from error

    def _check(self, response: httpx.Response) -> None:
        status = response.status_code
        if response.is_redirect or 300 <= status < 400:
            place = response.headers.get("location", "")[:200]
            shown = "".join(char for char in place if char.isprintable())
            hint = "give the address where the knowledge base is"
            raise RemoteError(f"{self.url} redirects to '{shown}', which is not followed", hint)
        if status in (401, 403):
            raise RemoteError(
                f"{self.url} does not allow this", "give a token: set ARBOR_TOKEN, or ask its owner"
            )
        if status != 200:
            raise RemoteError(
                f"{self.url} answers with status {status}", "is there a knowledge base at this address?"
            )
        if response.headers.get("content-type") != CONTENT_TYPE or "content-encoding" in response.headers:
            raise RemoteError(f"{self.url} is not served by arbor")

    def close(self) -> None:
        """End the connection."""
        self._client.close()
