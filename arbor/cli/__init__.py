"""PEOPLE: the command line, one file per command; the only room that knows a terminal."""

from __future__ import annotations

import gc
import importlib

__all__ = ["main"]

_INTERRUPTED = 130


def main() -> int:
    """The entry point of the `arbor` command; the exit code is what the process ends with."""
    try:
        code: int = importlib.import_module("arbor.cli.app").run()
        gc.freeze()  # all that is left ends with the process; looking for cycles in it takes a tenth of a short command
    except KeyboardInterrupt:  # while the command line was still being loaded, or as it ended
        return _INTERRUPTED
    return code
