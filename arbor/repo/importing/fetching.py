"""Fetching a page of the web within bounds: size, time, redirects, robots, and public addresses only.

A name is resolved once, every address it has is looked at, and the connection goes to an address that was
looked at: a name that answers otherwise the second time gains nothing. Each redirect is a new request under
the same rules. On the way through a proxy it is the proxy that resolves the name, and connects.
"""

from __future__ import annotations

import contextlib
import http.client
import io
import ipaddress
import socket
import ssl
import time
import zlib
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any
from urllib.parse import SplitResult, quote, urljoin, urlsplit

from arbor import __version__
from arbor.errors import ArborError, RemoteError, UsageError
from arbor.objects.codec import check_unicode
from arbor.records import dataclass
from arbor.repo.importing.proxies import LOGIN_HINT, Proxy, find_proxy
from arbor.repo.importing.robots import Robots, parse_robots

_PRODUCT = "arbor"
AGENT = f"{_PRODUCT}/{__version__}"
_ASCII = "".join(map(chr, range(0x21, 0x7F)))
_BLOCK_BYTES = 64 * 1024
_ROBOTS_BYTES = 512 * 1024
"""RFC 9309, section 2.5: at least 500 KiB are read; what goes beyond is passed over."""
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_PROXY_LOGIN = 407
_DEFAULT_PORTS = {"http": 80, "https": 443}
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
"""RFC 6052: what lies behind such an address is the IPv4 address in its last four bytes."""
_LOCAL_NAT64 = ipaddress.ip_network("64:ff9b:1::/48")
"""RFC 8215: the same for a network's own use."""


class SourceGone(RemoteError):
    """The server answers, and says that there is nothing at the address any more."""


@dataclass(frozen=True, slots=True)
class FetchRules:
    """What a fetch may do.

    Attributes:
        private: Also addresses that are not public: loopback, private and link-local networks.
        robots: Respect `robots.txt`.
        max_bytes: The largest answer that is taken, after unpacking.
        timeout_s: Seconds for a single wait on the network.
        total_s: Seconds for the whole fetch.
        max_redirects: Redirects that are followed.
        proxies: On the way there; see `arbor.repo.importing.proxies.find_proxy`.
    """

    private: bool = False
    robots: bool = True
    max_bytes: int = 64 * 1024 * 1024
    timeout_s: float = 15.0
    total_s: float = 120.0
    max_redirects: int = 5
    proxies: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Answer:
    """What a server answered.

    Attributes:
        url: Where it came from, after redirects.
        status: The HTTP status; 304 when nothing has changed.
        data: The body; b"" for 304.
        media_type: From the header, in lower case, without parameters.
        charset: The encoding that the header names; "" where it names none.
        etag, last_modified: As sent; "" where absent.
    """

    url: str
    status: int
    data: bytes
    media_type: str
    etag: str
    last_modified: str
    charset: str = ""


