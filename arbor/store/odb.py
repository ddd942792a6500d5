"""The object store: every pack of a KB behind `get`, which returns only bytes that hash to the oid asked for."""

from __future__ import annotations

import contextlib
import os
import re
import threading
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from arbor.errors import IntegrityError, LostObject, UsageError
from arbor.lazy import lazy_module
from arbor.objects import ledger
from arbor.objects.ids import Kind, object_id
from arbor.store.pack_index import KEY_BYTES, Place
from arbor.store.packs import Pack

if TYPE_CHECKING:
    from arbor.store import pack_writer
    from arbor.store.pack_writer import PackWriter
else:
    pack_writer = lazy_module("arbor.store.pack_writer")

_NODE_CACHE = 4096
_REFRESH_TRIES = 8
_TICK_NS = 2_000_000_000
"""No file system counts the times of folders more coarsely."""
_PACK_NAME = re.compile(r"[0-9a-f]{64}\.pack\Z")


def read_sound(pack: Pack, place: Place, oid: bytes) -> tuple[int, bytes] | None:
    """(kind, bytes) at a place, or None when they are damaged or are not the object of this oid."""
    try:
        kind, data = pack.get(place)
    except IntegrityError:
        return None
    return (kind, data) if object_id(kind, data) == oid else None


def of_kind(kind: Kind, oid: bytes, found: tuple[int, bytes]) -> bytes:
    """The bytes of an object that was read; raises IntegrityError when it is of another kind."""
    if found[0] != kind:
        raise IntegrityError(f"object {oid.hex()[:12]} is a {Kind(found[0]).label}, not a {kind.label}")
    return found[1]


MERGE_ABOVE = 16
"""With more packs than this, writers merge some when they are done; with fewer a look-up is cheap enough."""


