"""Bundles: refs and the objects behind them in one file, to be mailed, verified, cloned and pulled from.

`docs/format/bundle.md` gives the bytes: a header, pack frames, and a trailer with the hash of it all.
"""

from __future__ import annotations

import os
import stat
import struct
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from blake3 import blake3

from arbor.errors import IntegrityError, RemoteError, UsageError
from arbor.lazy import lazy_module
from arbor.objects import codec
from arbor.records import dataclass
from arbor.remote.exchange.enumerating import known_ancestors
from arbor.remote.exchange.planning import plan_answer
from arbor.remote.exchange.sending import FramePart, iter_frames
from arbor.remote.protocol.limits import MAX_HAVES
from arbor.remote.protocol.messages import (
    FULL,
    Advertisement,
    FetchAnswer,
    RemoteRef,
    check_filter,
    decode_advertisement,
    decode_fetch_request,
    decode_oids,
    encode_advertisement,
    encode_fetch_answer,
)
from arbor.remote.protocol.wire import Message, Packets, answer_packets
from arbor.repo.commits.history import peel
from arbor.repo.repository import Repository
from arbor.store import pack_format as fmt
from arbor.store.files import is_special, replacing

if TYPE_CHECKING:
    from arbor.remote.transports import unpacked_bundle
    from arbor.remote.transports.unpacked_bundle import UnpackedBundle
else:
    unpacked_bundle = lazy_module("arbor.remote.transports.unpacked_bundle")

MAGIC = b"ARBBNDL1"
_LENGTH = struct.Struct("<I")
_MAX_HEADER_BYTES = 64 * 1024 * 1024
_CHECK_BYTES = 8


@dataclass(frozen=True, slots=True)
class BundleInfo:
    """What a bundle's header says.

    Attributes:
        shown: Its refs, the branch that HEAD followed, and the commits that the receiver must have.
        filter: Which passages it holds, see `FetchRequest.filter`.
        cold: Documents without their passages.
        objects: Objects in it.
    """

    shown: Advertisement
    filter: str
    cold: tuple[bytes, ...]
    objects: int


def create_bundle(
    repo: Repository, fs_path: Path, refs: Sequence[RemoteRef], *, exclude: Iterable[bytes] = (),
    filter_text: str = FULL,
) -> BundleInfo:  # fmt: skip
    """Write refs and what they need to a file, durably.

    Args:
        repo: Where from.
        fs_path: The file; replaced as a whole when the bundle is complete. A link leads on, and a pipe or a device
            is written into.
        refs: What to write, see `shown_refs`.
        exclude: Commits that the receiver has already.
        filter_text: Which passages.

    Raises:
        UsageError: when there is nothing to write.
    """
    if is_special(fs_path):  # to replace it would take the machine's own `/dev/null` away
        with open(fs_path, "wb") as stream:
            return stream_bundle(repo, stream, refs, exclude=exclude, filter_text=filter_text)
    info, parts = _plan(repo, refs, exclude, filter_text)
    with replacing(Path(os.path.realpath(fs_path))) as file:
        _write(file, info, iter_frames(parts))
    return info


def stream_bundle(
    repo: Repository, file: BinaryIO, refs: Sequence[RemoteRef], *, exclude: Iterable[bytes] = (),
    filter_text: str = FULL,
) -> BundleInfo:  # fmt: skip
    """The same to an open stream. What was written before a failure is cut short, which every reader notices."""
    info, parts = _plan(repo, refs, exclude, filter_text)
    _write(file, info, iter_frames(parts))
    return info


def _plan(
    repo: Repository, refs: Sequence[RemoteRef], exclude: Iterable[bytes], filter_text: str
) -> tuple[BundleInfo, list[FramePart]]:
    """What a bundle is to hold; raises UsageError when that is nothing."""
    wants = sorted({ref.oid for ref in refs})
    prerequisites = tuple(sorted({peel(repo, oid) for oid in exclude}))
    if not wants:
        raise UsageError("a bundle would be empty", "name a branch or tag, or make a commit first")
    known = known_ancestors(repo, prerequisites)
    if all(ref.peeled in known for ref in refs):
        raise UsageError("a bundle would be empty: the receiver has all of this already")
    answer, parts = plan_answer(repo, wants, prerequisites, filter_text)
    head = repo.refs.head()
    follows = head if isinstance(head, str) and any(ref.name == head for ref in refs) else ""
    shown = Advertisement(follows, tuple(refs), prerequisites)
    return BundleInfo(shown, filter_text, answer.cold, answer.objects), parts


def _write(file: BinaryIO, info: BundleInfo, frames: Iterable[bytes]) -> None:
    hasher, count = blake3(), 0

    def put(data: bytes) -> None:
        file.write(data)
        hasher.update(data)

    header = _encode_header(info)
    put(MAGIC + _LENGTH.pack(len(header)) + header + blake3(header).digest(_CHECK_BYTES))
    for frame in frames:
        put(frame)
        count += 1
    put(fmt.encode_trailer(count, info.objects))
    file.write(hasher.digest())


def _encode_header(info: BundleInfo) -> bytes:
    row = {**encode_advertisement(info.shown), "filter": info.filter, "cold": b"".join(info.cold),
           "objects": info.objects}  # fmt: skip
    return codec.encode(dict(sorted(row.items())))


