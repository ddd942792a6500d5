"""A bar for long work, drawn on standard error and only where it is a terminal."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import TextIO

_FIRST_AFTER_S = 0.4
_EVERY_S = 0.1
_BAR_CELLS = 30


class StatusLine:
    """One line of a terminal, drawn again as work goes on; nothing for quick work, no trace when it is done."""

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream
        self._enabled = stream is not None and stream.isatty()
        self._next = time.monotonic() + _FIRST_AFTER_S
        self._drawn = False

    def __enter__(self) -> StatusLine:
        return self

    def __exit__(self, *exc: object) -> None:
        if self._drawn:
            self._write("\r\x1b[K")

    def is_due(self) -> bool:
        """Whether the line should be drawn now; false where nobody looks."""
        return self._enabled and time.monotonic() >= self._next

    def draw(self, text: str) -> None:
        """Show the text in place of what was there."""
        self._next = time.monotonic() + _EVERY_S
        self._drawn = True
        self._write(f"\r{text}\x1b[K")

    def _write(self, text: str) -> None:
        if self._stream is not None:
            self._stream.buffer.write(text.encode(self._stream.encoding or "utf-8", "replace"))
            self._stream.buffer.flush()


@contextlib.contextmanager
def progress_bar(stream: TextIO | None, verb: str) -> Iterator[Callable[[int, int], None]]:
    """What work calls with (done, in all) within the block."""
    with StatusLine(stream) as line:

        def show(done: int, total: int) -> None:
            if total > 0 and line.is_due():
                line.draw(format_progress(verb, done, total))

        yield show


def format_progress(verb: str, done: int, total: int) -> str:
    """One line: verb, bar, counts, percent."""
    done = min(done, total)
    full = _BAR_CELLS * done // total
    bar = "━" * full + "─" * (_BAR_CELLS - full)
    return f"{verb}  {bar}  {done:,}/{total:,}  {100 * done // total}%"
