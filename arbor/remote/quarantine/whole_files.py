"""Whether the documents that arrived hold the files whose hashes they record, and passages as long as recorded.

Every object is sound by then, and a document that records the hash of another file would pass for that file: in
`status`, in a proof of the whole file, for `b3sum`. Most documents were compared while their frames were at hand; the
rest, whose passages lie further off or were here before, are read again.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Container, Sequence

from arbor.errors import IntegrityError
from arbor.objects.ids import Kind, object_id
from arbor.processes import batches, map_forked
from arbor.remote.quarantine.connectivity import Checked
from arbor.remote.quarantine.inspecting import FrameSource, Inspection
from arbor.repo.file_bytes import ObjectSource, iter_file
from arbor.repo.trust.deep_check import holds_its_file
from arbor.store.pack_format import Frame, FrameHeader
from arbor.store.pack_index import KEY_BYTES, decode_row

_DOCUMENTS_A_TASK = 250
_HELD_BYTES = 64 * 1024 * 1024


class ArrivedObjects:
    """Objects of a quarantine, and behind them those of a store. For one thread of one process."""

    def __init__(
        self,
        source: FrameSource,
        frames: Sequence[tuple[int, FrameHeader]],
        rows: Sequence[bytes],
        store: ObjectSource,
    ) -> None:
        """Take in where everything lies.

        Args:
            source: Reads frames.
            frames: (offset, header) of each, in order.
            rows: The index rows of what is in them.
            store: What was here before.
        """
        self._source = source
        self._frames = frames
        self._places = {row[:KEY_BYTES]: row for row in rows}
        self._store = store
        self._held: OrderedDict[int, Frame] = OrderedDict()
        self._held_bytes = 0

    def get_kind(self, oid: bytes, kind: Kind) -> bytes:
        """The bytes of an object of this kind, hashed now; raises IntegrityError when they cannot be had."""
        row = self._places.get(oid[:KEY_BYTES])
        if row is None:
            return self._store.get_kind(oid, kind)
        place = decode_row(row)
        found, data = self._frame(place.frame).object_at(place.slot)
        if found != kind or object_id(found, data) != oid:
            raise IntegrityError(f"object {oid.hex()[:12]} is not what it was a moment ago")
        return data

    def _frame(self, number: int) -> Frame:
        frame = self._held.get(number)
        if frame is None:
            frame = self._held[number] = self._source.frame_at(*self._frames[number])
            self._held_bytes += len(frame.raw)
            while self._held_bytes > _HELD_BYTES and len(self._held) > 1:
                self._held_bytes -= len(self._held.popitem(last=False)[1].raw)
        else:
            self._held.move_to_end(number)
        return frame


def check_files(
    objects: ArrivedObjects, arrived: Inspection, checked: Checked, cold: Container[bytes], max_bytes: int
) -> None:
    """Compare the files of all documents that arrived and are needed with the hashes that are recorded for them.

    Args:
        objects: Reads what arrived and what was here.
        arrived: What is in quarantine; most of it was compared there.
        checked: What is needed of it, and hangs together.
        cold: Documents whose passages are not all here.
        max_bytes: How much may be read for it: a passage can stand any number of times in a file.

    Raises:
        IntegrityError: naming the first document that holds another file, or when there is too much to read.
    """
    for oid in arrived.false_files:
        if oid in checked.documents:
            raise _refusal(oid, checked)
    unread = {oid for oid in arrived.unread_files if oid in checked.documents and oid not in cold}
    unmeasured = {oid for oid in checked.unmeasured if oid not in cold}
    left = [*arrived.unread_files, *checked.unmeasured]
    wanted = (oid for oid in dict.fromkeys(left) if oid in unread or oid in unmeasured)
    left = list({_likeness(arrived, oid): oid for oid in wanted}.values())
    if sum(_file_bytes(arrived, oid) for oid in left) > max_bytes:
        raise IntegrityError(f"the files of the documents that came are larger than {max_bytes} bytes in all")

    def work(task: Sequence[bytes]) -> IntegrityError | None:
        for oid in task:
            if oid in unmeasured:
                try:
                    whole = holds_its_file(objects, oid)
                except IntegrityError as error:
                    return IntegrityError(f"document {oid.hex()[:12]}: {error.message}")
            else:
                whole = _is_whole(objects, oid)
            if oid in unread and not whole:
                return _refusal(oid, checked)
        return None

    for found in map_forked(work, batches(left, _DOCUMENTS_A_TASK)):
        if found is not None:
            raise found


def _likeness(arrived: Inspection, oid: bytes) -> object:
    """What is equal for documents of which one tells for all: manifest, originals, hash of the file and encoding."""
    row = arrived.documents.get(oid)
    return oid if row is None else (row[1], row[4], row[8], row[9])


def _file_bytes(arrived: Inspection, oid: bytes) -> int:
    row = arrived.documents.get(oid)
    return 0 if row is None else row[6]


def _is_whole(objects: ArrivedObjects, oid: bytes) -> bool:
    try:
        for _ in iter_file(objects, oid):
            pass
    except IntegrityError:
        return False
    return True


def _refusal(oid: bytes, checked: Checked) -> IntegrityError:
    path = checked.documents[oid].partition("/")[2]
    return IntegrityError(
        f"'{path}' (document {oid.hex()[:12]}) does not hold the file whose hash it records"
    )
