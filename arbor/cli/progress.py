"""A bar for long work, drawn on standard error and only where it is a terminal."""

from __future__ import annotations

import time
from types import TracebackType
from typing import TextIO

_FIRST_AFTER_S = 0.4
_EVERY_S = 0.1
_BAR_CELLS = 30


class Progress:
    """Called with (done, in all); draws nothing for quick work and leaves no trace when it is done."""

    def __init__(self, stream: TextIO, verb: str) -> None:
        self._stream = stream
        self._verb = verb
        self._enabled = stream.isatty()
        self._next = time.monotonic() + _FIRST_AFTER_S
        self._drawn = False

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._drawn:
            self._write("\r\x1b[K")

    def __call__(self, done: int, total: int) -> None:
        """Show how far the work has come."""
        now = time.monotonic()
        if not self._enabled or now < self._next or total <= 0:
            return
        self._next = now + _EVERY_S
        self._drawn = True
        self._write(f"\r{format_progress(self._verb, done, total)}\x1b[K")

    def _write(self, text: str) -> None:
        self._stream.buffer.write(text.encode(self._stream.encoding or "utf-8", "replace"))
        self._stream.buffer.flush()


def format_progress(verb: str, done: int, total: int) -> str:
    """One line: verb, bar, counts, percent."""
    done = min(done, total)
    full = _BAR_CELLS * done // total
    bar = "━" * full + "─" * (_BAR_CELLS - full)
    return f"{verb}  {bar}  {done:,}/{total:,}  {100 * done // total}%"
