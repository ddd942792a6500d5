"""A KB behind `arbor serve`, over http or https. No redirect is followed, and nothing is unpacked on the way."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType

import httpcore

from arbor.errors import RemoteError
from arbor.remote.protocol.limits import Limits
from arbor.remote.protocol.pacing import PacedReader
from arbor.remote.protocol.wire import (
    CONTENT_TYPE,
    HTTP_PATH,
    Interrupted,
    Message,
    Packets,
    encode_packet,
    first_line,
    read_packets,
    request_packets,
)
from arbor.remote.transports.http_refusals import (
    EXPLAINED,
    asks_for_login,
    refusal,
)
from arbor.remote.transports.http_streams import PacedBackend, PacedStream
from arbor.repo.importing.proxies import LOGIN_HINT, Proxy, find_proxy

_CONNECT_S = 15.0
_FAILURES = (httpcore.NetworkError, httpcore.ProtocolError, OSError)
NO_PROXIES: Mapping[str, str] = MappingProxyType({})


def _for_pool(proxy: Proxy | None) -> httpcore.Proxy | None:
    if proxy is None:
        return None
    name, password = proxy.login or ("", "")
    login = (name.encode(), password.encode()) if proxy.login else None  # as text only ASCII would be taken
    return httpcore.Proxy(f"{proxy.scheme}://{proxy.place}", login)


class HttpTransport:
    """Talks to one server; a connection is kept between calls.

    Args:
        url: The address without a secret.
        token: Sent with every request; "" for none.
        limits: Bounds.
        login: A name and a password with a colon between, for a server that asks for these; "" where `token` is it.
        proxies: See `arbor.repo.importing.proxies.find_proxy`.
    """

    is_peer = True

    def __init__(
        self, url: str, token: str, limits: Limits, login: str = "", proxies: Mapping[str, str] = NO_PROXIES
    ) -> None:
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
        self._login = login or (token if ":" in token else "")
        self._sends_login = False
        self._proxy = find_proxy(url, proxies)
        self._pool = httpcore.ConnectionPool(
            network_backend=PacedBackend(limits), proxy=_for_pool(self._proxy)
        )

    def call(self, command: str, arguments: Message, frames: Iterable[bytes] = ()) -> Packets:
        """Post a request; see `arbor.remote.protocol.wire.Transport`."""
        pieces = map(encode_packet, request_packets(command, arguments, frames))
        try:
            if frames != ():
                yield from self._post(pieces)
                return
            body = b"".join(pieces)
            try:
                yield from self._post(body)
            except _LoginWanted:
                self._send_login()
                yield from self._post(body)
        except httpcore.TimeoutException as error:
            raise Interrupted(f"{self.url} has not answered in time{self._by_proxy()}") from error
        except httpcore.ProxyError as error:
            hint = LOGIN_HINT if str(error).startswith("407") else ""
            raise Interrupted(
                f"{self.url} cannot be reached{self._by_proxy()}, which says: {first_line(error)}", hint
            ) from error
        except _FAILURES as error:
            said = first_line(error)
            is_made = not isinstance(error, (httpcore.ConnectError, OSError))
            what = "broke off the conversation" if is_made else "cannot be reached"
            raise Interrupted(f"{self.url} {what}{self._by_proxy()}: {said}", _failure_hint(said)) from error

    def _post(self, body: bytes | Iterator[bytes]) -> Packets:
        """The packets of the answer to one request.

        Raises:
            _LoginWanted: when nothing was answered but that a name and a password are wanted, which are known.
        """
        headers = list(self._headers.items())
        if isinstance(body, bytes):
            headers.append(("Content-Length", str(len(body))))
        idle_s = self._limits.idle_s
        timeouts = {"connect": _CONNECT_S, "read": idle_s, "write": idle_s, "pool": _CONNECT_S}
        with self._pool.stream(
            "POST", self.url + HTTP_PATH, headers=headers, content=body, extensions={"timeout": timeouts}
        ) as response:
            stream = response.extensions["network_stream"]
            if isinstance(stream, PacedStream):
                stream.head_has_come()
            chunks = response.iter_stream()
            self._check(response, chunks, may_repeat=isinstance(body, bytes))
            yield from read_packets(PacedReader(lambda: next(chunks, b""), self._limits).read)

    def _check(self, response: httpcore.Response, chunks: Iterator[bytes], *, may_repeat: bool) -> None:
        status = response.status
        headers = {name.lower(): value for name, value in response.headers}
        if status != 200:
            if may_repeat and self._login and not self._sends_login and asks_for_login(status, headers):
                raise _LoginWanted
            begun = next(chunks, b"") if status in EXPLAINED else b""
            raise refusal(
                self.url, status, headers, begun, with_login=self._sends_login, way=self._by_proxy()
            )
        if headers.get(b"content-type") != CONTENT_TYPE.encode() or b"content-encoding" in headers:
            raise RemoteError(f"{self.url} is not served by arbor")

    def _send_login(self) -> None:
        """From now on: what was asked for stands where the token would. Source: RFC 7617."""
        self._sends_login = True
        self._headers["Authorization"] = f"Basic {base64.b64encode(self._login.encode()).decode()}"

    def _by_proxy(self) -> str:
        return self._proxy.in_words if self._proxy is not None else ""

    def close(self) -> None:
        """End the connection."""
        self._pool.close()


class _LoginWanted(Exception):
    """A name and a password are asked for, and they are at hand."""


def _failure_hint(said: str) -> str:
    """What can be done about a connection that was not made, by the words of the system or of OpenSSL."""
    if "CERTIFICATE_VERIFY_FAILED" in said and ("issuer" in said or "self" in said):
        return "where its authority is one of your own: SSL_CERT_FILE=FILE names the certificate"
    if "WRONG_VERSION_NUMBER" in said or "RECORD_LAYER_FAILURE" in said:
        return "at this port nothing speaks https"
    return ""
