"""Chosen objects as pack frames: whole frames are copied as they lie in their packs, parts are framed anew."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from arbor.errors import LostObject
from arbor.remote.protocol.limits import HELD_BYTES
from arbor.store.frames import FrameBuffer
from arbor.store.odb import ObjectStore
from arbor.store.pack_format import encode_frame
from arbor.store.pack_index import KEY_BYTES
from arbor.store.packs import Pack

_SCAN_SHARE = 16
"""With more than one object of this many wanted, reading whole indexes beats looking up each object."""


class FramePart(NamedTuple):
    """Some slots of one frame of a pack; all of them where `slots` is None."""

    pack: Pack
    frame: int
    slots: tuple[int, ...] | None


def plan_frames(store: ObjectStore, oids: Iterable[bytes]) -> list[FramePart]:
    """Where the objects lie, frame by frame.

    Raises:
        IntegrityError: when one is not stored.
    """
    wanted = {oid[:KEY_BYTES]: oid for oid in oids}
    packs = store.packs()
    scan = len(wanted) * _SCAN_SHARE > sum(pack.index.count for pack in packs)
    parts: list[FramePart] = []
    for pack in packs:
        if not wanted:
            break
        parts += _scan(pack, wanted) if scan else _look_up(pack, wanted)
    if wanted:
        oid = next(iter(wanted.values()))
        raise LostObject(f"object {oid.hex()[:12]} is missing", "run: arbor verify")
    return parts


def _scan(pack: Pack, wanted: dict[bytes, bytes]) -> Iterator[FramePart]:
    """The parts of one pack, found by reading its whole index; what was found is wanted no more."""
    slots: dict[int, list[int]] = {}
    counts: dict[int, int] = {}
    keys = set(pack.index.keys())
    if keys <= wanted.keys():
        for key in keys:
            del wanted[key]
        yield from (FramePart(pack, frame, None) for frame in range(len(pack.index.frame_offsets)))
        return
    for key, frame, slot in pack.index.rows():
        counts[frame] = counts.get(frame, 0) + 1
        if wanted.pop(key, None) is not None:
            slots.setdefault(frame, []).append(slot)
    for frame, found in sorted(slots.items()):
        yield FramePart(pack, frame, None if len(found) == counts[frame] else tuple(sorted(found)))


def _look_up(pack: Pack, wanted: dict[bytes, bytes]) -> Iterator[FramePart]:
    """The parts of one pack, found object by object."""
    slots: dict[int, list[int]] = {}
    for key, oid in list(wanted.items()):
        place = pack.index.find(oid)
        if place is not None:
            del wanted[key]
            slots.setdefault(place.frame, []).append(place.slot)
    for frame, found in sorted(slots.items()):
        yield FramePart(pack, frame, tuple(sorted(found)))


def iter_frames(parts: Sequence[FramePart], held: frozenset[bytes] = frozenset()) -> Iterator[bytes]:
    """The encoded frames of a plan.

    Args:
        parts: What `plan_frames` gave.
        held: Oid prefixes of `HELD_BYTES` that need not be sent; frames with such objects are framed anew.
    """
    buffer = FrameBuffer(lambda oid: oid[:HELD_BYTES] in held)
    for part in parts:
        if part.slots is None and not held:
            yield part.pack.packed_frame(part.frame)
            continue
        frame = part.pack.read_frame(part.frame)
        chosen = None if part.slots is None else set(part.slots)
        for slot, (kind, oid, data) in enumerate(frame.objects()):
            if chosen is None or slot in chosen:
                batch = buffer.add(kind, data, oid)
                if batch is not None:
                    yield encode_frame(batch[0])
    for batch in buffer.rest():
        yield encode_frame(batch[0])


def count_objects(parts: Iterable[FramePart]) -> int:
    """How many objects `iter_frames` sends; one that lies in two whole frames counts twice."""
    return sum(part.pack.frame_count(part.frame) if part.slots is None else len(part.slots) for part in parts)


def whole_packs(packs: Iterable[Pack]) -> list[FramePart]:
    """Every frame of some packs."""
    return [
        FramePart(pack, number, None) for pack in packs for number in range(len(pack.index.frame_offsets))
    ]


def parse_held(joined: bytes) -> frozenset[bytes]:
    """The oid prefixes that stand one after the other."""
    return frozenset(joined[i : i + HELD_BYTES] for i in range(0, len(joined), HELD_BYTES))
