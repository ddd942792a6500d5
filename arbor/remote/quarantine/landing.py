"""Packs that were published for a transfer whose refs had not moved when it was killed: they are not sent twice.

Between the two lies, in a clone, the whole checkout. What such packs hold is reached by nothing, so no commit says
that it is here; a note of the packs that were there before tells them from the rest.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

from arbor.remote.protocol.limits import HELD_BYTES
from arbor.remote.protocol.wire import MAX_MESSAGE_BYTES
from arbor.repo.repository import Repository
from arbor.store.files import MAX_STATE_BYTES, read_bounded, write_atomically

_NOTE = "landing"
_MAX_OBJECTS = MAX_MESSAGE_BYTES // 2 // HELD_BYTES
"""More than fit into one question are fetched again."""


def begin(repo: Repository) -> None:
    """Note, durably and before anything is published, which packs are here. An older note that still stands is kept."""
    note = repo.folder / _NOTE
    if not note.exists():
        write_atomically(note, "".join(f"{pack.name}\n" for pack in repo.store.packs()).encode())


def end(folder: Path) -> None:
    """Forget the note: refs lead to what was published, or it is of no use."""
    with contextlib.suppress(FileNotFoundError):
        (folder / _NOTE).unlink()


def landed(repo: Repository) -> bytes:
    """The first `HELD_BYTES` of each object that an interrupted transfer has published."""
    try:
        note = read_bounded(repo.folder / _NOTE, MAX_STATE_BYTES)
        before = frozenset(note.decode("ascii", "replace").splitlines())
    except FileNotFoundError:
        return b""
    repo.store.refresh()
    fresh = [pack for pack in repo.store.packs() if pack.name not in before]
    if sum(pack.index.count for pack in fresh) > _MAX_OBJECTS:
        return b""
    return b"".join(key[:HELD_BYTES] for pack in fresh for key in pack.index.keys())  # noqa: SIM118 - not a mapping
