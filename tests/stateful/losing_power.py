"""A disk that loses power: what work does below a folder is recorded, and what a crash could leave is built from it.

What was not synced may be there or not: a file's bytes without an fsync of the file, a name without one of its folder.
Of all that could be left, those states are built that are the worst for somebody who relies on what was not synced.
SQLite syncs by itself, unseen from Python, so that what it keeps in `cache` is left out: it can be made again.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeAlias

import pytest

from arbor.store import syncing

_SECTOR_BYTES = 512
_STEPS = ("replace", "rename", "unlink", "rmdir", "mkdir", "truncate")

Node: TypeAlias = tuple[int, int]
"""A file or folder, whatever its name: inode number, and how often that number was used before."""

Tree: TypeAlias = tuple[tuple[str, bytes | None], ...]
"""Paths in order with their contents, None for a folder."""


class Disk:
    """What lies below a folder, and how much of it would outlast a loss of power now.

    Attributes:
        states: Each state of a name below the folder that a crash could have left, with the steps that were done then.
        told: Those of a moment at which somebody was told that a step is done, with how many steps.
        absent: The same of names that a crash could have left out.
        because: What was done last, and what was lost, of each state.
        done: Steps that somebody was told are done.
    """

    def __init__(self, top: Path, patch: pytest.MonkeyPatch) -> None:
        self._top, self._uses, self._patch, self._asleep = top, dict[int, int](), patch, False
        self.states: dict[tuple[Tree, str], int] = {}
        self.told: dict[tuple[Tree, str], int] = {}
        self.absent: dict[str, int] = {}
        self.because: dict[tuple[Tree, str], str] = {}
        self.done, self._act = 0, ""
        self._names: dict[Node, dict[str, Node]] = {}
        self._bytes: dict[Node, bytes] = {}
        self._last: dict[Node, bytes] = {}
        self._keep_all()
        for name in _STEPS:
            patch.setattr(os, name, self._recorded(getattr(os, name)))
        patch.setattr(os, "fsync", self._fsync(os.fsync))
        patch.setattr(syncing, "_system_library", lambda: SimpleNamespace(syncfs=self._syncfs))

    def aside(self, work: Callable[[], Any]) -> Any:
        """Do something that is not recorded and changes nothing."""
        self._asleep = True
        try:
            return work()
        finally:
            self._asleep = False

    def step(self, work: Callable[[], object]) -> None:
        """Do a step, and then somebody is told that it is done."""
        work()
        self.done, self._act = self.done + 1, "all"
        self._crash()
        self._act = ""

    def _recorded(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(path: Any, *args: Any, **how: Any) -> Any:
            if self._asleep or how.get("dir_fd") is not None:
                return real(path, *args, **how)
            self._act = f"{real.__name__} {path}"
            self._crash()
            victim = args[0] if real.__name__ in ("replace", "rename") else path
            gone = os.lstat(victim) if os.path.lexists(victim) and real.__name__ != "truncate" else None
            done = real(path, *args, **how)
            if gone is not None and gone.st_nlink < 2 + stat.S_ISDIR(gone.st_mode):
                self._uses[gone.st_ino] = self._uses.get(gone.st_ino, 0) + 1
            return done

        return call

    def _fsync(self, real: Callable[[int], None]) -> Callable[[int], None]:
        def fsync(handle: int) -> None:
            if not self._asleep:
                self._act = "fsync"
                self._crash()
            real(handle)
            if not self._asleep:
                names, contents = self._look()
                node = self._node(os.fstat(handle).st_ino)
                if node in names:
                    self._names[node] = names[node]
                elif node in contents:
                    self._bytes[node] = contents[node]

        return fsync

    def _syncfs(self, handle: int) -> int:
        self._act = "syncfs"
        self._crash()
        self._keep_all()
        return 0

    def _keep_all(self) -> None:
        self._names, self._bytes = self._look()

    def _node(self, inode: int) -> Node:
        return inode, self._uses.get(inode, 0)

    def _look(self) -> tuple[dict[Node, dict[str, Node]], dict[Node, bytes]]:
        """The names in each folder and the bytes of each file as everybody sees them now."""
        names: dict[Node, dict[str, Node]] = {}
        contents: dict[Node, bytes] = {}

        def look(folder: str, inode: int) -> None:
            found = names[self._node(inode)] = {}
            for entry in os.scandir(folder):
                node = found[entry.name] = self._node(entry.inode())
                if entry.is_dir(follow_symlinks=False):
                    if entry.name == "cache":
                        names[node] = {}
                    else:
                        look(entry.path, entry.inode())
                else:
                    contents[node] = Path(entry.path).read_bytes()

        look(str(self._top), os.stat(self._top).st_ino)
        self._last.update(contents)
        return names, contents

    def _crash(self) -> None:
        """Lose power now, in each of the worst ways."""
        names, contents = self._look()
        now = {**self._last, **contents}

        def zeros(node: Node) -> bytes:
            kept, size = self._bytes.get(node, b""), len(now[node])
            return now[node] if kept == now[node] else (kept + bytes(size))[:size]

        def torn(node: Node) -> bytes:
            """Each second sector of what is new came to the disk, and not the first of them."""
            old, new = zeros(node), now[node]
            first = next((at for at, (a, b) in enumerate(zip(old, new, strict=True)) if a != b), 0)
            cuts = range(first // _SECTOR_BYTES * _SECTOR_BYTES, len(new), _SECTOR_BYTES)
            parts = [(new if count % 2 else old)[at : at + _SECTOR_BYTES] for count, at in enumerate(cuts)]
            return old[: cuts.start] + b"".join(parts)

        def kept(node: Node) -> bytes:
            return self._bytes.get(node, b"")

        both = {**self._names, **names}
        top = self._node(os.stat(self._top).st_ino)
        for what, place, content in (
            ("all is lost", self._names, kept), ("bytes are lost", both, kept), ("bytes are zeros", both, zeros),
            ("bytes are torn", both, torn), ("names are lost", self._names, now.__getitem__),
        ):  # fmt: skip
            for name in both[top]:
                if name not in place[top]:
                    self.absent[name] = self.done
                    continue
                state = tuple(sorted(self._build(place, content, {name: place[top][name]}, ""))), name
                self.states[state] = self.done
                if self._act == "all":
                    self.told[state] = self.done
                self.because[state] = f"{self._act}: {what}"

    def _build(
        self,
        names: dict[Node, dict[str, Node]],
        content: Callable[[Node], bytes],
        found: dict[str, Node],
        above: str,
    ) -> Iterator[tuple[str, bytes | None]]:
        for name, node in found.items():
            if node in self._last:
                yield above + name, content(node)
            else:
                yield above + name, None
                yield from self._build(names, content, names.get(node, {}), f"{above}{name}/")


def plant(tree: Tree, top: Path) -> None:
    """Make a state on a disk of today."""
    top.mkdir()
    for path, content in tree:
        if content is None:
            (top / path).mkdir()
        else:
            (top / path).write_bytes(content)