@dataclass(slots=True)
class Fetcher:
    """Fetches addresses under one set of rules; remembers each site's `robots.txt`."""

    rules: FetchRules = field(default_factory=FetchRules)
    _robots: dict[str, Robots] = field(default_factory=dict)

    def fetch(self, url: str, *, etag: str = "", last_modified: str = "") -> Answer:
        """What is behind an address now.

        Args:
            url: An http or https address.
            etag: Of the version at hand, so that the server can say that nothing has changed.
            last_modified: The same, by date.

        Raises:
            UsageError: when the address is not one that may be fetched.
            RemoteError: when the site refuses, cannot be reached, or goes beyond the rules.
        """
        headers = {"User-Agent": AGENT, "Accept": "*/*", "Accept-Encoding": "identity"}
        if etag:
            headers["If-None-Match"] = etag
        if last_modified:
            headers["If-Modified-Since"] = last_modified
        deadline = time.monotonic() + self.rules.total_s
        answer = self._follow(url, headers, self.rules.max_bytes, deadline, robots=self.rules.robots)
        if answer.status == 304 and not (etag or last_modified):
            raise RemoteError(f"'{url}' cannot be fetched: the server says that nothing has changed, unasked")
        if answer.status in (404, 410):
            raise SourceGone(f"'{url}' is gone: the server answers {answer.status}")
        if answer.status not in (200, 203, 304):
            raise RemoteError(f"'{url}' cannot be fetched: the server answers {answer.status}")
        return answer

    def _follow(
        self, url: str, headers: Mapping[str, str], max_bytes: int, deadline: float, *, robots: bool,
        only_beginning: bool = False,
    ) -> Answer:  # fmt: skip
        for _ in range(self.rules.max_redirects + 1):
            parts = check_url(url)
            if robots:
                self._ask_robots(parts, deadline)
            answer, location = _request(
                parts, headers, max_bytes, deadline, self.rules, only_beginning=only_beginning
            )
            if answer.status not in _REDIRECTS or not location:
                return answer
            target = _redirected(url, location)
            if parts.scheme == "https" and urlsplit(target).scheme != "https":
                raise RemoteError(f"'{url}' redirects to an address without encryption")
            url = target
        raise RemoteError(f"'{url}' redirects more than {self.rules.max_redirects} times")

    def _ask_robots(self, parts: SplitResult, deadline: float) -> None:
        """Whether the site lets robots fetch this address.

        Source: RFC 9309: without a robots.txt all is allowed, with one that cannot be had nothing is.
        """
        site = f"{parts.scheme}://{parts.netloc}"
        robots = self._robots.get(site)
        if robots is None:
            headers = {"User-Agent": AGENT, "Accept-Encoding": "identity"}
            answer = self._follow(
                f"{site}/robots.txt", headers, _ROBOTS_BYTES, deadline, robots=False, only_beginning=True
            )
            if answer.status >= 500:
                raise RemoteError(
                    f"'{site}' does not say whether robots are welcome", "ask all the same: --no-robots"
                )
            rules = answer.data if len(answer.data) < _ROBOTS_BYTES else answer.data.rpartition(b"\n")[0]
            text = rules.decode("utf-8", "replace") if answer.status == 200 else ""
            robots = self._robots[site] = parse_robots(text, _PRODUCT)
        if not robots.allows(_target(parts)):
            raise RemoteError(f"'{parts.geturl()}' is closed to robots", "fetch it all the same: --no-robots")


def make_fetch(rules: FetchRules) -> Callable[[str], bytes]:
    """A function that gives the bytes behind an address under these rules."""
    fetcher = Fetcher(rules)
    return lambda url: fetcher.fetch(url).data


def check_url(url: str) -> SplitResult:
    """The parts of an address that may be fetched.

    Raises:
        UsageError: when it is not http or https, has a password in it, or no host.
    """
    check_unicode(url, "the address")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise UsageError(f"'{url}' is not an address: {error}") from error
    if parts.scheme not in _DEFAULT_PORTS or not parts.hostname or port == 0:
        raise UsageError(f"'{url}' is not an http or https address")
    if parts.username or parts.password:
        raise UsageError("an address with a password in it would be recorded; give it without")
    if any(ord(char) <= 32 or ord(char) == 127 for char in url):
        raise UsageError(f"{url!r} has spaces or control characters in it")
    return parts


def is_public(address: str) -> bool:
    """Whether an IP address is one of the public internet."""
    ip = ipaddress.ip_address(address.split("%", 1)[0])
    mapped = getattr(ip, "ipv4_mapped", None) or getattr(ip, "sixtofour", None)
    if mapped is not None:
        ip = mapped
    elif ip in _NAT64:
        ip = ipaddress.IPv4Address(int(ip) & 0xFFFF_FFFF)
    return ip.is_global and not ip.is_multicast and ip not in _LOCAL_NAT64


