"""What to send for a question: the objects chosen, and where their frames lie.

Walking everything that refs reach takes most of the time of a whole clone or bundle. Where the walk finds that the
packs hold that and nothing else, this is noted in the cache, stamped with the question and the packs' names: a pack
never changes under its name, so the note holds for as long as it fits.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

from blake3 import blake3

from arbor.errors import IntegrityError
from arbor.remote.enumerating import select_missing
from arbor.remote.messages import FULL, FetchAnswer
from arbor.remote.sending import FramePart, plan_frames
from arbor.repo.repository import Repository
from arbor.store.files import seal, unseal, write_atomically

_NOTE = "whole-packs"


def plan_answer(
    repo: Repository, wants: Sequence[bytes], haves: Sequence[bytes], filter_text: str = FULL
) -> tuple[FetchAnswer, list[FramePart]]:
    """The objects that `wants` need and somebody who has `haves` lacks; see `select_missing`.

    Raises:
        IntegrityError: when something that should be here is absent or damaged.
    """
    everything = not haves and filter_text == FULL
    if everything and _is_noted(repo, wants):
        packs = repo.store.packs()
        parts = [
            FramePart(pack, frame, None) for pack in packs for frame in range(len(pack.index.frame_offsets))
        ]
        return FetchAnswer(sum(pack.index.count for pack in packs)), parts
    selection = select_missing(repo, wants, haves, filter_text)
    parts = plan_frames(repo.store, selection.oids)
    if everything and not selection.cold and _are_all(repo, parts, len(selection.oids)):
        _note(repo, wants)
    return FetchAnswer(len(selection.oids), tuple(sorted(selection.cold))), parts


def _are_all(repo: Repository, parts: Sequence[FramePart], objects: int) -> bool:
    """Whether the parts are every frame of every pack, and no object lies in two packs."""
    packs = repo.store.packs()
    frames = sum(len(pack.index.frame_offsets) for pack in packs)
    whole = len(parts) == frames and all(part.slots is None for part in parts)
    return whole and sum(pack.index.count for pack in packs) == objects


def _stamp(repo: Repository, wants: Sequence[bytes]) -> bytes:
    names = sorted(pack.name for pack in repo.store.packs())
    return blake3(b"".join([*sorted(set(wants)), *map(bytes.fromhex, names)])).digest()


def _is_noted(repo: Repository, wants: Sequence[bytes]) -> bool:
    try:
        note = unseal((repo.folder / "cache" / _NOTE).read_bytes(), "the note on whole packs")
    except (OSError, IntegrityError):
        return False
    return note == _stamp(repo, wants)


def _note(repo: Repository, wants: Sequence[bytes]) -> None:
    """Keep the note; a read-only KB does without."""
    with contextlib.suppress(OSError):
        (repo.folder / "cache").mkdir(exist_ok=True)
        write_atomically(repo.folder / "cache" / _NOTE, seal(_stamp(repo, wants)), durable=False)
