"""What moving to another version does to files: which changes are thrown away, and which files cannot be written."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence

from arbor.cli.session import Session
from arbor.cli.views import count
from arbor.errors import first_of
from arbor.repo.tiers import read_tiers
from arbor.repo.work_tree import moving

_NAMED = 5


@contextlib.contextmanager
def cold_noticed(session: Session) -> Iterator[None]:
    """Warn when HEAD moves, within the block, to documents that are cold and so get no file."""
    repo = session.open().repo
    before = repo.head_root()
    yield
    cold = read_tiers(repo.folder).cold
    if not cold or repo.fs_root is None or repo.head_root() == before:
        return
    now = repo.head_snapshot()
    paths = [
        change.key for change in now.changes_since(before)
        if change.after in cold and now.lacks_pieces(change.after)
        and not os.path.lexists(repo.fs_root / change.key)
    ]  # fmt: skip
    if paths:
        named = first_of([*map(session.shown, paths)], _NAMED)
        session.out.warning(f"{count(len(paths), 'document')} cold here, so no file is written: {named}")
        session.out.hint("bring them back with: arbor rehydrate-cold PATH")


def lost_changes(session: Session) -> list[str]:
    """The documents whose changes a hard reset or a forced switch throws away.

    What an interrupted command has moved is none of the person's.
    """
    kb = session.open()
    if kb.repo.interrupted() is not None:
        with kb.repo.lock():
            moving.undo_move(kb.repo)
    state = kb.status()
    return list(dict.fromkeys(change.path for change in (*state.staged, *state.unstaged)))


def warn_of_loss(session: Session, lost: Sequence[str]) -> None:
    """Name some of them, if there are any."""
    if lost:
        named = first_of([*map(session.shown, lost)], _NAMED)
        session.out.warning(f"changes that were not committed are lost: {named}")