class ObjectStore:
    """Objects by oid. Reading is safe from several threads; writing is done under the writer lock."""

    may_repeat = True
    """Whether an object may lie twice in a pack of this store."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._packs: dict[str, Pack] = {}
        self._loaded = False
        self._listed_ns: int | None = None
        self._recent: tuple[dict[str, Pack], Pack | None] = self._packs, None
        self._mutex = threading.Lock()
        self._nodes: dict[bytes, ledger.Node] = {}

    def packs(self) -> list[Pack]:
        """The packs, opened at the first use; largest first, where most look-ups end."""
        if not self._loaded:
            self.refresh()
        return list(self._packs.values())

    def refresh(self) -> bool:
        """Look at the folder again; whether there is a pack that was not known."""
        with self._mutex:
            known, fresh, listed_ns = dict(self._packs), False, self._changed_ns()
            for _ in range(_REFRESH_TRIES):
                found = self._list_packs()
                known = {name: pack for name, pack in known.items() if name in found}
                try:
                    for name, path in found.items():
                        if name not in known:
                            known[name] = Pack(path)
                            fresh = True
                    break
                except FileNotFoundError:
                    continue  # a pack was merged while the folder was read: its successor may not be listed yet
            self._packs = dict(sorted(known.items(), key=lambda item: (-item[1].index.count, item[0])))
            self._loaded, self._listed_ns = True, listed_ns
            return fresh

    def follow(self) -> None:
        """Look at the folder again where it has changed since: what others removed from it is not stored any more.

        Without this an open file would still give it, and keep its place on the disk.
        """
        if self._loaded and (self._listed_ns is None or self._listed_ns != self._changed_ns()):
            self.refresh()

    def _changed_ns(self) -> int | None:
        """When the folder changed last; None where it may change once more and have the same time."""
        with contextlib.suppress(OSError):
            changed_ns = os.stat(self.folder).st_mtime_ns
            return changed_ns if time.time_ns() - changed_ns > _TICK_NS else None
        return None

    def _list_packs(self) -> dict[str, Path]:
        """The packs in the folder, listed until two listings agree.

        While packs are merged, one listing may come too early for the new pack and too late for an old one.
        """
        found: dict[str, Path] = {}
        for _ in range(_REFRESH_TRIES):
            # Not by `glob`, to which a folder that may not be listed is an empty one.
            names = os.listdir(self.folder) if self.folder.is_dir() else ()
            again = {Path(name).stem: self.folder / name for name in names if _PACK_NAME.match(name)}
            if again == found:
                break
            found = again
        return found

    def _find(self, oid: bytes) -> tuple[Pack, Place] | None:
        if not self._loaded:
            self.refresh()
        packs = self._packs
        listed, recent = self._recent
        # What is asked for next mostly lies beside what was asked for last; a pack that is gone must not answer.
        place = recent.index.find(oid) if recent is not None and listed is packs else None
        if recent is not None and place is not None:
            return recent, place
        for pack in packs.values():
            place = pack.index.find(oid)
            if place is not None:
                self._recent = packs, pack
                return pack, place
        return None

    def has(self, oid: bytes) -> bool:
        """Whether an object of this oid is stored; its bytes are not read."""
        return self._find(oid) is not None or (self.refresh() and self._find(oid) is not None)

    def holds(self, oid: bytes) -> bool:
        """As `has`, without looking for packs that came since: for writers, who hold the lock."""
        return self._find(oid) is not None

    def absent(self, oids: Iterable[bytes]) -> list[bytes]:
        """Those that are not stored: as `has` of each, but the folder is looked at again once and not for every one."""
        absent = [oid for oid in oids if not self.holds(oid)]
        return [oid for oid in absent if not self.holds(oid)] if absent and self.refresh() else absent

    def get(self, oid: bytes) -> tuple[int, bytes]:
        """(kind, bytes) of an object, hashed now and equal to `oid`.

        Raises:
            IntegrityError: when it is absent or damaged.
        """
        found = self._find(oid) or (self._find(oid) if self.refresh() else None)
        sound = read_sound(*found, oid) if found is not None else None
        return sound or self._get_past_damage(oid)

    def _get_past_damage(self, oid: bytes) -> tuple[int, bytes]:
        """A second look at every pack, which trusts no index that is damaged or names the object in vain."""
        damaged = False
        for pack in self.packs():
            place = pack.index.find(oid)
            sound = read_sound(pack, place, oid) if place is not None else None
            if sound is None and not pack.scanned and (place is not None or not pack.index.check()):
                damaged = damaged or place is not None
                pack.rescan()
                place = pack.index.find(oid)
                sound = read_sound(pack, place, oid) if place is not None else None
            if sound is not None:
                return sound
            damaged = damaged or place is not None
        state = "damaged" if damaged else "missing"
        raise LostObject(f"object {oid.hex()[:12]} is {state}", "run: arbor verify", absent=not damaged)

    def get_kind(self, oid: bytes, kind: Kind) -> bytes:
        """The bytes of an object that must be of this kind.

        Raises:
            IntegrityError: when it is absent, damaged or of another kind.
        """
        return of_kind(kind, oid, self.get(oid))

    def get_node(self, oid: bytes) -> ledger.Node:
        """A ledger node; recently used ones are kept decoded."""
        node = self._nodes.get(oid)
        if node is None and oid == ledger.EMPTY_LEDGER:
            return ledger.EMPTY_NODE
        if node is None:
            node = ledger.decode_node(self.get_kind(oid, Kind.NODE), trusted=True)
            if len(self._nodes) >= _NODE_CACHE:
                self._nodes.clear()
            self._nodes[oid] = node
        return node

    def find_prefix(self, digits: str) -> list[bytes]:
        """The oids whose hexadecimal form starts with these digits (four at least), of objects that can be read.

        Raises:
            UsageError: when the digits are not hexadecimal or fewer than four.
        """
        digits = digits.lower()
        if len(digits) < 4 or len(digits) > 64 or any(c not in "0123456789abcdef" for c in digits):
            raise UsageError(
                f"'{digits}' is not the start of an object id", "give four or more hexadecimal digits"
            )
        start = bytes.fromhex(digits[: len(digits) // 2 * 2])[:KEY_BYTES]
        found = set()
        for pack in self.packs():
            for key, place in pack.index.places_from(start):
                if not key.startswith(start):
                    break
                if not key.hex().startswith(digits[: 2 * KEY_BYTES]):
                    continue
                with contextlib.suppress(IntegrityError):  # of what is damaged only these digits are known
                    oid = object_id(*pack.get(place))
                    if oid.hex().startswith(digits):
                        found.add(oid)
        return sorted(found)

    @contextlib.contextmanager
    def writer(self) -> Iterator[PackWriter]:
        """A pack writer that is sealed when the block ends well and discarded when it does not."""
        writer = pack_writer.PackWriter(self.folder, self.holds)
        try:
            yield writer
            writer.seal()
        except BaseException:
            writer.discard()
            raise
        self.refresh()

    def close(self) -> None:
        """Let go of every pack: each is closed when the last thread that still reads in it is done."""
        with self._mutex:
            self._packs = {}
            self._recent = self._packs, None
            self._loaded = False
