"""The connections of `arbor serve`: whoever only waits is in nobody's way.

A connection is *waiting* until a whole request has come over it. Waiting ones have little time, and when there are too
many connections the one that has waited longest goes, so that no number of them keeps anybody out. Only requests that
are being answered count against the number of requests.
"""

from __future__ import annotations

import asyncio
import ipaddress
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

MAX_CONNECTIONS = 256
MAX_CONNECTIONS_AN_ADDRESS = 64
MAX_REQUESTS = 64
MAX_REQUESTS_AN_ADDRESS = 32
MAX_WAITING_BYTES = 128 * 1024 * 1024
"""Of all requests together whose bodies are still on their way, twice over at worst."""
MAX_AHEAD_BYTES = 64 * 1024
"""Of further requests that come over a connection before the one under way is answered."""
MAX_FRAMING_BYTES = 32 * 1024
"""Of a request that are not its body, such as the sizes of its chunks, besides an eighth of the body."""
_READ_BYTES = 16 * 1024
"""Taken at once from one connection, so that the others have their turn soon."""
_STATE_KEY = "connection"


class Connections:
    """What all connections of one server share. It lives in the event loop's thread.

    Args:
        head_s: Seconds for the request line and the headers, from the connection's or the request's first byte.
    """

    def __init__(self, head_s: float) -> None:
        self.head_s = head_s
        self._open: dict[Connection, str] = {}
        self._answering: Counter[str] = Counter()
        self._waiting: dict[object, int] = {}

    def make(self, **arguments: Any) -> Connection:
        """The protocol of a new connection, as uvicorn asks for it."""
        return Connection(self, **arguments)

    def admit(self, connection: Connection, address: str) -> bool:
        """Make room for a connection, by ending the one that has waited longest; False when all of them are busy."""
        network = _network(address)
        crowd = [each for each, other in self._open.items() if other == network]
        fits = len(crowd) < MAX_CONNECTIONS_AN_ADDRESS or _end_one(crowd)
        if fits and len(self._open) >= MAX_CONNECTIONS:
            # Of the address that has most: a few connections from elsewhere do not suffer from a crowd.
            largest = Counter(self._open.values()).most_common(1)[0][0]
            crowd = [each for each, other in self._open.items() if other == largest]
            fits = _end_one(crowd) or _end_one(list(self._open))
        if fits:
            self._open[connection] = network
        return fits

    def forget(self, connection: Connection) -> None:
        """A connection has ended."""
        self._open.pop(connection, None)

    @contextmanager
    def answering(self, address: str) -> Iterator[bool]:
        """Count a request that came whole while it is answered; False when there are too many."""
        network = _network(address)
        fits = self._answering.total() < MAX_REQUESTS and self._answering[network] < MAX_REQUESTS_AN_ADDRESS
        self._answering[network] += fits
        try:
            yield fits
        finally:
            self._answering[network] -= fits
            if not self._answering[network]:
                del self._answering[network]

    @contextmanager
    def receiving(self, request: object) -> Iterator[None]:
        """Count the bytes of a request's body while it comes, see `has_room`."""
        self._waiting[request] = 0
        try:
            yield
        finally:
            del self._waiting[request]

    def has_room(self, request: object, size: int) -> bool:
        """Whether the body of a request may be that large now; one with no more than its share always may."""
        self._waiting[request] = size
        share = MAX_WAITING_BYTES // len(self._waiting)
        return size <= share or sum(self._waiting.values()) <= MAX_WAITING_BYTES


class Connection(H11Protocol):
    """One connection, with an end to waiting for its next request."""

    def __init__(self, shared: Connections, **arguments: Any) -> None:
        super().__init__(**arguments)
        self._shared = shared
        self._head_timer: asyncio.TimerHandle | None = None
        self._framing_bytes = self._body_bytes = 0

    @property
    def has_request(self) -> bool:
        """Whether the headers of a request have come that is not answered yet."""
        return self.cycle is not None and not self.cycle.response_complete

    @property
    def is_waiting(self) -> bool:
        """Whether no whole request has come since the last answer; one that `trust` was called for counts as whole."""
        return not self.has_request or (self.cycle.more_body and not self.cycle.scope["state"].get("trusted"))

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take up the connection, if there is room for it."""
        super().connection_made(transport)
        if hasattr(transport, "max_size"):
            transport.max_size = _READ_BYTES
        if self._shared.admit(self, self.client[0] if self.client else ""):
            self._arm()
        else:
            transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Give its place to others."""
        self._disarm()
        self._shared.forget(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take what came; the time for a head runs from its first byte."""
        cycle, before = self.cycle, 0 if self.cycle is None else len(self.cycle.body)
        super().data_received(data)
        if self.has_request:
            body_bytes = len(self.cycle.body) - (before if self.cycle is cycle else 0)
            self._body_bytes += body_bytes
            self._framing_bytes += len(data) - body_bytes
        else:
            self._framing_bytes = self._body_bytes = 0
        # Each answer lets uvicorn read on, more than one small request takes away: what is ahead would only grow.
        ahead, _ = self.conn.trailing_data
        # A chunk of one byte costs as much time as one of many, and all connections wait for it.
        is_costly = self._framing_bytes > MAX_FRAMING_BYTES + self._body_bytes // 8
        if is_costly or len(ahead) > MAX_AHEAD_BYTES:
            self.end()
        elif not self.has_request:
            self._arm()  # uvicorn's own timer is for silence between two requests, and the first byte ends it

    def handle_events(self) -> None:
        """Go on with what has come; whoever answers a request finds the connection in its scope."""
        super().handle_events()
        if self.has_request:
            self._disarm()
            self.cycle.scope["state"][_STATE_KEY] = self

    def end(self) -> None:
        """End the connection now, whatever it is doing."""
        if self.cycle is not None:
            self.cycle.disconnected = True  # else uvicorn complains of an answer without an end
        self._shared.forget(self)
        self.transport.abort()

    def _arm(self) -> None:
        if self._head_timer is None:
            self._head_timer = self.loop.call_later(self._shared.head_s, self.end)

    def _disarm(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None


def trust(scope: Any) -> None:
    """The sender of a request is known: it is given the time it needs, however full it gets."""
    scope["state"]["trusted"] = True


def end_connection(scope: Any) -> None:
    """End the connection that a request came over."""
    connection = scope["state"].get(_STATE_KEY)
    if connection is not None:
        connection.end()


def _end_one(crowd: list[Connection]) -> bool:
    """End the waiting connection that was opened first, one without a request before one with half of one.

    Returns:
        False when none waits.
    """
    waiting = [each for each in crowd if each.is_waiting or each.transport.is_closing()]
    found = next((each for each in waiting if not each.has_request), waiting[0] if waiting else None)
    if found is not None:
        found.end()
    return found is not None


def _network(address: str) -> str:
    """What counts as one address: of IPv6, the network that one customer gets."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if parsed.version == 4:
        return str(parsed)
    mapped = parsed.ipv4_mapped
    return str(mapped) if mapped else str(ipaddress.ip_network((parsed, 64), strict=False))
