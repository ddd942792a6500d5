"""Packs in an object store, read by ranges; packs that are put beside them in a local folder are uploaded."""

from __future__ import annotations

import re
from collections import Counter, OrderedDict
from pathlib import Path
from typing import TYPE_CHECKING

import obstore
import obstore.exceptions

from arbor.errors import IntegrityError
from arbor.store import pack_format as fmt
from arbor.store.files import PositionedFile
from arbor.store.odb import ObjectStore
from arbor.store.pack_index import PackIndex
from arbor.store.packs import Pack

if TYPE_CHECKING:
    from obstore.store import ObjectStore as Bucket

_AHEAD_BYTES = 1024 * 1024
_MAX_INDEX_BYTES = 1 << 32
_NAME = re.compile(r"^packs/([0-9a-f]{64})\.(pack|idx)$")


class RangeFile:
    """An object read at offsets, some of what follows along with it."""

    def __init__(self, bucket: Bucket, name: str, size_bytes: int) -> None:
        self._bucket = bucket
        self._name = name
        self.size_bytes = size_bytes
        self._start = 0
        self._block = b""

    def read_at(self, offset: int, size_bytes: int) -> bytes:
        """`size_bytes` from `offset`; fewer only where the object ends."""
        end = min(offset + size_bytes, self.size_bytes)
        start, block = self._start, self._block
        if not start <= offset <= end <= start + len(block):
            ahead = min(max(end, offset + _AHEAD_BYTES), self.size_bytes)
            if ahead <= offset:
                return b""
            block = bytes(obstore.get_range(self._bucket, self._name, start=offset, end=ahead))
            if len(block) != ahead - offset:
                raise IntegrityError(f"object '{self._name}' changed while it was read")
            start, self._start, self._block = offset, offset, block
        return block[offset - start : end - start]

    def close(self) -> None:
        """Nothing is kept open between two reads."""


class BucketPack(Pack):
    """A pack in a bucket, with the index that lies beside it."""

    def __init__(self, bucket: Bucket, name: str, size_bytes: int) -> None:
        self.fs_path = Path(f"{name}.pack")
        self.name = name
        self._file: PositionedFile = RangeFile(bucket, f"packs/{name}.pack", size_bytes)  # type: ignore[assignment]
        self._frames: OrderedDict[int, fmt.Frame] = OrderedDict()
        # What its index gets wrong is an error here: the packs of others are not repaired.
        self.scanned = True
        data = bytes(obstore.get(bucket, f"packs/{name}.idx").bytes())
        self.index = PackIndex(data, bytes.fromhex(name))
        if not self.index.check():
            raise IntegrityError(f"the index of pack {name[:12]} is damaged")
        self._counts: Counter[int] | None = None

    def frame_count(self, number: int) -> int:
        """How many objects are in a frame, from the index: a header would cost a read of its own.

        What is pushed here has no object twice, see `BucketStore.may_repeat`.
        """
        if self._counts is None:
            self._counts = Counter(frame for _, frame, _ in self.index.rows())
        return self._counts[number]


class BucketStore(ObjectStore):
    """The packs of a bucket. A pack that appears in the local folder is uploaded at the next refresh."""

    may_repeat = False

    def __init__(self, bucket: Bucket, folder: Path) -> None:
        super().__init__(folder)
        self._bucket = bucket

    def refresh(self) -> bool:
        """Upload what is new here, and look at the bucket again."""
        for path in sorted(self.folder.glob("*.pack")):
            self._upload(path)
        listed: dict[str, dict[str, int]] = {}
        for batch in obstore.list(self._bucket, "packs"):
            for meta in batch:
                match = _NAME.match(meta["path"])
                if match:
                    listed.setdefault(match.group(1), {})[match.group(2)] = meta["size"]
        with self._mutex:
            known = {name: pack for name, pack in self._packs.items() if name in listed}
            fresh = False
            for name, sizes in listed.items():
                if name not in known and {"pack", "idx"} <= sizes.keys() and sizes["idx"] < _MAX_INDEX_BYTES:
                    known[name] = BucketPack(self._bucket, name, sizes["pack"])
                    fresh = True
            self._packs = dict(sorted(known.items(), key=lambda item: (-item[1].index.count, item[0])))
            self._loaded = True
            return fresh

    def _upload(self, path: Path) -> None:
        """The pack first and its index last: a pack without an index is not looked at."""
        for fs_path in (path, path.with_suffix(".idx")):
            obstore.put(self._bucket, f"packs/{fs_path.name}", fs_path)
        path.with_suffix(".idx").unlink()
        path.unlink()
