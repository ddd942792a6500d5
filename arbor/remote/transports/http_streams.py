"""The sockets below an http client, watched: no byte of an answer's frame goes uncounted, be it head, chunk or body.

A library that reads an answer for us reads on inside it for as long as something comes: interim answers, a head, or the
extension of a chunk. A server that has no end to one of these would hold us for ever, so time and bytes are counted
where they come in.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any

import httpcore

from arbor.errors import RemoteError
from arbor.remote.protocol.limits import Limits
from arbor.remote.protocol.pacing import Pace

MAX_HEAD_BYTES = 256 * 1024
"""Of an answer's head with all interim answers before it."""
_WRITE_BYTES = 16 * 1024
"""Written at once, so that whoever takes little of it is noticed soon."""


class PacedStream(httpcore.NetworkStream):
    """One connection. A request begins with the first write after a read, and its answer with the first byte read.

    Args:
        stream: The connection itself.
        limits: Bounds on time and speed.
        clock: Seconds that only grow.
    """

    def __init__(
        self, stream: httpcore.NetworkStream, limits: Limits, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._stream = stream
        self._limits = limits
        self._clock = clock
        self._is_answering = False
        self._begin_request()

    def _begin_request(self) -> None:
        self._is_answering = False
        self._written = Pace(self._limits, "reads")
        self._waited_s = 0.0
        self._body: Pace | None = None
        self._head_bytes = 0
        self._began: float | None = None

    def head_has_come(self) -> None:
        """What comes from now on is the body of the answer."""
        self._body = Pace(self._limits)
        self._began = None

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """What comes next, b"" at the end.

        Raises:
            RemoteError: when the other side is too slow, or there is no end to the head of its answer.
        """
        data = self._stream.read(max_bytes, timeout)
        self._is_answering = True
        now = self._clock()
        if self._began is None:
            self._began = now
        elapsed_s = now - self._began
        if self._body is not None:
            self._body.take(len(data), elapsed_s)
            return data
        self._head_bytes += len(data)
        if self._head_bytes > MAX_HEAD_BYTES + max_bytes or elapsed_s > self._limits.idle_s:
            raise RemoteError("there is no end to the head of the answer")
        return data

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Send bytes.

        Raises:
            RemoteError: when the other side takes too little of them.
        """
        if self._is_answering:
            self._begin_request()
        for start in range(0, len(buffer), _WRITE_BYTES):
            piece = buffer[start : start + _WRITE_BYTES]
            began = self._clock()
            self._stream.write(piece, timeout)
            self._waited_s += self._clock() - began
            self._written.take(len(piece), self._waited_s)

    def close(self) -> None:
        """End the connection."""
        self._stream.close()

    def start_tls(
        self, ssl_context: Any, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        """The same connection, encrypted and watched."""
        return PacedStream(
            self._stream.start_tls(ssl_context, server_hostname, timeout), self._limits, self._clock
        )

    def get_extra_info(self, info: str) -> Any:
        """What the connection knows of itself."""
        return self._stream.get_extra_info(info)


class PacedBackend(httpcore.NetworkBackend):
    """Makes connections that are watched; see `PacedStream`.

    Args:
        limits: Bounds on time and speed.
    """

    def __init__(self, limits: Limits) -> None:
        self._backend = httpcore.SyncBackend()
        self._limits = limits

    def connect_tcp(
        self, host: str, port: int, timeout: float | None = None, local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:  # fmt: skip
        """A connection to a host."""
        made = self._backend.connect_tcp(host, port, timeout, local_address, socket_options)
        return PacedStream(made, self._limits)

    def sleep(self, seconds: float) -> None:
        """Wait before another try to connect."""
        self._backend.sleep(seconds)
