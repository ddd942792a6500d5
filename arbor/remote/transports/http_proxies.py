"""The way to an http server through a proxy of the client's own network."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

import httpcore

from arbor.errors import UsageError, printable
from arbor.lazy import lazy_module

if TYPE_CHECKING:
    from urllib import request
else:
    request = lazy_module("urllib.request")

_DEFAULT_PORT = {"http": 80, "https": 443}


def find_proxy(url: str, proxies: Mapping[str, str]) -> httpcore.Proxy | None:
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


def _parse_proxy(address: str, host: str) -> httpcore.Proxy:
    try:
        parts = urlsplit(address if "://" in address else f"http://{address}")
        proxy_host, port = parts.hostname, parts.port
    except ValueError:
        proxy_host = port = None
    if not proxy_host or parts.scheme not in _DEFAULT_PORT:
        scheme, mark, rest = address.rpartition("://")
        # Without what stands before the @, which may be a password.
        shown = printable((scheme + mark + rest.rpartition("@")[2])[:200])
        raise UsageError(
            f"'{shown}' is no proxy that can be used: its address begins with http:// or https://",
            f"to go without one: NO_PROXY={host}",
        )
    proxy_host = f"[{proxy_host}]" if ":" in proxy_host else proxy_host
    login = (unquote(parts.username), unquote(parts.password or "")) if parts.username else None
    return httpcore.Proxy(f"{parts.scheme}://{proxy_host}:{port or _DEFAULT_PORT[parts.scheme]}", login)
