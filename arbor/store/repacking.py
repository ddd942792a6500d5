"""Packs rewritten: many small ones merged into one, and objects left out that nobody needs.

A crash at any byte loses nothing. The new pack is written and made durable first, read back and compared with
what it must hold, and only then do the old ones go; until the last of them is gone, objects are merely stored
twice. What a pack holds is taken from its own bytes, never from its index, and a pack that cannot be read in
full stays.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence, Set
from dataclasses import astuple
from operator import add

from arbor.errors import IntegrityError
from arbor.records import dataclass
from arbor.store import pack_format as fmt
from arbor.store.files import fsync_folder
from arbor.store.odb import MERGE_ABOVE, ObjectStore, read_sound
from arbor.store.pack_index import KEY_BYTES
from arbor.store.pack_writer import PackWriter
from arbor.store.packs import Pack

FACTOR = 2
"""A pack that stays is at least this many times as large as all that were merged below it."""
_WHOLE_FRAME_BYTES = 64 * 1024


class DamagedFrame(IntegrityError):
    """A pack that was to be rewritten cannot be read in full."""


@dataclass(frozen=True, slots=True)
class Repacked:
    """What a rewrite did.

    Attributes:
        packs_before: Packs that were rewritten.
        dropped: Objects left out.
        dropped_bytes: Their bytes, unpacked.
        damaged: Names of packs that stay as they are because they cannot be read in full.
    """

    packs_before: int = 0
    dropped: int = 0
    dropped_bytes: int = 0
    damaged: tuple[str, ...] = ()


def plan_merge(sizes: Sequence[int], *, above: int = MERGE_ABOVE) -> int:
    """How many of the smallest packs to merge: 0 when there are few enough.

    Args:
        sizes: Bytes of each pack, ascending.
        above: Merge only when there are more packs than this.

    Source: `git repack --geometric`: what stays forms a geometric progression, so each byte is rewritten O(log n)
    times over the life of a store.
    """
    if len(sizes) <= above:
        return 0
    split = 0
    for position in range(len(sizes) - 1, 0, -1):
        if sizes[position] < FACTOR * sizes[position - 1]:
            split = position + 1
            break
    total = sum(sizes[:split])
    while split < len(sizes) and sizes[split] < FACTOR * total:
        total += sizes[split]
        split += 1
    if split < 2:
        split = len(sizes) - above + 1
    return split


def merge_packs(store: ObjectStore, *, above: int = MERGE_ABOVE) -> Repacked:
    """Merge the smallest packs when there are too many; the caller holds the writer lock."""
    store.refresh()
    packs = sorted(store.packs(), key=lambda pack: pack.size_bytes)
    count = plan_merge([pack.size_bytes for pack in packs], above=above)
    return rewrite_packs(store, packs[:count]) if count else Repacked()


def drop_objects(store: ObjectStore, unwanted: Set[bytes]) -> Repacked:
    """Rewrite every pack that holds an unwanted object; the caller holds the writer lock.

    Which packs to look at is taken from their indexes: a wrong one can only make a pack stay as it is.

    Args:
        store: Where.
        unwanted: The oids of objects that go.
    """
    store.refresh()
    keys = {oid[:KEY_BYTES] for oid in unwanted}
    total = Repacked()
    for pack in store.packs():
        if keys.isdisjoint(pack.index.keys()):
            continue
        try:
            total = _sum(total, rewrite_packs(store, [pack], unwanted.__contains__))
        except DamagedFrame:
            total = _sum(total, Repacked(damaged=(pack.name,)))
    return total


def rewrite_packs(
    store: ObjectStore, packs: Sequence[Pack], unwanted: Callable[[bytes], bool] = lambda oid: False
) -> Repacked:
    """Replace packs by one without the unwanted objects; the caller holds the writer lock.

    Raises:
        IntegrityError: when the new pack does not read back as it must; the old ones are untouched then.
        OSError: as the system says, with the old packs untouched.
    """
    damaged = tuple(pack.name for pack in packs if not pack.check_hash())
    packs = [pack for pack in packs if pack.name not in damaged]
    staying = [pack for pack in store.packs() if pack not in packs]

    def elsewhere(oid: bytes) -> bool:
        return any(_has_sound(pack, oid) for pack in staying)

    writer = PackWriter(store.folder, elsewhere)
    moved = _Moved()
    try:
        for pack in packs:
            _move_frames(pack, writer, unwanted, elsewhere, moved)
        name = writer.seal()
    except BaseException:
        writer.discard()
        raise
    store.refresh()
    if name is not None:
        fresh = next((pack for pack in store.packs() if pack.name == name), None)
        if fresh is None or not fresh.check_hash():
            raise IntegrityError("a rewritten pack does not read back as it was written; the old ones stay")
    going = [pack for pack in packs if pack.name != name]
    _compare(store, going, moved.kept)
    _remove(going)
    store.refresh()
    return Repacked(len(packs), moved.dropped, moved.dropped_bytes, damaged)


def _has_sound(pack: Pack, oid: bytes) -> bool:
    """Whether a pack that stays gives this object now; that its index names it is not enough."""
    place = pack.index.find(oid)
    return place is not None and read_sound(pack, place, oid) is not None


class _Moved:
    """What went over to the new pack, and what did not."""

    def __init__(self) -> None:
        self.kept: set[bytes] = set()
        self.dropped = 0
        self.dropped_bytes = 0


def _move_frames(
    pack: Pack, writer: PackWriter, unwanted: Callable[[bytes], bool], elsewhere: Callable[[bytes], bool],
    moved: _Moved,
) -> None:  # fmt: skip
    """Copy a pack's frames: whole ones as they are, small and partly dropped ones object by object."""
    for offset, header in pack.walk():
        if header is None:
            raise DamagedFrame(
                f"pack {pack.name[:12]} has a damaged frame at byte {offset}", "run: arbor verify"
            )
        frame = pack.frame_at(offset, header)
        objects = list(frame.objects())
        keep = [(kind, oid, data) for kind, oid, data in objects if not unwanted(oid)]
        moved.kept.update(oid for _, oid, _ in keep)
        moved.dropped += len(objects) - len(keep)
        moved.dropped_bytes += sum(len(data) for _, _, data in objects) - sum(
            len(data) for _, _, data in keep
        )
        if len(keep) == len(objects) and header.raw_bytes >= _WHOLE_FRAME_BYTES:
            if all(oid in writer or elsewhere(oid) for _, oid, _ in keep):
                continue
            size = fmt.HEADER_BYTES + header.packed_bytes
            writer.add_frame(pack.read_raw(offset, size), [oid for _, oid, _ in keep])
        else:
            for kind, oid, data in keep:
                writer.add(kind, data, oid)


def _compare(store: ObjectStore, going: Sequence[Pack], kept: set[bytes]) -> None:
    """Every object that stays must be found in a pack that does not go."""
    others = [pack for pack in store.packs() if pack not in going]
    found: set[bytes] = set().union(*(pack.index.keys() for pack in others))
    if any(oid[:KEY_BYTES] not in found for oid in kept):
        raise IntegrityError("a rewritten pack lacks objects that it must hold; the old ones stay")


def _remove(packs: Sequence[Pack]) -> None:
    """Unlink packs. Who has one open reads on; where the system forbids it, the pack stays as a copy."""
    for pack in packs:
        with contextlib.suppress(PermissionError):
            pack.fs_path.unlink(missing_ok=True)
            pack.fs_path.with_suffix(".idx").unlink(missing_ok=True)
    if packs:
        fsync_folder(packs[0].fs_path.parent)


def _sum(left: Repacked, right: Repacked) -> Repacked:
    return Repacked(*map(add, astuple(left), astuple(right)))
