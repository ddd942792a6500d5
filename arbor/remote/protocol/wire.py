"""The bytes of a conversation: packets, each with a kind and a length, that carry messages and pack frames.

`docs/format/protocol.md` gives the layout. Every transport carries the same packets.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Generator, Iterable, Iterator
from enum import IntEnum
from typing import Any, NamedTuple, Protocol

from arbor.errors import IntegrityError, RemoteError, printable
from arbor.objects import codec
from arbor.remote.protocol.limits import MAX_ERROR_CHARS
from arbor.store.pack_format import HEADER_BYTES, MAX_FRAME_BYTES

VERSION = 1
CONTENT_TYPE = "application/x-arbor-packets"
HTTP_PATH = "/arbor"
UNKNOWN_NAME = "this server is not known under that name"
"""How an http server's refusal begins where the Host header names none of its names."""
CROWDED = "too many requests at once; try again"
"""How an http server's refusal begins where it is the server itself that has too much to do."""
MAX_MESSAGE_BYTES = 64 * 1024 * 1024
EARLY_END = "the other side ended the connection early"
_HEAD = struct.Struct("<BI")
_COUNT = struct.Struct("<Q")


class Interrupted(RemoteError):
    """The conversation ended before its end; what has arrived whole is worth keeping for the next try."""


class NoneYet(RemoteError):
    """There is no knowledge base where the first push would make one."""


class NoPacket(RemoteError):
    """Something else came where a packet should begin.

    Args:
        begun: How it begins.
    """

    def __init__(self, begun: bytes) -> None:
        super().__init__("the other side does not speak the arbor protocol, or sent an impossible packet")
        self.begun = begun


def first_line(error: BaseException) -> str:
    """What the system or a library says, in one printable line."""
    return printable(str(error).strip().split("\n", 1)[0][:200]) or type(error).__name__


class PacketKind(IntEnum):
    """The kinds of packets. A number is never reused."""

    MESSAGE = 1
    FRAME = 2
    ERROR = 3
    END = 4


class Packet(NamedTuple):
    """One packet: its kind and its content."""

    kind: int
    payload: bytes


Packets = Generator[Packet, None, None]
Message = dict[str, Any]

_LARGEST = {
    PacketKind.MESSAGE: MAX_MESSAGE_BYTES,
    PacketKind.FRAME: HEADER_BYTES + MAX_FRAME_BYTES + MAX_FRAME_BYTES // 128,
    PacketKind.ERROR: 64 * 1024,
    PacketKind.END: _COUNT.size,
}


class Transport(Protocol):
    """A way to another KB: one call is one request with its answer."""

    @property
    def url(self) -> str:
        """What the other KB is called, without any secret."""

    @property
    def is_peer(self) -> bool:
        """Whether it answers for itself again and again, and so can be held to what it showed; a file cannot."""

    def call(self, command: str, arguments: Message, frames: Iterable[bytes] = ()) -> Packets:
        """Send a request; the packets of the answer.

        Raises:
            RemoteError: when the other side cannot be reached or breaks the protocol.
        """

    def close(self) -> None:
        """End the connection."""


def encode_packet(packet: Packet) -> bytes:
    """The bytes of a packet."""
    return _HEAD.pack(packet.kind, len(packet.payload)) + packet.payload


def read_packets(read: Callable[[int], bytes]) -> Packets:
    """Packets up to and including the first END or ERROR.

    Args:
        read: Gives exactly as many bytes as asked for, fewer only where the stream ends.

    Raises:
        RemoteError: when the stream ends early or a packet is of an impossible kind or size.
    """
    while True:
        head = read(_HEAD.size)
        if len(head) < _HEAD.size:
            raise Interrupted(EARLY_END)
        kind, size = _HEAD.unpack(head)
        if size > _LARGEST.get(kind, -1):
            raise NoPacket(head)
        payload = read(size)
        if len(payload) < size:
            raise Interrupted(EARLY_END)
        yield Packet(kind, payload)
        if kind in (PacketKind.END, PacketKind.ERROR):
            return


def question_bytes(begun: bytes | bytearray) -> int:
    """How long a request without frames is that begins so, as far as that can be said yet; 0 for no request."""
    if len(begun) < _HEAD.size:
        return _HEAD.size
    kind, size = _HEAD.unpack_from(begun)
    is_message = kind == PacketKind.MESSAGE and size <= MAX_MESSAGE_BYTES
    return _HEAD.size + size + _HEAD.size + _COUNT.size if is_message else 0


