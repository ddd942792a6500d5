"""Documents whose files cannot be written because their passages are elsewhere."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

from arbor.cli.session import Session
from arbor.cli.views import count
from arbor.errors import first_of
from arbor.repo.tiers import read_tiers

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
