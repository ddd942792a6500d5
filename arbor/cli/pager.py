"""A pager that starts only when the output does not fit the screen."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Mapping
from typing import BinaryIO

from arbor.cli.safe_text import cell_width

_COLOUR_CODE = re.compile(r"\x1b\[[0-9;]*m")
_LESS = "FRX"  # quit where it fits one screen, let colours through, leave the screen as it is


class PagerClosed(Exception):
    """The reader has left the pager; nothing more needs to be written."""


def find_pager(environment: Mapping[str, str]) -> list[str]:
    """The pager's command: `ARBOR_PAGER`, `PAGER`, `less`, `more`; empty for none and for `cat`."""
    for name in ("ARBOR_PAGER", "PAGER"):
        if name in environment:
            try:
                words = shlex.split(environment[name])
            except ValueError:
                words = []
            return words if words and words != ["cat"] and shutil.which(words[0]) else []
    return next(([name] for name in ("less", "more") if shutil.which(name)), [])


class Paged:
    """Text on its way to a terminal: held back until it is more than a screen, then given to the pager."""

    def __init__(self, command: list[str], rows: int, columns: int, terminal: BinaryIO) -> None:
        self._command = command
        self._free_rows = rows - 1
        self._columns = max(columns, 1)
        self._terminal = terminal
        self._held: list[bytes] = []
        self._process: subprocess.Popen[bytes] | None = None

    def write(self, text: str, encoded: bytes) -> None:
        """Take whole lines; raises PagerClosed when nobody reads on."""
        if self._process is None:
            self._held.append(encoded)
            for line in text.removesuffix("\n").split("\n"):
                self._free_rows -= max(1, -(-cell_width(_COLOUR_CODE.sub("", line)) // self._columns))
            if self._free_rows < 0:
                self._start()
        else:
            self._send(encoded)

    def close(self) -> None:
        """Write what was held back, or wait until the reader leaves the pager."""
        if self._process is None:
            self._terminal.write(b"".join(self._held))
            self._terminal.flush()
            return
        with contextlib.suppress(OSError):
            assert self._process.stdin is not None
            self._process.stdin.close()
        while True:
            with contextlib.suppress(KeyboardInterrupt):  # the pager understands Ctrl-C in its own way
                self._process.wait()
                return

    def _start(self) -> None:
        environment = {**os.environ, "LESS": os.environ.get("LESS", _LESS), "LV": os.environ.get("LV", "-c")}
        try:
            self._process = subprocess.Popen(self._command, stdin=subprocess.PIPE, env=environment)
        except OSError:  # what looked like a pager cannot be run: the terminal gets everything
            self._command, self._free_rows = [], 1 << 60
            self._terminal.write(b"".join(self._held))
            self._held = []
            return
        held, self._held = self._held, []
        self._send(b"".join(held))

    def _send(self, data: bytes) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(data)
        except OSError as error:
            raise PagerClosed from error
