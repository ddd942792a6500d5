"""What to send for a question: the objects chosen, and where their frames lie.

Walking everything that refs reach takes most of the time of a whole clone or bundle. Where the walk finds packs that
hold nothing but what was asked for, this is noted in the cache: a pack never changes under its name, and what commits
reach never changes either, so the next walk begins at those commits.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import NamedTuple

from arbor.errors import IntegrityError
from arbor.objects import codec
from arbor.remote.enumerating import known_ancestors, select_missing
from arbor.remote.messages import FULL, FetchAnswer
from arbor.remote.sending import FramePart, plan_frames
from arbor.repo.repository import Repository
from arbor.repo.revisions import peel
from arbor.store.files import seal, unseal, write_atomically
from arbor.store.packs import Pack

_NOTE = "whole-packs"


class _Note(NamedTuple):
    """The packs of these names hold what the tips (commits and tag objects) reach, and nothing else."""

    tips: tuple[bytes, ...]
    packs: frozenset[str]


_NOTHING = _Note((), frozenset())


def plan_answer(
    repo: Repository, wants: Sequence[bytes], haves: Sequence[bytes], filter_text: str = FULL
) -> tuple[FetchAnswer, list[FramePart]]:
    """The objects that `wants` need and somebody who has `haves` lacks; see `select_missing`.

    Raises:
        IntegrityError: when something that should be here is absent or damaged.
    """
    everything = not haves and filter_text == FULL
    note = _read_note(repo, wants) if everything else _NOTHING
    known = [peel(repo, tip) for tip in note.tips]
    packs = repo.store.packs()
    whole = [pack for pack in packs if pack.name in note.packs]
    selection = select_missing(repo, wants, known or haves, filter_text)
    fresh = [oid for oid in selection.oids if all(pack.index.find(oid) is None for pack in whole)]
    parts = [FramePart(pack, frame, None) for pack in whole for frame in range(len(pack.index.frame_offsets))]
    parts += plan_frames(repo.store, fresh)
    order = {pack.name: number for number, pack in enumerate(packs)}
    parts.sort(key=lambda part: (order.get(part.pack.name, len(order)), part.frame))
    count = sum(pack.index.count for pack in whole) + len(fresh)
    if everything and not selection.cold and _are_all(packs, parts, count):
        _write_note(repo, wants)
    return FetchAnswer(count, tuple(sorted(selection.cold))), parts


def _are_all(packs: Sequence[Pack], parts: Sequence[FramePart], objects: int) -> bool:
    """Whether the parts are every frame of every pack, and no object lies in two packs."""
    frames = sum(len(pack.index.frame_offsets) for pack in packs)
    whole = len(parts) == frames and all(part.slots is None for part in parts)
    return whole and sum(pack.index.count for pack in packs) == objects


def _read_note(repo: Repository, wants: Sequence[bytes]) -> _Note:
    """What is noted, where its packs are all there and everything in them is reached from what is wanted."""
    try:
        data = unseal((repo.folder / "cache" / _NOTE).read_bytes(), "the note on whole packs")
        tips, names = codec.decode(data)
        note = _Note(tuple(tips), frozenset(names))
    except (OSError, IntegrityError, ValueError, TypeError):
        return _NOTHING
    if not note.packs <= {pack.name for pack in repo.store.packs()}:
        return _NOTHING
    reached = {*wants, *known_ancestors(repo, [peel(repo, want) for want in wants])}
    return note if reached.issuperset(note.tips) else _NOTHING


def _write_note(repo: Repository, wants: Sequence[bytes]) -> None:
    """Note that the packs, all of them, hold what is wanted; a read-only KB does without."""
    note = codec.encode([sorted(set(wants)), sorted(pack.name for pack in repo.store.packs())])
    with contextlib.suppress(OSError):
        (repo.folder / "cache").mkdir(exist_ok=True)
        write_atomically(repo.folder / "cache" / _NOTE, seal(note), durable=False)