def _open_at_once(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


class Bundle:
    """An open bundle.

    Raises:
        IntegrityError: when the file is not a bundle or its header is damaged.
    """

    def __init__(self, fs_path: Path) -> None:
        self._fs_path = fs_path
        # Not to be waited for: a pipe cannot be a bundle, which is read from several places.
        self._file = open(fs_path, "rb", opener=_open_at_once)  # noqa: SIM115 - closed by close
        try:
            if not stat.S_ISREG(os.fstat(self._file.fileno()).st_mode):
                raise IntegrityError(f"{fs_path} is not a bundle, but a pipe, a socket or a device")
            self._size_bytes = os.fstat(self._file.fileno()).st_size
            self.info = self._read_header()
            self._frames_start = self._file.tell()
        except BaseException:
            self._file.close()
            raise

    def _read_header(self) -> BundleInfo:
        head = self._file.read(len(MAGIC) + _LENGTH.size)
        if head[: len(MAGIC)] != MAGIC or len(head) < len(MAGIC) + _LENGTH.size:
            raise IntegrityError(f"{self._fs_path} is not a bundle")
        (size,) = _LENGTH.unpack(head[len(MAGIC) :])
        if size > min(_MAX_HEADER_BYTES, self._size_bytes):
            raise IntegrityError("the bundle is cut short")
        data, check = self._file.read(size), self._file.read(_CHECK_BYTES)
        if blake3(data).digest(_CHECK_BYTES) != check:
            raise IntegrityError("the bundle's header is damaged")
        try:
            return _decode_header(codec.decode(data))
        except (RemoteError, UsageError, KeyError, TypeError, ValueError) as error:
            raise IntegrityError(f"the bundle's header is malformed: {error}") from error

    def frames(self) -> Iterator[bytes]:
        """The frames in order, then nothing where the trailer's hash and counts fit.

        Raises:
            IntegrityError: when the bundle is damaged, cut short or goes on after its end.
        """
        self._file.seek(0)
        hasher = blake3()
        hasher.update(self._file.read(self._frames_start))
        count, end = 0, self._size_bytes - fmt.TRAILER_BYTES
        while self._file.tell() < end:
            head = self._file.read(fmt.HEADER_BYTES)
            header = fmt.decode_frame_header(head)
            if header is None or self._file.tell() + header.packed_bytes > end:
                raise IntegrityError(f"the bundle is damaged before byte {self._file.tell()}")
            frame = head + self._file.read(header.packed_bytes)
            hasher.update(frame)
            count += 1
            yield frame
        trailer = self._file.read(fmt.TRAILER_BYTES)
        if len(trailer) < fmt.TRAILER_BYTES or self._file.read(1):
            raise IntegrityError("the bundle is cut short, or goes on after its end")
        frames, objects, digest = fmt.decode_trailer(trailer)
        hasher.update(trailer[: -len(digest)])
        if hasher.digest() != digest or frames != count or objects != self.info.objects:
            raise IntegrityError("the bundle's bytes do not hash to what its end says")

    def close(self) -> None:
        """Give the file handle back."""
        self._file.close()


def _decode_header(row: Message) -> BundleInfo:
    objects = row["objects"]
    if type(objects) is not int or objects < 0:
        raise ValueError("objects")
    return BundleInfo(
        decode_advertisement(row), check_filter(row["filter"]), decode_oids(row, "cold"), objects
    )


class BundleTransport:
    """Reads a bundle as if it were a KB that can only be fetched from."""

    is_peer = False

    def __init__(self, fs_path: Path) -> None:
        self.url = str(fs_path)
        self._bundle = Bundle(fs_path)
        self._unpacked: UnpackedBundle | None = None

    def call(self, command: str, arguments: Message, frames: Iterable[bytes] = ()) -> Packets:
        """Answer from the file; see `arbor.remote.protocol.wire.Transport`."""
        info = self._bundle.info
        if command == "refs":
            return answer_packets(encode_advertisement(info.shown))
        if command == "known":
            known = set(info.shown.prerequisites) | {ref.peeled for ref in info.shown.refs}
            oids = decode_oids(arguments, "oids", MAX_HAVES)
            return answer_packets({"oids": b"".join(oid for oid in oids if oid in known)})
        if command == "fetch":
            request = decode_fetch_request(arguments)
            if info.filter != FULL and request.filter == FULL:
                raise RemoteError(
                    "the bundle holds no passages, or only those of a folder", "clone it with --cold"
                )
            if request.filter not in (FULL, info.filter) and not info.shown.prerequisites:
                return self._unpack().call(command, arguments)
            return answer_packets(
                encode_fetch_answer(FetchAnswer(info.objects, info.cold)), self._bundle.frames()
            )
        if command == "chunks":
            return answer_packets({"objects": 0}, self._bundle.frames())
        raise RemoteError("a bundle cannot be pushed to", "make a new one with: arbor bundle create FILE")

    @property
    def info(self) -> BundleInfo:
        """What the bundle's header says."""
        return self._bundle.info

    def close(self) -> None:
        """Give the file handle back, and remove what was unpacked."""
        self._bundle.close()
        if self._unpacked is not None:
            self._unpacked.close()

    def _unpack(self) -> UnpackedBundle:
        """The same KB in a form that a part can be chosen of."""
        if self._unpacked is None:
            self._unpacked = unpacked_bundle.UnpackedBundle(self, self.info.shown, self.info.filter)
        return self._unpacked