def message_packet(message: Message) -> Packet:
    """The packet of a message whose values are canonical but for the order of keys."""
    return Packet(PacketKind.MESSAGE, codec.encode(dict(sorted(message.items()))))


def end_packet(frames: int) -> Packet:
    """The last packet of a request or an answer; it says how many frames there were."""
    return Packet(PacketKind.END, _COUNT.pack(frames))


def error_packet(message: str, hint: str = "", exit_code: int = 14) -> Packet:
    """The last packet of an answer that is an error."""
    row = {"exit_code": exit_code, "hint": hint[:MAX_ERROR_CHARS], "message": message[:MAX_ERROR_CHARS]}
    return Packet(PacketKind.ERROR, codec.encode(codec.canonical(_speakable(row))))


def _speakable(row: dict[str, Any]) -> dict[str, Any]:
    """The row without lone surrogates, which file names on disk may hold."""
    return {
        key: value.encode("utf-8", "replace").decode("utf-8") if isinstance(value, str) else value
        for key, value in row.items()
    }


def decode_message(payload: bytes) -> Message:
    """The message of a packet.

    Raises:
        RemoteError: when it is no canonical map.
    """
    try:
        message = codec.decode(payload)
    except IntegrityError as error:
        raise RemoteError(f"the other side sent a broken message: {error.message}") from error
    if not isinstance(message, dict):
        raise RemoteError("the other side sent a broken message: it is not a map")
    return message


def request_packets(command: str, arguments: Message, frames: Iterable[bytes] = ()) -> Packets:
    """The packets of a request."""
    yield message_packet({**arguments, "command": command, "version": VERSION})
    yield from frame_packets(frames)


def answer_packets(message: Message, frames: Iterable[bytes] = ()) -> Packets:
    """The packets of an answer."""
    yield message_packet(message)
    yield from frame_packets(frames)


def frame_packets(frames: Iterable[bytes]) -> Packets:
    """The packets of some frames and the end."""
    count = 0
    for frame in frames:
        count += 1
        yield Packet(PacketKind.FRAME, frame)
    yield end_packet(count)


def open_packets(packets: Packets) -> tuple[Message, Iterator[bytes]]:
    """The message that packets begin with, and the frames that follow; these must be read to the end.

    Raises:
        RemoteError: when the other side reports an error, or the packets are in another order.
    """
    first = next(packets, None)
    if first is None:
        raise Interrupted(EARLY_END)
    if first.kind == PacketKind.ERROR:
        raise _error_of(first.payload)
    if first.kind != PacketKind.MESSAGE:
        raise RemoteError("the other side does not speak the arbor protocol: a message was expected")
    return decode_message(first.payload), _frames(packets)


def take_message(packets: Packets) -> Message:
    """The message of an answer that has no frames.

    Raises:
        RemoteError: when the other side reports an error, or frames come.
    """
    message, frames = open_packets(packets)
    for _ in frames:
        raise RemoteError("the other side sent objects that were not asked for")
    return message


def _frames(packets: Packets) -> Iterator[bytes]:
    count = 0
    for packet in packets:
        if packet.kind == PacketKind.FRAME:
            count += 1
            yield packet.payload
        elif packet.kind == PacketKind.ERROR:
            raise _error_of(packet.payload)
        elif packet.kind == PacketKind.END and len(packet.payload) == _COUNT.size:
            if _COUNT.unpack(packet.payload)[0] != count:
                raise RemoteError("the other side sent another number of frames than it says")
            return
        else:
            raise RemoteError("the other side does not speak the arbor protocol: a frame was expected")
    raise Interrupted(EARLY_END)


def _error_of(payload: bytes) -> RemoteError:
    """The error that the other side reports, with its words kept to one line and marked as its own."""
    row = decode_message(payload)
    message, hint = (_one_line(row.get(name)) for name in ("message", "hint"))
    return RemoteError(f"the other side says: {message or 'an error without a message'}", hint)


def _one_line(text: Any) -> str:
    return printable(text[:MAX_ERROR_CHARS], " ") if isinstance(text, str) else ""
