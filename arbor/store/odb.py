"""The object store: every pack of a KB behind `get`, which returns only bytes that hash to the oid asked for."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from arbor.errors import IntegrityError, UsageError
from arbor.lazy import lazy_module
from arbor.objects import ledger
from arbor.objects.ids import Kind, object_id
from arbor.store.files import TEMPORARY_PREFIX
from arbor.store.pack_index import KEY_BYTES, Place
from arbor.store.packs import Pack

if TYPE_CHECKING:
    from arbor.store import pack_writer
    from arbor.store.pack_writer import PackWriter
else:
    pack_writer = lazy_module("arbor.store.pack_writer")

_NODE_CACHE = 4096


class ObjectStore:
    """Objects by oid. Reading is safe from several threads; writing is done under the writer lock."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._packs: dict[str, Pack] = {}
        self._loaded = False
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
            found = {path.stem: path for path in self.folder.glob("*.pack") if not path.name.startswith(TEMPORARY_PREFIX)}
            known = {name: pack for name, pack in self._packs.items() if name in found}
            fresh = False
            for name, path in found.items():
                if name not in known:
                    with contextlib.suppress(FileNotFoundError):
                        known[name] = Pack(path)
                        fresh = True
            self._packs = dict(sorted(known.items(), key=lambda item: (-item[1].index.count, item[0])))
            self._loaded = True
            return fresh

    def _find(self, oid: bytes) -> tuple[Pack, Place] | None:
        for pack in self.packs():
            place = pack.index.find(oid)
            if place is not None:
                return pack, place
        return None

    def has(self, oid: bytes) -> bool:
        """Whether an object of this oid is stored; its bytes are not read."""
        return self._find(oid) is not None or (self.refresh() and self._find(oid) is not None)

    def holds(self, oid: bytes) -> bool:
        """As `has`, without looking for packs that came since: for writers, who hold the lock."""
        return self._find(oid) is not None

    def get(self, oid: bytes) -> tuple[int, bytes]:
        """(kind, bytes) of an object, hashed now and equal to `oid`.

        Raises:
            IntegrityError: when it is absent or damaged.
        """
        found = self._find(oid) or (self._find(oid) if self.refresh() else None)
        if found is None:
            found = self._find_past_damage(oid)
        pack, place = found
        kind, data = pack.get(place)
        if object_id(kind, data) != oid:
            pack.index = pack.scan_index()
            again = pack.index.find(oid)
            if again is None:
                raise IntegrityError(f"object {oid.hex()[:12]} is damaged")
            kind, data = pack.get(again)
        return kind, data

    def _find_past_damage(self, oid: bytes) -> tuple[Pack, Place]:
        """A second look that trusts no index whose checksum is off."""
        for pack in self.packs():
            if not pack.index.check():
                pack.index = pack.scan_index()
                place = pack.index.find(oid)
                if place is not None:
                    return pack, place
        raise IntegrityError(f"object {oid.hex()[:12]} is missing", "run: arbor verify")

    def get_kind(self, oid: bytes, kind: Kind) -> bytes:
        """The bytes of an object that must be of this kind.

        Raises:
            IntegrityError: when it is absent, damaged or of another kind.
        """
        found, data = self.get(oid)
        if found != kind:
            raise IntegrityError(f"object {oid.hex()[:12]} is a {Kind(found).label}, not a {kind.label}")
        return data

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
        """The oids whose hexadecimal form starts with these digits (four at least).

        Raises:
            UsageError: when the digits are not hexadecimal or fewer than four.
        """
        digits = digits.lower()
        if len(digits) < 4 or len(digits) > 64 or any(c not in "0123456789abcdef" for c in digits):
            raise UsageError(f"'{digits}' is not the start of an object id", "give four or more hexadecimal digits")
        start = bytes.fromhex(digits[: len(digits) // 2 * 2])[:KEY_BYTES]
        found = set()
        for pack in self.packs():
            for key, place in pack.index.places_from(start):
                if not key.startswith(start):
                    break
                if key.hex().startswith(digits[: 2 * KEY_BYTES]):
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
        """Close every pack."""
        with self._mutex:
            for pack in self._packs.values():
                pack.close()
            self._packs = {}
            self._loaded = False
