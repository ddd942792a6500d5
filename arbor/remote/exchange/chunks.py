"""Passages on demand: what is cold here is asked for by hash, and only what has that hash is taken."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from arbor.errors import IntegrityError, RemoteError
from arbor.objects.ids import Kind
from arbor.remote.protocol.limits import DEFAULT_LIMITS, Limits, Meter
from arbor.remote.protocol.messages import decode_bytes, decode_oids
from arbor.remote.protocol.wire import Transport, open_packets
from arbor.store.pack_format import HEADER_BYTES, decode_frame, decode_frame_header
from arbor.store.store_id import ID_BYTES

CHUNKS_A_CALL = 4096


def fetch_chunks(
    transport: Transport, oids: Sequence[bytes], limits: Limits = DEFAULT_LIMITS
) -> Iterator[tuple[bytes, bytes]]:
    """(oid, bytes) of the passages that the other side has, in any order; each one hashes to its oid.

    What the other side lacks is left out. What a file holds beyond the question is passed over; a peer may not send
    more objects than it was asked for.

    Args:
        transport: The other side.
        oids: The passages that are wanted.
        limits: Bounds on what is received.

    Raises:
        IntegrityError: when a frame is damaged or the answer goes beyond its limits.
        RemoteError: when the other side fails.
    """
    meter = Meter(limits)
    for start in range(0, len(oids), CHUNKS_A_CALL):
        wanted = set(oids[start : start + CHUNKS_A_CALL])
        # A bundle cannot choose: it gives all that it has, and is no larger than the file that it is.
        came = Meter(limits, len(wanted) if transport.is_peer else None)
        _, frames = open_packets(transport.call("chunks", {"oids": b"".join(sorted(wanted))}))
        yield from _take(frames, wanted, (meter, came))


def _take(
    frames: Iterable[bytes], wanted: set[bytes], meters: Sequence[Meter]
) -> Iterator[tuple[bytes, bytes]]:
    """(oid, bytes) of the passages among what comes that are wanted, each once; `wanted` is used up."""
    for frame in frames:
        header = decode_frame_header(frame[:HEADER_BYTES])
        if header is None:
            raise IntegrityError("a pack frame arrived damaged")
        for meter in meters:
            meter.take(len(frame), header.raw_bytes, header.count)
        for kind, oid, data in decode_frame(header, frame[HEADER_BYTES:]).objects():
            if kind == Kind.CHUNK and oid in wanted:
                wanted.discard(oid)
                yield oid, data


class Kept(NamedTuple):
    """What a place says of its copies.

    Attributes:
        oids: The passages that it has and is not letting go of.
        store: Equal for two ways to one store; b"" where the place does not say it.
    """

    oids: frozenset[bytes]
    store: bytes


def ask_kept(transport: Transport, oids: Sequence[bytes], limits: Limits = DEFAULT_LIMITS) -> Kept:
    """Ask a place that has given passages whether it keeps them; with no oids, what store it is.

    A side that does not know the question gives the passages themselves, which says less: that they are there now.

    Raises:
        IntegrityError, RemoteError: as `fetch_chunks`.
    """
    found: set[bytes] = set()
    store, meter = b"", Meter(limits)
    for start in range(0, max(len(oids), 1), CHUNKS_A_CALL):
        wanted = set(oids[start : start + CHUNKS_A_CALL])
        asked = {"kept": True, "oids": b"".join(sorted(wanted))}
        message, frames = open_packets(transport.call("chunks", asked))
        came = Meter(limits, len(wanted) if transport.is_peer else None)
        given = {oid for oid, _ in _take(frames, set(wanted), (meter, came))}
        found |= wanted.intersection(decode_oids(message, "kept")) if "kept" in message else given
        store = decode_bytes(message, "store") if "store" in message else b""
        if len(store) not in (0, ID_BYTES):
            raise RemoteError("the other side names its store in an impossible way")
    return Kept(frozenset(found), store)
