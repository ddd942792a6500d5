"""What to send for a question: the objects chosen, and where their frames lie.

Walking everything that refs reach takes most of the time of a whole clone or bundle. Where it is noted that packs hold
what some of the commits reach and nothing else (`arbor.repo.whole_packs`), the walk begins at those commits; and a walk
that finds every pack wanted whole notes that.
"""

from __future__ import annotations

from collections.abc import Sequence

from arbor.remote.exchange.enumerating import cold_and_packs, known_ancestors, select_missing
from arbor.remote.exchange.sending import FramePart, count_objects, plan_frames, whole_packs
from arbor.remote.protocol.messages import FULL, FetchAnswer
from arbor.repo.commits.history import peel
from arbor.repo.repository import Repository
from arbor.repo.whole_packs import Note, read_notes, write_note
from arbor.store.packs import Pack


def plan_answer(
    repo: Repository, wants: Sequence[bytes], haves: Sequence[bytes], filter_text: str = FULL
) -> tuple[FetchAnswer, list[FramePart]]:
    """The objects that `wants` need and somebody who has `haves` lacks; see `select_missing`.

    Raises:
        IntegrityError: when something that should be here is absent or damaged.
    """
    cold, packs = cold_and_packs(repo)
    everything = not haves and filter_text == FULL
    note = _usable_note(repo, wants) if everything else None
    known = [peel(repo, tip) for tip in note.tips] if note else []
    whole = [pack for pack in packs if note and pack.name in note.packs]
    selection = select_missing(repo, wants, known or haves, filter_text, cold)
    fresh = [oid for oid in selection.oids if all(pack.index.find(oid) is None for pack in whole)]
    parts = whole_packs(whole) + plan_frames(repo.store, fresh)
    order = {pack.name: number for number, pack in enumerate(packs)}
    parts.sort(key=lambda part: (order.get(part.pack.name, len(order)), part.frame))
    count = sum(pack.index.count for pack in whole) + len(fresh)
    if everything and not selection.cold and _are_all(packs, parts, count):
        write_note(repo, wants, (pack.name for pack in packs))
    return FetchAnswer(count_objects(parts), tuple(sorted(selection.cold))), parts


def _are_all(packs: Sequence[Pack], parts: Sequence[FramePart], objects: int) -> bool:
    """Whether the parts are every frame of every pack, and no object lies in two packs."""
    frames = sum(len(pack.index.frame_offsets) for pack in packs)
    whole = len(parts) == frames and all(part.slots is None for part in parts)
    return whole and sum(pack.index.count for pack in packs) == objects


def _usable_note(repo: Repository, wants: Sequence[bytes]) -> Note | None:
    """The newest note of packs in which everything is reached from what is wanted."""
    notes = read_notes(repo)
    if not notes:
        return None
    reached = {*wants, *known_ancestors(repo, [peel(repo, want) for want in wants])}
    return next((note for note in notes if reached.issuperset(note.tips)), None)
