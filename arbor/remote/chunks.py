"""Passages on demand: what is cold here is asked for by hash, and only what has that hash is taken."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from arbor.errors import IntegrityError
from arbor.objects.ids import Kind
from arbor.remote.limits import DEFAULT_LIMITS, Limits, Meter
from arbor.remote.wire import Transport, open_packets
from arbor.store.pack_format import HEADER_BYTES, decode_frame, decode_frame_header

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
        message, frames = open_packets(transport.call("chunks", {"oids": b"".join(sorted(wanted))}))
        del message
        for frame in frames:
            header = decode_frame_header(frame[:HEADER_BYTES])
            if header is None:
                raise IntegrityError("a pack frame arrived damaged")
            meter.take(len(frame), header.raw_bytes, header.count)
            came.take(len(frame), header.raw_bytes, header.count)
            for kind, oid, data in decode_frame(header, frame[HEADER_BYTES:]).objects():
                if kind == Kind.CHUNK and oid in wanted:
                    wanted.discard(oid)
                    yield oid, data
