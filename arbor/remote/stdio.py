"""The protocol over two byte streams: the side that `ssh` starts, and reading exactly as many bytes as are due."""

from __future__ import annotations

import contextlib
import io
from typing import BinaryIO

from arbor.errors import RemoteError
from arbor.remote.service import Service
from arbor.remote.wire import PacketKind, encode_packet, read_packets


def serve_streams(service: Service, reader: BinaryIO, writer: BinaryIO) -> None:
    """Answer requests until the other side ends the stream, or one fails.

    Args:
        service: Answers.
        reader: Requests.
        writer: Answers; nothing else may be written there.
    """
    buffered = io.BufferedReader(reader) if isinstance(reader, io.RawIOBase) else reader
    with contextlib.suppress(BrokenPipeError):
        while head := buffered.read(1):
            first = [head]

            def read(size: int, first: list[bytes] = first) -> bytes:
                start = first.pop() if first else b""
                return start + buffered.read(size - len(start))

            failed = False
            for packet in service.answer(read_packets(read)):
                writer.write(encode_packet(packet))
                failed = packet.kind == PacketKind.ERROR
            writer.flush()
            if failed:
                # The rest of a request that was refused half-way cannot be told from the next one.
                return


def read_exactly(stream: BinaryIO, size: int) -> bytes:
    """As many bytes as asked for, fewer only at the end of the stream."""
    pieces = []
    while size > 0:
        piece = stream.read(size)
        if not piece:
            break
        pieces.append(piece)
        size -= len(piece)
    return b"".join(pieces)


__all__ = ["RemoteError", "read_exactly", "serve_streams"]