def _connection_to(parts: SplitResult, rules: FetchRules, proxy: Proxy | None) -> http.client.HTTPConnection:
    """A connection that is not made yet; every address that the host is known to have must be allowed.

    What a proxy makes of the name is its own affair: where the name is not known here, nothing more can be looked at.
    """
    host, port = parts.hostname or "", parts.port or _DEFAULT_PORTS[parts.scheme]
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        if proxy is None or isinstance(error, UnicodeError):  # no name at all, and none for a proxy either
            raise RemoteError(f"the host '{host}' is not known") from error
        found = []
    addresses = [str(row[4][0]) for row in found]
    if not rules.private and not all(is_public(address) for address in addresses):
        raise RemoteError(f"'{host}' is on a private network", "fetch it all the same: --private")
    tls = ssl.create_default_context() if parts.scheme == "https" else None
    if proxy is None:
        if not addresses:
            raise RemoteError(f"the host '{host}' has no address")
        return _Connection(addresses[0], port, rules.timeout_s, host, tls)
    if proxy.scheme != "http":
        raise UsageError("pages are fetched through no proxy that is spoken to in TLS: its address begins with http://",
                         f"to go without one: NO_PROXY={host}")  # fmt: skip
    if tls is None:
        return _Connection(proxy.host, proxy.port, rules.timeout_s, host, tls)
    name = f"[{host}]" if ":" in host else _ascii_name(host)
    lines = [f"CONNECT {name}:{port} HTTP/1.1", f"Host: {name}:{port}", f"User-Agent: {AGENT}",
             *(f"{key}: {value}" for key, value in proxy.headers.items())]  # fmt: skip
    tunnel = "".join(f"{line}\r\n" for line in [*lines, ""]).encode()
    return _Connection(proxy.host, proxy.port, rules.timeout_s, host, tls, tunnel)


class _Connection(http.client.HTTPConnection):
    """A connection to an address that was looked at before, or to a proxy; TLS is spoken to the host's own name.

    Args:
        address, port: Where to.
        timeout_s: For each wait.
        host: The name in the certificate.
        tls: How to speak TLS; None for plain http.
        tunnel: What a proxy is told to let through to where; b"" without a tunnel.
    """

    def __init__(
        self, address: str, port: int, timeout_s: float, host: str, tls: ssl.SSLContext | None, tunnel: bytes = b""
    ) -> None:  # fmt: skip
        super().__init__(address, port, timeout=timeout_s)
        self._name = host
        self._tls = tls
        self._asked = tunnel

    def connect(self) -> None:
        """Connect, through the tunnel where there is one, and begin TLS."""
        super().connect()
        if self._asked:
            self._open_tunnel()
        if self._tls is not None:
            self.sock = self._tls.wrap_socket(self.sock, server_hostname=self._name)

    def _open_tunnel(self) -> None:
        """Source: RFC 9110, section 9.3.6."""
        self.sock.sendall(self._asked)
        with contextlib.closing(http.client.HTTPResponse(self.sock, method="CONNECT")) as answer:
            answer.begin()
            if answer.status != 200:
                raise OSError(f"it answers {answer.status} {answer.reason}".rstrip())


class _Timed(io.RawIOBase):
    """What a connection sends up to a moment; the socket's own timeout would begin anew with every byte."""

    def __init__(self, sock: socket.socket, timeout_s: float, deadline: float) -> None:
        self._sock = sock
        self._raw = sock.makefile("rb", buffering=0)
        self._timeout_s = timeout_s
        self._deadline = deadline

    def readable(self) -> bool:
        """Yes."""
        return True

    def readinto(self, buffer: Any) -> int | None:
        """What comes next; raises TimeoutError when nothing came in time."""
        left_s = self._deadline - time.monotonic()
        if left_s <= 0:
            raise TimeoutError("timed out")
        self._sock.settimeout(min(self._timeout_s, left_s))
        return self._raw.readinto(buffer)

    def close(self) -> None:
        """Give the socket back."""
        self._raw.close()
        super().close()


def _target(parts: SplitResult) -> str:
    """What is asked for at the host: the path and the query, escaped where somebody typed them as they are read."""
    typed = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return quote(typed, safe=_ASCII)


def _host(parts: SplitResult) -> str:
    """The host as a server knows it: an international name in ASCII (RFC 5890), with the port where one is given."""
    if parts.netloc.isascii():
        return parts.netloc
    name = _ascii_name(parts.hostname or "")
    return f"{name}:{parts.port}" if parts.port else name


def _ascii_name(host: str) -> str:
    return host if host.isascii() else host.encode("idna").decode("ascii")


def _redirected(url: str, location: str) -> str:
    """The address that a redirect leads to; raises RemoteError where what the server says is none."""
    try:
        return urljoin(url, _as_sent(location))
    except ValueError as error:
        raise RemoteError(f"'{url}' redirects to no address: {error}") from error


def _as_sent(location: str) -> str:
    """Where a redirect leads: bytes of UTF-8 come as Latin-1 from `http.client`, and some servers send spaces."""
    with contextlib.suppress(UnicodeError):
        location = location.encode("latin-1").decode("utf-8")
    return location.strip().replace(" ", "%20")


