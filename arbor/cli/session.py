"""One run of a command: where it started, how it shows things, and the knowledge base it opens."""

from __future__ import annotations

import contextlib
import os
import posixpath
import shlex
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

from arbor.cli.output import COLOURS, Output
from arbor.cli.progress import progress_bar
from arbor.cli.safe_text import quote_path, typed_path
from arbor.errors import UsageError
from arbor.lazy import lazy_module
from arbor.objects.paths import in_form_c

if TYPE_CHECKING:
    from arbor import kb as front_desk
    from arbor.cli import identity
    from arbor.kb import KnowledgeBase
    from arbor.store import files
else:
    front_desk = lazy_module("arbor.kb")
    identity = lazy_module("arbor.cli.identity")
    files = lazy_module("arbor.store.files")

CORE = "core:"
"""What a core's name begins with where documents and cores are named alike."""

MAX_INPUT_BYTES = 64 * 1024 * 1024
"""No proof, message or list that a command is given can be larger; a device may never end."""


class Session:
    """What every command gets: the folder it works in, its output, and the knowledge base on demand.

    Attributes:
        cwd: The folder.
        out: The output.
        offline: No remote is asked for what is cold here.
    """

    def __init__(self, cwd: Path, out: Output) -> None:
        self.cwd = cwd
        self.out = out
        self.offline = False
        self._kb: KnowledgeBase | None = None
        self._here: str | None = None

    def open(self) -> KnowledgeBase:
        """The knowledge base of this folder or the nearest one above; raises NoKnowledgeBase without one."""
        if self._kb is None:
            self._kb = front_desk.open_kb(self.cwd, user_config=self.user_config())
            # Settings that cannot be read matter where they are asked for.
            with contextlib.suppress(UsageError):
                if self.out.colour == "auto":
                    chosen = self._kb.config_get("color.ui")
                    self.out.colour = chosen if chosen in COLOURS else "auto"
                if self._kb.config_get("core.pager") is False:
                    self.out.use_pager = False
        return self._kb

    def user_config(self) -> Path:
        """The user's own settings file to read; the null device, which holds none, where they cannot be got at.

        HOME may be another user's, as after `runuser -u` or in a container: what lies in a folder that is closed to
        this user is not this user's own.
        """
        fs_path = identity.user_config_path()
        try:
            fs_path.stat()
        except PermissionError:
            if not identity.names_user_config():
                self.out.warning(
                    f"your own settings do not count: you may not look for {quote_path(str(fs_path))}"
                )
                return Path(os.devnull)
        except OSError:  # none there, mostly; anything else shows where they are read
            pass
        return fs_path

    def warn_of_settings(self) -> None:
        """Name each setting that has no value of its kind, with its file and line."""
        for fault in self.open().repo.settings.faults():
            self.out.warning(fault)

    def close(self) -> None:
        """Give the knowledge base's files back."""
        if self._kb is not None:
            self._kb.close()

    def from_here(self, typed: str) -> Path:
        """A file or folder that is not part of the knowledge base: absolute, and without `..` in what is told of it.

        Raises:
            UsageError: for an empty name.
        """
        if not typed:
            raise UsageError("a path is empty", "write . for the folder that you are in")
        return files.without_dots(self.cwd / typed)

    def kb_path(self, typed: str) -> str:
        """The KB path of a path as typed in this folder; raises UsageError for an empty one, which would be all."""
        if not typed:
            raise UsageError("a path is empty", "write . for everything here and below")
        return self.open().resolve_paths([typed], self.cwd)[0]

    def document_or_core(self, typed: str) -> str:
        """A path as typed in this folder; a core's name, as searches print it, is the same in each."""
        return in_form_c(typed) if typed.startswith(CORE) else self.kb_path(typed)

    def shown(self, path: str) -> str:
        """A KB path as a person in this folder would call it, quoted where it holds anything odd."""
        return quote_path(self.path_from_here(path))

    def typed(self, path: str) -> str:
        """A KB path as a person in this folder types it in a shell, for hints."""
        return typed_path(self.path_from_here(path))

    def as_shown(self, typed: str) -> str:
        """A path as typed in this folder, written as it is shown: without `..` on the way; what is no path as it is."""
        try:
            path = self.kb_path(typed)
        except UsageError:
            return typed
        return self.path_from_here(path) if path and not typed.startswith(CORE) else typed

    def message_from_here(self, message: str, path: str) -> str:
        """A message of the library, in which a KB path stands in quotes, with what it is called in this folder."""
        return message.replace(f"'{path}'", f"'{self.path_from_here(path)}'")

    def hint_from_here(self, hint: str, path: str) -> str:
        """A hint of the library, in which a KB path stands as a word for a shell, as it is typed in this folder.

        Only the last such word is the path: one before it can be a command or a revision of the same name.
        """
        before, found, after = f"{hint} ".rpartition(f" {shlex.quote(path)} ")
        return f"{before} {self.typed(path)} {after}".rstrip() if found else hint

    def path_from_here(self, path: str) -> str:
        """A KB path relative to this folder; the name of a core as it is, see `document_or_core`."""
        if path.startswith(CORE):
            return path
        if self._here is None:
            fs_root = self.open().fs_root
            here = os.curdir if fs_root is None else os.path.relpath(self.cwd.resolve(), fs_root)
            self._here = here.replace(os.sep, "/")
        if self._here == os.curdir:
            return path
        near = posixpath.relpath(path, self._here) + ("/" if path.endswith("/") else "")
        return f"./{near}" if near.startswith(CORE) else near

    def progress(self, verb: str) -> AbstractContextManager[Callable[[int, int], None]]:
        """A progress bar beside the answer, see `progress_bar`."""
        return progress_bar(self.out.progress_stream, verb)

    @property
    def input_is_terminal(self) -> bool:
        """Whether a person types at standard input."""
        return sys.stdin is not None and sys.stdin.isatty()

    def read_input(self, what: str, max_bytes: int = -1) -> bytes:
        """Everything on standard input, or so much of it; a person is told what is waited for."""
        if sys.stdin is None:
            return b""
        if self.input_is_terminal:
            self.out.note(f"reading {what} from the terminal; end it with Ctrl-D")
        return sys.stdin.buffer.read(max_bytes)

    def read_file(self, typed: str, what: str, max_bytes: int = MAX_INPUT_BYTES) -> bytes:
        """The bytes of a file that is not part of the knowledge base; `-` means standard input.

        Raises:
            UsageError: when it cannot be read, or goes on beyond what can be meant.
        """
        if typed == "-":
            data = self.read_input(what, max_bytes + 1)
        else:
            data = self._read_there(self.from_here(typed), max_bytes + 1)
        if len(data) > max_bytes:
            raise UsageError(
                f"'{typed}' is larger than {what} can be", f"at most {max_bytes:,} bytes are read"
            )
        return data

    @staticmethod
    def _read_there(fs_path: Path, max_bytes: int) -> bytes:
        try:
            with fs_path.open("rb") as file:
                return file.read(max_bytes)
        except OSError as error:
            raise UsageError(f"'{fs_path}' cannot be read: {files.in_words(error)[0]}") from error
