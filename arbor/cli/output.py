"""Where a command's words go: the answer to standard output, everything else to standard error."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, BinaryIO, TextIO

from arbor.cli.safe_text import clean_line, escape_json
from arbor.lazy import lazy_module

if TYPE_CHECKING:
    import json

    from arbor.cli import pager
else:
    json = lazy_module("json")
    pager = lazy_module("arbor.cli.pager")

NARROWEST, WIDEST = 20, 120
STYLES = {
    "bold": "1", "dim": "2", "italic": "3", "underline": "4",
    "red": "31", "green": "32", "yellow": "33", "blue": "34", "magenta": "35", "cyan": "36",
}  # fmt: skip
COLOURS = ("auto", "always", "never")
_RESET = "\x1b[0m"


class Output:
    """The two streams of a command, with colours where they are wanted and a pager where it helps."""

    def __init__(self) -> None:
        self.stdout: TextIO = sys.stdout or _nowhere()
        self.stderr: TextIO = sys.stderr or _nowhere()
        self.json_errors = False
        self.use_pager = True
        self.quiet = False
        self.colour = "auto"
        self._paged: pager.Paged | None = None
        self._coloured: dict[tuple[str, bool], bool] = {}

    # --- what is at the other end

    @property
    def interactive(self) -> bool:
        """Whether a person looks at standard output."""
        return self.stdout.isatty()

    @property
    def width(self) -> int:
        """Columns to lay text out for: those of the terminal, 80 where there is none."""
        return min(max(self._size().columns, NARROWEST), WIDEST)

    def coloured(self, stream: TextIO) -> bool:
        """Whether a stream gets colours: `--color`, `color.ui`, NO_COLOR, then whether it is a terminal."""
        key = (self.colour, stream is self.stdout)
        if key not in self._coloured:
            self._coloured[key] = self._find_coloured(stream)
        return self._coloured[key]

    def _find_coloured(self, stream: TextIO) -> bool:
        if self.colour != "auto":
            return self.colour == "always"
        if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
            return False
        return stream.isatty()

    def _size(self) -> os.terminal_size:
        """`COLUMNS` and `LINES`, then the terminal's size, then 80 by 24."""
        with contextlib.suppress(OSError, ValueError):
            real = os.get_terminal_size(self.stdout.fileno())
            if real.columns > 0 and real.lines > 0:
                return os.terminal_size((_number("COLUMNS", real.columns), _number("LINES", real.lines)))
        return os.terminal_size((_number("COLUMNS", 80), _number("LINES", 24)))

    @property
    def is_unicode(self) -> bool:
        """Whether standard output can show more than ASCII."""
        return (self.stdout.encoding or "").lower().replace("-", "") == "utf8"

    # --- the answer

    def line(self, text: str = "") -> None:
        """A line of the answer, or several; document text in it has been made safe before."""
        self.text(text + "\n")

    def text(self, text: str) -> None:
        """Whole lines of the answer, with their ends; none where the caller wants quiet."""
        if self.quiet:
            return
        data = text.encode(self.stdout.encoding or "utf-8", "backslashreplace")
        if self._paged is not None:
            self._paged.write(text, data)
        else:
            self.binary.write(data)

    def raw(self, data: bytes) -> None:
        """Bytes of the answer exactly as they are."""
        self.binary.write(data)

    @property
    def binary(self) -> BinaryIO:
        """Standard output for bytes."""
        return self.stdout.buffer

    def json(self, command: str, fields: Mapping[str, Any]) -> None:
        """The whole answer as one JSON object; indented when a person looks at it, else on one line."""
        self.raw(_to_json({"schema": f"arbor.{command}/1", **fields}, indent=2 if self.interactive else None))

    @contextlib.contextmanager
    def paged(self) -> Iterator[None]:
        """Show what is written in the block in a pager if it does not fit the screen."""
        command = pager.find_pager(os.environ) if self.use_pager and self.interactive else []
        if not command:
            yield
            return
        size = self._size()
        self.binary.flush()
        self._paged = pager.Paged(command, size.lines, size.columns, self.binary)
        try:
            with contextlib.suppress(pager.PagerClosed):
                yield
        finally:
            paged, self._paged = self._paged, None
            paged.close()

    @property
    def shows_raw_text(self) -> bool:
        """Whether document text may be written as it is: only where no terminal will read it."""
        return not self.interactive and not self.coloured(self.stdout)

    # --- everything else

    def note(self, text: str) -> None:
        """A remark beside the answer."""
        if not self.quiet:
            self._beside(text)

    def hint(self, text: str) -> None:
        """What can be typed next."""
        if not self.quiet:
            self._hint(text)

    def warning(self, text: str) -> None:
        """Something the person should know before relying on the answer."""
        self._beside(f"{self._style_beside('warning:', 'yellow')} {clean_line(text)}")

    def error(self, message: str, hint: str, exit_code: int) -> None:
        """Why there is no answer; with `--json` as an object."""
        if self.json_errors:
            fields = {"schema": "arbor.error/1", "error": message, "hint": hint, "exit_code": exit_code}
            self._beside(_to_json(fields, indent=None).decode().rstrip("\n"))
            return
        self._beside(f"{self._style_beside('error:', 'bold', 'red')} {clean_line(message)}")
        if hint:
            self._hint(hint)

    def _hint(self, text: str) -> None:
        self._beside(f"{self._style_beside('hint:', 'cyan')} {clean_line(text)}")

    @property
    def progress_stream(self) -> TextIO | None:
        """Where long work shows how far it is; None where it shows nothing."""
        return None if self.quiet else self.stderr

    def _beside(self, text: str) -> None:
        # A reader of the answer who left must not keep this from standard error.
        with contextlib.suppress(BrokenPipeError):
            self.flush()
        encoded = f"{text}\n".encode(self.stderr.encoding or "utf-8", "backslashreplace")
        self.stderr.buffer.write(encoded)
        self.stderr.buffer.flush()

    def _style_beside(self, text: str, *styles: str) -> str:
        return _styled(text, styles) if self.coloured(self.stderr) else text

    def style(self, text: str, *styles: str) -> str:
        """The text in colours, where standard output has them; `styles` are names from `STYLES`."""
        return _styled(text, styles) if styles and self.coloured(self.stdout) else text

    def flush(self) -> None:
        """Hand over what was written so far."""
        self.binary.flush()


def _nowhere() -> TextIO:
    """What stands for a stream that the caller has closed."""
    return open(os.devnull, "w", encoding="utf-8")


def _number(variable: str, otherwise: int) -> int:
    value = os.environ.get(variable, "")
    return int(value) if value.isdecimal() and 0 < int(value) < 10_000 else otherwise


def _styled(text: str, styles: tuple[str, ...]) -> str:
    return f"\x1b[{';'.join(STYLES[name] for name in styles)}m{text}{_RESET}"


def _to_json(fields: Mapping[str, Any], indent: int | None) -> bytes:
    text = json.dumps(fields, ensure_ascii=False, indent=indent, separators=None if indent else (",", ":"))
    return (escape_json(text) + "\n").encode("utf-8")
