"""The way to an http server through a proxy of one's own network, for pages and for remotes alike."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote, urlsplit

from arbor.errors import UsageError, printable
from arbor.lazy import lazy_module

if TYPE_CHECKING:
    from urllib import request
else:
    request = lazy_module("urllib.request")

LOGIN_HINT = "they belong into the proxy's address, as in HTTPS_PROXY=http://NAME:PASSWORD@HOST:PORT"
_DEFAULT_PORT = {"http": 80, "https": 443}
_SHOWN_MAX = 200


class Proxy(NamedTuple):
    """A proxy.

    Attributes:
        scheme: `http`, or `https` where the proxy itself is spoken to in TLS.
        host, port: Where it is.
        login: Name and password; None without.
    """

    scheme: str
    host: str
    port: int
    login: tuple[str, str] | None = None

    @property
    def in_words(self) -> str:
        """What a failure adds about the way that was taken."""
        return f" through the proxy {self.place}"

    @property
    def place(self) -> str:
        """Host and port as in an address: one of IPv6 in brackets."""
        return f"{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"

    @property
    def headers(self) -> dict[str, str]:
        """What the proxy is told about who asks (RFC 7617)."""
        if self.login is None:
            return {}
        return {"Proxy-Authorization": "Basic " + base64.b64encode(":".join(self.login).encode()).decode()}


def find_proxy(url: str, proxies: Mapping[str, str]) -> Proxy | None:
    """The proxy on the way to a URL, or None.

    Args:
        url: An address of http or https.
        proxies: Addresses of proxies by the scheme they are for, `all` for every one; `no` lists the hosts that are
            reached without, with commas between, as in the variables `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY`.

    Raises:
        UsageError: when the proxy's address is none, or of a kind that is not spoken.
    """
    parts = urlsplit(url)
    address = proxies.get(parts.scheme) or proxies.get("all")
    host = parts.hostname or ""
    named = f"{host}:{parts.port or _DEFAULT_PORT[parts.scheme]}"
    if not address or request.proxy_bypass_environment(named, dict(proxies)):  # type: ignore[attr-defined]
        return None
    return _parse_proxy(address, host)


def _parse_proxy(address: str, host: str) -> Proxy:
    try:
        parts = urlsplit(address if "://" in address else f"http://{address}")
        proxy_host, port = (parts.hostname or "").encode("idna").decode("ascii"), parts.port
    except ValueError:  # also of a name that none can have
        proxy_host, port = "", None
    if not proxy_host or parts.scheme not in _DEFAULT_PORT:
        raise UsageError(
            f"'{_shown(address)}' is no proxy that can be used: its address begins with http:// or https://",
            f"to go without one: NO_PROXY={host}",
        )
    login = (unquote(parts.username), unquote(parts.password or "")) if parts.username else None
    return Proxy(parts.scheme, proxy_host, port or _DEFAULT_PORT[parts.scheme], login)


def _shown(address: str) -> str:
    """Without what stands before the @, which may be a password."""
    scheme, mark, rest = address.rpartition("://")
    return printable((scheme + mark + rest.rpartition("@")[2])[:_SHOWN_MAX])