def _request(
    parts: SplitResult, headers: Mapping[str, str], max_bytes: int, deadline: float, rules: FetchRules, *,
    only_beginning: bool = False,
) -> tuple[Answer, str]:  # fmt: skip
    """(answer, where it redirects to) of one request."""
    proxy = find_proxy(parts.geturl(), rules.proxies)
    connection = _connection_to(parts, rules, proxy)
    target, headers = _target(parts), {"Host": _host(parts), **headers}
    if proxy is not None and parts.scheme == "http":  # else these stand before the tunnel
        target, headers = f"http://{_host(parts)}{target}", headers | proxy.headers
    way = proxy.in_words if proxy is not None else ""
    try:
        connection.request("GET", target, headers=headers)
        with contextlib.closing(http.client.HTTPResponse(connection.sock, method="GET")) as response:
            response.fp = io.BufferedReader(_Timed(connection.sock, rules.timeout_s, deadline))
            response.begin()
            if response.status == _PROXY_LOGIN and proxy is not None:
                raise OSError(f"it answers {response.status} {response.reason}".rstrip())
            data = _read(response, max_bytes, parts.geturl(), only_beginning=only_beginning)
            answer = Answer(
                parts.geturl(), response.status, data,
                (response.getheader("Content-Type") or "").split(";")[0].strip().lower(),
                response.getheader("ETag") or "", response.getheader("Last-Modified") or "",
                response.headers.get_content_charset("") or "",
            )  # fmt: skip
            return answer, response.getheader("Location") or ""
    except ArborError:
        raise
    except (OSError, http.client.HTTPException, ValueError, zlib.error) as error:
        if time.monotonic() > deadline:
            raise RemoteError(f"'{parts.geturl()}' takes too long") from error
        reason = str(error) or type(error).__name__
        hint = LOGIN_HINT if proxy is not None and f"answers {_PROXY_LOGIN}" in reason else ""
        raise RemoteError(f"'{parts.geturl()}' cannot be reached{way}: {reason}", hint) from error
    finally:
        connection.close()


def _read(
    response: http.client.HTTPResponse, max_bytes: int, url: str, *, only_beginning: bool = False
) -> bytes:
    """The whole body, within its bounds, or the beginning of it that is."""
    if response.status != 200 and response.status != 203:
        return b""
    encoding = (response.getheader("Content-Encoding") or "identity").lower()
    if encoding not in ("identity", "gzip", "x-gzip"):
        raise RemoteError(f"'{url}' answers in an encoding that was not asked for: {encoding}")
    unpack = _Gzip() if encoding != "identity" else None
    pieces: list[bytes] = []
    size = 0
    while block := response.read(_BLOCK_BYTES):
        data = block if unpack is None else unpack.decompress(block, max_bytes - size + 1)
        size += len(data)
        pieces.append(data)
        if size > max_bytes and only_beginning:
            return b"".join(pieces)[:max_bytes]
        if size > max_bytes:
            raise RemoteError(f"'{url}' is larger than the limit of {max_bytes:,} bytes")
    if response.length or (pieces and unpack is not None and not unpack.is_whole):
        raise RemoteError(f"'{url}' did not come whole", "try again in a moment")
    return b"".join(pieces)


class _Gzip:
    """Unpacks a gzip answer, which may be several members one after the other (RFC 1952, section 2.2).

    What follows a member and begins no other is passed over: some servers pad.
    """

    def __init__(self) -> None:
        self._member = zlib.decompressobj(31)
        self._padded = False

    @property
    def is_whole(self) -> bool:
        """Whether what came ends with a member."""
        return self._member.eof

    def decompress(self, block: bytes, max_bytes: int) -> bytes:
        """What comes out of the next bytes, or the first `max_bytes` of it."""
        pieces: list[bytes] = []
        while block and max_bytes > 0:
            if self._member.eof:
                if not block.startswith(b"\x1f"):
                    self._padded = True
                if self._padded:
                    break
                self._member = zlib.decompressobj(31)
            piece = self._member.decompress(block, max_bytes)
            pieces.append(piece)
            max_bytes -= len(piece)
            block = self._member.unused_data
        return b"".join(pieces)
