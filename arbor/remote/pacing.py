"""Reading from a connection exactly as much as is due, with an end to waiting."""

from __future__ import annotations

import time
from collections.abc import Callable

from arbor.errors import RemoteError
from arbor.remote.limits import Limits


class PacedReader:
    """Gives exactly as many bytes as asked for, and ends a conversation that takes too long or only drips.

    Args:
        read_some: Waits for the next bytes, b"" at the end of the stream.
        limits: Bounds on time and speed.
        clock: Seconds that only grow.
    """

    def __init__(
        self, read_some: Callable[[], bytes], limits: Limits, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._read_some = read_some
        self._limits = limits
        self._clock = clock
        self._start = 0.0
        self._received = 0
        self._rest = b""

    def read(self, size: int) -> bytes:
        """`size` bytes, fewer only where the stream ends.

        Raises:
            RemoteError: when the other side is too slow.
        """
        pieces, missing = [], size
        while missing > 0:
            if not self._rest:
                self._rest = self._next()
                if not self._rest:
                    break
            piece, self._rest = self._rest[:missing], self._rest[missing:]
            pieces.append(piece)
            missing -= len(piece)
        return b"".join(pieces)

    def _next(self) -> bytes:
        data = self._read_some()
        now = self._clock()
        if not self._received:
            self._start = now
        self._received += len(data)
        elapsed, limits = now - self._start, self._limits
        if elapsed > limits.total_s:
            raise RemoteError(f"the transfer took longer than {limits.total_s:.0f} seconds")
        if data and elapsed > limits.grace_s and self._received < elapsed * limits.min_bytes_per_s:
            raise RemoteError(f"the other side sends less than {limits.min_bytes_per_s:.0f} bytes a second")
        return data
