"""The protocol over two byte streams, as the side that `ssh` starts speaks it."""

from __future__ import annotations

import contextlib
import io
from typing import BinaryIO

from arbor.remote.exchange.service import Service
from arbor.remote.protocol.wire import PacketKind, encode_packet, read_packets


def serve_streams(service: Service, reader: io.BufferedReader, writer: BinaryIO) -> None:
    """Answer requests until the other side ends the stream, or one fails.

    Args:
        service: Answers.
        reader: Requests.
        writer: Answers; nothing else may be written there.
    """
    with contextlib.suppress(BrokenPipeError):
        while reader.peek(1):
            failed = False
            for packet in service.answer(read_packets(reader.read)):
                writer.write(encode_packet(packet))
                failed = packet.kind == PacketKind.ERROR
            writer.flush()
            if failed:
                # The rest of a request that was refused half-way cannot be told from the next one.
                return
