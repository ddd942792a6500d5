"""Conversations as fast as they are due: exact reads, with an end to waiting."""

from __future__ import annotations

import time
from collections.abc import Callable

from arbor.remote.protocol.limits import Limits
from arbor.remote.protocol.wire import Interrupted


class Pace:
    """Ends a stream of bytes that takes too long or only drips.

    Args:
        limits: Bounds on time and speed.
        does: What the other side does, for the error.
    """

    def __init__(self, limits: Limits, does: str = "sends") -> None:
        self._limits = limits
        self._does = does
        self._moved_bytes = 0

    def take(self, size: int, elapsed_s: float) -> None:
        """Count bytes that have moved, `elapsed_s` seconds after the first.

        Raises:
            Interrupted: when the other side is too slow.
        """
        self._moved_bytes += size
        limits = self._limits
        if elapsed_s > limits.total_s:
            raise Interrupted(f"the transfer took longer than {limits.total_s:.0f} seconds")
        if size and elapsed_s > limits.grace_s and self._moved_bytes < elapsed_s * limits.min_bytes_per_s:
            raise Interrupted(
                f"the other side {self._does} less than {limits.min_bytes_per_s:.0f} bytes a second"
            )


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
        self._pace = Pace(limits)
        self._clock = clock
        self._start: float | None = None
        self._rest = b""

    def read(self, size: int) -> bytes:
        """`size` bytes, fewer only where the stream ends.

        Raises:
            Interrupted: when the other side is too slow.
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
        if self._start is None:
            self._start = now
        self._pace.take(len(data), now - self._start)
        return data
