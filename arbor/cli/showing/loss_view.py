"""Saying which changes are thrown away."""

from __future__ import annotations

from collections.abc import Sequence

from arbor.cli.session import Session
from arbor.errors import first_of
from arbor.repo.work_tree import moving

_MAX_NAMED = 5


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
        named = first_of([*map(session.shown, lost)], _MAX_NAMED)
        session.out.warning(f"changes that were not committed are lost: {named}")
