"""The bytes of bundles and packets, read as `docs/format/` describes them and with nothing else of arbor."""

from __future__ import annotations

import struct
from pathlib import Path

import msgpack
from blake3 import blake3

from arbor.remote.exchange.enumerating import shown_refs
from arbor.remote.exchange.service import Service
from arbor.remote.protocol.wire import encode_packet, end_packet, message_packet, read_packets
from arbor.remote.transports.bundle import create_bundle
from tests.remote.people import make_kb, notes


def test_a_bundle_is_laid_out_as_documented(tmp_path: Path) -> None:
    repo = make_kb(tmp_path / "a", notes(3))
    create_bundle(repo, tmp_path / "x", shown_refs(repo, ["refs/heads/main"]))
    data = (tmp_path / "x").read_bytes()
    assert data[:8] == b"ARBBNDL1"
    (size,) = struct.unpack("<I", data[8:12])
    header = data[12 : 12 + size]
    assert data[12 + size : 20 + size] == blake3(header).digest()[:8]
    fields = msgpack.unpackb(header)
    oid = repo.refs.head_oid()
    assert fields["refs"] == [["refs/heads/main", oid, oid]]
    assert {key: fields[key] for key in ("version", "head", "prerequisites", "filter", "cold")} == {
        "version": 1, "head": "refs/heads/main", "prerequisites": b"", "filter": "", "cold": b"",
    }  # fmt: skip
    magic, frames, objects, digest = struct.unpack("<4sII32s", data[-44:])
    assert (magic, objects, digest) == (b"PEND", fields["objects"], blake3(data[:-32]).digest())
    place, found = 20 + size, 0
    while place < len(data) - 44:
        mark, _, _, packed, _ = struct.unpack("<4sIII8s", data[place : place + 24])
        assert mark == b"FRAM"
        place += 32 + packed
        found += 1
    assert (place, found) == (len(data) - 44, frames)


def test_a_request_and_its_answer_are_laid_out_as_documented(tmp_path: Path) -> None:
    repo = make_kb(tmp_path / "a", notes(1))
    body = msgpack.packb({"command": "refs", "version": 1})
    request = struct.pack("<BI", 1, len(body)) + body + struct.pack("<BIQ", 4, 8, 0)
    assert request == encode_packet(message_packet({"version": 1, "command": "refs"})) + encode_packet(
        end_packet(0)
    )
    rest = [request]

    def read(size: int) -> bytes:
        data, rest[0] = rest[0][:size], rest[0][size:]
        return data

    first, last = map(encode_packet, Service(tmp_path / "a", may_push=False).answer(read_packets(read)))
    kind, size = struct.unpack("<BI", first[:5])
    assert (kind, size) == (1, len(first) - 5)
    oid = repo.refs.head_oid()
    assert msgpack.unpackb(first[5:]) == {
        "head": "refs/heads/main", "prerequisites": b"", "refs": [["refs/heads/main", oid, oid]], "version": 1,
    }  # fmt: skip
    assert last == struct.pack("<BIQ", 4, 8, 0)
