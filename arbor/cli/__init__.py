"""PEOPLE: the command line, one file per command; the only room that knows a terminal."""

from __future__ import annotations

import gc
import importlib
import os
import sys

__all__ = ["main"]

_INTERRUPTED = 130
_UTF8_MODE, _STREAMS, _BEGUN_AGAIN = "PYTHONUTF8", "PYTHONIOENCODING", "_ARBOR_BEGUN_AGAIN"


def main() -> int:
    """The entry point of the `arbor` command; the exit code is what the process ends with."""
    try:
        _name_files_in_utf8()
        code: int = importlib.import_module("arbor.cli.app").run()
        gc.freeze()  # all that is left ends with the process; looking for cycles in it takes a tenth of a short command
    except KeyboardInterrupt:  # while the command line was still being loaded, or as it ended
        return _INTERRUPTED
    return code


def _name_files_in_utf8() -> None:
    """Begin again in Python's UTF-8 mode where the locale names files otherwise; what is printed stays in its encoding.

    In such a locale every file with a name beyond ASCII would seem to be gone and another one to be there, which the
    next `arbor add .` would record.
    """
    if _BEGUN_AGAIN in os.environ:
        for name in os.environ.pop(
            _BEGUN_AGAIN
        ).split():  # they are not for the hooks and pagers that are started
            os.environ.pop(name, None)
    elif os.name == "posix" and sys.getfilesystemencoding() != "utf-8":
        given = {_UTF8_MODE: "1"}
        if _STREAMS not in os.environ and sys.stdout is not None:
            given[_STREAMS] = f"{sys.stdout.encoding}:{sys.stdout.errors}"
        os.environ.update(given)
        os.environ[_BEGUN_AGAIN] = " ".join(given)
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])
